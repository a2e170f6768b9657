/* Copies that leave the caches as they are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COPY_H
#define WF_COPY_H

#include <stddef.h>

/* By stores around the caches, where the processor has them: the lines of `to`
 * are neither read nor kept. In order with later stores, as memcpy is. */
void wf_copy_around(void *to, const void *from, size_t n);

#endif
