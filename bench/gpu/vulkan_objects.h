// SPDX-License-Identifier: Apache-2.0
//
// What vulkan_objects.c keeps for the whole program: layouts, pipelines, the timeline of vulkan_run().
#ifndef WEIR_BENCH_GPU_VULKAN_OBJECTS_H
#define WEIR_BENCH_GPU_VULKAN_OBJECTS_H

void vulkan_objects_open(void);
void vulkan_objects_close(void);

#endif // WEIR_BENCH_GPU_VULKAN_OBJECTS_H
