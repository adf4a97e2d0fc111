// SPDX-License-Identifier: Apache-2.0
//
// The tone mapper on Weir: pictures of one size, their rows cut over the devices of a context.
#ifndef TONEMAP_MAPPER_H
#define TONEMAP_MAPPER_H

#include "reference.h"
#include "rows.h"

typedef struct mapper mapper;

typedef struct mapper_options {
  const char *devices;    // for the context
  const char *policy;     // by which rows are given to devices: a name of weir_split_find_policy
  const double *shares;   // of the devices, or NULL
  int share_count;        //
  bool resident;          // contents stay on the devices between launches
  tone_operator kind;     //
  tone_settings settings; //
  int32_t width, height;  // of the pictures
} mapper_options;

// What happened to one picture.
typedef struct mapper_report {
  double ms;              // from its first byte into Weir to the last out
  weir_split_round round; // of the launch that takes longest: the filter, or Reinhard's operator
} mapper_report;

// Functions that fail print why to stderr. Errors: as weir_context_create, weir_split_create and weir_split_submit;
// INVALID_ARGUMENT (shares for fewer or more devices than there are), OUT_OF_MEMORY.
weir_status mapper_create(const mapper_options *options, mapper **out_mapper);
void mapper_release(mapper *self);

weir_context *mapper_context(mapper *self);

// Maps the rectangle with the corner x, y and the mapper's size, which must be inside the picture. `out_pixels` gets its rows
// of pixels of three bytes, mapper_stride bytes apart.
weir_status mapper_map(mapper *self, const picture *in, int32_t x, int32_t y, uint8_t *out_pixels,
                       mapper_report *out_report);
uint64_t mapper_stride(const mapper *self);

#endif // TONEMAP_MAPPER_H
