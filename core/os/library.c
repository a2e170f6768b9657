/* The installation of the library: see library.h. CMakeLists.txt compiles this
 * file for libmpi.a, with WF_IN_ARCHIVE, and for libmpi_abi.so.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/library.h"

#ifdef WF_IN_ARCHIVE
#include <stdio.h>
#include <string.h>

#include "os/place.h"
#include "os/trust.h"

/* An mpirun or weft-info whose installation was moved or copied says from where
 * to where. Returns the latter if this library is of that installation, or
 * NULL. */
static const char *find_moved(void)
{
    const char *moved = wf_trust_getenv("WEFT_LAUNCHER_MOVED");
    size_t n = strlen(wf_place_library());

    if (n && moved && strncmp(moved, wf_place_library(), n) == 0 &&
        strncmp(moved + n, ":/", 2) == 0)
        return moved + n + 1;
    return NULL;
}

const char *wf_library_dir(void)
{
    const char *moved = find_moved();

    return moved ? moved : *wf_place_library() ? wf_place_library() : NULL;
}

bool wf_library_ini(char *path, size_t n)
{
    return *wf_place_ini() && !find_moved() &&
           (size_t)snprintf(path, n, "%s", wf_place_ini()) < n;
}
#else
#include "layout.h"
#include "os/dl.h"
#include "os/prefix.h"

const char *wf_library_dir(void)
{
    return weft_dl_loader.library_dir();
}

bool wf_library_ini(char *path, size_t n)
{
    const char *dir = wf_library_dir();

    return dir && wf_prefix_resolve(dir, WF_INI_FROM_LIB, path, n);
}
#endif
