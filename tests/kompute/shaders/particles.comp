// SPDX-License-Identifier: Apache-2.0
#version 450
// A struct as the element of a buffer, another one as push constants, and a dispatch in three dimensions.
layout(local_size_x = 2, local_size_y = 2, local_size_z = 2) in;
struct Particle {
  vec3 position;
  float mass;
  uvec3 cell;
  uint seen;
};
layout(binding = 0) buffer Particles { Particle particles[]; };
layout(push_constant) uniform Step {
  vec3 velocity;
  float seconds;
  uint mark;
} push;

void main() {
  uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize, at = gl_GlobalInvocationID;
  uint i = (at.z * size.y + at.y) * size.x + at.x;
  particles[i].position += push.velocity * push.seconds;
  particles[i].cell = at;
  particles[i].seen += push.mark;
}
