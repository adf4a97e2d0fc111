// SPDX-License-Identifier: Apache-2.0
//
// What the functions of check mode on a card get as a value: stretches of an arena. Host and device code read this.
#ifndef WEIR_CHECK_TABLE_H
#define WEIR_CHECK_TABLE_H

enum { WEIR__CARD_REGIONS = 60 }; // of one launch

enum { WEIR__CARD_JUNK = 1, WEIR__CARD_OUTPUT = 2 };

typedef struct weir__card_region {
  unsigned long long at, bytes; // in the arena
  unsigned long long contents;  // where they are in the buffer's own storage, as an address
  unsigned int kind, pad;       // WEIR__CARD_*
} weir__card_region;

typedef struct weir__card_table {
  unsigned long long shift; // of the junk
  unsigned int count;       // of regions
  unsigned int variant;     // of the junk: the first arena's
  unsigned int runs;        // 1: there is no second arena
  unsigned int token;       // that the word gets if something is suspicious
  weir__card_region regions[WEIR__CARD_REGIONS];
} weir__card_table;

#endif // WEIR_CHECK_TABLE_H
