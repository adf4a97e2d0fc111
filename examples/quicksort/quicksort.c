// SPDX-License-Identifier: Apache-2.0
//
// Sorts numbers by tasks that submit tasks.
//
// A task splits its part of the numbers in two around a pivot (Hoare, "Quicksort", 1962), and submits a task for each side.
// These name ranges of the part that their parent updates, so that they come after it; the two sides may overlap, for they share
// no byte. Small parts are sorted at once. All tasks are in one group: the program waits for the group, and counts what it did.
//
// quicksort [NUMBERS [MILLISECONDS]]: with a time, what is left of the work is cancelled when that is over.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weir/group.h>

enum { AT_ONCE = 4096 }; // numbers that one task sorts by itself

typedef struct job {
  weir_context *context;
  weir_buffer *numbers;
} job;

// A part of the numbers: a task's argument, by value.
typedef struct interval {
  uint64_t first, count;
} interval;

static void sort(const weir_work *work);

// Submits the task of a part. In a task this never waits.
static weir_status submit(job *self, interval part, weir_group *group) {
  weir_arg args[] = {weir_updates_range(self->numbers, part.first * sizeof(int), part.count * sizeof(int)),
                     weir_value(&part, sizeof part)};
  weir_task task = {.host = sort, .user = self, .args = args, .arg_count = 2, .label = "sort", .group = group};
  return weir_submit(self->context, &task, NULL);
}

static int compare(const void *left, const void *right) {
  int a = *(const int *)left, b = *(const int *)right;
  return (a > b) - (a < b);
}

static int middle_of(int a, int b, int c) {
  if (a > b) return middle_of(b, a, c);
  return c < a ? a : c < b ? c : b;
}

// Moves what is at most `pivot` to the front, and returns how many that are: neither none nor all.
static uint64_t split(int *numbers, uint64_t count, int pivot) {
  uint64_t low = 0, high = count - 1;
  for (;;) {
    while (numbers[low] < pivot) low++;
    while (numbers[high] > pivot) high--;
    if (low >= high) return high + 1;
    int number = numbers[low];
    numbers[low++] = numbers[high];
    numbers[high--] = number;
  }
}

static void sort(const weir_work *work) {
  job *self = work->user;
  int *numbers = work->args[0];
  interval whole = *(const interval *)work->args[1];
  if (whole.count <= AT_ONCE) {
    qsort(numbers, whole.count, sizeof *numbers, compare);
    return;
  }
  uint64_t count =
      split(numbers, whole.count, middle_of(numbers[0], numbers[whole.count / 2], numbers[whole.count - 1]));
  interval sides[] = {{whole.first, count}, {whole.first + count, whole.count - count}};
  for (int i = 0; i < 2; i++) {
    if (submit(self, sides[i], NULL) != WEIR_OK)
      weir_work_fail(work, weir_last_error()); // NULL: the group of this task
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_sorted(const int *numbers, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    if (numbers[i - 1] > numbers[i]) return false;
  }
  return true;
}

// Returns whether the numbers are sorted or, if there was not enough time, the work was cancelled.
static bool sort_all(job *self, int *numbers, uint64_t count, uint64_t timeout_ns) {
  weir_group *group;
  weir_group_statistics counts;
  double start = seconds();
  if (weir_group_create(self->context, &group) != WEIR_OK) return false;
  weir_status status = submit(self, (interval){0, count}, group);
  if (status == WEIR_OK) status = weir_group_wait(group, timeout_ns);
  bool cancelled = status == WEIR_TIMEOUT;
  if (cancelled) {
    weir_group_cancel(group);
    status = weir_group_wait(group, WEIR_FOREVER); // for those that run
    cancelled = status == WEIR_ERROR_CANCELLED;    // else the last ones were running
  }
  weir_group_get_statistics(group, &counts);
  printf("%s after %.1f ms: %llu tasks, %llu of them cancelled\n", cancelled ? "cancelled" : "done",
         1e3 * (seconds() - start), (unsigned long long)counts.tasks, (unsigned long long)counts.cancelled);
  if (status != WEIR_OK && !cancelled) printf("%s\n", weir_last_error());
  weir_group_release(group);
  return cancelled || (status == WEIR_OK && is_sorted(numbers, count));
}

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
  uint64_t timeout_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000000 : WEIR_FOREVER;
  int *numbers = count > 0 ? malloc(count * sizeof *numbers) : NULL;
  if (numbers == NULL) {
    fprintf(stderr, "quicksort: no memory for %llu numbers\n", (unsigned long long)count);
    return 2;
  }
  uint64_t random = 1;
  for (uint64_t i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    numbers[i] = (int)(random >> 33);
  }
  job self;
  if (weir_context_create(NULL, &self.context) != WEIR_OK ||
      weir_buffer_wrap(self.context, numbers, count * sizeof *numbers, &self.numbers) != WEIR_OK) {
    fprintf(stderr, "quicksort: %s\n", weir_last_error());
    return 2;
  }
  bool good = sort_all(&self, numbers, count, timeout_ns);
  weir_context_release(self.context);
  free(numbers);
  if (!good) printf("the numbers are not sorted\n");
  return good && fflush(stdout) == 0 ? 0 : 1;
}
