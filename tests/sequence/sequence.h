// SPDX-License-Identifier: Apache-2.0
//
// What the tests of sequences share: a context on each kind of device in turn, a graph in it, and kernels with code for all.
// CUDA devices are those of the driver without a card (tests/cuda/stub). With the argument "vulkan" or "opencl" a program
// runs its tests on the machine's first device of this kind instead.
#ifndef WEIR_TESTS_SEQUENCE_H
#define WEIR_TESTS_SEQUENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate.h"
#include "graph_info.h"
#include "weir/weir.h"

enum { COUNT = 1000, BYTES = COUNT * sizeof(uint32_t) };

typedef struct sequence {
  const char *devices; // the first one runs the graph
  bool on_cpu, on_sim, on_cuda, on_opencl;
  bool stages; // the device copies to and from the host by way of memory in between
  bool fails;  // `broken` fails and leaves the device as it is
  weir_context *context;
  weir_graph *graph;
  weir_kernel *step;   // (data, value): data[i] = data[i] * 3 + value
  weir_kernel *sum;    // (out, a, b): out[i] = a[i] + b[i]
  weir_kernel *broken; // (data): fails; on CUDA it loses the device, for Vulkan and OpenCL it has no code
} sequence;

// To be called first in main: chooses the devices. Ends the program as skipped where there is none of the kind.
void sequence_choose(int argc, char **argv);

// Runs a test in a context on each kind of device, with the CPU beside it for host tasks.
void sequence_run(void (*test)(sequence *s));
// The same with options of the context's; its devices are chosen here.
void sequence_run_with(const weir_context_options *options, void (*test)(sequence *s));

// Replaces the graph by a new one with these options.
void sequence_new_graph(sequence *s, const weir_graph_options *options);

weir_buffer *sequence_buffer(const sequence *s, const char *label);
uint32_t sequence_step(const sequence *s, weir_buffer *buffer, uint32_t value); // records; the node
uint32_t sequence_sum(const sequence *s, weir_buffer *out, weir_buffer *a, weir_buffer *b);

// Numbers first, first + 1, ...; and whether there are such.
void sequence_set(uint32_t *numbers, uint32_t first);
void sequence_expect(const uint32_t *numbers, uint32_t first);
// What is read back of a buffer.
void sequence_read(weir_buffer *buffer, uint32_t *numbers);
// A buffer with the numbers from `first` on, which are there on return; and whether a buffer has these after steps with the
// values.
weir_buffer *sequence_numbered(const sequence *s, const char *label, uint32_t first);
void sequence_expect_steps(weir_buffer *buffer, uint32_t first, const uint32_t *values, uint32_t count);

static inline uint32_t stepped(uint32_t number, uint32_t value) {
  return number * 3 + value;
}

void good(weir_status status);
// The status, and weir_last_error() with all the texts (NULL ends the list).
void refused(weir_status status, weir_status wanted, ...);

#endif // WEIR_TESTS_SEQUENCE_H
