// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/ptx_reader.h"

static bool is_word(const char *at, const char *end) {
  char c = *at;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c == '.' || c == '_' || c == '$' || c == '%' || (c == ':' && at + 1 < end && at[1] == ':');
}

void weir__ptx_skip_line(ptx_text *text) {
  while (text->at < text->end && *text->at != '\n') text->at++;
}

static void skip_comment(ptx_text *text) {
  for (text->at += 2; text->at < text->end; text->at++) {
    if (*text->at != '/' || text->at[-1] != '*') continue;
    text->at++;
    return;
  }
}

static void skip_space(ptx_text *text) {
  while (text->at < text->end) {
    char c = *text->at, next = text->at + 1 < text->end ? text->at[1] : '\0';
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
      text->at++;
    else if (c == '/' && next == '/')
      weir__ptx_skip_line(text);
    else if (c == '/' && next == '*')
      skip_comment(text);
    else
      return;
  }
}

ptx_word weir__ptx_next(ptx_text *text) {
  skip_space(text);
  ptx_word word = {text->at, 0};
  if (text->at == text->end) return word;
  if (*text->at == '"') {
    for (text->at++; text->at < text->end && *text->at != '"';) text->at++;
    if (text->at < text->end) text->at++;
    return (ptx_word){word.at, 1};
  }
  while (text->at < text->end && is_word(text->at, text->end)) text->at += *text->at == ':' ? 2 : 1;
  if (text->at == word.at) text->at++;
  word.length = (size_t)(text->at - word.at);
  return word;
}

ptx_word weir__ptx_peek(const ptx_text *text) {
  ptx_text copy = *text;
  return weir__ptx_next(&copy);
}
