// SPDX-License-Identifier: Apache-2.0
//
// weir-bench-device-launch: whether a scheduler on the card that launches kernels out of modules of their own would be
// faster than the host with streams and events. Each case is measured in a process of its own, so that one that breaks
// its context or hangs leaves the others alone.
#include "device_launch.cuh"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "clock.h"

namespace {

enum { OK = 0, FAILED = 1, USAGE = 2, UNAVAILABLE = 3 }; // exit codes
const double CASE_SECONDS = 15, ALL_SECONDS = 55;

const char help[] =
    "usage: weir-bench-device-launch [OPTION...]\n"
    "\n"
    "Kernels out of a module of their own, launched by the host and by a scheduler on a CUDA card (as graphs that the "
    "card\n"
    "can launch): many at a time, one after the other, and in layers. Checks that each ran once, and in order. One "
    "host thread\n"
    "launches; CUDA_DEVICE_MAX_CONNECTIONS is 32 unless it is set.\n"
    "\n"
    "  --device N     CUDA's number of the card (0)\n"
    "  --rounds N     of each measurement; tables have medians and, in brackets, tenth and ninetieth percentiles (9)\n"
    "  --quick        few kernels and rounds, to see that all works\n"
    "  --only TEXT    only cases in whose name TEXT is\n"
    "  --fence        a fence between the setting of parameters on the card and the launch\n"
    "  --json FILE    writes the results there, too\n"
    "\n"
    "Exit codes: 0, 1 a case failed (the others were measured), 2 bad usage, 3 there is no such card.\n";

launch_case host_case(const char *name, work_shape shape, const char *about, unsigned streams, bool serial) {
  launch_case one = {};
  one.name = name, one.shape = shape, one.about = about, one.streams = streams, one.serial = serial;
  return one;
}

enum { SETS = 1, TELLS = 2, RELAYS = 4 };

launch_case card_case(const char *name, work_shape shape, const char *about, card_way way, unsigned blocks,
                      unsigned threads, unsigned flags, uint32_t window = 0, uint32_t slots = 0) {
  launch_case one = {};
  one.name = name, one.shape = shape, one.about = about, one.card = way, one.blocks = blocks, one.threads = threads;
  one.set = flags & SETS, one.tells = flags & TELLS, one.relay = flags & RELAYS, one.window = window, one.slots = slots;
  return one;
}

const launch_case cases[] = {
    host_case("independent-streams", INDEPENDENT, "host, 16 streams", 16, false),
    host_case("independent-serial-graph", INDEPENDENT, "CUDA graph, one after the other", 0, true),
    host_case("independent-wide-graph", INDEPENDENT, "CUDA graph, without edges", 0, false),
    card_case("independent-thread", INDEPENDENT, "card, one thread", CARD_ALL, 1, 1, 0),
    card_case("independent-thread-tells", INDEPENDENT, "card, one thread; kernels tell that they are done", CARD_ALL, 1,
              1, TELLS),
    card_case("independent-warp", INDEPENDENT, "card, one warp", CARD_ALL, 1, 32, 0),
    card_case("independent-blocks", INDEPENDENT, "card, four warps in blocks of their own", CARD_ALL, 4, 32, 0),
    card_case("independent-relay", INDEPENDENT, "card, one warp, relay", CARD_ALL, 1, 32, RELAYS),
    card_case("independent-thread-set", INDEPENDENT, "card, one thread, sets parameters", CARD_ALL, 1, 1, SETS),
    card_case("independent-warp-set", INDEPENDENT, "card, one warp, sets parameters", CARD_ALL, 1, 32, SETS),
    card_case("independent-blocks-set", INDEPENDENT, "card, four warps, set parameters", CARD_ALL, 4, 32, SETS),
    card_case("independent-window-set", INDEPENDENT, "card, one thread, sets parameters, 16 in flight", CARD_WINDOWED,
              1, 1, SETS | TELLS, 16),
    card_case("independent-again-set", INDEPENDENT, "card, one thread, sets parameters, 16 graphs again and again",
              CARD_WINDOWED, 1, 1, SETS | TELLS, 16, 16),
    host_case("chain-stream", CHAIN, "host, one stream", 1, false),
    host_case("chain-graph", CHAIN, "CUDA graph", 0, false),
    card_case("chain-thread", CHAIN, "card, one thread", CARD_WINDOWED, 1, 1, TELLS, 1),
    card_case("chain-thread-set", CHAIN, "card, one thread, sets parameters", CARD_WINDOWED, 1, 1, SETS | TELLS, 1),
    card_case("chain-warp", CHAIN, "card, scheduler of one warp", CARD_READY, 1, 32, TELLS),
    host_case("layered-streams", LAYERED, "host, 16 streams and events", 16, false),
    host_case("layered-graph", LAYERED, "CUDA graph", 0, false),
    card_case("layered-warp", LAYERED, "card, scheduler of one warp", CARD_READY, 1, 32, TELLS),
    card_case("layered-warp-set", LAYERED, "card, scheduler of one warp, sets parameters", CARD_READY, 1, 32,
              SETS | TELLS),
    card_case("layered-relay", LAYERED, "card, scheduler of one warp, relay", CARD_READY, 1, 32, TELLS | RELAYS),
};

struct options {
  launch_settings settings = {0, 9, false, false};
  const char *json = nullptr, *only = "", *child = nullptr;
};

// What a case's process said.
struct outcome {
  uint32_t rows = 0, retries = 0;
  double median[MOST_TIMES] = {}, low[MOST_TIMES] = {}, high[MOST_TIMES] = {}, made = 0;
  std::string card, failed, missing;
};

bool read_number(const char *text, long most, long *out_number) {
  char *end = nullptr;
  *out_number = strtol(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && *out_number <= most;
}

// -1: go on; else the exit code.
int parse(int argc, char **argv, options *out_options) {
  bool rounds_given = false;
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    long number = 0;
    bool good = true;
    if (strcmp(name, "--help") == 0) {
      fputs(help, stdout);
      printf("\nCases:\n");
      for (const launch_case &one : cases) printf("  %-26s %s\n", one.name, one.about);
      return OK;
    }
    if (strcmp(name, "--quick") == 0) {
      out_options->settings.quick = true;
      continue;
    }
    if (strcmp(name, "--fence") == 0) {
      out_options->settings.fence = true;
      continue;
    }
    if (i + 1 == argc) {
      fprintf(stderr, "weir-bench-device-launch: there is no option '%s', or it needs a value; --help lists them\n",
              name);
      return USAGE;
    }
    const char *value = argv[++i];
    if (strcmp(name, "--device") == 0) {
      good = read_number(value, 1000, &number);
      out_options->settings.device = (int)number;
    } else if (strcmp(name, "--rounds") == 0) {
      good = read_number(value, MOST_ROUNDS, &number) && number >= 1;
      out_options->settings.rounds = (uint32_t)number;
      rounds_given = true;
    } else if (strcmp(name, "--only") == 0) {
      out_options->only = value;
    } else if (strcmp(name, "--json") == 0) {
      out_options->json = value;
    } else if (strcmp(name, "--measure-case") == 0) { // what the program calls itself with
      out_options->child = value;
    } else {
      fprintf(stderr, "weir-bench-device-launch: there is no option '%s'; --help lists them\n", name);
      return USAGE;
    }
    if (good) continue;
    fprintf(stderr, "weir-bench-device-launch: %s cannot be '%s'; --help says what it can\n", name, value);
    return USAGE;
  }
  if (out_options->settings.quick && !rounds_given) out_options->settings.rounds = 2;
  return -1;
}

// ---------------------------------------------------------------------------------------------------------------
// The processes of the cases.

void read_line(const std::string &line, outcome *out) {
  size_t space = line.find(' ');
  std::string kind = line.substr(0, space), text = space == std::string::npos ? "" : line.substr(space + 1);
  unsigned us = 0;
  if (kind == "row" && out->rows < MOST_TIMES) {
    if (sscanf(text.c_str(), "%u %lf %lf %lf", &us, &out->median[out->rows], &out->low[out->rows],
               &out->high[out->rows]) == 4)
      out->rows++;
  } else if (kind == "made") {
    out->made = strtod(text.c_str(), nullptr);
  } else if (kind == "retries") {
    out->retries += (uint32_t)strtoul(text.c_str(), nullptr, 10);
  } else if (kind == "card") {
    out->card = text;
  } else if (kind == "failed") {
    out->failed = text;
  } else if (kind == "missing") {
    out->missing = text;
  }
}

// Reads what the process says until it ends or its time is over. false: it is over.
bool read_all(int file, double seconds, outcome *out) {
  double end = weir__bench_seconds() + seconds;
  std::string text;
  for (;;) {
    double left = end - weir__bench_seconds();
    if (left <= 0) return false;
    struct pollfd wait = {file, POLLIN, 0};
    int ready = poll(&wait, 1, (int)(left * 1000) + 1);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char piece[4096];
    ssize_t size = ready < 0 ? -1 : read(file, piece, sizeof piece);
    if (size <= 0) return true;
    text.append(piece, (size_t)size);
    for (size_t line; (line = text.find('\n')) != std::string::npos; text.erase(0, line + 1))
      read_line(text.substr(0, line), out);
  }
}

void start_child(const launch_case *one, const options *given, int file) {
  std::string device = std::to_string(given->settings.device), rounds = std::to_string(given->settings.rounds);
  std::vector<const char *> arguments = {
      "weir-bench-device-launch", "--measure-case", one->name, "--device", device.c_str(), "--rounds", rounds.c_str()};
  if (given->settings.quick) arguments.push_back("--quick");
  if (given->settings.fence) arguments.push_back("--fence");
  arguments.push_back(nullptr);
  dup2(file, STDOUT_FILENO);
  execv("/proc/self/exe", const_cast<char *const *>(arguments.data()));
  _exit(127);
}

outcome measure(const launch_case *one, const options *given, double seconds) {
  outcome result;
  int ends[2], status = 0;
  if (pipe(ends) != 0) {
    result.failed = strerror(errno);
    return result;
  }
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    start_child(one, given, ends[1]);
  }
  close(ends[1]);
  if (child < 0) {
    result.failed = strerror(errno);
  } else {
    bool ended = read_all(ends[0], seconds, &result);
    if (!ended) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    const uint32_t *times;
    if (!ended)
      result.failed = "it took longer than " + std::to_string((int)seconds) + " s";
    else if (WIFSIGNALED(status))
      result.failed = "its process ended by signal " + std::to_string(WTERMSIG(status));
    else if (result.failed.empty() && result.missing.empty() && result.rows != shape_times(one->shape, &times))
      result.failed = "its process ended early, with status " + std::to_string(WEXITSTATUS(status));
  }
  close(ends[0]);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Tables

void print_head(work_shape shape, const options *given) {
  const uint32_t *times;
  uint32_t count = shape_times(shape, &times), tasks = shape_tasks(shape, given->settings.quick);
  static const char *const titles[] = {"independent kernels: us for each", "kernels one after the other: us for each",
                                       "kernels in layers of 16, each after 2 of the layer before: us for all"};
  printf("\n%u %s\n\n| way |", tasks, titles[shape]);
  for (uint32_t t = 0; t < count; t++) printf(" %u us |", times[t]);
  printf(" us to make a device graph | launched before it was done |\n|---|");
  for (uint32_t t = 0; t < count; t++) printf("---|");
  printf("---|---|\n");
}

// us, of what the tables have.
double divisor(work_shape shape, const options *given) {
  return shape == LAYERED ? 1 : shape_tasks(shape, given->settings.quick);
}

void print_outcome(const launch_case *one, const options *given, const outcome *result) {
  const uint32_t *times;
  uint32_t count = shape_times(one->shape, &times);
  double by = divisor(one->shape, given);
  int digits = one->shape == LAYERED ? 0 : 2;
  printf("| %s |", one->about);
  for (uint32_t t = 0; t < count; t++) {
    if (t < result->rows)
      printf(" %.*f (%.*f-%.*f) |", digits, result->median[t] / by, digits, result->low[t] / by, digits,
             result->high[t] / by);
    else
      printf(" %s%s |", t == result->rows ? "failed: " : "", t == result->rows ? result->failed.c_str() : "");
  }
  if (result->made > 0)
    printf(" %.0f | %u |\n", result->made, result->retries);
  else
    printf(" | |\n");
  fflush(stdout);
}

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += (unsigned char)c < 32 ? ' ' : c;
  }
  return out + "\"";
}

