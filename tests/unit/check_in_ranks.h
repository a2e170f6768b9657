/* A check for ranks that are threads: cmocka's assertions jump out of the
 * thread that runs the test, and no other.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CHECK_IN_RANKS_H
#define CHECK_IN_RANKS_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);         \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
