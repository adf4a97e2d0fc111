// SPDX-License-Identifier: Apache-2.0
//
// Collectives on two cards: what they compute, what they take beside plain NCCL, and what overlaps them. The parts of the
// program share two cards, on which Weir and plain CUDA code work in the same primary contexts.
#ifndef WEIR_BENCH_GPU_NCCL_BENCH_H
#define WEIR_BENCH_GPU_NCCL_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda/driver.h"
#include "nccl/library.h"
#include "weir/nccl.h"

enum { CARDS = 2, CHAINS = 8, EXIT_LACKS = 3, MOST_VALUES = 64 };

typedef struct bench_options {
  const char *devices[CARDS]; // "cuda:0"
  uint32_t rounds, programs;
  bool quick;
} bench_options;

// Ends the program with a message where a call failed.
void must(weir_status status, const char *what);
void must_cuda(CUresult result, const char *what);
void must_nccl(int result, const char *what);

// A context of Weir's with both cards, and kernels for them. `queues` 0: the cards' own number.
typedef struct two_cards {
  weir_context *context;
  weir_device *card[CARDS];
  weir_kernel *set;   // (out, count, value): out[i] = value + i
  weir_kernel *step;  // (data, count, value): data[i] = data[i] * 3 + value
  weir_kernel *sum;   // (out, a, b, count): out[i] = a[i] + b[i]
  weir_kernel *spin;  // (data, ns): keeps some blocks busy for so long, and updates the first byte
  weir_kernel *layer; // (data, ns, before): the same, of both
} two_cards;

void cards_open(const bench_options *options, uint32_t queues, two_cards *out_cards);
void cards_close(two_cards *cards);

// Submits a kernel on numbers of 4 bytes, or a spin.
void cards_number_task(const two_cards *cards, weir_kernel *kernel, uint32_t card, weir_buffer *buffer, uint32_t count,
                       uint32_t value);
void cards_spin(const two_cards *cards, uint32_t card, weir_buffer *buffer, uint64_t ns);

extern const char cards_code[]; // PTX of the kernels
enum { SPIN_BLOCKS = 8, SPIN_THREADS = 64 };

// The same cards by plain CUDA code and NCCL, from one thread.
typedef struct plain_cards {
  const weir__cuda_driver *driver;
  const weir__nccl_library *nccl;
  CUcontext context[CARDS];
  CUstream stream[CARDS];         // of collectives
  CUstream chains[CARDS][CHAINS]; // of other work
  CUevent events[CARDS];
  CUfunction spin[CARDS];
  ncclComm_t comms[CARDS];
  CUdeviceptr memory[CARDS]; // zeros
  uint64_t bytes;
} plain_cards;

void plain_open(const bench_options *options, uint64_t bytes, plain_cards *out_plain);
void plain_close(plain_cards *plain);
void plain_all_reduce(const plain_cards *plain, uint64_t offset, uint64_t bytes);
void plain_spin(const plain_cards *plain, uint32_t card, CUstream stream, uint64_t ns);
void plain_wait(const plain_cards *plain); // for all streams

// The parts. Each prints a table or a line; false: something was wrong.
bool check_results(const bench_options *options);
bool check_programs(const bench_options *options);
void measure_sizes(const bench_options *options);
void measure_overlap(const bench_options *options);

// Medians, least and greatest of up to MOST_VALUES values; sorts them.
typedef struct spread {
  double median, least, greatest;
} spread;
spread spread_of(double *values, uint32_t count);

// A row of the table of sizes: what all-reductions of so many bytes took in each round, in s, by NCCL and by Weir.
void print_size(uint64_t bytes, double single[2][MOST_VALUES], double many[2][MOST_VALUES], uint32_t rounds);

// Writes a number of the type, and combines two as the operation does.
void put_number(void *memory, weir_reduce_type type, uint32_t index, int32_t value);
int32_t combine_numbers(weir_reduce_operation operation, int32_t a, int32_t b);

// Whether the arguments from `first` on name the part, or there are none.
bool is_asked(int argc, char **argv, int first, const char *part);

#endif // WEIR_BENCH_GPU_NCCL_BENCH_H
