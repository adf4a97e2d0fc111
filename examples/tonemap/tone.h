// SPDX-License-Identifier: Apache-2.0
//
// What the kernels (operators.c) and the serial reference (reference.c) share: settings, and arithmetic that gives the same
// bits on every device, because it is made of additions and multiplications of float only. Plain C, C++ and OpenCL C.
#ifndef TONEMAP_TONE_H
#define TONEMAP_TONE_H

#ifndef WEIR_FUNCTION // outside of kernels
#include <stdint.h>
#define WEIR_FUNCTION static inline
#endif

enum {
  TONE_ITEMS = 128,     // work-items of a work-group, which handles a row of pixels
  TONE_MAX_RADIUS = 32, // of the bilateral filter
  TONE_LOG_STEPS =
      1024, // sums of logarithms are taken in integer steps of 1 / 1024, so that their order does not matter
  TONE_FAR_BITS = 0x4e800000 // 2^30 as a float: a logarithm so far from all others that it has no weight
};

// What the user chose.
typedef struct tone_settings {
  float key; // Reinhard: the luminance that the log-average becomes, 0.18 for a picture that is neither dark nor light
  float
      white; // Reinhard: the least luminance that becomes white, after scaling by the key; 0: that of the brightest pixel
  float contrast; // Durand: log2 of the contrast that the base layer is left with
  float range;    // Durand: 1 / the difference of log2 luminances from which on neighbours have no weight
  int32_t radius; // Durand: of the window, in pixels; 0 for Reinhard
} tone_settings;

// Sizes of a picture, as the kernels need them.
typedef struct tone_shape {
  int32_t width;  // pixels of a row
  int32_t pitch;  // the same, rounded up to TONE_ITEMS
  int32_t rows;   // of the whole picture
  int32_t radius; // of the filter: rows of logarithms have `radius` more numbers at either end
} tone_shape;

// What all pixels have in common, once the whole picture was looked at.
typedef struct tone_common {
  float scale; // Reinhard: of luminances
  float white; // Reinhard: 1 / white^2. Durand: the logarithm that becomes white
  float slope; // Durand: of the base layer
  float unused;
} tone_common;

typedef struct tone_log_row {
  int32_t sum;    // of the logarithms of a row, in steps
  float greatest; // of them
} tone_log_row;

typedef struct tone_base_row {
  int64_t sum, squares; // of a row of the base layer, in steps
} tone_base_row;

WEIR_FUNCTION float tone_of_bits(uint32_t bits) {
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
  return as_float(bits);
#elif defined(__CUDACC__)
  return __uint_as_float(bits);
#else
  union {
    uint32_t bits;
    float number;
  } both;
  both.bits = bits;
  return both.number;
#endif
}

WEIR_FUNCTION uint32_t tone_bits(float number) {
#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
  return as_uint(number);
#elif defined(__CUDACC__)
  return __float_as_uint(number);
#else
  union {
    uint32_t bits;
    float number;
  } both;
  both.number = number;
  return both.bits;
#endif
}

