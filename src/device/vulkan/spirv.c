// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/spirv.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/allocate.h"
#include "device/vulkan/spirv_reader.h"

enum {
  MAGIC = 0x07230203,
  SWAPPED_MAGIC = 0x03022307,
  HEADER_WORDS = 5,
  MOST_IDS = 1 << 22, // the specification's own limit
  COMPUTE_MODEL = 5,
  ADDRESSES = 4, // capabilities
  BUFFER_ADDRESSES = 5347,
  LOCAL_SIZE = 17,
  LOCAL_SIZE_ID = 38,
  WORKGROUP_SIZE = 25, // built-in
  LISTS_ALL = 0x10400, // from this version on an entry point lists all variables that it uses
};

enum { IN_CONSTANTS = 0, IN_UNIFORM = 2, IN_WORKGROUP = 4, IN_PUSH_CONSTANTS = 9, IN_STORAGE_BUFFER = 12 };

bool weir__spirv_fail(spirv_reader *reader, uint32_t word, const char *format, ...) {
  char what[320];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(reader->reason, reader->reason_size, "SPIR-V, word %u: %s", word, what);
  return false;
}

spirv_op weir__spirv_definition(const spirv_reader *reader, uint32_t id) {
  uint32_t at = spirv_find(reader, id)->word;
  if (at == 0) return (spirv_op){0, 0, 0};
  uint32_t head = spirv_word(reader, at);
  return (spirv_op){at, head & 0xffff, head >> 16};
}

static bool read_header(spirv_reader *reader, uint64_t bytes) {
  if (bytes % 4 != 0)
    return weir__spirv_fail(reader, 0, "%llu bytes, which is no multiple of 4", (unsigned long long)bytes);
  if (bytes < HEADER_WORDS * 4 || bytes / 4 > UINT32_MAX)
    return weir__spirv_fail(reader, 0, "%llu bytes are no module", (unsigned long long)bytes);
  reader->count = (uint32_t)(bytes / 4);
  uint32_t magic = spirv_word(reader, 0), version = spirv_word(reader, 1);
  if (magic == SWAPPED_MAGIC) return weir__spirv_fail(reader, 0, "the words are in the byte order of another machine");
  if (magic != MAGIC) return weir__spirv_fail(reader, 0, "0x%08x, where a module has 0x%08x", magic, MAGIC);
  if ((version & 0xff0000ff) != 0 || version < 0x10000)
    return weir__spirv_fail(reader, 1, "0x%08x is no version of SPIR-V", version);
  reader->module->version = version;
  reader->bound = spirv_word(reader, 3);
  if (reader->bound == 0 || reader->bound > MOST_IDS)
    return weir__spirv_fail(reader, 3, "a bound of %u ids; 1 to %d are possible", reader->bound, MOST_IDS);
  return true;
}

static bool read_capability(spirv_reader *reader, const spirv_op *op) {
  weir__spirv *module = reader->module;
  if (op->count < 2) return weir__spirv_fail(reader, op->at, "a capability without its number");
  if (module->capability_count == WEIR__SPIRV_MOST_CAPABILITIES)
    return weir__spirv_fail(reader, op->at, "more than %d capabilities", WEIR__SPIRV_MOST_CAPABILITIES);
  uint32_t capability = spirv_operand(reader, op, 1);
  module->capabilities[module->capability_count++] = capability;
  if (capability == ADDRESSES || capability == BUFFER_ADDRESSES) module->has_addresses = true;
  return true;
}

// Words of a literal text that begins at an operand, with its end; 0: it does not end within the instruction.
static uint32_t text_words(const spirv_reader *reader, const spirv_op *op, uint32_t operand) {
  for (uint32_t i = operand; i < op->count; i++)
    if (memchr(reader->words + (size_t)(op->at + i) * 4, 0, 4) != NULL) return i - operand + 1;
  return 0;
}

