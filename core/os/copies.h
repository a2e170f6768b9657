/* Copies of this library in one process.
 *
 * A program that contains libmpi.a and loads a library which uses libmpi_abi.so
 * has two, and each call reaches one or the other. Two copies cannot work
 * together.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COPIES_H
#define WF_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the process has another copy than this one. Then `text` says
 * where they are and what to do. */
bool wf_copies_find(char *text, size_t n);

#endif
