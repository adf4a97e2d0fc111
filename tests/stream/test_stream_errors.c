// SPDX-License-Identifier: Apache-2.0
//
// Whatever is not a stream is refused with file and line, and with task, buffer and byte range where there is one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/stream.h"

#define HEAD(tasks) "{\"weir_stream\":1,\"name\":\"s\",\"sms\":4,\"tasks\":" #tasks "}\n"
#define BUFFER(id, bytes, address) "{\"buffer\":" #id ",\"bytes\":" #bytes ",\"address\":" #address "}\n"
#define TASK(fields) "{\"op\":\"t\"," fields "}\n"
#define LISTS "\"reads\":[],\"writes\":[]"
#define KERNEL(fields) HEAD(1) TASK(LISTS ",\"kernels\":[{" fields "}]")
#define LAUNCH(grid, block) "\"name\":\"k\",\"us\":1,\"grid\":[" grid "],\"block\":[" block "],\"regs\":1,\"smem\":0"
#define READS(list) HEAD(1) BUFFER(7, 64, 0) TASK("\"reads\":" list ",\"writes\":[],\"kernels\":[]")
#define WRITES(list) HEAD(1) BUFFER(7, 64, 0) TASK("\"reads\":[],\"writes\":" list ",\"kernels\":[]")

typedef struct bad_stream {
  const char *text, *message; // the message starts with this
} bad_stream;

