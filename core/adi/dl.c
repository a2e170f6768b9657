/* dlopen, alone in this archive member.
 *
 * The core reaches it through the weak object weft_dl_loader. A program gets
 * it with -Wl,-u,weft_dl_loader (mpicc adds that); a fully static program
 * leaves it out, and with it dlopen and the linker's warning about it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "adi/endpoint.h"

/* A symbol counts only if it lives in that very file: a plugin that is linked
 * against another one must not be taken for it. */
static const void *own_symbol(void *handle, const char *file,
                              const char *symbol, char *err, size_t err_len)
{
    void *p = dlsym(handle, symbol);
    char real[PATH_MAX], from[PATH_MAX];
    Dl_info info;

    if (!p) {
        snprintf(err, err_len, "%s: exports no symbol %s", file, symbol);
        return NULL;
    }
    if (!dladdr(p, &info) || !realpath(file, real) ||
        !realpath(info.dli_fname, from) || strcmp(real, from) != 0) {
        snprintf(err, err_len, "%s: %s comes from another file", file, symbol);
        return NULL;
    }
    return p;
}

/* NODELETE and no dlclose: thread-local destructors may outlive the use. */
static const weft_plugin *load(const char *file, const char *symbol, char *err,
                               size_t err_len)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!handle) {
        snprintf(err, err_len, "%s", dlerror());
        return NULL;
    }
    return own_symbol(handle, file, symbol, err, err_len);
}

static const char *library_dir(void)
{
    static char dir[PATH_MAX];
    Dl_info info;
    char *slash;

    if (dir[0])
        return dir;
    if (!dladdr((void *)(uintptr_t)&library_dir, &info) ||
        !realpath(info.dli_fname, dir))
        return NULL;
    slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    return dir;
}

#define DL_PUBLIC __attribute__((visibility("default")))
extern DL_PUBLIC const struct weft_dl weft_dl_loader;
DL_PUBLIC const struct weft_dl weft_dl_loader = {load, library_dir};
