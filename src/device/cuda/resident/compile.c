// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lock.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/resident/cubin.h"
#include "device/cuda/resident/part.h"

// A block of the resident kernel has at most MOST_THREADS, each of which may have MOST_REGISTERS: what every multiprocessor
// has room for. OWN_SHARED bytes of shared memory are the resident kernel's and the driver's; of the rest each function that
// is linked in has its own. So where the kernels of a source have more than LARGE_SHARED together, each is compiled alone:
// those that nobody uses then cost nothing.
enum { MOST_THREADS = 1024, MOST_REGISTERS = 64, OWN_SHARED = 1024, LARGE_SHARED = 8 << 10 };

// Everything that is compiled, and held by somebody, in the process. The lock is held to search and to count.
static struct {
  weir__lock lock;
  weir__resident_image *images;
  weir__resident_part *parts;
} all;

static weir_status no_memory(const char *kernel) {
  return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "kernel '%s': no memory for its resident form", kernel);
}

weir_status weir__resident_shared_limit(const weir__cuda_device *device, uint64_t *out_bytes) {
  int bytes = 0;
  CUresult result =
      device->driver->cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device->device);
  *out_bytes = bytes > OWN_SHARED ? (uint64_t)bytes - OWN_SHARED : 0;
  return weir__cuda_error(device->driver, result, "the resident kernel on %s", device->base.device.name);
}

// What is compiled.
typedef struct input {
  const char *kernel; // named in messages
  const char *source;
  const char *options; // the caller's
  const char *only;    // this function alone; "": all of the source
  bool cached_only;    // without a compiler
} input;

static weir__hash id_of(const input *in) {
  weir__hash parts[3] = {weir__hash_of(in->source, strlen(in->source)), weir__hash_of(in->options, strlen(in->options)),
                         weir__hash_of(in->only, strlen(in->only))};
  return weir__hash_of(parts, sizeof parts);
}

// What drops its last reference is taken from its list here, and freed without the lock.
static bool drop_image(weir__resident_image *image) {
  if (--image->references > 0) return false;
  weir__resident_image **link = &all.images;
  while (*link != image) link = &(*link)->next;
  *link = image->next;
  return true;
}

void weir__resident_image_release(weir__resident_image *image) {
  while (image != NULL) {
    weir__lock_acquire(&all.lock);
    bool last = drop_image(image);
    weir__lock_release(&all.lock);
    if (!last) return;
    weir__resident_image *base = image->base;
    weir__free(image->data);
    weir__free(image);
    image = base;
  }
}

// With the lock held: the image, retained; or NULL.
static weir__resident_image *find_image(weir__hash id, int capability) {
  weir__resident_image *image = all.images;
  while (image != NULL && (image->capability != capability || !weir__hash_equal(image->id, id))) image = image->next;
  if (image != NULL) image->references++;
  return image;
}

static weir__resident_image *search_image(weir__hash id, int capability) {
  weir__lock_acquire(&all.lock);
  weir__resident_image *found = find_image(id, capability);
  weir__lock_release(&all.lock);
  return found;
}

// Adds the image that was made, unless another thread made the same meanwhile: then theirs is returned.
static weir__resident_image *share_image(weir__resident_image *made) {
  weir__lock_acquire(&all.lock);
  weir__resident_image *theirs = find_image(made->id, made->capability);
  if (theirs == NULL) {
    made->references = 1;
    made->next = all.images;
    all.images = made;
  }
  weir__lock_release(&all.lock);
  if (theirs == NULL) return made;
  weir__resident_image_release(made->base);
  weir__free(made->data);
  weir__free(made);
  return theirs;
}

// The options, in memory of the caller's to free; NULL: no memory.
static char *make_options(const input *in, weir__hash id) {
  static const char FORMAT[] = "%s -rdc=true -maxrregcount=%d -DWEIR__RESIDENT=%016llx%016llx%s%s%s";
  bool all_functions = in->only[0] == 0;
  size_t bytes = strlen(in->options) + strlen(in->only) + sizeof FORMAT + 96;
  char *text = weir__allocate(bytes);
  if (text != NULL)
    snprintf(text, bytes, FORMAT, in->options, MOST_REGISTERS, (unsigned long long)id.high, (unsigned long long)id.low,
             all_functions ? "" : " -DWEIR__RESIDENT_ONLY=\"", in->only, all_functions ? "" : "\"");
  return text;
}

