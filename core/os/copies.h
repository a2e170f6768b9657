/* Copies of this library in one process.
 *
 * A program that contains libmpi.a and loads a library which uses libmpi_abi.so
 * has two, and each call reaches one or the other. They cannot work together.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COPIES_H
#define WF_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* True if there is another copy than this one: text says where they are, and
 * what to do. */
bool wf_copies_find(char *text, size_t n);

#endif
