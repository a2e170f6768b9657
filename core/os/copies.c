/* Finds other copies of this library in the process: see copies.h.
 *
 * DESIGN  Each copy has an ELF note. It is loaded with the object that holds
 * the copy, survives strip, and is found without a name that one copy could
 * take from another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/copies.h"

#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A fully static program may not have it, and has one copy. */
#pragma weak dl_iterate_phdr

struct note {
    uint32_t name_size, size, type;
    char name[8];
    uint32_t value;
};

static const struct note own_note
    __attribute__((section(".note.weft"), aligned(4), used)) = {
        sizeof "Weft", sizeof(uint32_t), 1, "Weft", 1};

struct found {
    bool other;
    char here[PATH_MAX], there[PATH_MAX]; /* "" is the program */
};

static bool is_ours(const struct note *note, size_t left)
{
    return left >= sizeof *note && memcmp(note, &own_note, sizeof *note) == 0;
}

static void copy_name(char *out, const char *name)
{
    snprintf(out, PATH_MAX, "%s", name ? name : "");
}

/* Looks for notes of this library in one segment. */
static void read_notes(struct found *f, const char *name, const char *at,
                       size_t left, size_t align)
{
    while (left >= 3 * sizeof(uint32_t)) {
        const struct note *note = (const struct note *)at;
        size_t n = 3 * sizeof(uint32_t);
        n = (n + note->name_size + align - 1) & ~(align - 1);
        n = (n + note->size + align - 1) & ~(align - 1);
        if (is_ours(note, left)) {
            bool own = note == &own_note;
            copy_name(own ? f->here : f->there, name);
            f->other |= !own;
        }
        if (n > left)
            return;
        at += n;
        left -= n;
    }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_notes(user, info->dlpi_name,
                       (const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz,
                       p->p_align == 8 ? 8 : 4);
    }
    return 0;
}

bool wf_copies_find(char *text, size_t n)
{
    struct found f = {.other = false};

    if (!dl_iterate_phdr)
        return false;
    dl_iterate_phdr(visit_object, &f);
    if (f.other)
        snprintf(text, n,
                 "this process has two copies of Weft, one in %.120s and one "
                 "in %.120s, of which neither can serve all calls: link the "
                 "program with mpicc -shared-mpi, and libraries with mpicc "
                 "-shared",
                 f.here[0] ? f.here : "the program",
                 f.there[0] ? f.there : "the program");
    return f.other;
}
