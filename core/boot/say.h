/* The last words of a process, through the launcher, which prints once what
 * many ranks say.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SAY_H
#define WF_SAY_H

#include <stddef.h>

/* Print n bytes of whole lines to standard error, or hand them to mpirun when
 * that would print them to the same place. */
void wf_boot_say(const char *text, size_t n);

#endif
