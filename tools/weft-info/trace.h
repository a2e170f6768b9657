/* weft-info --trace: the traces of ranks as text. See trace.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_INFO_TRACE_H
#define WEFT_INFO_TRACE_H

#include <stddef.h>
#include <stdio.h>

/* Print the events of all files to `out`, merged by time. Returns 0, or 1 if a
 * file cannot be used, which is said on `errors`; the others are printed. */
int info_trace(char *const *files, int n, FILE *out, FILE *errors);
/* The same of one file's bytes, for tests. */
int info_trace_bytes(const void *bytes, size_t size, FILE *out, FILE *errors);

#endif