static weir_status compile_image(const input *in, weir__resident_image *image) {
  char *options = make_options(in, image->id);
  if (options == NULL) return no_memory(in->kernel);
  weir_status status = (in->cached_only ? weir__nvrtc_find : weir__nvrtc_compile)(
      in->kernel, in->source, options, image->capability, &image->data, &image->bytes);
  weir__free(options);
  image->known = status == WEIR_OK && weir__cubin_check(image->data, image->bytes);
  if (image->known) image->shared_bytes = weir__cubin_shared_bytes(image->data);
  return status;
}

static input base_input(const char *kernel, bool cached_only) {
  return (input){
      .kernel = kernel, .source = weir__resident_source, .options = "", .only = "", .cached_only = cached_only};
}

// Compiles an input into an image, unless there is one, and returns it retained.
static weir_status get_image(weir__cuda_device *device, const input *in, weir__resident_image **out_image) {
  weir__hash id = id_of(in);
  *out_image = search_image(id, device->capability);
  if (*out_image != NULL) return WEIR_OK;
  weir__resident_image *image = weir__allocate_zeroed(sizeof *image);
  if (image == NULL) return no_memory(in->kernel);
  image->id = id;
  image->capability = device->capability;
  const input base = base_input(in->kernel, in->cached_only);
  weir_status status = in->source == base.source ? WEIR_OK : get_image(device, &base, &image->base);
  if (status == WEIR_OK) status = compile_image(in, image);
  if (status == WEIR_OK) {
    *out_image = share_image(image);
    return WEIR_OK;
  }
  weir__resident_image_release(image->base);
  weir__free(image);
  return status;
}

weir_status weir__resident_base(weir__cuda_device *device, const char *kernel, weir__resident_image **out_image) {
  const input base = base_input(kernel, false);
  return get_image(device, &base, out_image);
}

// Why something does not fit. Returns false.
__attribute__((format(printf, 3, 4))) static bool say(char *reason, size_t bytes, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, bytes, format, arguments);
  va_end(arguments);
  return false;
}

static bool driver_can(const weir__cuda_driver *driver, char *reason, size_t bytes) {
  const struct {
    const char *name;
    bool there;
  } needed[] = {
      {"cuLinkCreate", driver->cuLinkCreate != NULL},
      {"cuLinkAddData", driver->cuLinkAddData != NULL},
      {"cuLinkComplete", driver->cuLinkComplete != NULL},
      {"cuLinkDestroy", driver->cuLinkDestroy != NULL},
      {"cuModuleGetGlobal", driver->cuModuleGetGlobal != NULL},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", driver->cuOccupancyMaxActiveBlocksPerMultiprocessor != NULL},
  };
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (!needed[i].there) return say(reason, bytes, "the driver lacks %s", needed[i].name);
  return true;
}

static uint64_t threads_of(const weir_cuda_launch *launch) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) threads *= launch->block[i] == 0 ? 1 : launch->block[i];
  return threads;
}

// Whether the kernel can run in a resident one, as far as can be told before it is compiled.
static bool may_fit(const weir_cuda_code *code, const weir_cuda_launch *launch, char *reason, size_t bytes) {
  if (code->source == NULL) return say(reason, bytes, "its code is no source");
  if (!code->groups) return say(reason, bytes, "its source is not said to be written with weir/kernel.h");
  if (launch->shared_bytes > 0)
    return say(reason, bytes, "its launch has %u bytes of dynamic shared memory", launch->shared_bytes);
  if (threads_of(launch) > MOST_THREADS)
    return say(reason, bytes, "work-groups of %llu work-items; a worker has at most %d threads",
               (unsigned long long)threads_of(launch), MOST_THREADS);
  return true;
}

// Whether it does, as far as the compiled code tells.
static bool fits(const weir__resident_image *image, const char *kernel, const char *pointer, uint64_t shared_limit,
                 char *reason, size_t bytes) {
  if (!image->known) return true;
  weir__cubin_variable variable = weir__cubin_find(image->data, pointer);
  if (variable == WEIR__CUBIN_NONE) return say(reason, bytes, "its source has no WEIR_KERNEL(%s, ...)", kernel);
  if (variable == WEIR__CUBIN_ZERO) return say(reason, bytes, "its arguments take more than 96 bytes");
  if (image->shared_bytes > shared_limit)
    return say(reason, bytes, "it has %llu bytes of local memory, a worker %llu",
               (unsigned long long)image->shared_bytes, (unsigned long long)shared_limit);
  return true;
}

static void free_part(weir__resident_part *part) {
  if (part == NULL) return;
  weir__free(part->kernel);
  weir__free(part->pointer);
  weir__free(part);
}