void add_json(FILE *json, bool *is_first, const launch_case *one, const options *given, const outcome *result) {
  const uint32_t *times;
  static const char *const shapes[] = {"independent", "chain", "layered"};
  shape_times(one->shape, &times);
  for (uint32_t t = 0; t < result->rows; t++) {
    fprintf(json,
            "%s\n  {\"case\": \"%s\", \"shape\": \"%s\", \"tasks\": %u, \"time_us\": %u, \"what\": \"total_us\", "
            "\"value\": %.6g, "
            "\"low\": %.6g, \"high\": %.6g, \"make_us\": %.6g, \"retries\": %u}",
            *is_first ? "" : ",", one->name, shapes[one->shape], shape_tasks(one->shape, given->settings.quick),
            times[t], result->median[t], result->low[t], result->high[t], result->made, result->retries);
    *is_first = false;
  }
  if (result->failed.empty()) return;
  fprintf(json, "%s\n  {\"case\": \"%s\", \"failed\": %s}", *is_first ? "" : ",", one->name,
          quoted(result->failed).c_str());
  *is_first = false;
}

int run_all(const options *given, FILE *json) {
  double start = weir__bench_seconds();
  bool first = true, good = true, named = false;
  int shape = -1;
  for (const launch_case &one : cases) {
    if (!strstr(one.name, given->only)) continue;
    double left = start + ALL_SECONDS - weir__bench_seconds();
    outcome result;
    if (left > 1)
      result = measure(&one, given, left < CASE_SECONDS ? left : CASE_SECONDS);
    else
      result.failed = "no time was left";
    if (!result.missing.empty()) {
      fprintf(stderr, "weir-bench-device-launch: %s\n", result.missing.c_str());
      return UNAVAILABLE;
    }
    if (!named && !result.card.empty())
      printf("%s; medians of %u rounds.\n", result.card.c_str(), given->settings.rounds);
    named = named || !result.card.empty();
    if (shape != (int)one.shape) print_head(one.shape, given);
    shape = (int)one.shape;
    print_outcome(&one, given, &result);
    if (json) add_json(json, &first, &one, given, &result);
    if (result.failed.empty()) continue;
    fprintf(stderr, "weir-bench-device-launch: %s failed: %s\n", one.name, result.failed.c_str());
    good = false;
  }
  if (shape >= 0) return good ? OK : FAILED;
  fprintf(stderr, "weir-bench-device-launch: no case has '%s' in its name; --help lists them\n", given->only);
  return USAGE;
}

} // namespace

int main(int argc, char **argv) {
  options given;
  int code = parse(argc, argv, &given);
  if (code >= 0) return code;
  if (given.child) {
    for (const launch_case &one : cases) {
      if (strcmp(one.name, given.child) == 0) launch_case_run(&one, &given.settings);
    }
    return USAGE;
  }
  FILE *json = nullptr;
  if (given.json) {
    json = fopen(given.json, "w");
    if (!json) {
      fprintf(stderr, "weir-bench-device-launch: %s cannot be written\n", given.json);
      return USAGE;
    }
    fputs("[", json);
  }
  code = run_all(&given, json);
  if (!json) return code;
  fputs("\n]\n", json);
  bool bad = ferror(json) != 0;
  if (fclose(json) == 0 && !bad) return code;
  fprintf(stderr, "weir-bench-device-launch: %s could not be written\n", given.json);
  return code == OK ? FAILED : code;
}
