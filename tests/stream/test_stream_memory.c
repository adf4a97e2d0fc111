// SPDX-License-Identifier: Apache-2.0
//
// Memory runs out at the Nth allocation, for every N: the reader and the writer say so, and nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_malloc.h"
#include "stream/stream.h"

static const char text[] =
    "{\"weir_stream\":1,\"name\":\"small\",\"source\":\"made\",\"sms\":132,\"tasks\":2,\"kernel_us\":10.25}\n"
    "{\"buffer\":5,\"bytes\":100,\"address\":4096}\n{\"buffer\":9,\"bytes\":64,\"address\":8192}\n"
    "{\"op\":\"first\",\"reads\":[[5,0,60]],\"writes\":[[5,50,20],[9,0,64]],\"kernels\":[{\"name\":\"k\",\"grid\":[2,3,"
    "4],"
    "\"block\":[32,2,1],\"regs\":40,\"smem\":1024,\"us\":1.183}],\"host_wait\":true}\n{\"free\":[9]}\n"
    "{\"op\":\"second\",\"reads\":[],\"writes\":[[5,0,32]],\"kernels\":[{\"name\":\"Memset\",\"bytes\":32,\"us\":1.5}]}"
    "\n";

static void test_read(void **state) {
  (void)state;
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  size_t n = 1;
  for (bool failed = true; failed && n < 100000; n++) {
    char message[300];
    weir__stream *stream = NULL;
    failing_malloc_begin(n);
    status = weir__stream_read_memory("f", text, strlen(text), message, sizeof message, &stream);
    failed = failing_malloc_end();
    assert_true((status == WEIR_OK) == (stream != NULL));
    if (status != WEIR_OK && !failing_malloc_of_parser()) {
      assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
      assert_non_null(strstr(message, "out of memory"));
    }
    weir__stream_destroy(stream);
  }
  assert_int_equal(status, WEIR_OK);
  assert_true(n > 50 && n < 100000);
}

static void test_write(void **state) {
  (void)state;
  char message[300], path[] = "/tmp/weir_stream_XXXXXX";
  weir__stream *stream = NULL;
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(weir__stream_read_memory("f", text, strlen(text), message, sizeof message, &stream), WEIR_OK);
  weir_status status = WEIR_ERROR_OUT_OF_MEMORY;
  size_t n = 1;
  for (bool failed = true; failed && n < 100000; n++) {
    failing_malloc_begin(n);
    status = weir__stream_write(stream, path, message, sizeof message);
    failed = failing_malloc_end();
    if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("allocation %zu: %s", n, message);
  }
  assert_int_equal(status, WEIR_OK);
  assert_true(n > 20 && n < 100000);
  weir__stream_destroy(stream);
  unlink(path);
}

int main(void) {
  failing_malloc_use_parser();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_write)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
