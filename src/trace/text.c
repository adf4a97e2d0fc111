// SPDX-License-Identifier: Apache-2.0
#include "trace/text.h"

#include <inttypes.h>

// Bytes of the valid UTF-8 sequence at `text` (which ends in a zero byte), or 0 (Unicode 15, table 3-7).
static int sequence_length(const unsigned char *text) {
  unsigned char first = text[0], low = 0x80, high = 0xBF;
  if (first < 0x80) return 1;
  int length = first >= 0xC2 && first <= 0xDF   ? 2
               : first >= 0xE0 && first <= 0xEF ? 3
               : first >= 0xF0 && first <= 0xF4 ? 4
                                                : 0;
  if (first == 0xE0) low = 0xA0;  // no overlong forms
  if (first == 0xED) high = 0x9F; // no surrogates
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F; // not past U+10FFFF
  for (int i = 1; i < length; i++) {
    if (text[i] < low || text[i] > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

void weir__text_string(const char *text, FILE *file) {
  const unsigned char *byte = (const unsigned char *)text;
  fputc('"', file);
  while (*byte) {
    int length = sequence_length(byte);
    if (length == 0) {
      fputs("\xEF\xBF\xBD", file);
      byte++;
    } else if (*byte == '"' || *byte == '\\') {
      fprintf(file, "\\%c", *byte++);
    } else if (*byte < 0x20 || *byte == 0x7F || *byte == '<') {
      fprintf(file, "\\u%04x", *byte++);
    } else {
      fwrite(byte, 1, (size_t)length, file);
      byte += length;
    }
  }
  fputc('"', file);
}

void weir__text_number(uint64_t number, FILE *file) {
  fprintf(file, number > INT64_MAX ? "\"%" PRIu64 "\"" : "%" PRIu64, number);
}

void weir__text_us(uint64_t ns, FILE *file) {
  fprintf(file, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}
