/* Calls of the functions that are not implemented: make_absent.py.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ABSENT_TEST_H
#define ABSENT_TEST_H

#include <mpi.h>
#include <stddef.h>

struct absent_call {
    const char *function, *chapter;
    int (*call)(void);
};

extern const struct absent_call absent_calls[]; /* up to a NULL */

#endif