static const bad_stream bad[] = {
    // text and lines
    {"", "f: the file is empty"},
    {"\n  \n", "f:2: no header"},
    {"{", "f:1: column "},
    {"\x7f"
     "ELF\x01\x02",
     "f:1: column "},
    {"hello", "f:1: column "},
    {"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}", "f:1: this is a timeline, and no recorded stream"},
    {"\n{\"displayTimeUnit\"", "f:2: column "},
    {"[1]\n", "f:1: not an object"},
    {"{}\n", "f:1: has none of weir_stream, buffer, free and op"},
    {HEAD(0) "{\"more\":1}\n", "f:2: has none of weir_stream, buffer, free and op"},
    {HEAD(0) "\n\n{\"buffer\":1,}\n", "f:4: column "},
    {HEAD(0) "{\"free\":[]} {\"free\":[]}\n", "f:2: column "},
    {HEAD(0) "{\"free\":[\xff]}\n", "f:2: column"},
    {HEAD(0) "{\"free\":[],\"free\":[]}\n", "f:2: column"}, // keys given twice
    {HEAD(1) "{\"op\":\"a\\u0000b\",\"reads\":[],\"writes\":[],\"kernels\":[]}\n", "f:2: column"},
    // numbers of tasks
    {HEAD(1) TASK(LISTS ",\"kernels\":[],\"task\":0"), "f:2: task 't': task is 0, which is not in 1 to"},
    {HEAD(1) TASK(LISTS ",\"kernels\":[],\"task\":\"7\""), "f:2: task 't': task is not a whole number"},
    {HEAD(2) TASK(LISTS ",\"kernels\":[],\"task\":7") TASK(LISTS ",\"kernels\":[],\"task\":7"),
     "f:3: task 't' has number 7, like the task of line 2"},
    {HEAD(2) TASK(LISTS ",\"kernels\":[],\"task\":7") TASK(LISTS ",\"kernels\":[]"),
     "f:3: task 't' has no number (task), unlike those before it"},
    {HEAD(2) TASK(LISTS ",\"kernels\":[]") TASK(LISTS ",\"kernels\":[],\"task\":7"),
     "f:3: task 't' has a number (task), unlike those before it"},
    // header
    {BUFFER(1, 1, 1), "f:1: a header (weir_stream) must come first"},
    {HEAD(0) HEAD(0), "f:2: a second header"},
    {"{\"weir_stream\":2}", "f:1: format version 2 is not known, only 1"},
    {"{\"weir_stream\":\"1\"}", "f:1: header: weir_stream is not a whole number"},
    {"{\"weir_stream\":1}", "f:1: header: name is missing"},
    {"{\"weir_stream\":1,\"name\":5}", "f:1: header: name is not a text"},
    {"{\"weir_stream\":1,\"name\":\"s\"}", "f:1: header: sms is missing"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":0}", "f:1: header: sms is 0, which is not in 1 to 65536"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1}", "f:1: header: tasks is missing"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":-1}", "f:1: header: tasks is negative (-1)"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0,\"kernels\":[]}",
     "f:1: header: kernels is not a whole number"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0,\"kernels\":1}",
     "f:1: the file has 0 kernels, the header says 1"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0,\"device\":1}", "f:1: header: device is not a text"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0,\"eager_us\":-1}",
     "f:1: header: eager_us is -1, which is"},
    {"{\"weir_stream\":1,\"name\":\"s\",\"sms\":1,\"tasks\":0,\"eager_us\":\"1\"}",
     "f:1: header: eager_us is not a number"},
    {"{\"weir_stream\":1,\"op\":\"x\"}", "f:1: has both weir_stream and op"},
    {HEAD(1), "f:1: the file ends after 0 tasks, the header says 1"},
    {HEAD(0) TASK(LISTS ",\"kernels\":[]"), "f:2: the file ends after 1 tasks, the header says 0"},
    // buffers
    {HEAD(0) BUFFER(-1, 1, 1), "f:2: buffer: buffer is negative (-1)"},
    {HEAD(0) BUFFER(1.5, 1, 1), "f:2: buffer: buffer is not a whole number"},
    {HEAD(0) BUFFER(null, 1, 1), "f:2: buffer: buffer is not a whole number"},
    {HEAD(0) "{\"buffer\":1}\n", "f:2: buffer 1: bytes is missing"},
    {HEAD(0) BUFFER(1, 0, 1), "f:2: buffer 1: bytes is 0, which is not in 1 to 9223372036854775807"},
    {HEAD(0) BUFFER(1, 1.0, 1), "f:2: buffer 1: bytes is not a whole number"},
    {HEAD(0) BUFFER(1, 1e3, 1), "f:2: buffer 1: bytes is not a whole number"},
    {HEAD(0) BUFFER(1, "9", 1), "f:2: buffer 1: bytes is not a whole number"},
    {HEAD(0) BUFFER(1, 9223372036854775808, 1), "f:2: column"}, // does not fit 63 bits
    {HEAD(0) BUFFER(1, 1e999, 1), "f:2: column"},
    {HEAD(0) "{\"buffer\":1,\"bytes\":1}\n", "f:2: buffer 1: address is missing"},
    {HEAD(0) BUFFER(1, 9223372036854775807, 1), "f:2: buffer 1: address 1 + 9223372036854775807 bytes passes 2^63"},
    {HEAD(0) BUFFER(1, 9223372036854775807, 0) "{\"free\":[1]}\n" BUFFER(2, 1, 0),
     "f:4: buffer 2: all buffers together pass 2^63 bytes"},
    {HEAD(0) BUFFER(1, 1, 1) "\n" BUFFER(1, 1, 9), "f:4: buffer 1 is there already, in line 2"},
    {HEAD(0) BUFFER(1, 1, 1) "{\"free\":[1]}\n" BUFFER(1, 1, 9), "f:4: buffer 1 is there already, in line 2"},
    {HEAD(0) BUFFER(1, 10, 100) BUFFER(2, 10, 109) BUFFER(3, 1, 500),
     "f:3: buffer 2 at [109, 119) overlaps buffer 1 at [100, 110) of line 2, which is not freed"},
    {HEAD(0) BUFFER(1, 10, 100) BUFFER(2, 1, 104), "f:3: buffer 2 at [104, 105) overlaps buffer 1 at [100, 110)"},
    {HEAD(0) BUFFER(1, 1, 104) BUFFER(2, 10, 100), "f:3: buffer 2 at [100, 110) overlaps buffer 1 at [104, 105)"},
    {HEAD(0) BUFFER(1, 1, 1) "{\"free\":[1]}\n" BUFFER(2, 1, 1) BUFFER(3, 1, 1),
     "f:5: buffer 3 at [1, 2) overlaps buffer 2"},
    {"{\"weir_stream\":1,\"buffer\":1}", "f:1: has both weir_stream and buffer"},
    // free
    {HEAD(0) "{\"free\":7}\n", "f:2: free: free is not a list"},
    {HEAD(0) "{\"free\":[\"7\"]}\n", "f:2: free: a buffer is not a whole number"},
    {HEAD(0) "{\"free\":[7]}\n", "f:2: free: buffer 7 is unknown"},
    {HEAD(0) BUFFER(7, 1, 1) "{\"free\":[7,7]}\n", "f:3: free: buffer 7 was freed before"},
    {HEAD(0) BUFFER(7, 1, 1) "{\"free\":[7]}\n{\"free\":[7]}\n", "f:4: free: buffer 7 was freed before"},
    {HEAD(0) "{\"free\":[],\"buffer\":1}\n", "f:2: has both buffer and free"},
    // tasks
    {HEAD(1) "{\"op\":7}\n", "f:2: task: op is not a text"},
    {HEAD(1) TASK("\"reads\":[]"), "f:2: task 't': writes is missing"},
    {HEAD(1) TASK("\"writes\":[]"), "f:2: task 't': reads is missing"},
    {HEAD(1) TASK(LISTS), "f:2: task 't': kernels is missing"},
    {HEAD(1) TASK(LISTS ",\"kernels\":{}"), "f:2: task 't': kernels is not a list"},
    {HEAD(1) TASK(LISTS ",\"kernels\":[],\"host_wait\":1"), "f:2: task 't': host_wait is not true or false"},
    {HEAD(1) TASK(LISTS ",\"kernels\":[],\"free\":[]"), "f:2: has both free and op"},
    {HEAD(1) "{\"op\":\"\\u001b[31m\\n\",\"reads\":0}", "f:2: task '?[31m?': reads is not a list"},
    {READS("[7]"), "f:3: task 't': an entry of reads is not [buffer, offset, bytes]"},
    {READS("[[7,0]]"), "f:3: task 't': an entry of reads is not [buffer, offset, bytes]"},
    {READS("[[7,0,1,1]]"), "f:3: task 't': an entry of reads is not [buffer, offset, bytes]"},
    {READS("[[7,-1,1]]"), "f:3: task 't': the offset of a range is negative (-1)"},
    {READS("[[7,0,1.5]]"), "f:3: task 't': the length of a range is not a whole number"},
    {READS("[[null,0,1]]"), "f:3: task 't': the buffer of a range is not a whole number"},
    {READS("[[8,4,6]]"), "f:3: task 't' reads buffer 8 [4, 10): the buffer is unknown"},
    {READS("[[7,0,65]]"), "f:3: task 't' reads buffer 7 [0, 65): the buffer has 64 bytes"},
    {READS("[[7,65,0]]"), "f:3: task 't' reads buffer 7 [65, 65): the buffer has 64 bytes"},
    {READS("[[7,9223372036854775807,9223372036854775807]]"), "f:3: task 't' reads buffer 7 [9223372036854775807, 184"},
    {WRITES("[[7,0,64],[7,64,1]]"), "f:3: task 't' writes buffer 7 [64, 65): the buffer has 64 bytes"},
    {WRITES("[],\"commutes\":[[7,60,5]]"), "f:3: task 't' commutes on buffer 7 [60, 65): the buffer has 64 bytes"},
    {WRITES("[],\"commutes\":7"), "f:3: task 't': commutes is not a list"},
    {HEAD(1) BUFFER(7, 64, 0) "{\"free\":[7]}\n" TASK("\"reads\":[],\"writes\":[[7,0,8]],\"kernels\":[]"),
     "f:4: task 't' writes buffer 7 [0, 8): the buffer was freed before"},
    // kernels
    {HEAD(1) TASK(LISTS ",\"kernels\":[5]"), "f:2: task 't': a kernel is not an object"},
    {KERNEL(""), "f:2: task 't': a kernel: name is missing"},
    {KERNEL("\"name\":\"k\""), "f:2: task 't': kernel 'k': us is missing"},
    {KERNEL("\"name\":\"k\",\"us\":\"1\""), "f:2: task 't': kernel 'k': us is not a number"},
    {KERNEL("\"name\":\"k\",\"us\":-0.5"), "f:2: task 't': kernel 'k': us is -0.5, which is not in 0 to 1e+09"},
    {KERNEL("\"name\":\"k\",\"us\":1e300"), "f:2: task 't': kernel 'k': us is 1e+300, which is not in 0 to 1e+09"},
    {KERNEL("\"name\":\"k\",\"us\":NaN"), "f:2: column"},
    {KERNEL("\"name\":\"k\",\"us\":1"), "f:2: task 't': kernel 'k' has neither grid nor bytes"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"bytes\":1,\"grid\":[1,1,1]"),
     "f:2: task 't': kernel 'k' has both grid and bytes"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"bytes\":0"), "f:2: task 't': kernel 'k': bytes is 0, which is not in 1 to"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":[1,1,1]"), "f:2: task 't': kernel 'k': block is missing"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":[1,1]"), "f:2: task 't': kernel 'k': grid does not have 3 numbers"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":5"), "f:2: task 't': kernel 'k': grid is not a list"},
    {KERNEL(LAUNCH("0,1,1", "1,1,1")), "f:2: task 't': kernel 'k': grid is 0, which is not in 1 to 2147483647"},
    {KERNEL(LAUNCH("1,65536,1", "1,1,1")), "f:2: task 't': kernel 'k': grid is 65536, which is not in 1 to 65535"},
    {KERNEL(LAUNCH("2147483647,65535,65535", "1,1,1")),
     "f:2: task 't': kernel 'k': grid has a product of more than 1099511627776"},
    {KERNEL(LAUNCH("1,1,1", "1025,1,1")), "f:2: task 't': kernel 'k': block is 1025, which is not in 1 to 1024"},
    {KERNEL(LAUNCH("1,1,1", "32,32,2")), "f:2: task 't': kernel 'k': block has a product of more than 1024"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":[1,1,1],\"block\":[1,1,1]"),
     "f:2: task 't': kernel 'k': regs is missing"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":[1,1,1],\"block\":[1,1,1],\"regs\":9999"),
     "f:2: task 't': kernel 'k': regs is 9999, which is not in 0 to 1024"},
    {KERNEL("\"name\":\"k\",\"us\":1,\"grid\":[1,1,1],\"block\":[1,1,1],\"regs\":1,\"smem\":-1"),
     "f:2: task 't': kernel 'k': smem is negative (-1)"},
};

