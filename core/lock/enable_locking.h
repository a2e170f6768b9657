/* Switching on the lock of a section that one thread had to itself: see
 * critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCK_ENABLE_LOCKING_H
#define WF_LOCK_ENABLE_LOCKING_H

#include "base.h"

struct wf_cs;

/* Switch the lock on because a second thread exists: ends WF_CS_ALONE. Always
 * returns true. Callable by any thread that is not inside. */
bool wf_cs_enable_locking(struct wf_cs *);

#endif