static bool read_entry_point(spirv_reader *reader, const spirv_op *op) {
  reader->entry_count++;
  uint32_t words = text_words(reader, op, 3);
  if (words == 0) return weir__spirv_fail(reader, op->at, "an entry point whose name does not end");
  const char *name = (const char *)reader->words + (size_t)(op->at + 3) * 4;
  if (spirv_operand(reader, op, 1) != COMPUTE_MODEL) return true;
  if (strcmp(name, reader->entry) != 0) {
    size_t used = strlen(reader->others);
    snprintf(reader->others + used, sizeof reader->others - used, "%s'%.64s'", used > 0 ? ", " : "", name);
    return true;
  }
  if (reader->entry_id != 0) return weir__spirv_fail(reader, op->at, "two entry points '%.64s'", reader->entry);
  reader->entry_id = spirv_operand(reader, op, 2);
  if (reader->entry_id == 0 || reader->entry_id >= reader->bound)
    return weir__spirv_fail(reader, op->at, "the entry point's id %u is out of bounds", reader->entry_id);
  for (uint32_t i = 3 + words; i < op->count; i++) {
    uint32_t id = spirv_operand(reader, op, i);
    if (id > 0 && id < reader->bound) reader->ids[id].flags |= SPIRV_IN_INTERFACE;
  }
  return true;
}

static bool read_execution_mode(spirv_reader *reader, const spirv_op *op) {
  if (op->count < 3) return weir__spirv_fail(reader, op->at, "an execution mode that is too short");
  if (spirv_operand(reader, op, 1) != reader->entry_id) return true;
  uint32_t mode = spirv_operand(reader, op, 2);
  if (mode != LOCAL_SIZE && mode != LOCAL_SIZE_ID) return true;
  if (op->count < 6) return weir__spirv_fail(reader, op->at, "a work-group size of less than three numbers");
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t *to = mode == LOCAL_SIZE ? reader->module->local_size : reader->size_ids;
    to[i] = spirv_operand(reader, op, 3 + i);
  }
  reader->has_size = true;
  if (mode == LOCAL_SIZE_ID) reader->module->has_size_ids = true;
  return true;
}

static bool read_decoration(spirv_reader *reader, const spirv_op *op) {
  uint32_t least = op->code == SPIRV_DECORATE ? 3 : 4;
  if (op->count < least) return weir__spirv_fail(reader, op->at, "a decoration that is too short");
  if (reader->in_types) return weir__spirv_fail(reader, op->at, "a decoration behind the first type");
  if (reader->first_annotation == 0) reader->first_annotation = op->at;
  reader->end_annotation = op->at + op->count;
  if (op->code != SPIRV_DECORATE) return true;
  uint32_t target = spirv_operand(reader, op, 1), literal = op->count > 3 ? spirv_operand(reader, op, 3) : 0;
  if (target == 0 || target >= reader->bound) return weir__spirv_fail(reader, op->at, "id %u is out of bounds", target);
  spirv_id *id = &reader->ids[target];
  switch (spirv_operand(reader, op, 2)) {
  case SPIRV_SPEC_ID:
    id->spec_id = literal;
    id->flags |= SPIRV_HAS_SPEC_ID;
    return true;
  case SPIRV_BUFFER_BLOCK:
    id->flags |= SPIRV_IS_BUFFER_BLOCK;
    return true;
  case SPIRV_ARRAY_STRIDE:
    id->array_stride = literal;
    return true;
  case SPIRV_BUILT_IN:
    if (literal == WORKGROUP_SIZE) reader->size_id = target;
    return true;
  case SPIRV_NON_WRITABLE:
    id->flags |= SPIRV_NOT_WRITABLE;
    return true;
  case SPIRV_NON_READABLE:
    id->flags |= SPIRV_NOT_READABLE;
    return true;
  case SPIRV_BINDING:
    id->binding = literal;
    id->flags |= SPIRV_HAS_BINDING;
    return true;
  case SPIRV_DESCRIPTOR_SET:
    id->set = literal;
    id->flags |= SPIRV_HAS_SET;
    return true;
  default:
    return true;
  }
}

