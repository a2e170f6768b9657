/* Where the installation of libmpi.a is: see place.h.
 *
 * cmake/place.py finds the text by its beginning, in libmpi.a, mpirun and
 * weft-info once they are installed, and writes two paths behind it.
 * INVARIANT  No compiler may take the bytes for constant: CMakeLists.txt keeps
 * link-time optimisation away from this file.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/place.h"

#include <string.h>

/* The numbers keep it out of every other text. */
#define BEGINNING "\1\2weft-place\3\4"
enum { ROOM = 1024 };

static const char text[ROOM] __attribute__((used)) = BEGINNING;

const char *wf_place_library(void)
{
    const char *at = text;

    __asm__("" : "+r"(at)); /* it may be anything now */
    return at + sizeof BEGINNING - 1;
}

const char *wf_place_ini(void)
{
    return wf_place_library() + strlen(wf_place_library()) + 1;
}
