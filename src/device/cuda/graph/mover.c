// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/mover.h"

#include "device/cuda/module.h"
#include "device/cuda/pinned.h"

enum { THREADS = 256, THREAD_BYTES = 64, MOST_BLOCKS = 16, MOST_BYTES = 128 << 10 };

// What nvcc makes of this, for any card that Weir runs on:
//
//   struct move { uint64_t to, from; uint32_t bytes, fill; };
//   struct moves { move all[8]; };
//   extern "C" __global__ void weir__move(const __grid_constant__ moves given) {
//     const move &m = given.all[blockIdx.y];
//     unsigned i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x, bytes = m.bytes, first = 0;
//     uint64_t to = m.to, from = m.from;
//     if (m.fill) {
//       for (unsigned end = bytes / 4; i < end; i += step) ((unsigned *)to)[i] = (unsigned)from;
//       return;
//     }
//     if (((to | from) & 15) == 0) {
//       uint4 *t = (uint4 *)to;
//       const uint4 *f = (const uint4 *)from;
//       unsigned end = bytes / 16, at = i;
//       for (; at + 3 * step < end; at += 4 * step) {
//         uint4 a = f[at], b = f[at + step], c = f[at + 2 * step], d = f[at + 3 * step];
//         t[at] = a, t[at + step] = b, t[at + 2 * step] = c, t[at + 3 * step] = d;
//       }
//       for (; at < end; at += step) t[at] = f[at];
//       first = end * 16;
//     } else if (((to | from) & 3) == 0) {
//       unsigned end = bytes / 4;
//       for (unsigned at = i; at < end; at += step) ((unsigned *)to)[at] = ((const unsigned *)from)[at];
//       first = end * 4;
//     }
//     for (unsigned at = first + i; at < bytes; at += step) ((char *)to)[at] = ((const char *)from)[at];
//   }
static const char code[] =
    // clang-format off
    ".version 6.3\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry weir__move(\n"
    ".param .align 8 .b8 weir__move_param_0[192]\n"
    ")\n"
    "{\n"
    ".reg .pred %p<14>;\n"
    ".reg .b16 %rs<2>;\n"
    ".reg .b32 %r<88>;\n"
    ".reg .b64 %rd<40>;\n"
    "mov.b64 %rd11, weir__move_param_0;\n"
    "mov.u32 %r27, %ctaid.y;\n"
    "mov.u32 %r28, %ntid.x;\n"
    "mov.u32 %r29, %ctaid.x;\n"
    "mov.u32 %r30, %tid.x;\n"
    "mad.lo.s32 %r80, %r29, %r28, %r30;\n"
    "mov.u32 %r31, %nctaid.x;\n"
    "mul.lo.s32 %r2, %r31, %r28;\n"
    "mul.wide.u32 %rd13, %r27, 24;\n"
    "add.s64 %rd14, %rd11, %rd13;\n"
    "ld.param.u64 %rd1, [%rd14];\n"
    "ld.param.u64 %rd2, [%rd14+8];\n"
    "ld.param.v2.u32 {%r32, %r33}, [%rd14+16];\n"
    "setp.eq.s32 %p1, %r33, 0;\n"
    "@%p1 bra L4;\n"
    "shr.u32 %r4, %r32, 2;\n"
    "setp.ge.u32 %p2, %r80, %r4;\n"
    "@%p2 bra L19;\n"
    "cvt.u32.u64 %r5, %rd2;\n"
    "cvta.to.global.u64 %rd3, %rd1;\n"
    "L3:\n"
    "mul.wide.u32 %rd15, %r80, 4;\n"
    "add.s64 %rd16, %rd3, %rd15;\n"
    "st.global.u32 [%rd16], %r5;\n"
    "add.s32 %r80, %r80, %r2;\n"
    "setp.lt.u32 %p3, %r80, %r4;\n"
    "@%p3 bra L3;\n"
    "bra.uni L19;\n"
    "L4:\n"
    "or.b64 %rd4, %rd2, %rd1;\n"
    "and.b64 %rd17, %rd4, 15;\n"
    "setp.eq.s64 %p4, %rd17, 0;\n"
    "@%p4 bra L10;\n"
    "and.b64 %rd18, %rd4, 3;\n"
    "setp.ne.s64 %p5, %rd18, 0;\n"
    "mov.u32 %r86, 0;\n"
    "@%p5 bra L16;\n"
    "shr.u32 %r8, %r32, 2;\n"
    "setp.ge.u32 %p6, %r80, %r8;\n"
    "@%p6 bra L9;\n"
    "cvta.to.global.u64 %rd5, %rd2;\n"
    "cvta.to.global.u64 %rd6, %rd1;\n"
    "mov.u32 %r81, %r80;\n"
    "L8:\n"
    "mul.wide.u32 %rd19, %r81, 4;\n"
    "add.s64 %rd20, %rd5, %rd19;\n"
    "ld.global.u32 %r36, [%rd20];\n"
    "add.s64 %rd21, %rd6, %rd19;\n"
    "st.global.u32 [%rd21], %r36;\n"
    "add.s32 %r81, %r81, %r2;\n"
    "setp.lt.u32 %p7, %r81, %r8;\n"
    "@%p7 bra L8;\n"
    "L9:\n"
    "and.b32 %r86, %r32, -4;\n"
    "bra.uni L16;\n"
    "L10:\n"
    "cvta.to.global.u64 %rd7, %rd1;\n"
    "cvta.to.global.u64 %rd8, %rd2;\n"
    "mul.lo.s32 %r12, %r2, 3;\n"
    "add.s32 %r82, %r80, %r12;\n"
    "shr.u32 %r14, %r32, 4;\n"
    "setp.ge.u32 %p8, %r82, %r14;\n"
    "mov.u32 %r84, %r80;\n"
    "@%p8 bra L13;\n"
    "mov.u32 %r84, %r80;\n"
    "L12:\n"
    "mul.wide.u32 %rd22, %r84, 16;\n"
    "add.s64 %rd23, %rd8, %rd22;\n"
    "add.s32 %r37, %r84, %r2;\n"
    "mul.wide.u32 %rd24, %r37, 16;\n"
    "add.s64 %rd25, %rd8, %rd24;\n"
    "ld.global.v4.u32 {%r38, %r39, %r40, %r41}, [%rd25];\n"
    "add.s32 %r46, %r37, %r2;\n"
    "mul.wide.u32 %rd26, %r46, 16;\n"
    "add.s64 %rd27, %rd8, %rd26;\n"
    "ld.global.v4.u32 {%r47, %r48, %r49, %r50}, [%rd27];\n"
    "mul.wide.u32 %rd28, %r82, 16;\n"
    "add.s64 %rd29, %rd8, %rd28;\n"
    "ld.global.v4.u32 {%r55, %r56, %r57, %r58}, [%rd29];\n"
    "add.s64 %rd30, %rd7, %rd22;\n"
    "ld.global.v4.u32 {%r63, %r64, %r65, %r66}, [%rd23];\n"
    "st.global.v4.u32 [%rd30], {%r63, %r64, %r65, %r66};\n"
    "add.s64 %rd31, %rd7, %rd24;\n"
    "st.global.v4.u32 [%rd31], {%r38, %r39, %r40, %r41};\n"
    "add.s64 %rd32, %rd7, %rd26;\n"
    "st.global.v4.u32 [%rd32], {%r47, %r48, %r49, %r50};\n"
    "add.s64 %rd33, %rd7, %rd28;\n"
    "st.global.v4.u32 [%rd33], {%r55, %r56, %r57, %r58};\n"
    "shl.b32 %r71, %r2, 1;\n"
    "add.s32 %r84, %r46, %r71;\n"
    "add.s32 %r82, %r84, %r12;\n"
    "setp.lt.u32 %p9, %r82, %r14;\n"
    "@%p9 bra L12;\n"
    "L13:\n"
    "setp.ge.u32 %p10, %r84, %r14;\n"
    "@%p10 bra L15;\n"
    "L14:\n"
    "mul.wide.u32 %rd34, %r84, 16;\n"
    "add.s64 %rd35, %rd7, %rd34;\n"
    "add.s64 %rd36, %rd8, %rd34;\n"
    "ld.global.v4.u32 {%r72, %r73, %r74, %r75}, [%rd36];\n"
    "st.global.v4.u32 [%rd35], {%r72, %r73, %r74, %r75};\n"
    "add.s32 %r84, %r84, %r2;\n"
    "setp.lt.u32 %p11, %r84, %r14;\n"
    "@%p11 bra L14;\n"
    "L15:\n"
    "and.b32 %r86, %r32, -16;\n"
    "L16:\n"
    "add.s32 %r87, %r86, %r80;\n"
    "setp.ge.u32 %p12, %r87, %r32;\n"
    "@%p12 bra L19;\n"
    "cvta.to.global.u64 %rd9, %rd2;\n"
    "cvta.to.global.u64 %rd10, %rd1;\n"
    "L18:\n"
    "cvt.u64.u32 %rd37, %r87;\n"
    "add.s64 %rd38, %rd9, %rd37;\n"
    "ld.global.u8 %rs1, [%rd38];\n"
    "add.s64 %rd39, %rd10, %rd37;\n"
    "st.global.u8 [%rd39], %rs1;\n"
    "add.s32 %r87, %r87, %r2;\n"
    "setp.lt.u32 %p13, %r87, %r32;\n"
    "@%p13 bra L18;\n"
    "L19:\n"
    "ret;\n"
    "}\n";
