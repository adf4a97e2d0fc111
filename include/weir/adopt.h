// SPDX-License-Identifier: Apache-2.0
//
// Adopted graphs: a CUgraph that somebody else made becomes a recorded graph (docs/guide/adopted-graphs.md).
//
// A framework captures its work in one stream, so that its CUgraph is a chain: each node waits for the one before. The
// caller says what each node reads and writes, and Weir makes a weir_graph of the same nodes, which wait only where
// their accesses conflict. Kernels, their parameters and their addresses stay as they were captured.
//
//   weir_cuda_nodes *nodes;
//   weir_cuda_nodes_read(device, cu_graph, &nodes);       // the nodes in their order; cu_graph may be destroyed now
//   weir_cuda_access accesses[] = {{.node = 0, .pointer = x, .bytes = n, .mode = WEIR_WRITE}, ...};
//   weir_cuda_adopt_options options = {.accesses = accesses, .access_count = ...};
//   weir_cuda_graph_adopt(nodes, &options, &graph);       // weir_graph_launch, ..., weir_graph_release as ever
//   weir_cuda_nodes_release(nodes);
//
// The result is that of running the nodes one at a time in their order, if each node accesses no more than is said of
// it. It needs a driver of CUDA 12.3 or later.
#ifndef WEIR_ADOPT_H
#define WEIR_ADOPT_H

#include "weir/cuda.h"
#include "weir/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a node does.
typedef enum weir_cuda_node_kind {
  WEIR_CUDA_NODE_KERNEL = 0,
  WEIR_CUDA_NODE_COPY = 1,  // a memcpy node
  WEIR_CUDA_NODE_SET = 2,   // a memset node
  WEIR_CUDA_NODE_HOST = 3,  // a function of the host
  WEIR_CUDA_NODE_EMPTY = 4, // does nothing
  // Is conditional, allocates or frees memory, waits for or records an event, uses a semaphore, or operates on words of
  // memory in a batch. Such a node keeps its graph: weir_cuda_graph_relax takes it, weir_cuda_graph_adopt does not.
  WEIR_CUDA_NODE_OTHER = 5,
} weir_cuda_node_kind;

// Bytes that a node accesses, as an element of a list.
typedef struct weir_cuda_access {
  uint64_t pointer;     // first byte: memory of the device, or of the host
  uint64_t bytes;       // 0: nothing; the element says only that the node is described
  uint32_t node;        // weir_cuda_node.index
  weir_mode mode;       // READ, WRITE (overwrites every byte and reads none of it first) or READ_WRITE
  uint64_t reserved[2]; // 0
} weir_cuda_access;

// Bytes of memory.
typedef struct weir_cuda_range {
  uint64_t pointer, bytes;
} weir_cuda_range;

// A node. Its strings and arrays live as long as the list of nodes.
typedef struct weir_cuda_node {
  weir_cuda_node_kind kind;
  uint32_t index; // in the order; the number of the task in the weir_graph, too
  void *node;     // CUgraphNode, of the graph that was read
  void *function; // KERNEL: CUfunction
  const char
      *name; // KERNEL: the function's name, mangled; else "copy", "set", "host function", "empty", or what it does
  uint32_t grid[3];         // KERNEL: blocks in x, y, z
  uint32_t block[3];        // threads of a block in x, y, z
  uint32_t shared_bytes;    // dynamic shared memory of a block
  uint32_t parameter_count; // of the function; UINT32_MAX: the driver does not tell
  void *const *parameters;  // addresses of their values, as cuLaunchKernel takes them; NULL: the driver does not tell
  const uint32_t *parameter_bytes; // their sizes
  // What Weir itself knows of the node: of copies and sets of memory that has an address, and of EMPTY. NULL: nothing.
  const weir_cuda_access *accesses;
  uint32_t access_count;
  uint64_t reserved[3]; // 0
} weir_cuda_node;

// The nodes of a CUgraph, in an order in which they may run one at a time: that of the capture, if it was of one
// stream. The nodes of a child graph stand in its place.
typedef struct weir_cuda_nodes {
  weir_device *device;
  uint32_t count;
  const weir_cuda_node *nodes;
} weir_cuda_nodes;

// Reads the nodes of a CUgraph for a device. Weir copies what it needs, and keeps a clone for what the graph owns (user
// objects), so that the caller may destroy or change the graph afterwards. What the nodes name must stay: modules of
// kernels, memory, functions of the host. The caller releases the list, before the context.
// Errors: INVALID_ARGUMENT (no CUDA device; an empty graph; a node of another CUDA context, or of a kind that is not
// known; the text has its index), UNAVAILABLE (the driver lacks a function, which the text names), OUT_OF_MEMORY;
// others as the driver says.
WEIR_API weir_status weir_cuda_nodes_read(weir_device *device, void *cu_graph, weir_cuda_nodes **out_nodes);

