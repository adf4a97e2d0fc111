// SPDX-License-Identifier: Apache-2.0
#ifndef TONEMAP_OPTIONS_H
#define TONEMAP_OPTIONS_H

#include <stdbool.h>

#include "arguments.h"

enum { OPTIONS_MAX_SHARES = 16 };

typedef struct tonemap_options {
  const char *in, *out;              // files; `out` may be NULL
  const char *devices;               // for the context
  const char *policy;                // by which rows are given to devices
  arguments_tone tone;               //
  int frames;                        // how many times a rectangle is mapped, on its way through the picture
  int crop_width, crop_height;       // of the rectangle; 0: the whole picture
  double shares[OPTIONS_MAX_SHARES]; // of the devices
  int share_count;                   // 0: none were given
  const char *plot;                  // file to write, or NULL
  bool resident;                     // contents stay on the devices between launches
  bool check;                        // compare with the serial reference
  bool efficiency;                   // measure how well the devices work together
  bool serial;                       // the serial reference alone
} tonemap_options;

// Reads the command line. When there is nothing to do, after --help or an error that it prints, returns false with the exit
// code.
bool options_read(int argc, char **argv, tonemap_options *out_options, int *out_exit_code);

#endif // TONEMAP_OPTIONS_H
