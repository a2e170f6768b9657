/* Loads libusrsctp.
 *
 * DESIGN  dlopen is weak: a static program has none, and must not get one for
 * this. If a static program has one for other reasons, a library would bring a
 * second libc and crash the process: only a program with an interpreter may
 * load. The library stays loaded.
 * LOCK  Called under the lock of stack.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if __has_include(<usrsctp.h>)
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <errno.h>
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "library.h"

#define LIBRARY "libusrsctp.so.2"

#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

#define SCTP_NAME(name)                                                        \
    {offsetof(struct wf_sctp_library, name), "usrsctp_" #name},
static const struct {
    size_t offset;
    const char *symbol;
} symbols[] = {SCTP_LIBRARY(SCTP_NAME)};
#undef SCTP_NAME

static int load_symbols(void *handle, struct wf_sctp_library *to, char *why,
                        size_t n)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *f = dlsym(handle, symbols[i].symbol);
        if (!f) {
            snprintf(why, n, LIBRARY " is of another version: it has no %s",
                     symbols[i].symbol);
            return -1;
        }
        *(void **)((char *)to + symbols[i].offset) = f;
    }
    return 0;
}

/* Notes whether the first object, which is the program, has an interpreter. */
static int look_for_interpreter(struct dl_phdr_info *program, size_t n,
                                void *found)
{
    for (int i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_INTERP)
            *(bool *)found = true;
    return 1;
}

static bool can_load(void)
{
    bool dynamic = false;

    dl_iterate_phdr(look_for_interpreter, &dynamic);
    return dlopen && dynamic;
}

const struct wf_sctp_library *wf_sctp_load_library(char *why, size_t n)
{
    static struct wf_sctp_library found;
    static bool complete;
    void *handle;

    if (complete)
        return &found;
    if (!can_load()) {
        snprintf(why, n, "a static program cannot load " LIBRARY);
        return NULL;
    }
    errno = 0;
    handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle && errno == ENOMEM) { /* dlerror does not always tell */
        snprintf(why, n, LIBRARY ": %s", strerror(errno));
        return NULL;
    }
    if (!handle) {
        snprintf(why, n, "%s (Debian: apt-get install libusrsctp2)", dlerror());
        return NULL;
    }
    if (load_symbols(handle, &found, why, n) < 0)
        return NULL;
    complete = true;
    return &found;
}
#endif