// Releases a list of nodes. Graphs that adopted them go on. `nodes` may be NULL.
WEIR_API void weir_cuda_nodes_release(weir_cuda_nodes *nodes);

// Gets what a function says of a node. Its members are private.
typedef struct weir_cuda_accesses weir_cuda_accesses;

// Says what a node accesses, by calls of weir_cuda_access_add. A function that calls it not at all says nothing of the
// node. Another result than OK ends the adoption with this status.
typedef weir_status (*weir_cuda_describe_function)(void *user, const weir_cuda_node *node,
                                                   weir_cuda_accesses *accesses);

// Adds an access of the node that is being described; as an element of a list.
// Errors: OUT_OF_MEMORY.
WEIR_API weir_status weir_cuda_access_add(weir_cuda_accesses *accesses, uint64_t pointer, uint64_t bytes,
                                          weir_mode mode);

// How a graph is adopted. A member that is 0 has its default.
typedef struct weir_cuda_adopt_options {
  // Accesses of nodes, in order of `node`. A node that has an element here is described by its elements alone. Accesses
  // of one node may overlap.
  const weir_cuda_access *accesses;
  uint32_t access_count;
  uint32_t buffer_count;
  // Buffers of the device's context on memory of the device (weir_buffer_wrap_cuda), which do not overlap. Accesses in
  // their memory are accesses to these buffers, so that launches are in order with other tasks that use them. They must
  // live as long as the graph is launched. All other memory is the graph's alone: nothing orders its launches with what
  // other graphs or tasks do there.
  weir_buffer *const *buffers;
  // Asked about each node that `accesses` does not name.
  weir_cuda_describe_function describe;
  void *user; // passed on to `describe`
  // Names of the nodes in messages and timelines, one for each; NULL: that of the function. Copied, cut at 47 bytes.
  const char *const *labels;
  uint32_t queue; // as in weir_graph_options
  bool timing;    // the same
  // Kernels may use memory that their operator's signature does not name: a library's workspace, temporaries. With this
  // option a kernel counts as one that nobody describes if its parameters have an address of memory of the device that
  // is neither in nor at the end of an access that is said of it, nor in `managed`, or if the driver does not tell its
  // parameters' sizes. The check finds neither what a kernel reaches by addresses in memory, nor what it uses beyond
  // the ranges that are said.
  bool check_parameters;
  // Gets for each node, of which there are weir_cuda_nodes.count, whether nobody describes it. NULL: not wanted.
  bool *out_undescribed;
  // With check_parameters: memory of which each use is said, such as that of a framework's allocator. An address in one
  // of these ranges, which do not overlap, is no reason to take a kernel for one that nobody describes: kernels have
  // addresses before or behind their data, and words that were not set.
  const weir_cuda_range *managed;
  uint64_t managed_count;
} weir_cuda_adopt_options;

// Makes a recorded graph of the nodes, any number of times. Task i of it is node i. A node that nobody describes, and
// that Weir does not know, may access anything: it comes after all nodes before it and before all nodes after it, and
// counts as an update of all buffers of the graph. Order with the edges that the CUgraph had is not kept otherwise.
// `options` may be NULL.
//
// The graph is as one that was recorded (weir/graph.h), and more tasks may be added to it. Arguments and buffers of its
// nodes cannot be replaced, since addresses are part of the nodes. Memory must stay valid until the last launch is
// done. In check mode its nodes run unchecked.
// Errors: INVALID_ARGUMENT (a node of the kind OTHER; the body of a conditional node; a list that is not in order of
// nodes; a node that does not exist; another mode; memory of another device, or which CUDA does not know, in an access
// of a kernel or set; more than WEIR_MAX_ARGS ranges of a node; buffers that overlap or are not as above), OUT_OF_RANGE
// (bytes that leave their allocation; no such queue), OUT_OF_MEMORY. The text has the node's index and name, and the
// byte range.
WEIR_API weir_status weir_cuda_graph_adopt_sized(const weir_cuda_nodes *nodes, const weir_cuda_adopt_options *options,
                                                 size_t options_size, weir_graph **out_graph);
static inline weir_status weir_cuda_graph_adopt(const weir_cuda_nodes *nodes_, const weir_cuda_adopt_options *options_,
                                                weir_graph **out_graph_) {
  return weir_cuda_graph_adopt_sized(nodes_, options_, sizeof *options_, out_graph_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_ADOPT_H
