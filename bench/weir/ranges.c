// SPDX-License-Identifier: Apache-2.0
//
// `ranges`: how the cost of a submission grows with what Weir has to keep in mind; nothing is executed (device
// "null").
//
// live: tasks that read or write (one in two) a random range of one wrapped buffer. The window holds N tasks, and the
// ranges are so long that a byte is used by three of them on average. A segment is a run of bytes with the same tasks
// in flight: the same last writer and the same readers since. Three deep with half of them writes, that gives close to
// N segments; how many there really are is counted here from the ranges of the tasks in flight, without Weir's index,
// and printed in the unit "segments".
//
// ahead: the random sequence on 64 buffers, submitted into a window of 2^20 while nothing is done: the cost of a task
// when 1,000, 4,000, ... are ahead, each the mean over the second half of those submissions. The same window was
// filled once before, untimed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "weir_bench.h"

enum { DEPTH = 3, SAMPLES = 8, AHEAD_WINDOW = 1 << 20, AHEAD_LEAST = 1 << 10 };
static const uint64_t BUFFER_BYTES = (uint64_t)1 << 36;

typedef struct range {
  uint64_t first, bytes;
  bool write;
} range;

static void fill_ranges(range *ranges, uint64_t count, uint64_t segments) {
  uint64_t state = WEIR__BENCH_SEED, longest = 2 * DEPTH * (BUFFER_BYTES / segments);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = weir__bench_random(&state);
    ranges[i].bytes = 1 + weir__bench_random(&state) % longest;
    ranges[i].first = (bits >> 1) % (BUFFER_BYTES - ranges[i].bytes);
    ranges[i].write = bits & 1;
  }
}

static int compare_numbers(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t position(const uint64_t *cuts, uint64_t count, uint64_t value) {
  const uint64_t *found = bsearch(&value, cuts, count, sizeof(*cuts), compare_numbers);
  return (uint64_t)(found - cuts);
}

// Segments of the tasks in flight: cuts the buffer where ranges begin or end, gives each piece a number that stands for
// its last writer and the readers since, and counts the runs of equal numbers.
static uint64_t count_segments(const range *ranges, uint64_t count) {
  uint64_t *cuts = malloc(2 * count * sizeof(*cuts)), *users = calloc(2 * count, sizeof(*users)), segments = 0;
  if (cuts && users) {
    for (uint64_t i = 0; i < count; i++) {
      cuts[2 * i] = ranges[i].first;
      cuts[2 * i + 1] = ranges[i].first + ranges[i].bytes;
    }
    qsort(cuts, 2 * count, sizeof(*cuts), compare_numbers);
    uint64_t cut_count = 0;
    for (uint64_t i = 0; i < 2 * count; i++) {
      if (i == 0 || cuts[i] != cuts[cut_count - 1]) cuts[cut_count++] = cuts[i];
    }
    for (uint64_t i = 0; i < count; i++) {
      uint64_t end = position(cuts, cut_count, ranges[i].first + ranges[i].bytes);
      for (uint64_t k = position(cuts, cut_count, ranges[i].first); k < end; k++) {
        users[k] = weir__bench_mix(ranges[i].write ? 0 : users[k], i + 1, i);
      }
    }
    for (uint64_t i = 0; i < cut_count; i++) segments += users[i] != 0 && (i == 0 || users[i] != users[i - 1]);
  }
  free(cuts);
  free(users);
  return segments;
}

static void submit_ranges(weir_context *context, weir_kernel *kernel, weir_buffer *buffer, const range *ranges,
                          uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    const weir_arg arg = ranges[i].write ? weir_writes_range(buffer, ranges[i].first, ranges[i].bytes)
                                         : weir_reads_range(buffer, ranges[i].first, ranges[i].bytes);
    const weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
    weir__bench_require(weir_submit(context, &task, NULL));
  }
}

static weir_kernel *create_kernel(weir_context *context) {
  weir_kernel *kernel = NULL;
  weir__bench_require(weir_kernel_create(context, "nothing", &kernel));
  weir__bench_require(weir_kernel_set_cpu(kernel, weir__bench_random_task));
  return kernel;
}

