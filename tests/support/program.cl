// What one work-group of a random program's task computes on OpenCL: the same as program_code.h. program_opencl.c adds the
// kernel, whose parameters follow the task's arguments.
typedef struct body_description {
  ulong seed;
  ulong self;
  uint arg_count; // besides this one
  uint fail_group;
  uint pause;
  struct {
    uint mode;
    uint bytes;
  } args[7];
} body_description;

ulong mix_bits(ulong x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
  return x ^ (x >> 31);
}

// A value takes the place of memory where this is NULL.
ulong hash_bytes(ulong hash, __global const uchar *memory, ulong value, ulong low, ulong high) {
  ulong count = high - low, whole = count & ~7ul, word = 0;
  for (ulong i = 0; i < count; i++) {
    ulong found = memory != 0 ? memory[low + i] : value >> (8 * i) & 255;
    if (i >= whole) {
      hash = mix_bits(hash + found + 256);
      continue;
    }
    word |= found << (8 * (i & 7));
    if ((i & 7) != 7) continue;
    hash = mix_bits(hash + word + (i - 7));
    word = 0;
  }
  return hash;
}

void fill_slice(__global uchar *memory, ulong low, ulong high, ulong seed, bool adds) {
  ulong count = high - low, whole = count & ~7ul, word = 0;
  for (ulong i = 0; i < count; i++) {
    if (i >= whole || (i & 7) == 0) word = mix_bits(seed + low + i);
    memory[low + i] = (uchar)(adds ? memory[low + i] + word : word);
    word >>= 8;
  }
}

void body_group(const body_description *description, __global uchar *const *args, ulong value) {
  ulong groups_x = get_num_groups(0), groups_y = get_num_groups(1), count = groups_x * groups_y * get_num_groups(2);
  ulong group = get_group_id(0) + groups_x * (get_group_id(1) + groups_y * get_group_id(2));
  ulong hash = mix_bits(description->seed) + count + 31 * groups_x + 17 * groups_y;
  // What takes time: the mix of something that is not 0 never is.
  ulong busy = description->seed | 1;
  for (uint i = 1; i < description->pause; i += 16) busy = mix_bits(busy);
  if (busy == 0) hash++;
  // First what all work-groups read, then the slices that this one updates, then those that it writes.
  for (uint round = 0; round < 3; round++) {
    if (round == 1) hash = mix_bits(hash + group);
    for (uint a = 0; a < description->arg_count; a++) {
      uint mode = description->args[a].mode;
      ulong bytes = description->args[a].bytes, low = bytes * group / count, high = bytes * (group + 1) / count;
      if (round == 2 && mode >= 2) fill_slice(args[a], low, high, hash + (ulong)a * 977, mode == 4);
      if (round == 0 && mode <= 1) hash = hash_bytes(hash + a, args[a], value, 0, bytes);
      if (round == 1 && mode == 3) hash = hash_bytes(hash + a, args[a], value, low, high);
    }
  }
}
