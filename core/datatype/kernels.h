/* These functions copy many equal blocks: they are the innermost loops of
 * packing.
 *
 * DESIGN  A loop per common width, so that no call is made per block. Where the
 * width is less than a register, several blocks are loaded before any is
 * stored, and on the packed side they are stored together: a processor stores
 * once per cycle, and a plain loop is bound by that. No branch inside a loop.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_KERNELS_H
#define WF_KERNELS_H

#include "base.h"

/* Copies n blocks of w bytes; the sources are ss bytes apart, the destinations
 * ds. */
void wf_copy_blocks(char *restrict d, int64_t ds, const char *restrict s,
                    int64_t ss, int64_t n, int64_t w) WF_HIDDEN;

/* Copy n blocks of w bytes at user + disps[i] into contiguous memory, and
 * back. */
void wf_copy_gather(char *restrict out, uintptr_t user, const int64_t *disps,
                    int64_t n, int64_t w) WF_HIDDEN;
void wf_copy_scatter(const char *restrict in, uintptr_t user,
                     const int64_t *disps, int64_t n, int64_t w) WF_HIDDEN;

#endif
