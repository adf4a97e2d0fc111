// SPDX-License-Identifier: Apache-2.0
//
// Reading the values of options. Functions that return false have said on stderr what the value must be.
#ifndef TONEMAP_ARGUMENTS_H
#define TONEMAP_ARGUMENTS_H

#include <stdbool.h>

#include "reference.h"

// Prints a message with two texts in it, and where to find help. Returns false.
bool arguments_refuse(const char *format, const char *name, const char *text);

bool arguments_read_whole(const char *name, const char *text, int greatest, int *out_number); // from 1 on
bool arguments_read_real(const char *name, const char *text, double least, double greatest, float *out_number);
bool arguments_read_size(const char *name, const char *text, int *out_width, int *out_height); // such as 320x200
bool arguments_ends_with(const char *text, const char *ending);

// The operators and their settings.
typedef struct arguments_tone {
  tone_operator kind;
  tone_settings settings;
} arguments_tone;

extern const arguments_tone arguments_tone_default;

// Whether `name` is --operator, --radius, --contrast, --key or --white; then `*out_good` says whether the value is, too.
bool arguments_read_tone(const char *name, const char *value, arguments_tone *tone, bool *out_good);

// Once all were read: makes settings of what users say.
void arguments_settle_tone(arguments_tone *tone);

#endif // TONEMAP_ARGUMENTS_H
