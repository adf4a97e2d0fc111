// SPDX-License-Identifier: Apache-2.0
//
// What copies and sets of adopted graphs access.
#include "device/cuda/graph/adopted.h"

// Rows at equal distances, in layers: the bytes from the first on, and whether all of them are accessed.
static weir_cuda_access rows(uint64_t first, uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch,
                             uint64_t layer, bool writes) {
  weir_cuda_access access = {.pointer = first, .mode = writes ? WEIR_WRITE : WEIR_READ};
  if (width == 0 || height == 0 || depth == 0) return access;
  access.bytes = (depth - 1) * layer + (height - 1) * pitch + width;
  if (writes && access.bytes != width * height * depth) access.mode = WEIR_READ_WRITE; // what is between stays
  return access;
}

static bool has_address(CUmemorytype type) {
  return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

bool weir__cuda_copy_accesses(const CUDA_MEMCPY3D *p, weir_cuda_access out_accesses[2]) {
  if (!has_address(p->srcMemoryType) || !has_address(p->dstMemoryType)) return false;
  uint64_t to = p->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->dstHost : p->dstDevice;
  uint64_t from = p->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->srcHost : p->srcDevice;
  uint64_t to_pitch = p->dstPitch != 0 ? p->dstPitch : p->WidthInBytes;
  uint64_t from_pitch = p->srcPitch != 0 ? p->srcPitch : p->WidthInBytes;
  uint64_t to_layer = to_pitch * (p->dstHeight != 0 ? p->dstHeight : p->Height);
  uint64_t from_layer = from_pitch * (p->srcHeight != 0 ? p->srcHeight : p->Height);
  to += p->dstXInBytes + p->dstY * to_pitch + p->dstZ * to_layer;
  from += p->srcXInBytes + p->srcY * from_pitch + p->srcZ * from_layer;
  out_accesses[0] = rows(to, p->WidthInBytes, p->Height, p->Depth, to_pitch, to_layer, true);
  out_accesses[1] = rows(from, p->WidthInBytes, p->Height, p->Depth, from_pitch, from_layer, false);
  return true;
}

void weir__cuda_set_accesses(const CUDA_MEMSET_NODE_PARAMS *p, weir_cuda_access *out_access) {
  uint64_t width = p->width * p->elementSize, pitch = p->height > 1 ? p->pitch : width;
  *out_access = rows(p->dst, width, p->height, 1, pitch, 0, true);
}
