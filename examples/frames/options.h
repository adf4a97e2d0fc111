// SPDX-License-Identifier: Apache-2.0
#ifndef FRAMES_OPTIONS_H
#define FRAMES_OPTIONS_H

#include "arguments.h"

typedef struct frames_options {
  char **files; // frames take them in turn
  int file_count;
  const char *out;             // OUT.png, of which frames get names; NULL: PNG is made and dropped
  const char *devices;         // for the context
  const char *timeline;        // file to write, or NULL
  arguments_tone tone;         //
  int frames, lines, rounds;   //
  int crop_width, crop_height; // 0: half of the first picture
  bool check;                  // compare with the serial reference
} frames_options;

// Reads the command line. When there is nothing to do, after --help or an error that it prints, returns false with the exit
// code.
bool options_read(int argc, char **argv, frames_options *out_options, int *out_exit_code);

#endif // FRAMES_OPTIONS_H