// What an image is, or why it cannot be bound.
static const char *read_image(const spirv_reader *reader, const spirv_op *op, bool with_sampler,
                              weir__spirv_binding *binding) {
  enum { LAST_DIMENSIONS = 2, CUBE = 3, TEXEL_BUFFER = 5 };
  uint32_t dimensions = spirv_operand(reader, op, 3);
  if (dimensions == TEXEL_BUFFER) return "a texel buffer";
  if (dimensions == CUBE) return "an image of a cube";
  if (dimensions > LAST_DIMENSIONS) return "an image that is neither 1D, 2D nor 3D";
  if (spirv_operand(reader, op, 5) != 0) return "an image with layers";
  if (spirv_operand(reader, op, 6) != 0) return "an image with several samples";
  bool storage = spirv_operand(reader, op, 7) == 2;
  if (!with_sampler && !storage) return "a sampled image without its sampler";
  binding->kind = with_sampler ? WEIR__SPIRV_SAMPLED_IMAGE : WEIR__SPIRV_STORAGE_IMAGE;
  binding->dimensions = dimensions + 1;
  binding->format = with_sampler ? 0 : spirv_operand(reader, op, 8);
  return NULL;
}

// What a variable with a binding is: the rest of `binding`; or, as text, what it is that cannot be bound.
static const char *read_resource(const spirv_reader *reader, uint32_t storage, const spirv_op *type,
                                 weir__spirv_binding *binding) {
  binding->kind = WEIR__SPIRV_STORAGE_BUFFER;
  switch (type->code) {
  case SPIRV_TYPE_STRUCT:
    if (storage == IN_STORAGE_BUFFER) return NULL;
    if ((spirv_find(reader, spirv_operand(reader, type, 1))->flags & SPIRV_IS_BUFFER_BLOCK) != 0) return NULL;
    return "a uniform buffer";
  case SPIRV_TYPE_IMAGE:
    return read_image(reader, type, false, binding);
  case SPIRV_TYPE_SAMPLED_IMAGE: {
    spirv_op image = weir__spirv_definition(reader, spirv_operand(reader, type, 2));
    return image.code == SPIRV_TYPE_IMAGE ? read_image(reader, &image, true, binding) : "a sampler of no image";
  }
  case SPIRV_TYPE_SAMPLER:
    return "a sampler by itself";
  case SPIRV_TYPE_ARRAY:
  case SPIRV_TYPE_RUNTIME_ARRAY:
    return "an array of bindings";
  default:
    return "something that is neither a buffer nor an image";
  }
}

// Adds a variable to the bindings. Several variables may share one, if they are of one kind.
static bool add_binding(spirv_reader *reader, const spirv_op *op, const weir__spirv_binding *found) {
  weir__spirv_binding *binding = &reader->module->bindings[found->binding];
  if (binding->declared && (binding->kind != found->kind || binding->dimensions != found->dimensions ||
                            (found->kind == WEIR__SPIRV_STORAGE_IMAGE && binding->format != found->format)))
    return weir__spirv_fail(reader, op->at, "two variables of different kinds have the binding %u", found->binding);
  bool readable = binding->declared && reader->is_readable[found->binding];
  bool writable = binding->declared && reader->is_writable[found->binding];
  reader->is_readable[found->binding] = readable || found->reads;
  reader->is_writable[found->binding] = writable || found->writes;
  *binding = *found;
  binding->declared = true;
  binding->reads = binding->writes = false; // until an instruction does it
  if (reader->module->binding_count <= found->binding) reader->module->binding_count = found->binding + 1;
  return true;
}

static bool read_bound_variable(spirv_reader *reader, const spirv_op *op, const spirv_op *pointer, spirv_id *variable) {
  uint32_t storage = spirv_operand(reader, op, 3);
  spirv_op type = weir__spirv_definition(reader, spirv_operand(reader, pointer, 3));
  if ((variable->flags & SPIRV_HAS_BINDING) == 0)
    return weir__spirv_fail(reader, op->at, "a variable for a buffer or image has no binding");
  if (variable->set != 0)
    return weir__spirv_fail(reader, op->at, "set %u, binding %u: Weir binds set 0 only", variable->set,
                            variable->binding);
  if (variable->binding >= WEIR__SPIRV_MOST_BINDINGS)
    return weir__spirv_fail(reader, op->at, "binding %u: at most %d are possible", variable->binding,
                            WEIR__SPIRV_MOST_BINDINGS);
  uint32_t flags = variable->flags;
  if (type.code == SPIRV_TYPE_STRUCT) flags |= spirv_find(reader, spirv_operand(reader, &type, 1))->flags;
  weir__spirv_binding found = {.binding = variable->binding,
                               .reads = (flags & SPIRV_NOT_READABLE) == 0,
                               .writes = (flags & SPIRV_NOT_WRITABLE) == 0};
  const char *other = read_resource(reader, storage, &type, &found);
  if (other != NULL)
    return weir__spirv_fail(reader, op->at,
                            "binding %u is %s; Weir binds storage buffers, storage images and images with "
                            "their samplers, each by itself",
                            variable->binding, other);
  variable->root = variable->binding + 1;
  return add_binding(reader, op, &found);
}

