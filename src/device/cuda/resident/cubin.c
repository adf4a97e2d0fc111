// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resident/cubin.h"

#include <elf.h>
#include <string.h>

enum { SHARED_ALIGNMENT = 16 };

// The tables of a file.
typedef struct cubin {
  const char *bytes;
  const Elf64_Shdr *sections;
  uint32_t section_count;
  const char *section_names;
  const Elf64_Sym *symbols; // NULL: none
  size_t symbol_count;
  const char *symbol_names;
} cubin;

static bool in_file(size_t bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes && size <= bytes - offset;
}

// A table of strings, which must end with a zero byte.
static const char *strings_of(const cubin *file, size_t bytes, uint32_t index, uint64_t *out_size) {
  if (index >= file->section_count) return NULL;
  const Elf64_Shdr *section = &file->sections[index];
  *out_size = section->sh_size;
  if (section->sh_type != SHT_STRTAB || section->sh_size == 0) return NULL;
  if (!in_file(bytes, section->sh_offset, section->sh_size)) return NULL;
  const char *text = file->bytes + section->sh_offset;
  return text[section->sh_size - 1] == 0 ? text : NULL;
}

static bool find_symbols(cubin *file, size_t bytes) {
  for (uint32_t i = 0; i < file->section_count; i++) {
    const Elf64_Shdr *section = &file->sections[i];
    if (section->sh_type != SHT_SYMTAB) continue;
    uint64_t names_size;
    file->symbol_names = strings_of(file, bytes, section->sh_link, &names_size);
    if (file->symbol_names == NULL || section->sh_offset % _Alignof(Elf64_Sym) != 0) return false;
    if (!in_file(bytes, section->sh_offset, section->sh_size)) return false;
    file->symbols = (const void *)(file->bytes + section->sh_offset);
    file->symbol_count = section->sh_size / sizeof(Elf64_Sym);
    for (size_t j = 0; j < file->symbol_count; j++)
      if (file->symbols[j].st_name >= names_size) return false;
  }
  return true;
}

static bool open_file(const void *image, size_t bytes, cubin *out_file) {
  const Elf64_Ehdr *header = image;
  cubin file = {.bytes = image};
  if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  if (header->e_shoff % _Alignof(Elf64_Shdr) != 0) return false;
  if (!in_file(bytes, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr))) return false;
  file.sections = (const void *)(file.bytes + header->e_shoff);
  file.section_count = header->e_shnum;
  uint64_t names_size;
  file.section_names = strings_of(&file, bytes, header->e_shstrndx, &names_size);
  if (file.section_names == NULL) return false;
  for (uint32_t i = 0; i < file.section_count; i++)
    if (file.sections[i].sh_name >= names_size) return false;
  *out_file = file;
  return find_symbols(out_file, bytes);
}

bool weir__cubin_check(const void *image, size_t bytes) {
  cubin file;
  return open_file(image, bytes, &file);
}

// The name of the section that a symbol is in.
static const char *section_of(const cubin *file, const Elf64_Sym *symbol) {
  return symbol->st_shndx < file->section_count ? file->section_names + file->sections[symbol->st_shndx].sh_name : "";
}

uint64_t weir__cubin_shared_bytes(const void *image) {
  cubin file = {0};
  uint64_t sum = 0;
  if (!open_file(image, SIZE_MAX, &file)) return 0;
  for (size_t i = 0; i < file.symbol_count; i++) {
    const Elf64_Sym *symbol = &file.symbols[i];
    if (ELF64_ST_TYPE(symbol->st_info) == STT_SECTION || strstr(section_of(&file, symbol), "shared") == NULL) continue;
    sum += (symbol->st_size + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
  }
  return sum;
}

weir__cubin_variable weir__cubin_find(const void *image, const char *name) {
  cubin file = {0};
  if (!open_file(image, SIZE_MAX, &file)) return WEIR__CUBIN_NONE;
  for (size_t i = 0; i < file.symbol_count; i++) {
    if (strcmp(file.symbol_names + file.symbols[i].st_name, name) != 0) continue;
    return strcmp(section_of(&file, &file.symbols[i]), ".nv.global.init") == 0 ? WEIR__CUBIN_SET : WEIR__CUBIN_ZERO;
  }
  return WEIR__CUBIN_NONE;
}
