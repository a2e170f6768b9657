/* Recognising launchers that Weft cannot talk to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_FOREIGN_H
#define WF_BOOT_FOREIGN_H

#include "base.h"

/* Check for a launcher that Weft cannot talk to. If this process is one of
 * several that such a launcher started, err says which, and the result is
 * negative; else it is 0. */
int wf_boot_refuse_foreign(char *err, size_t err_len);

#endif
