// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_TOOLS_WEIR_BENCH_REPORT_H
#define WEIR_TOOLS_WEIR_BENCH_REPORT_H

#include "bench.h"

weir__bench_report *weir__bench_report_create(void); // NULL: no memory
void weir__bench_report_destroy(weir__bench_report *report);

// Prints all results and notes to stdout (with JSON, the notes to stderr). Returns an exit code.
int weir__bench_report_print(const weir__bench_report *report, bool as_json);

#endif // WEIR_TOOLS_WEIR_BENCH_REPORT_H
