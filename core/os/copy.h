/* Copies by non-temporal stores, which leave the caches as they are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COPY_H
#define WF_COPY_H

#include <stddef.h>

/* Copies n bytes by non-temporal stores where the processor has them: the cache
 * lines of `to` are neither read nor kept. The copy is ordered before later
 * stores, as memcpy is. */
void wf_copy_nontemporal(void *to, const void *from, size_t n);

#endif