// Reads from memory of its own, so that the sanitizer sees reads past the end.
static weir_status read_text(const char *text, size_t bytes, char message[400]) {
  weir__stream *stream = NULL;
  char *copy = malloc(bytes > 0 ? bytes : 1);
  assert_non_null(copy);
  memcpy(copy, text, bytes);
  weir_status status = weir__stream_read_memory("f", copy, bytes, message, 400, &stream);
  assert_true((status == WEIR_OK) == (stream != NULL));
  assert_true((status == WEIR_OK) == (message[0] == '\0'));
  weir__stream_destroy(stream);
  free(copy);
  return status;
}

static void assert_refused(const char *text, size_t bytes, const char *start) {
  char message[400];
  assert_int_equal(read_text(text, bytes, message), WEIR_ERROR_INVALID_ARGUMENT);
  if (strncmp(message, start, strlen(start)) != 0) fail_msg("'%.200s' says '%s', not '%s'", text, message, start);
}

static void test_bad_streams(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_refused(bad[i].text, strlen(bad[i].text), bad[i].message);
}

static void test_good_streams(void **state) {
  (void)state;
  static const char *const good[] = {
      HEAD(0),
      "\n\r\n \t\n" HEAD(0) "\n\n",
      "{\"weir_stream\":1,\"name\":\"\",\"sms\":1,\"tasks\":0,\"more\":{\"x\":[1,2.5,\"y\",null]},\"source\":null}",
      HEAD(0) "{\"free\":[],\"more\":1}\r\n",
      HEAD(0) BUFFER(0, 9223372036854775807, 0),
      HEAD(0) BUFFER(1, 10, 100) BUFFER(2, 10, 110) BUFFER(3, 10, 90),
      READS("[[7,0,0],[7,64,0],[7,0,64],[7,3,4]]"),
      KERNEL(LAUNCH("2147483647,1,1", "1024,1,1")),
      KERNEL("\"name\":\"k\",\"us\":0,\"bytes\":1"),
      HEAD(1) TASK(LISTS ",\"kernels\":[],\"host_wait\":false"),
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char message[400];
    if (read_text(good[i], strlen(good[i]), message) != WEIR_OK) fail_msg("'%s' says '%s'", good[i], message);
  }
}