static bool read_variable(spirv_reader *reader, const spirv_op *op) {
  if (op->count < 4) return weir__spirv_fail(reader, op->at, "a variable that is too short");
  uint32_t id = spirv_operand(reader, op, 2), storage = spirv_operand(reader, op, 3);
  if (id == 0 || id >= reader->bound) return weir__spirv_fail(reader, op->at, "id %u is out of bounds", id);
  spirv_id *variable = &reader->ids[id];
  if (variable->word != 0) return weir__spirv_fail(reader, op->at, "id %u is defined twice", id);
  variable->word = op->at;
  spirv_op pointer = weir__spirv_definition(reader, spirv_operand(reader, op, 1));
  if (pointer.code != SPIRV_TYPE_POINTER)
    return weir__spirv_fail(reader, op->at, "a variable whose type is no pointer");
  if (reader->module->version >= LISTS_ALL && (variable->flags & SPIRV_IN_INTERFACE) == 0) return true;
  weir__spirv *module = reader->module;
  const spirv_id *type = spirv_find(reader, spirv_operand(reader, &pointer, 3));
  switch (storage) {
  case IN_PUSH_CONSTANTS:
    if (type->laid_out > UINT32_MAX) return weir__spirv_fail(reader, op->at, "push constants of more than 4 GB");
    if (type->laid_out > module->push_bytes) {
      module->push_bytes = (uint32_t)type->laid_out;
      weir__spirv_read_members(reader, spirv_operand(reader, &pointer, 3));
    }
    return true;
  case IN_WORKGROUP:
    module->shared_bytes = weir__spirv_extent(1, module->shared_bytes, type->bytes);
    return true;
  case IN_CONSTANTS:
  case IN_UNIFORM:
  case IN_STORAGE_BUFFER:
    return read_bound_variable(reader, op, &pointer, variable);
  default:
    return true;
  }
}

static bool is_constant(uint32_t code) {
  return (code >= SPIRV_CONSTANT_TRUE && code <= SPIRV_CONSTANT_COMPOSITE) ||
         (code >= SPIRV_SPEC_CONSTANT_TRUE && code <= SPIRV_SPEC_CONSTANT_OP);
}

static bool read_forward_pointer(spirv_reader *reader, const spirv_op *op) {
  uint32_t id = op->count < 3 ? 0 : spirv_operand(reader, op, 1);
  if (id == 0 || id >= reader->bound) return weir__spirv_fail(reader, op->at, "a pointer that is no pointer");
  reader->ids[id].bytes = reader->ids[id].laid_out = 8;
  return true;
}

static bool read_instruction(spirv_reader *reader, const spirv_op *op) {
  if (op->code == SPIRV_FUNCTION) {
    reader->in_functions = true;
    reader->surely_runs =
        reader->entry_count == 1 || (op->count > 2 && spirv_operand(reader, op, 2) == reader->entry_id);
  }
  if (reader->in_functions) {
    weir__spirv_read_use(reader, op);
    return true;
  }
  switch (op->code) {
  case SPIRV_CAPABILITY:
    return read_capability(reader, op);
  case SPIRV_ENTRY_POINT:
    return op->count >= 4 ? read_entry_point(reader, op)
                          : weir__spirv_fail(reader, op->at, "an entry point without a name");
  case SPIRV_EXECUTION_MODE:
  case SPIRV_EXECUTION_MODE_ID:
    return read_execution_mode(reader, op);
  case SPIRV_DECORATE:
  case SPIRV_MEMBER_DECORATE:
    return read_decoration(reader, op);
  case SPIRV_TYPE_FORWARD_POINTER:
    return read_forward_pointer(reader, op);
  case SPIRV_DECORATION_GROUP:
    return weir__spirv_fail(reader, op->at, "a group of decorations, which SPIR-V deprecates");
  case SPIRV_VARIABLE:
    return read_variable(reader, op);
  default:
    break;
  }
  if (op->code >= SPIRV_TYPE_VOID && op->code <= SPIRV_TYPE_POINTER + 1) {
    reader->in_types = true;
    return weir__spirv_read_type(reader, op);
  }
  return is_constant(op->code) ? weir__spirv_read_constant(reader, op) : true;
}

