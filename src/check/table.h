// SPDX-License-Identifier: Apache-2.0
//
// What the functions of check mode on a card get as a value: stretches of an arena, for some tasks. Host and device code read this.
#ifndef WEIR_CHECK_TABLE_H
#define WEIR_CHECK_TABLE_H

enum { WEIR__CARD_INLINE = 48 }; // regions in the value; more are in memory of the card's

enum {
  WEIR__CARD_JUNK = 1,   // it has no contents
  WEIR__CARD_OUTPUT = 2, // the task may write it
  WEIR__CARD_TWICE = 4,  // the task runs in both arenas
};

typedef struct weir__card_region {
  unsigned long long at, second; // in the card's memory for arenas: of the first run, and of the second one
  unsigned long long bytes;
  unsigned long long contents; // where they are in the buffer's own storage, as an address
  unsigned int kind;           // WEIR__CARD_*
  unsigned int task;           // of those that are checked at once
} weir__card_region;

typedef struct weir__card_table {
  unsigned long long shift; // of the junk
  unsigned long long marks; // address of a word of the host's for each task
  unsigned int count;       // of regions
  unsigned int token;       // that the words of a task get if something is suspicious
  weir__card_region regions[WEIR__CARD_INLINE];
} weir__card_table;

#endif // WEIR_CHECK_TABLE_H