static void test_zero_bytes_in_text(void **state) {
  (void)state;
  static const char in_blank[] = HEAD(0) "\0\n", in_object[] = HEAD(0) "{\"free\":\0[]}\n", alone[] = "\0\0\0";
  assert_refused(in_blank, sizeof in_blank - 1, "f:2: column");
  assert_refused(in_object, sizeof in_object - 1, "f:2: column");
  assert_refused(alone, sizeof alone - 1, "f:1: column");
}

static void test_deep_nesting(void **state) {
  (void)state;
  size_t bytes = 500000;
  char *text = malloc(bytes);
  assert_non_null(text);
  memset(text, '[', bytes);
  assert_refused(text, bytes, "f:1: column ");
  for (size_t i = 0; i + 5 <= bytes; i += 5) memcpy(text + i, "{\"a\":", 5);
  assert_refused(text, bytes, "f:1: column");
  free(text);
}

// A line of 100 MB is refused without being held, in memory and in a file.
static void test_long_line(void **state) {
  (void)state;
  size_t bytes = 100u << 20;
  char *text = malloc(bytes), path[] = "/tmp/weir_stream_XXXXXX", message[400], wanted[400];
  assert_non_null(text);
  memset(text, ' ', bytes);
  memcpy(text, HEAD(0), strlen(HEAD(0)));
  weir__stream *stream = NULL;
  assert_int_equal(weir__stream_read_memory("f", text, bytes, message, sizeof message, &stream),
                   WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(message, "f:2: the line is longer than 1048576 bytes");

  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, bytes), (ssize_t)bytes);
  close(file);
  assert_int_equal(weir__stream_read(path, message, sizeof message, &stream), WEIR_ERROR_INVALID_ARGUMENT);
  snprintf(wanted, sizeof wanted, "%s:2: the line is longer than 1048576 bytes", path);
  assert_string_equal(message, wanted);
  assert_null(stream);
  unlink(path);
  free(text);
}

