// SPDX-License-Identifier: Apache-2.0
//
// `weir split`: one launch over several devices, round by round.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "split/table.h"
#include "splitting.h"

static const char summary[] = "Cuts launches of a kernel over several devices, as a policy says, and shows what each "
                              "device had of them and how long\n"
                              "it took. In every round each policy has a launch, and each device one that it does "
                              "alone. Results are compared with\n"
                              "those of plain loops. Prints a table, or JSON.";

static const char details[] =
    "share, ms   of each device: its part of the launch, and how long it was busy with it\n"
    "use         the part of the round that its work takes at its best rate, found in the launches that it did alone\n"
    "efficiency  the time that all devices would need together at their best rates, over the time taken\n"
    "why         what the policy says of itself\n"
    "median, least, most: of the second half of the rounds\n\n"
    "Simulated devices, such as sim:plain+speed=4+drift=0.5, run in virtual time (docs/guide/sim.md), the others in "
    "real "
    "time; a list\n"
    "has either. docs/guide/splitting.md says which policy to take when.\n\n"
    "Exit codes: 0 done, 1 a run failed or its result is wrong, 2 bad usage, 3 a device is missing.";

// "3:1". False: it is no list of shares, as said on stderr.
static bool read_shares(const char *text, weir__splitting *options) {
  double sum = 0;
  for (const char *at = text; at;) {
    char *end = NULL;
    double share = *at >= '0' && *at <= '9' ? strtod(at, &end) : -1;
    bool more = end && *end == ':';
    if (!end || (*end && !more) || !isfinite(share) || options->share_count == WEIR_SPLIT_MOST_DEVICES) {
      weir__cli_error("split", "--shares: \"%s\" is no list of shares, such as 3:1", text);
      return false;
    }
    options->shares[options->share_count++] = share;
    sum += share;
    at = more ? end + 1 : NULL;
  }
  if (sum > 0) return true;
  weir__cli_error("split", "--shares: all are 0");
  return false;
}

static bool valid(weir__splitting *options, const char *shares, const char *plot) {
  if (shares && !read_shares(shares, options)) return false;
  if (shares && strcmp(options->policies[0], "static") != 0) { // "static" is the first of all
    weir__cli_error("split", "--shares is for --policy static or all, not %s", options->policies[0]);
    return false;
  }
  if (options->history && options->policy_count > 1) {
    weir__cli_error("split", "--history: a file has the history of one policy, not of all");
    return false;
  }
  const char *ending = plot ? strrchr(plot, '.') : ".svg";
  if (ending && strcmp(ending, ".svg") == 0) return true;
  weir__cli_error("split", "--plot: %s does not end in .svg", plot);
  return false;
}

// Whether the files that a run writes at its end can be written. An empty name is refused with the split.
static bool can_write(const weir__splitting *options, const char *plot) {
  char text[512];
  if (options->history && *options->history &&
      weir__split_table_may_save(options->history, text, sizeof text) != WEIR_OK) {
    weir__cli_error("split", "--history: %s", text);
    return false;
  }
  return !plot || weir__splitting_can_plot(options, plot);
}

// The names in WEIR__SPLITTING_POLICIES before the last one, which stands for all of them.
static void choose_policies(int chosen, weir__splitting *options) {
  static const char *const names[WEIR__SPLITTING_MOST_POLICIES] = {"static", "history", "queue",
                                                                   "guided", "frames",  "auto"};
  bool all = chosen == WEIR__SPLITTING_MOST_POLICIES;
  for (int i = 0; i < WEIR__SPLITTING_MOST_POLICIES; i++) {
    if (all || i == chosen) options->policies[options->policy_count++] = names[i];
  }
}

int weir__split_main(int argc, char **argv) {
  weir__splitting options = {.devices = "cpu:1,cpu:1"};
  uint64_t groups = 4096, work = 16, rounds = 20;
  int policy = WEIR__SPLITTING_MOST_POLICIES - 1;
  const char *shares = NULL, *plot = NULL;
  bool as_json = false;
  const weir__cli_option list[] = {
      {"devices", WEIR__CLI_TEXT, &options.devices, "LIST",
       "devices with commas between: cpu:N, cuda:N, opencl:N (or opencl:N/P.K), vulkan:N; or sim:PROFILE;\n"
       "default cpu:1,cpu:1",
       0, 0},
      {"policy", WEIR__CLI_CHOICE, &policy, WEIR__SPLITTING_POLICIES, "how launches are cut; default auto", 0, 0},
      {"kernel", WEIR__CLI_CHOICE, &options.kernel, WEIR__SPLITTING_KERNELS,
       "steps of a generator in registers (default); numbers that are read and written once", 0, 0},
      {"rounds", WEIR__CLI_COUNT, &rounds, "N", "launches of each policy; default 20", 1, WEIR__SPLITTING_MOST_ROUNDS},
      {"groups", WEIR__CLI_COUNT, &groups, "N", "work-groups of a launch, of 256 work-items each; default 4096", 1,
       1e6},
      {"work", WEIR__CLI_COUNT, &work, "N",
       "what a work-item does: 4 N steps (compute), N numbers (memory); default 16", 1, 1e6},
      {"shares", WEIR__CLI_TEXT, &shares, "A:B...", "a share for each device, such as 3:1, for the policy static", 0,
       0},
      {"history", WEIR__CLI_TEXT, &options.history, "FILE", "what was measured is read from there and kept there", 0,
       0},
      {"plot", WEIR__CLI_TEXT, &plot, "FILE.svg",
       "draw shares and times; of all policies to FILE with -POLICY before the ending", 0, 0},
      {"json", WEIR__CLI_FLAG, &as_json, NULL, "print JSON", 0, 0},
  };
  const weir__cli_command command = {.name = "split",
                                     .arguments = "",
                                     .summary = summary,
                                     .details = details,
                                     .options = list,
                                     .option_count = sizeof list / sizeof *list};
  char **arguments;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &arguments, &count, &exit_code)) return exit_code;
  options.groups = (uint32_t)groups;
  options.work = (uint32_t)work;
  options.rounds = (uint32_t)rounds;
  choose_policies(policy, &options);
  if (!valid(&options, shares, plot) || !can_write(&options, plot)) return WEIR__EXIT_USAGE;
  if (groups * weir__splitting_words(&options) >= (uint64_t)INT32_MAX) {
    weir__cli_error("split", "--groups, --work: more than 2^31 numbers");
    return WEIR__EXIT_USAGE;
  }
  weir__splitting_result result;
  exit_code = weir__splitting_run(&options, &result);
  if (exit_code == WEIR__EXIT_OK)
    exit_code = as_json ? weir__splitting_print_json(&options, &result) : weir__splitting_print(&options, &result);
  if (exit_code == WEIR__EXIT_OK && plot) exit_code = weir__splitting_plot(&options, &result, plot);
  weir__splitting_free(&result);
  return exit_code;
}
