// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/controls.h"
#include "base/folder.h"

void weir__cli_error(const char *command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  if (text) weir__hide_controls(text, "\n\t");
  fflush(stdout);
  fprintf(stderr, "weir %s: %s\n", command, text ? text : "no memory to say what is wrong");
  free(text);
}

void weir__cli_put(const char *name, FILE *file) {
  for (size_t bytes; *name; name += bytes > 0 ? bytes : 1) {
    bytes = weir__control_bytes(name);
    fputc(bytes > 0 ? '?' : *name, file);
  }
}

bool weir__cli_can_write(const char *command, const char *option, const char *path) {
  struct stat found;
  bool can = stat(path, &found) == 0;
  if (can && S_ISDIR(found.st_mode)) {
    errno = EISDIR;
    can = false;
  } else if (can) {
    can = access(path, W_OK) == 0;
  } else if (errno == ENOENT) {
    can = weir__folder_takes(path);
  }
  if (!can) weir__cli_error(command, "--%s: %s: %s", option, path, strerror(errno));
  return can;
}

bool weir__cli_is_same_file(const char *one, const char *other) {
  struct stat a, b;
  return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int weir__cli_exit_code(weir_status status) {
  switch (status) {
  case WEIR_OK:
    return WEIR__EXIT_OK;
  case WEIR_ERROR_UNAVAILABLE:
  case WEIR_ERROR_DEVICE_LOST:
    return WEIR__EXIT_UNAVAILABLE;
  case WEIR_ERROR_INVALID_ARGUMENT:
  case WEIR_ERROR_OUT_OF_RANGE:
  case WEIR_ERROR_IO:
    return WEIR__EXIT_USAGE;
  default:
    return WEIR__EXIT_FAILED;
  }
}

static char letter_of(const weir__cli_option *option) {
  return option->name[1] == '|' ? option->name[0] : '\0';
}

static const char *long_name(const weir__cli_option *option) {
  return letter_of(option) ? option->name + 2 : option->name;
}

static void print_indented(const char *text, int indent, FILE *file) {
  for (; *text; text++) {
    fputc(*text, file);
    if (*text == '\n') fprintf(file, "%*s", indent, "");
  }
  fputc('\n', file);
}

void weir__cli_usage(const weir__cli_command *command, FILE *file) {
  enum { HELP_COLUMN = 26 };
  fprintf(file, "Usage: weir %s%s%s%s\n\n%s\n\nOptions:\n", command->name, command->option_count ? " [OPTION...]" : "",
          *command->arguments ? " " : "", command->arguments, command->summary);
  for (size_t i = 0; i < command->option_count; i++) {
    const weir__cli_option *option = &command->options[i];
    int width = letter_of(option) ? fprintf(file, "  -%c,", letter_of(option)) : 0;
    width += fprintf(file, "%s--%s%s%s", width ? " " : "  ", long_name(option), option->value ? " " : "",
                     option->value ? option->value : "");
    if (width > HELP_COLUMN - 2) {
      fprintf(file, "\n%*s", HELP_COLUMN, "");
    } else {
      fprintf(file, "%*s", HELP_COLUMN - width, "");
    }
    print_indented(option->help, HELP_COLUMN, file);
  }
  fprintf(file, "  --help%*sthis text\n", HELP_COLUMN - 8, "");
  if (command->details) fprintf(file, "\n%s\n", command->details);
}

static bool in_range(const weir__cli_command *command, const weir__cli_option *option, double number) {
  if (option->least == 0 && option->most == 0) return true;
  if (number >= option->least && number <= option->most) return true;
  weir__cli_error(command->name, "--%s: %.10g is not between %.10g and %.10g", long_name(option), number, option->least,
                  option->most);
  return false;
}

static bool parse_whole(const weir__cli_command *command, const weir__cli_option *option, const char *text) {
  char *end = NULL;
  errno = 0;
  unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
  bool valid = end != NULL && errno == 0;
  if (valid && option->kind == WEIR__CLI_BYTES && *end) {
    const char *units = "KMGT", *unit = strchr(units, *end);
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    valid = unit && number <= UINT64_MAX >> shift;
    if (valid) {
      number <<= shift;
      end++;
    }
  }
  if (!valid || *end) {
    weir__cli_error(command->name, "--%s: \"%s\" is not a %s", long_name(option), text,
                    option->kind == WEIR__CLI_BYTES ? "number of bytes (such as 4096, 64K, 16M or 1G)"
                                                    : "whole number");
    return false;
  }
  *(uint64_t *)option->out = number;
  return in_range(command, option, (double)number);
}

static bool parse_real(const weir__cli_command *command, const weir__cli_option *option, const char *text) {
  char *end = NULL;
  double number = strtod(text, &end);
  if (end == text || *end || !isfinite(number)) {
    weir__cli_error(command->name, "--%s: \"%s\" is not a number", long_name(option), text);
    return false;
  }
  *(double *)option->out = number;
  return in_range(command, option, number);
}

static bool parse_choice(const weir__cli_command *command, const weir__cli_option *option, const char *text) {
  int index = 0;
  for (const char *word = option->value; word; index++) {
    const char *end = strchr(word, '|');
    size_t length = end ? (size_t)(end - word) : strlen(word);
    if (strlen(text) == length && memcmp(text, word, length) == 0) {
      *(int *)option->out = index;
      return true;
    }
    word = end ? end + 1 : NULL;
  }
  weir__cli_error(command->name, "--%s: \"%s\" is none of %s", long_name(option), text, option->value);
  return false;
}

static bool parse_value(const weir__cli_command *command, const weir__cli_option *option, const char *text) {
  switch (option->kind) {
  case WEIR__CLI_FLAG:
    *(bool *)option->out = true;
    return true;
  case WEIR__CLI_TEXT:
    *(const char **)option->out = text;
    return true;
  case WEIR__CLI_COUNT:
  case WEIR__CLI_BYTES:
    return parse_whole(command, option, text);
  case WEIR__CLI_REAL:
    return parse_real(command, option, text);
  case WEIR__CLI_CHOICE:
    return parse_choice(command, option, text);
  }
  return false;
}

static bool is_named(const weir__cli_option *option, const char *argument, size_t length) {
  if (argument[1] != '-') return length == 2 && letter_of(option) == argument[1];
  const char *name = long_name(option);
  return strlen(name) == length - 2 && memcmp(name, argument + 2, length - 2) == 0;
}

// Reads the option at argv[*index] and steps over its value.
static bool parse_option(const weir__cli_command *command, int argc, char **argv, int *index) {
  const char *argument = argv[*index], *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
  size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
  for (size_t i = 0; i < command->option_count; i++) {
    const weir__cli_option *option = &command->options[i];
    if (!is_named(option, argument, length)) continue;
    const char *value = equals ? equals + 1 : NULL;
    if (option->kind == WEIR__CLI_FLAG) {
      if (!value) return parse_value(command, option, NULL);
      weir__cli_error(command->name, "--%s takes no value", long_name(option));
      return false;
    }
    if (!value && *index + 1 < argc) value = argv[++*index];
    if (value) return parse_value(command, option, value);
    weir__cli_error(command->name, "--%s needs a value: %s", long_name(option), option->value);
    return false;
  }
  weir__cli_error(command->name, "unknown option %.*s; `weir %s --help` lists them", (int)length, argument,
                  command->name);
  return false;
}

bool weir__cli_parse(const weir__cli_command *command, int argc, char **argv, char ***out_arguments, size_t *out_count,
                     int *out_exit) {
  *out_arguments = argv;
  *out_count = 0;
  *out_exit = WEIR__EXIT_USAGE;
  bool options_end = false;
  for (int i = 1; i < argc; i++) {
    if (options_end || argv[i][0] != '-' || argv[i][1] == '\0') {
      argv[(*out_count)++] = argv[i];
    } else if (strcmp(argv[i], "--") == 0) {
      options_end = true;
    } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      weir__cli_usage(command, stdout);
      *out_exit = WEIR__EXIT_OK;
      return false;
    } else if (!parse_option(command, argc, argv, &i)) {
      return false;
    }
  }
  if (*out_count < command->least_arguments) {
    weir__cli_error(command->name, "%s is missing; `weir %s --help` says more", command->arguments, command->name);
    return false;
  }
  if (*out_count > command->most_arguments) {
    weir__cli_error(command->name, "\"%s\" is one argument too many; `weir %s --help` says more",
                    argv[command->most_arguments], command->name);
    return false;
  }
  return true;
}