// log2 of a normal number > 0, to 2e-7 or the last bit: the exponent, and a polynomial on [sqrt(1/2), sqrt(2)).
WEIR_FUNCTION float tone_log2(float x) {
  uint32_t bits = tone_bits(x) - 0x3f3504f3u; // of sqrt(1/2): what carries into the exponent is above sqrt(2)
  int32_t exponent = (int32_t)bits >> 23;
  float f = tone_of_bits((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float sum = 0.123109683f;
  sum = sum * f - 0.205861881f;
  sum = sum * f + 0.216078222f;
  sum = sum * f - 0.239169881f;
  sum = sum * f + 0.287903249f;
  sum = sum * f - 0.360693276f;
  sum = sum * f + 0.480910748f;
  sum = sum * f - 0.721347451f;
  sum = sum * f + 1.44269502f;
  return sum * f + (float)exponent;
}

// 2^x to about 1e-7 of it, for x of -120 to 120, to which others are clamped.
WEIR_FUNCTION float tone_exp2(float x) {
  x = x < -120.0f ? -120.0f : x > 120.0f ? 120.0f : x;
  int32_t whole = (int32_t)(x + 128.5f) - 128; // nearest
  float f = x - (float)whole;
  float sum = 0.000154614449f;
  sum = sum * f + 0.0013400428f;
  sum = sum * f + 0.00961805694f;
  sum = sum * f + 0.0555032715f;
  sum = sum * f + 0.240226507f;
  sum = sum * f + 0.693147182f;
  sum = sum * f + 1.0f;
  return sum * tone_of_bits((uint32_t)(whole + 127) << 23);
}

// 1 / x for x of 2^-120 to 2^120: Newton's iteration from a guess by the exponent. OpenCL's division may be less exact.
WEIR_FUNCTION float tone_reciprocal(float x) {
  float guess = tone_of_bits(0x7ef311c7u - tone_bits(x));
  guess = guess * (2.0f - x * guess);
  guess = guess * (2.0f - x * guess);
  guess = guess * (2.0f - x * guess);
  return guess * (2.0f - x * guess);
}

// Relative luminance of linear RGB with the primaries of sRGB (Rec. 709), never below 2^-20.
WEIR_FUNCTION float tone_luminance(float red, float green, float blue) {
  float luminance = 0.2126f * red + 0.7152f * green + 0.0722f * blue;
  return luminance < 9.5367431640625e-7f ? 9.5367431640625e-7f : luminance;
}

// A linear number as sRGB of 8 bits (IEC 61966-2-1).
WEIR_FUNCTION int32_t tone_srgb(float linear) {
  float clamped = linear < 0.0031308f ? 0.0031308f : linear > 1.0f ? 1.0f : linear;
  float curve = 1.055f * tone_exp2(tone_log2(clamped) * 0.416666667f) - 0.055f;
  float value = linear < 0.0031308f ? (linear < 0.0f ? 0.0f : linear) * 12.92f : curve;
  return (int32_t)(value * 255.0f + 0.5f);
}

// Reinhard's global operator: by what to multiply a pixel of this luminance.
WEIR_FUNCTION float tone_reinhard(float luminance, tone_common common) {
  float scaled = luminance * common.scale;
  return common.scale * (1.0f + scaled * common.white) * tone_reciprocal(1.0f + scaled);
}

// Durand and Dorsey's operator: by what to multiply a pixel whose logarithm of luminance has this base. The base layer is
// compressed; what the logarithm differs from it by, the detail, stays.
WEIR_FUNCTION float tone_durand(float base, tone_common common) {
  return tone_exp2((base - common.white) * common.slope - base);
}

// Weight of a neighbour whose logarithm of luminance differs so much: Tukey's biweight.
WEIR_FUNCTION float tone_weight(float difference, float range) {
  float ratio = difference * range, rest = 1.0f - ratio * ratio;
  rest = rest < 0.0f ? 0.0f : rest;
  return rest * rest;
}

// The logarithm of a luminance in steps; the least one has 0.
WEIR_FUNCTION int32_t tone_steps(float logarithm) {
  return (int32_t)((logarithm + 20.0f) * (float)TONE_LOG_STEPS);
}

// Reinhard's common values, from the sum of all logarithms in steps and the greatest logarithm.
WEIR_FUNCTION tone_common tone_expose(int64_t sum, float greatest, int32_t pixels, tone_settings settings) {
  tone_common common;
  // In integers: the mean in 1 / 256 of a step.
  float mean = (float)(int32_t)(sum * 256 / pixels) * (1.0f / 256 / TONE_LOG_STEPS) - 20.0f;
  common.scale = settings.key * tone_exp2(-mean);
  float white = settings.white > 0.0f ? settings.white : common.scale * tone_exp2(greatest);
  white = white < 1.0f ? 1.0f : white; // a picture without highlights is not made brighter
  common.white = tone_reciprocal(white * white);
  common.slope = 0.0f;
  common.unused = 0.0f;
  return common;
}

// Durand and Dorsey's common values, from the sum of all numbers of the base layer in steps, and of their squares. The paper
// takes the base layer's extremes; a sun or a black pixel would leave nothing for the rest. So black and white are 2.5
// standard deviations below and above the mean. Contrast is never increased.
WEIR_FUNCTION tone_common tone_compress(int64_t sum, int64_t squares, int32_t pixels, tone_settings settings) {
  tone_common common;
  int64_t mean = sum / pixels, variance = squares / pixels - mean * mean;
  float deviation =
      tone_exp2(0.5f * tone_log2((float)(int32_t)(variance < 1 ? 1 : variance))) * (1.0f / TONE_LOG_STEPS);
  float contrast = 5.0f * deviation;
  common.slope = contrast > settings.contrast ? settings.contrast * tone_reciprocal(contrast) : 1.0f;
  common.white = (float)(int32_t)mean * (1.0f / TONE_LOG_STEPS) - 20.0f + 2.5f * deviation;
  common.scale = 0.0f;
  common.unused = 0.0f;
  return common;
}

#endif // TONEMAP_TONE_H
