// SPDX-License-Identifier: Apache-2.0
//
// The kernel that stands for a recorded one on a Vulkan device: every thread polls the clock of its subgroup until `ticks` of it
// have passed.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_ARB_shader_clock : require
#extension GL_GOOGLE_include_directive : require
#define NOW clock2x32ARB().x
#include "spin.glsl"
