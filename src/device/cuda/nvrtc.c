// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvrtc.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/disk_cache.h"
#include "base/error.h"
#include "device/loader.h"

enum { MAX_OPTIONS = 64 };

static bool start(void *table, char *reason, size_t size) {
  weir__nvrtc *nvrtc = table;
  if (nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) == NVRTC_SUCCESS) return true;
  snprintf(reason, size, "NVRTC does not tell its version");
  return false;
}

const weir__nvrtc *weir__nvrtc_load(char *reason, size_t size) {
  static const weir__symbol SYMBOLS[] = {
#define SYMBOL(member, symbol, need, parameters) WEIR__SYMBOL(weir__nvrtc, member, symbol, need),
      WEIR__NVRTC_SYMBOLS(SYMBOL)
#undef SYMBOL
  };
  static const char *const FILES[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  static weir__nvrtc nvrtc;
  static weir__library library = {.name = "NVRTC",
                                  .lacks = "NVRTC lacks",
                                  .variable = "WEIR_NVRTC",
                                  .files = FILES,
                                  .home_variable = "CUDA_HOME",
                                  .home = "/usr/local/cuda",
                                  .symbols = WEIR__SYMBOLS_OF(SYMBOLS),
                                  .table = &nvrtc,
                                  .start = start};
  return weir__library_load(&library, reason, size);
}

// One compilation.
typedef struct compilation {
  const weir__nvrtc *nvrtc;
  const char *kernel, *source;
  char *words;                          // the options, cut at spaces
  const char *options[MAX_OPTIONS + 1]; // the architecture is the last one
  int option_count;
  char architecture[48];
  bool binary; // a cubin, not PTX
  bool cached_only;
  bool wants_ptx;
  char *ptx; // of a cubin; "": there is none
  size_t ptx_bytes;
} compilation;

// The architecture's option: sm_90 if NVRTC knows it, else the newest compute_NN below. Options of the caller's that
// name one go first.
static weir_status choose_architecture(compilation *job, int capability) {
  int count = 0, known[256] = {0}, best = 0;
  if (job->nvrtc->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > 256 ||
      job->nvrtc->nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
    count = 0;
  for (int i = 0; i < count; i++)
    if (known[i] <= capability && known[i] > best) best = known[i];
  if (best == 0)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s': NVRTC %d.%d has no code for compute capability %d.%d",
                       job->kernel, job->nvrtc->major, job->nvrtc->minor, capability / 10, capability % 10);
  job->binary = best == capability;
  snprintf(job->architecture, sizeof job->architecture, "--gpu-architecture=%s_%d", job->binary ? "sm" : "compute",
           best);
  return WEIR_OK;
}

static bool names_architecture(const char *option) {
  return strncmp(option, "-arch", 5) == 0 || strncmp(option, "--gpu-architecture", 18) == 0;
}

static weir_status cut_options(compilation *job, const char *options) {
  job->words = weir__allocate_string(options != NULL ? options : "");
  if (job->words == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory", job->kernel);
  char *rest = NULL;
  bool named = false;
  for (char *word = strtok_r(job->words, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
    if (job->option_count == MAX_OPTIONS)
      return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "kernel '%s': more than %d compiler options", job->kernel,
                         MAX_OPTIONS);
    if (names_architecture(word)) {
      named = true;
      job->binary = strstr(word, "compute_") == NULL;
    }
    job->options[job->option_count++] = word;
  }
  if (!named) job->options[job->option_count++] = job->architecture;
  return WEIR_OK;
}

static weir_status failure(const compilation *job, nvrtcResult result, nvrtcProgram program) {
  weir_status status = result == NVRTC_ERROR_OUT_OF_MEMORY               ? WEIR_ERROR_OUT_OF_MEMORY
                       : result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? WEIR_ERROR_UNAVAILABLE
                                                                         : WEIR_ERROR_INVALID_ARGUMENT;
  size_t bytes = 0;
  char *log = NULL;
  if (program != NULL && job->nvrtc->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1)
    log = weir__allocate_zeroed(bytes + 1);
  if (log != NULL) job->nvrtc->nvrtcGetProgramLog(program, log);
  weir__error(status, "kernel '%s' does not compile (NVRTC %d.%d, error %d):\n%s", job->kernel, job->nvrtc->major,
              job->nvrtc->minor, (int)result, log != NULL ? log : "no log");
  weir__free(log);
  return status;
}

static nvrtcResult get_image(const compilation *job, nvrtcProgram program, void **out_image, size_t *out_bytes) {
  const weir__nvrtc *nvrtc = job->nvrtc;
  nvrtcResult result =
      job->binary ? nvrtc->nvrtcGetCUBINSize(program, out_bytes) : nvrtc->nvrtcGetPTXSize(program, out_bytes);
  if (result != NVRTC_SUCCESS) return result;
  *out_image = weir__allocate(*out_bytes + 1);
  if (*out_image == NULL) return NVRTC_ERROR_OUT_OF_MEMORY;
  return job->binary ? nvrtc->nvrtcGetCUBIN(program, *out_image) : nvrtc->nvrtcGetPTX(program, *out_image);
}

// Of a cubin. NVRTC has it but for code that is to be linked later; without it nothing is lost but checks.
static void get_ptx(compilation *job, nvrtcProgram program) {
  size_t bytes = 0;
  if (!job->binary || !job->wants_ptx) return;
  if (job->nvrtc->nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS) bytes = 0;
  job->ptx = weir__allocate_zeroed(bytes + 1);
  if (job->ptx == NULL) return;
  job->ptx_bytes = bytes + 1;
  if (bytes == 0 || job->nvrtc->nvrtcGetPTX(program, job->ptx) != NVRTC_SUCCESS) job->ptx_bytes = 1;
}

static weir_status compile(compilation *job, void **out_image, size_t *out_bytes) {
  nvrtcProgram program = NULL;
  char name[64];
  snprintf(name, sizeof name, "%.48s.cu", job->kernel);
  nvrtcResult result = job->nvrtc->nvrtcCreateProgram(&program, job->source, name, 0, NULL, NULL);
  if (result == NVRTC_SUCCESS) result = job->nvrtc->nvrtcCompileProgram(program, job->option_count, job->options);
  if (result == NVRTC_SUCCESS) result = get_image(job, program, out_image, out_bytes);
  if (result == NVRTC_SUCCESS) get_ptx(job, program);
  weir_status status = WEIR_OK;
  if (result != NVRTC_SUCCESS) {
    status = failure(job, result, program);
    weir__free(*out_image);
    *out_image = NULL;
  }
  if (program != NULL) job->nvrtc->nvrtcDestroyProgram(&program);
  return status;
}

// Whether the word "include" that begins here is in a comment (`//`), or in a line of weir/kernel.h for other compilers.
static bool includes_nothing(const char *source, const char *word) {
  static const char *const HOSTS[] = {"<math.h>",        "<stdbool.h>",       "<stdint.h>",     "<string.h>",
                                      "\"weir/cuda.h\"", "\"weir/opencl.h\"", "\"weir/weir.h\""};
  const char *line = word;
  while (line > source && line[-1] != '\n') line--;
  for (const char *at = line; at + 1 < word && memcmp(at, "/*", 2) != 0; at++)
    if (memcmp(at, "//", 2) == 0) return true;
  for (size_t i = 0; i < sizeof HOSTS / sizeof HOSTS[0]; i++) {
    size_t length = strlen(HOSTS[i]);
    if (strncmp(line, "#include ", 9) == 0 && strncmp(line + 9, HOSTS[i], length) == 0 && line[9 + length] == '\n')
      return true;
  }
  return false;
}

// What the compiled code depends on besides the source: false if that is more than can be told from the text.
static bool can_be_cached(const char *source, const char *options) {
  static const char *const OTHER_FILES[] = {"include", "optf", "options-file", "pch"};
  for (const char *word = strstr(source, "include"); word != NULL; word = strstr(word + 1, "include"))
    if (!includes_nothing(source, word)) return false;
  for (size_t i = 0; options != NULL && i < sizeof OTHER_FILES / sizeof OTHER_FILES[0]; i++)
    if (strstr(options, OTHER_FILES[i]) != NULL) return false;
  return true;
}

// `kind`: "NVRTC" for the image, "PTX of NVRTC" for its PTX.
static char *make_key(const compilation *job, const char *kind, const char *options, size_t *out_bytes) {
  static const char FORMAT[] = "%s %d.%d\n%s\n%s\n%s";
  const char *text = options != NULL ? options : "";
  int length =
      snprintf(NULL, 0, FORMAT, kind, job->nvrtc->major, job->nvrtc->minor, job->architecture, text, job->source);
  if (length < 0) return NULL;
  char *key = weir__allocate((size_t)length + 1);
  if (key != NULL)
    snprintf(key, (size_t)length + 1, FORMAT, kind, job->nvrtc->major, job->nvrtc->minor, job->architecture, text,
             job->source);
  *out_bytes = (size_t)length;
  return key;
}

// Keys of the cache; NULL: nothing is cached.
typedef struct cache_keys {
  char *image, *ptx;
  size_t image_bytes, ptx_bytes;
} cache_keys;

static bool get_cached(compilation *job, const cache_keys *keys, void **out_image, size_t *out_bytes) {
  if (keys->image == NULL || !weir__disk_cache_get(keys->image, keys->image_bytes, out_image, out_bytes)) return false;
  if (keys->ptx == NULL) return true;
  void *ptx = NULL;
  if (weir__disk_cache_get(keys->ptx, keys->ptx_bytes, &ptx, &job->ptx_bytes)) {
    job->ptx = ptx;
    return true;
  }
  weir__free(*out_image);
  *out_image = NULL;
  return false;
}

static weir_status get(compilation *job, const cache_keys *keys, void **out_image, size_t *out_bytes) {
  if (get_cached(job, keys, out_image, out_bytes)) return WEIR_OK;
  if (job->cached_only) return weir__error(WEIR_ERROR_NO_CODE, "kernel '%s' was not compiled before", job->kernel);
  weir_status status = compile(job, out_image, out_bytes);
  if (status == WEIR_OK && keys->image != NULL)
    weir__disk_cache_put(keys->image, keys->image_bytes, *out_image, *out_bytes);
  if (status == WEIR_OK && keys->ptx != NULL && job->ptx != NULL)
    weir__disk_cache_put(keys->ptx, keys->ptx_bytes, job->ptx, job->ptx_bytes);
  return status;
}

static weir_status compile_job(compilation *job, const char *options, int capability, void **out_image,
                               size_t *out_bytes) {
  *out_image = NULL;
  *out_bytes = 0;
  char reason[512];
  job->nvrtc = weir__nvrtc_load(reason, sizeof reason);
  if (job->nvrtc == NULL)
    return weir__error(WEIR_ERROR_UNAVAILABLE, "kernel '%s' cannot be compiled: %s", job->kernel, reason);
  weir_status status = choose_architecture(job, capability);
  if (status == WEIR_OK) status = cut_options(job, options);
  cache_keys keys = {0};
  bool cached = status == WEIR_OK && can_be_cached(job->source, options);
  if (cached) keys.image = make_key(job, "NVRTC", options, &keys.image_bytes);
  if (keys.image != NULL && job->binary && job->wants_ptx)
    keys.ptx = make_key(job, "PTX of NVRTC", options, &keys.ptx_bytes);
  if (status == WEIR_OK) status = get(job, &keys, out_image, out_bytes);
  weir__free(keys.image);
  weir__free(keys.ptx);
  weir__free(job->words);
  return status;
}

weir_status weir__nvrtc_compile(const char *kernel, const char *source, const char *options, int capability,
                                void **out_image, size_t *out_bytes) {
  compilation job = {.kernel = kernel, .source = source};
  return compile_job(&job, options, capability, out_image, out_bytes);
}

weir_status weir__nvrtc_find(const char *kernel, const char *source, const char *options, int capability,
                             void **out_image, size_t *out_bytes) {
  compilation job = {.kernel = kernel, .source = source, .cached_only = true};
  return compile_job(&job, options, capability, out_image, out_bytes);
}

weir_status weir__nvrtc_compile_with_ptx(const char *kernel, const char *source, const char *options, int capability,
                                         void **out_image, size_t *out_bytes, char **out_ptx, size_t *out_ptx_bytes) {
  compilation job = {.kernel = kernel, .source = source, .wants_ptx = true};
  weir_status status = compile_job(&job, options, capability, out_image, out_bytes);
  *out_ptx = job.ptx;
  *out_ptx_bytes = job.ptx_bytes;
  return status;
}
