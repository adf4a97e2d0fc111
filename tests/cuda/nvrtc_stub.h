// SPDX-License-Identifier: Apache-2.0
//
// A compiler with NVRTC's interface, which "compiles" a source to itself, unless the source contains "#error": then it
// fails, and the log is the source. It knows the capabilities 8.0 and 9.0 and calls itself version 12.9.
#ifndef WEIR_TESTS_NVRTC_STUB_H
#define WEIR_TESTS_NVRTC_STUB_H

#define NVRTC_STUB_API __attribute__((visibility("default")))

// How often a source was compiled, and the options of the last time, separated by spaces.
NVRTC_STUB_API int nvrtc_stub_compilations(void);
NVRTC_STUB_API const char *nvrtc_stub_options(void);

#endif // WEIR_TESTS_NVRTC_STUB_H
