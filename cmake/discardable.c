/* Wherry: lets the linker drop what nothing uses of a static library of the Swift runtime
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: discardable LIBRARY COPY
 *
 * The Swift compiler marks all public symbols of a library with SHF_GNU_RETAIN, so that
 * --gc-sections keeps them. The copy has no such marks, except on the sections that the runtime
 * finds by their names. The runtime's 64 kB of zeros for the settings of its crash handler become
 * zero-initialized memory, which takes no space in a file. */
#include <ar.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHF_GNU_RETAIN
#define SHF_GNU_RETAIN (1 << 21)
#endif

static bool inside(size_t offset, size_t length, size_t size) {
  return offset <= size && length <= size - offset;
}

static bool all_zeros(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

/* Edits the headers of the sections. Returns false if the file is not a 64-bit object. */
static bool edit_object(unsigned char *bytes, size_t size) {
  Elf64_Ehdr header;
  Elf64_Shdr section;
  if (size < sizeof header) return false;
  memcpy(&header, bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof section || !inside(header.e_shoff, sizeof section, size)) {
    return false;
  }
  /* With many sections, the first one holds their number and the place of their names. */
  memcpy(&section, bytes + header.e_shoff, sizeof section);
  size_t count = header.e_shnum != 0 ? header.e_shnum : section.sh_size;
  size_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : section.sh_link;
  if (count > size / sizeof section || names >= count ||
      !inside(header.e_shoff, count * sizeof section, size)) {
    return false;
  }
  memcpy(&section, bytes + header.e_shoff + names * sizeof section, sizeof section);
  if (!inside(section.sh_offset, section.sh_size, size) || section.sh_size == 0 ||
      bytes[section.sh_offset + section.sh_size - 1] != 0) {
    return false;
  }
  const char *strings = (const char *)bytes + section.sh_offset;
  size_t strings_size = section.sh_size;
  for (size_t i = 1; i < count; i++) {
    unsigned char *place = bytes + header.e_shoff + i * sizeof section;
    memcpy(&section, place, sizeof section);
    if (section.sh_name >= strings_size) return false;
    const char *name = strings + section.sh_name;
    if (strncmp(name, "swift5_", strlen("swift5_")) != 0) {
      section.sh_flags &= ~(Elf64_Xword)SHF_GNU_RETAIN;
    } else if (strcmp(name, "swift5_backtrace") == 0 && section.sh_type == SHT_PROGBITS &&
               inside(section.sh_offset, section.sh_size, size) &&
               all_zeros(bytes + section.sh_offset, section.sh_size)) {
      section.sh_type = SHT_NOBITS;
    }
    memcpy(place, &section, sizeof section);
  }
  return true;
}

/* Edits the objects of an archive. Other members, such as the index, stay as they are. */
static bool edit_archive(unsigned char *bytes, size_t size) {
  if (size < SARMAG || memcmp(bytes, ARMAG, SARMAG) != 0) return false;
  size_t offset = SARMAG;
  while (offset < size) {
    struct ar_hdr member;
    if (!inside(offset, sizeof member, size)) return false;
    memcpy(&member, bytes + offset, sizeof member);
    if (memcmp(member.ar_fmag, ARFMAG, sizeof member.ar_fmag) != 0) return false;
    offset += sizeof member;
    char digits[sizeof member.ar_size + 1] = {0};
    memcpy(digits, member.ar_size, sizeof member.ar_size);
    size_t length = strtoul(digits, NULL, 10);
    if (!inside(offset, length, size)) return false;
    unsigned char *content = bytes + offset;
    bool object = length >= SELFMAG && memcmp(content, ELFMAG, SELFMAG) == 0;
    if (object && !edit_object(content, length)) return false;
    offset += length + length % 2;
  }
  return true;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: discardable LIBRARY COPY\n");
    return 2;
  }
  FILE *file = fopen(arguments[1], "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(arguments[1]);
    return 1;
  }
  long size = ftell(file);
  unsigned char *bytes = size > 0 ? malloc((size_t)size) : NULL;
  rewind(file);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
    perror(arguments[1]);
    return 1;
  }
  fclose(file);
  if (!edit_archive(bytes, (size_t)size)) {
    fprintf(stderr, "discardable: %s is not an archive of 64-bit ELF objects\n", arguments[1]);
    return 1;
  }
  file = fopen(arguments[2], "wb");
  if (file == NULL || fwrite(bytes, 1, (size_t)size, file) != (size_t)size || fclose(file) != 0) {
    perror(arguments[2]);
    return 1;
  }
  free(bytes);
  return 0;
}
