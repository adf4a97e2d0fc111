// SPDX-License-Identifier: Apache-2.0
//
// The kernel that stands for a recorded one on a Vulkan device: every thread polls the device's clock until `ticks` of it
// have passed.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_realtime_clock : require
#extension GL_GOOGLE_include_directive : require
#define NOW clockRealtime2x32EXT().x
#include "spin.glsl"