// clang-format on

static CUfunction load(weir__cuda_device *device) {
  CUmodule module;
  CUfunction function;
  const weir_cuda_code given = {.image = code};
  if (weir__cuda_module_load(device, "weir__move", &given, &module) != WEIR_OK ||
      weir__cuda_module_function(device, "weir__move", module, "weir__move", &function) != WEIR_OK)
    return NULL;
  return function;
}

bool weir__cuda_mover_ready(weir__cuda_device *device) {
  if (!device->mover_tried) device->mover = load(device);
  device->mover_tried = true;
  return device->mover != NULL;
}

bool weir__cuda_mover_takes(const weir__cuda_bytes *bytes) {
  return bytes->count <= MOST_BYTES && (!bytes->from_host || weir__cuda_pinned_covers(bytes->args[1], bytes->count)) &&
         (!bytes->to_host || weir__cuda_pinned_covers(bytes->args[0], bytes->count));
}

weir__cuda_move weir__cuda_move_of(const weir__cuda_bytes *bytes) {
  return (weir__cuda_move){.to = (uintptr_t)bytes->args[0],
                           .from = weir__cuda_bytes_source(bytes),
                           .bytes = (uint32_t)bytes->count,
                           .fill = bytes->fill ? 1 : 0};
}

CUDA_KERNEL_NODE_PARAMS weir__cuda_mover_params(const weir__cuda_device *device, const weir__cuda_moves *moves,
                                                uint32_t count, void **parameter) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (moves->moves[i].bytes > most) most = moves->moves[i].bytes;
  }
  uint32_t blocks = (most + THREADS * THREAD_BYTES - 1) / (THREADS * THREAD_BYTES);
  *parameter = (void *)(uintptr_t)moves;
  return (CUDA_KERNEL_NODE_PARAMS){.func = device->mover,
                                   .gridDimX = blocks == 0            ? 1
                                               : blocks > MOST_BLOCKS ? MOST_BLOCKS
                                                                      : blocks,
                                   .gridDimY = count,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .kernelParams = parameter};
}
