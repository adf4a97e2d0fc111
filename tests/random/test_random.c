// SPDX-License-Identifier: Apache-2.0
//
// Random programs give the same on Weir as when their tasks run one at a time.
//
//   test_random [--device cpu:N|cuda|vulkan|cpu:2,cuda|sim] [--programs N] [OPTION]...
//       many programs, of which small tests run a part (support/part.h); WEIR_TEST_PROGRAMS and WEIR_TEST_SEED override.
//       With several devices tasks name one of them at random. Of CUDA both a card and the stub driver (tests/cuda/stub)
//       serve
//   test_random --seed S --device D [OPTION]... [--repeat N] [--verbose] [--shrink]
//       one of them, again
//
// Options (random_options.h): [--queues N] [--resident | --automatic] [--repeats] [--crowded] [--placed] [--boxes].
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "part.h"
#include "random_options.h"
#include "random_shrink.h"

// A program that is run the first time may have its kernels compiled, which takes long on a busy machine.
enum { HUNG_AFTER_SECONDS = 60, HUNG_AT_FIRST_AFTER_SECONDS = 300, SKIPPED = 77, ENOUGH_TO_REPEAT = 20 };

static const char *chosen_device = "cpu:2";
static uint64_t first_seed = 1;
static uint64_t program_count = 100;

// Runs seeds one after another, keeping in `*current` which one it is at.
static _Noreturn void run_in_child(const char *device, volatile uint64_t *current) {
  if (strstr(device, "opencl") != NULL) {
    weir_context *trial = NULL;
    weir_status status = weir_context_create(&(weir_context_options){.devices = device}, &trial);
    weir_context_release(trial);
    if (status == WEIR_ERROR_UNAVAILABLE) {
      fprintf(stderr, "%s\n", weir_last_error());
      _exit(SKIPPED);
    }
  }
  weir_context *keeper = random_keep_devices(device);
  for (uint64_t i = 0; i < program_count; i++) {
    *current = first_seed + i;
    random_run run;
    random_run_make(&run, *current, device);
    char message[PROGRAM_MESSAGE_BYTES];
    alarm(HUNG_AT_FIRST_AFTER_SECONDS);
    if (!random_run_once(&run, message)) {
      fprintf(stderr, "%s\n", message);
      fflush(NULL);
      _exit(1);
    }
    program_deinitialize(&run.program);
  }
  weir_context_release(keeper);
  if (random_repeats) printf("%" PRIu64 " tasks were launched as parts of repeats\n", random_repeated);
  if (random_repeats && program_count >= ENOUGH_TO_REPEAT && random_repeated == 0) exit(1);
  if (random_crowded) printf("%" PRIu64 " buffers gave way to others\n", random_evictions);
  bool on_cpu =
      random_placed && strstr(device, "cpu") != NULL; // which may have got all tasks, by the times that they took
  if (random_crowded && !on_cpu && program_count >= ENOUGH_TO_REPEAT && random_evictions == 0) exit(1);
  exit(0); // not _exit: the leak checker looks now
}

// The programs run in a process of their own, so that after a crash or a hang the seed is still known.
static void random_programs_equal_serial_execution(void **state) {
  (void)state;
  volatile uint64_t *current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(current != MAP_FAILED);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) run_in_child(chosen_device, current);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) exit(SKIPPED);
  if (WIFEXITED(status)) fprintf(stderr, "exit code %d\n", WEXITSTATUS(status)); // 1: it has said why
  if (WIFSIGNALED(status)) fprintf(stderr, "%s\n", WTERMSIG(status) == SIGALRM ? "hung" : strsignal(WTERMSIG(status)));
  fprintf(stderr, "failing seed %" PRIu64 "; again: test_random --seed %" PRIu64 " --device %s%s%s%s%s%s%s", *current,
          *current, chosen_device, random_resident ? " --resident" : "", random_automatic ? " --automatic" : "",
          random_repeats ? " --repeats" : "", random_placed ? " --placed" : "", random_crowded ? " --crowded" : "",
          random_boxes ? " --boxes" : "");
  if (random_queues != 0) fprintf(stderr, " --queues %" PRIu32, random_queues);
  fprintf(stderr, " --repeat 20 --verbose\n");
  fail();
}

static int replay(uint64_t seed, uint32_t repeats, bool verbose, bool shrink) {
  random_run run;
  random_run_make(&run, seed, chosen_device);
  if (verbose) random_run_print(&run, stdout);
  bool good = random_attempt(&run, repeats, HUNG_AFTER_SECONDS, false);
  printf("seed %" PRIu64 " on %s: %s in %u runs\n", seed, chosen_device, good ? "no failure" : "failed", repeats);
  if (!good && shrink) {
    random_shrink(&run, repeats);
    random_run_print(&run, stdout);
    random_attempt(&run, repeats, HUNG_AFTER_SECONDS, false);
  }
  program_deinitialize(&run.program);
  return good ? 0 : 1;
}

static uint64_t number(const char *text, const char *option) {
  char *end;
  uint64_t value = text == NULL ? 0 : strtoull(text, &end, 10);
  if (text != NULL && end != text && *end == '\0') return value;
  fprintf(stderr, "test_random: %s needs a number\n", option);
  exit(2);
}

int main(int argc, char **argv) {
  uint64_t seed = 0;
  uint32_t repeats = 1;
  bool replays = false, verbose = false, shrink = false;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--verbose") == 0)
      verbose = true;
    else if (strcmp(argv[i], "--shrink") == 0)
      shrink = true;
    else if (strcmp(argv[i], "--resident") == 0)
      random_resident = true;
    else if (strcmp(argv[i], "--automatic") == 0)
      random_automatic = true;
    else if (strcmp(argv[i], "--repeats") == 0)
      random_repeats = true;
    else if (strcmp(argv[i], "--boxes") == 0)
      random_boxes = true;
    else if (strcmp(argv[i], "--placed") == 0)
      random_placed = true;
    else if (strcmp(argv[i], "--crowded") == 0)
      random_crowded = true;
    else if (strcmp(argv[i], "--device") == 0 && value != NULL)
      chosen_device = argv[++i];
    else if (strcmp(argv[i], "--programs") == 0)
      program_count = number(argv[++i], "--programs");
    else if (strcmp(argv[i], "--queues") == 0)
      random_queues = (uint32_t)number(argv[++i], "--queues");
    else if (strcmp(argv[i], "--repeat") == 0)
      repeats = (uint32_t)number(argv[++i], "--repeat");
    else if (strcmp(argv[i], "--seed") == 0) {
      seed = number(argv[++i], "--seed");
      replays = true;
    } else {
      fprintf(stderr, "test_random: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  if ((random_resident || random_automatic) &&
      (strstr(chosen_device, "vulkan") != NULL || strstr(chosen_device, "opencl") != NULL)) {
    fprintf(stderr, "test_random: --resident and --automatic are for CUDA devices and CPUs\n");
    return 2;
  }
  if (replays) return replay(seed, repeats, verbose, shrink);
  program_count = part_count((uint32_t)program_count);
  if (getenv("WEIR_TEST_PROGRAMS") != NULL) program_count = number(getenv("WEIR_TEST_PROGRAMS"), "WEIR_TEST_PROGRAMS");
  if (getenv("WEIR_TEST_SEED") != NULL) first_seed = number(getenv("WEIR_TEST_SEED"), "WEIR_TEST_SEED");
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_equal_serial_execution)};
  return cmocka_run_group_tests_name(chosen_device, tests, NULL, NULL);
}
