// SPDX-License-Identifier: Apache-2.0
//
// A network whose routing depends on its input. It has cells of parallel branches, each one or two separable
// convolutions. In front of every cell the host reads gates that a kernel computed from the data, and submits the
// branches that they open. So nobody knows the tasks, or their dependences, before the network runs.
#ifndef DYNROUTE_NETWORK_H
#define DYNROUTE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

enum { NETWORK_MAX_BRANCHES = 6, NETWORK_MAX_CELLS = 64, NETWORK_IMAGE_CHANNELS = 3 };

typedef struct network_shape {
  int channels; // of the maps between cells: a multiple of 64
  int size;     // rows and columns of the maps and of the image: even
  int cells;    // 1 to NETWORK_MAX_CELLS
  uint64_t seed;
} network_shape;

// What one input did.
typedef struct network_result {
  float *map;                        // channels * size * size numbers; the caller's memory
  uint8_t routes[NETWORK_MAX_CELLS]; // per cell: a bit for each branch that ran
  uint32_t tasks;                    // submitted, copies included
  double us;                         // from the first task submitted to the result read, in the device's time
} network_result;

typedef struct network network;

// Creates a network with random weights, the same for the same shape, in a context of its own. Prints what failed.
// Errors: UNAVAILABLE (a device is missing), INVALID_ARGUMENT (there is no such device), OUT_OF_MEMORY, TASK_FAILED
// (anything later).
weir_status network_create(const network_shape *shape, const char *devices, uint32_t context_flags, weir_issue issue,
                           network **out_network);
void network_release(network *network);

// Runs the network on an image, NETWORK_IMAGE_CHANNELS * size * size numbers. Branches go to the context's devices in
// turn. Prints what failed.
bool network_run(network *network, const float *image, network_result *out_result);

// Numbers of a map.
int network_map_count(const network_shape *shape);

weir_context *network_context(network *network);

#endif // DYNROUTE_NETWORK_H
