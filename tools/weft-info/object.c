/* The transports that an object file or an archive defines: see object.h.
 *
 *   object file   ELF header -> section headers -> symbol table -> names
 *   archive       "!<arch>\n", then a member "/": the number of symbols, as
 *                 many offsets of members, and the names
 *
 * INVARIANT  The file may hold anything: every place in it is compared with its
 * size, and each name ends inside it, before it is read.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object.h"

#include <ar.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft_transport.h"

#define TEXT(x)    TEXT_OF(x)
#define TEXT_OF(x) #x
#define PREFIX     "weft_plugin_" TEXT(WEFT_ABI_MAJOR) "_"

struct file {
    const char *name;
    const char *data;
    size_t size;
    info_visit_plugin *visit;
    void *arg;
    int found;
};

/* Whether n bytes at this offset are inside the file. */
static bool is_inside(const struct file *f, uint64_t at, uint64_t n)
{
    return at <= f->size && n <= f->size - at;
}

/* Visit the symbol whose name begins there, if it is a transport's. */
static void visit_symbol(struct file *f, uint64_t at)
{
    const char *name = f->data + at;

    if (!is_inside(f, at, 1) || !memchr(name, 0, f->size - at) ||
        strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return;
    f->visit(f->arg, name + sizeof PREFIX - 1, f->name);
    f->found++;
}

/* ---- an archive ---------------------------------------------------------- */

static uint64_t read_number(const char *at, int bytes)
{
    uint64_t n = 0;

    for (int i = 0; i < bytes; i++)
        n = n << 8 | (uint8_t)at[i];
    return n;
}

static const char *read_archive(struct file *f)
{
    const struct ar_hdr *h = (const void *)(f->data + SARMAG);
    uint64_t at = SARMAG + sizeof *h, count, end;
    char size[sizeof h->ar_size + 1] = "";
    int width;

    if (!is_inside(f, SARMAG, sizeof *h))
        return "the archive is empty";
    width = memcmp(h->ar_name, "/ ", 2) == 0         ? 4
            : memcmp(h->ar_name, "/SYM64/ ", 8) == 0 ? 8
                                                     : 0;
    if (!width)
        return "the archive has no table of its symbols; ranlib makes it";
    memcpy(size, h->ar_size, sizeof h->ar_size);
    end = at + strtoull(size, NULL, 10);
    if (!is_inside(f, at, (uint64_t)width) || end > f->size)
        return "the archive is truncated";
    count = read_number(f->data + at, width);
    if (count >= (end - at) / (uint64_t)width)
        return "the archive is damaged";
    at += (count + 1) * (uint64_t)width;
    for (; count > 0 && at < end; count--) {
        visit_symbol(f, at);
        at += strnlen(f->data + at, end - at) + 1;
    }
    return NULL;
}

/* ---- an object file ------------------------------------------------------ */

static void visit_table(struct file *f, const ElfW(Shdr) * table,
                        const ElfW(Shdr) * names)
{
    ElfW(Sym) symbol;

    for (uint64_t i = 0; i < table->sh_size / sizeof symbol; i++) {
        memcpy(&symbol, f->data + table->sh_offset + i * sizeof symbol,
               sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_info >> 4 != STB_LOCAL &&
            symbol.st_name < names->sh_size)
            visit_symbol(f, names->sh_offset + symbol.st_name);
    }
}

static bool read_section(const struct file *f, const ElfW(Ehdr) * h, unsigned i,
                         ElfW(Shdr) * section)
{
    uint64_t at = h->e_shoff + (uint64_t)i * sizeof *section;

    if (i >= h->e_shnum || h->e_shoff > f->size ||
        !is_inside(f, at, sizeof *section))
        return false;
    memcpy(section, f->data + at, sizeof *section);
    return is_inside(f, section->sh_offset,
                     section->sh_type == SHT_NOBITS ? 0 : section->sh_size);
}

static const char *read_object(struct file *f)
{
    const uint16_t one = 1;
    ElfW(Ehdr) h;
    ElfW(Shdr) section, names;

    if (f->size < sizeof h || memcmp(f->data, ELFMAG, SELFMAG) != 0)
        return "neither an object file nor an archive";
    memcpy(&h, f->data, sizeof h);
    if (h.e_ident[EI_CLASS] !=
            (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        h.e_ident[EI_DATA] !=
            (*(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB))
        return "an object file for another kind of machine";
    if (h.e_type != ET_REL)
        return "not an object file; a plugin from a file needs no table";
    for (unsigned i = 0; i < h.e_shnum; i++) {
        if (!read_section(f, &h, i, &section))
            return "the object file is damaged";
        if (section.sh_type == SHT_SYMTAB &&
            read_section(f, &h, section.sh_link, &names))
            visit_table(f, &section, &names);
    }
    return NULL;
}

/* ---- a file -------------------------------------------------------------- */

static const char *read_file(struct file *f)
{
    const char *fault;

    if (f->size >= SARMAG && memcmp(f->data, ARMAG, SARMAG) == 0)
        fault = read_archive(f);
    else
        fault = read_object(f);
    if (!fault && f->found == 0)
        fault = "it defines no symbol " PREFIX "NAME, which WEFT_PLUGIN of "
                "weft_transport.h makes";
    return fault;
}

int info_object_plugins(const char *file, info_visit_plugin *visit, void *arg,
                        char *why, size_t n)
{
    struct file f = {.name = file, .visit = visit, .arg = arg};
    struct stat st;
    const char *fault;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    void *data = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        fault = fd < 0 ? strerror(errno) : "not a file with content";
    } else {
        f.data = data;
        f.size = (size_t)st.st_size;
        fault = read_file(&f);
        munmap(data, f.size);
    }
    if (fd >= 0)
        close(fd);
    if (fault)
        snprintf(why, n, "%s", fault);
    return fault ? -1 : f.found;
}