// A part that nobody has yet; it does not hold its image.
static weir__resident_part *make_part(weir__resident_image *image, const char *kernel, uint32_t threads) {
  static const char FORMAT[] = "weir__resident_pointer_%016llx%016llx_%s";
  weir__resident_part *part = weir__allocate_zeroed(sizeof *part);
  if (part == NULL) return NULL;
  size_t bytes = sizeof FORMAT + 32 + strlen(kernel);
  part->image = image;
  part->threads = threads;
  part->references = 1;
  part->kernel = weir__allocate_string(kernel);
  part->pointer = weir__allocate(bytes);
  if (part->kernel == NULL || part->pointer == NULL) {
    free_part(part);
    return NULL;
  }
  snprintf(part->pointer, bytes, FORMAT, (unsigned long long)image->id.high, (unsigned long long)image->id.low, kernel);
  return part;
}

static bool same_part(const weir__resident_part *a, const weir__resident_part *b) {
  return a->image == b->image && a->threads == b->threads && strcmp(a->kernel, b->kernel) == 0;
}

// Adds the part that was made, which takes over a reference to its image; or returns one like it, retained.
static weir__resident_part *share_part(weir__resident_part *made) {
  weir__lock_acquire(&all.lock);
  weir__resident_part *theirs = all.parts;
  while (theirs != NULL && !same_part(theirs, made)) theirs = theirs->next;
  if (theirs != NULL) {
    theirs->references++;
  } else {
    made->next = all.parts;
    all.parts = made;
  }
  weir__lock_release(&all.lock);
  if (theirs == NULL) return made;
  weir__resident_image_release(made->image);
  free_part(made);
  return theirs;
}

// Makes the part of an image that the caller retained for it, if it fits.
static weir_status finish(const input *in, const char *function, uint32_t threads, uint64_t shared_limit,
                          weir__resident_image *image, weir__resident_part **out_part, char *reason,
                          size_t reason_bytes) {
  weir__resident_part *part = make_part(image, function, threads);
  if (part != NULL && fits(image, function, part->pointer, shared_limit, reason, reason_bytes)) {
    *out_part = share_part(part);
    return WEIR_OK;
  }
  weir_status status = part == NULL ? no_memory(in->kernel) : WEIR_OK;
  free_part(part);
  weir__resident_image_release(image);
  return status;
}

// The image that a function is in: that of the whole source, or one of its own.
static weir_status choose_image(weir__cuda_device *device, input *in, const char *function,
                                weir__resident_image **out_image) {
  weir_status status = get_image(device, in, out_image);
  if (status != WEIR_OK || (*out_image)->shared_bytes <= LARGE_SHARED) return status;
  weir__resident_image_release(*out_image);
  in->only = function;
  return get_image(device, in, out_image);
}

weir_status weir__resident_compile(weir__cuda_device *device, const char *kernel, const weir_cuda_code *code,
                                   const weir_cuda_launch *launch, bool cached_only, weir__resident_part **out_part,
                                   char *reason, size_t reason_bytes) {
  *out_part = NULL;
  say(reason, reason_bytes, "%s", "");
  if (!driver_can(device->driver, reason, reason_bytes) || !may_fit(code, launch, reason, reason_bytes)) return WEIR_OK;
  uint64_t shared_limit = 0;
  weir_status status = weir__resident_shared_limit(device, &shared_limit);
  if (status != WEIR_OK) return status;
  input in = {
      .kernel = kernel, .source = code->source, .options = code->options, .only = "", .cached_only = cached_only};
  if (in.options == NULL) in.options = "";
  weir__resident_image *image = NULL;
  status = choose_image(device, &in, launch->function, &image);
  if (status == WEIR_ERROR_INVALID_ARGUMENT || status == WEIR_ERROR_UNAVAILABLE) { // it can still be launched
    say(reason, reason_bytes, "%s", weir_last_error());
    return WEIR_OK;
  }
  if (status != WEIR_OK) return status;
  return finish(&in, launch->function, (uint32_t)threads_of(launch), shared_limit, image, out_part, reason,
                reason_bytes);
}

weir__resident_part *weir__resident_part_retain(weir__resident_part *part) {
  weir__lock_acquire(&all.lock);
  part->references++;
  weir__lock_release(&all.lock);
  return part;
}

void weir__resident_part_release(weir__resident_part *part) {
  if (part == NULL) return;
  weir__lock_acquire(&all.lock);
  bool last = --part->references == 0;
  if (last) {
    weir__resident_part **link = &all.parts;
    while (*link != part) link = &(*link)->next;
    *link = part->next;
  }
  weir__lock_release(&all.lock);
  if (!last) return;
  weir__resident_image_release(part->image);
  free_part(part);
}
