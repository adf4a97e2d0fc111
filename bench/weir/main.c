// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "weir_bench.h"

int main(int argc, char **argv) {
  if (argc >= 3 && strcmp(argv[1], "submit") == 0) return weir__bench_submit_main(argc, argv);
  if (argc >= 3 && strcmp(argv[1], "ranges") == 0) return weir__bench_ranges_main(argc, argv);
  if (argc >= 3 && strcmp(argv[1], "forms") == 0) return weir__bench_forms_main(argc, argv);
  if (argc >= 3 && strcmp(argv[1], "tiles") == 0) return weir__bench_tiles_main(argc, argv);
  if (argc >= 3 && strcmp(argv[1], "wait") == 0) return weir__bench_wait_main(argc, argv);
  return weir__bench_runtime_main(&weir__bench_weir, argc, argv);
}