static void run_live(uint64_t window, const range *ranges, uint64_t count, const char *case_name) {
  void *memory = mmap(NULL, BUFFER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  weir_context *context = weir__bench_context("null", (uint32_t)window, true);
  weir_kernel *kernel = create_kernel(context);
  weir_buffer *buffer = NULL;
  weir__bench_require(weir_buffer_wrap(context, memory, BUFFER_BYTES, &buffer));

  // Untimed: as many tasks as fill the window twice, then samples of what is in flight, spread over another window.
  uint64_t submitted = 2 * window, segments = 0;
  submit_ranges(context, kernel, buffer, ranges, submitted);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  uint64_t first_number = statistics.tasks - submitted;
  for (int i = 0; i < SAMPLES; i++) {
    submit_ranges(context, kernel, buffer, ranges + submitted, window / SAMPLES);
    submitted += window / SAMPLES;
    weir_context_statistics(context, &statistics);
    uint64_t done = statistics.done - first_number;
    segments += count_segments(ranges + done, submitted - done);
  }
  weir__bench_require(weir_finish(context));

  double begin = weir__bench_seconds();
  submit_ranges(context, kernel, buffer, ranges, count);
  weir__bench_require(weir_finish(context));
  double seconds = weir__bench_seconds() - begin;
  weir__bench_print(case_name, "weir", "ns/task", seconds / (double)count * 1e9);
  weir__bench_print(case_name, "weir", "segments", (double)segments / SAMPLES);

  weir__bench_require(weir_buffer_release(buffer));
  weir__bench_require(weir_kernel_release(kernel));
  weir_context_release(context);
  munmap(memory, BUFFER_BYTES);
}

static int live_main(int argc, char **argv) {
  uint64_t segments = weir__bench_option(argc, argv, "--segments", 1024);
  uint64_t count = weir__bench_option(argc, argv, "--tasks", 1000000);
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  if (segments < SAMPLES || segments > (1 << 24) || count < 3 * segments) {
    fprintf(stderr, "there must be 8 to 2^24 segments, and three times as many tasks\n");
    return 2;
  }
  range *ranges = malloc(count * sizeof(*ranges));
  if (!ranges) return 1;
  fill_ranges(ranges, count, segments);
  char case_name[48];
  snprintf(case_name, sizeof(case_name), "%llu live", (unsigned long long)segments);
  for (uint64_t i = 0; i < repeat; i++) run_live(segments, ranges, count, case_name);
  free(ranges);
  return 0;
}

// Submits all tasks; prints what a task cost in the second half of each power of four, if `print`.
static void run_ahead(weir_context *context, weir_kernel *kernel, weir_buffer *const *buffers,
                      const weir__bench_access *accesses, uint64_t count, bool print) {
  uint64_t submitted = 0;
  for (uint64_t depth = AHEAD_LEAST; submitted < count; depth *= 4) {
    if (depth > count) depth = count;
    weir__bench_submit_random(context, kernel, buffers, accesses, submitted, depth / 2 - submitted);
    double begin = weir__bench_seconds();
    weir__bench_submit_random(context, kernel, buffers, accesses, depth / 2, depth - depth / 2);
    double seconds = weir__bench_seconds() - begin;
    submitted = depth;
    char case_name[48];
    snprintf(case_name, sizeof(case_name), "%llu ahead", (unsigned long long)depth);
    if (print) weir__bench_print(case_name, "weir", "ns/task", seconds / (double)(depth - depth / 2) * 1e9);
  }
  weir__bench_require(weir_finish(context));
}

static int ahead_main(int argc, char **argv) {
  uint64_t count = weir__bench_option(argc, argv, "--tasks", AHEAD_WINDOW);
  uint64_t repeat = weir__bench_option(argc, argv, "--repeat", 1);
  bool renaming = strcmp(weir__bench_text_option(argc, argv, "--variant", ""), "no-rename") != 0;
  weir__bench_access *accesses = malloc(count * sizeof(*accesses));
  if (!accesses) return 1;
  weir__bench_sequence(WEIR__BENCH_SEED, accesses, count);
  weir_context *context = weir__bench_context("null", AHEAD_WINDOW, renaming);
  weir_kernel *kernel = create_kernel(context);
  weir_buffer *buffers[WEIR__BENCH_CELLS];
  weir__bench_buffers(context, buffers);
  run_ahead(context, kernel, buffers, accesses, count, false);
  for (uint64_t i = 0; i < repeat; i++) run_ahead(context, kernel, buffers, accesses, count, true);
  for (int i = 0; i < WEIR__BENCH_CELLS; i++) weir__bench_require(weir_buffer_release(buffers[i]));
  weir__bench_require(weir_kernel_release(kernel));
  weir_context_release(context);
  free(accesses);
  return 0;
}

int weir__bench_ranges_main(int argc, char **argv) {
  weir__bench_pin();
  if (strcmp(argv[2], "live") == 0) return live_main(argc, argv);
  if (strcmp(argv[2], "ahead") == 0) return ahead_main(argc, argv);
  fprintf(stderr, "\"%s\" is no case of ranges\n", argv[2]);
  return 2;
}