// More accesses than weir_submit takes.
static void test_too_many_accesses(void **state) {
  (void)state;
  char *text = NULL, message[400];
  for (int count = WEIR_MAX_ARGS; count <= WEIR_MAX_ARGS + 1; count++) {
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs(HEAD(1) BUFFER(1, 100000, 0) "{\"op\":\"many\",\"writes\":[],\"kernels\":[],\"reads\":[", out);
    for (int i = 0; i < count; i++) fprintf(out, "%s[1,%d,1]", i ? "," : "", 2 * i);
    fputs("]}\n", out);
    fclose(out);
    weir_status wanted = count == WEIR_MAX_ARGS ? WEIR_OK : WEIR_ERROR_INVALID_ARGUMENT;
    assert_int_equal(read_text(text, size, message), wanted);
    if (wanted != WEIR_OK) assert_string_equal(message, "f:3: task 'many' has 1025 separate accesses, more than 1024");
    free(text);
  }
}

static void test_files(void **state) {
  (void)state;
  char message[400];
  weir__stream *stream = NULL;
  assert_int_equal(weir__stream_read("/no/such/file", message, sizeof message, &stream), WEIR_ERROR_IO);
  assert_string_equal(message, "/no/such/file: No such file or directory");
  assert_int_equal(weir__stream_read("/", message, sizeof message, &stream), WEIR_ERROR_IO);
  assert_string_equal(message, "/: Is a directory");
  assert_int_equal(weir__stream_read("/dev/null", message, sizeof message, &stream), WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(message, "/dev/null: the file is empty");
  assert_null(stream);
}

// A message that does not fit is cut, and one that is not wanted is not written.
static void test_small_message(void **state) {
  (void)state;
  char message[8] = "xxxxxxx";
  weir__stream *stream = NULL;
  assert_int_equal(weir__stream_read_memory("name", "{", 1, message, 6, &stream), WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(message, "name:");
  assert_int_equal(weir__stream_read_memory("name", "{", 1, NULL, 0, &stream), WEIR_ERROR_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_streams),
      cmocka_unit_test(test_good_streams),
      cmocka_unit_test(test_zero_bytes_in_text),
      cmocka_unit_test(test_deep_nesting),
      cmocka_unit_test(test_long_line),
      cmocka_unit_test(test_too_many_accesses),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_small_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
