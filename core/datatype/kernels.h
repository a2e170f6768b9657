/* Copying many equal blocks: the innermost loops of packing.
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

/* n blocks of w bytes, from steps of ss bytes to steps of ds. */
void wf_copy_blocks(char *restrict d, int64_t ds, const char *restrict s,
                    int64_t ss, int64_t n, int64_t w) WF_HIDDEN;

/* n blocks of w bytes at user + disps[i], to and from one piece. */
void wf_copy_gather(char *restrict out, uintptr_t user, const int64_t *disps,
                    int64_t n, int64_t w) WF_HIDDEN;
void wf_copy_scatter(const char *restrict in, uintptr_t user,
                     const int64_t *disps, int64_t n, int64_t w) WF_HIDDEN;

#endif