static bool constant_value(spirv_reader *reader, uint32_t id, uint32_t *out_value) {
  const spirv_id *constant = spirv_find(reader, id);
  if ((constant->flags & SPIRV_HAS_VALUE) == 0)
    return weir__spirv_fail(reader, constant->word, "the work-group's size is no constant that Weir can evaluate");
  *out_value = constant->value > UINT32_MAX ? UINT32_MAX : (uint32_t)constant->value;
  return true;
}

// The work-group's size, from what says it: a constant that is the built-in, else the entry point's mode.
static bool find_size(spirv_reader *reader) {
  uint32_t *size = reader->module->local_size;
  spirv_op built_in = weir__spirv_definition(reader, reader->size_id);
  if (built_in.code == SPIRV_CONSTANT_COMPOSITE || built_in.code == SPIRV_SPEC_CONSTANT_COMPOSITE) {
    if (built_in.count < 6)
      return weir__spirv_fail(reader, built_in.at, "a work-group size of less than three numbers");
    for (uint32_t i = 0; i < 3; i++) reader->size_ids[i] = spirv_operand(reader, &built_in, 3 + i);
    reader->has_size = true;
  }
  if (!reader->has_size)
    return weir__spirv_fail(reader, 0, "the entry point '%.64s' has no work-group size", reader->entry);
  for (uint32_t i = 0; i < 3; i++)
    if (reader->size_ids[i] != 0 && !constant_value(reader, reader->size_ids[i], &size[i])) return false;
  if (size[0] > 0 && size[1] > 0 && size[2] > 0) return true;
  return weir__spirv_fail(reader, built_in.at, "a work-group of %u x %u x %u invocations", size[0], size[1], size[2]);
}

static bool finish(spirv_reader *reader) {
  if (reader->entry_id == 0)
    return weir__spirv_fail(reader, HEADER_WORDS, "no entry point '%.64s' for compute; there %s%s", reader->entry,
                            reader->others[0] != 0 ? "are: " : "is none", reader->others);
  for (uint32_t i = 0; i < reader->module->binding_count; i++) {
    weir__spirv_binding *binding = &reader->module->bindings[i];
    binding->binding = i;
    binding->reads = binding->reads && reader->is_readable[i];
    binding->writes = binding->writes && reader->is_writable[i];
    binding->stores = binding->stores && binding->writes;
  }
  return find_size(reader);
}

static bool read_module(spirv_reader *reader) {
  for (uint32_t at = HEADER_WORDS; at < reader->count;) {
    uint32_t head = spirv_word(reader, at);
    spirv_op op = {at, head & 0xffff, head >> 16};
    if (op.count == 0 || op.count > reader->count - at)
      return weir__spirv_fail(reader, at, "instruction %u of %u words; %u are left", op.code, op.count,
                              reader->count - at);
    if (!read_instruction(reader, &op)) return false;
    at += op.count;
  }
  return finish(reader);
}

bool weir__spirv_read(const void *words, uint64_t bytes, const char *entry, const weir_vulkan_constant *constants,
                      uint32_t constant_count, weir__spirv *out_module, char *reason, size_t size) {
  memset(out_module, 0, sizeof *out_module);
  spirv_reader reader = {.words = words,
                         .module = out_module,
                         .reason = reason,
                         .reason_size = size,
                         .entry = entry != NULL ? entry : "main",
                         .constants = constants,
                         .constant_count = constant_count};
  if (!read_header(&reader, bytes)) return false;
  size_t table = reader.bound * sizeof reader.ids[0];
  reader.ids = weir__allocate_sparse(table);
  if (reader.ids == NULL) return weir__spirv_fail(&reader, 3, "no memory for %u ids", reader.bound);
  bool read = read_module(&reader);
  weir__free_sparse(reader.ids, table);
  return read;
}
