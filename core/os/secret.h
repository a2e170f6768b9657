/* Memory for secrets: not in core dumps, not in children, not on disk.
 *
 * Each secret has a mapping of its own. The system is asked to leave it out of
 * core dumps, to clear it in a child of fork, and to keep it in memory; a
 * system that cannot do one of these does the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SECRET_H
#define WF_SECRET_H

#include <stddef.h>

/* Returns n zero bytes at the beginning of a page, or NULL if there is no
 * memory. */
void *wf_secret_alloc(size_t n);
/* Clears and unmaps n bytes; NULL does nothing. */
void wf_secret_free(void *, size_t n);
/* Clears what earlier calls have left on the stack below the caller. */
void wf_secret_wipe_stack(void);

#endif
