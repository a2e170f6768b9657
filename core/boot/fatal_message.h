/* The fatal message of a process. It goes through the launcher, which prints
 * the same message of many ranks once.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FATAL_MESSAGE_H
#define WF_FATAL_MESSAGE_H

#include <stddef.h>

/* Print n bytes of whole lines to standard error, or send them to mpirun if
 * its standard error is the same one. */
void wf_boot_print_fatal(const char *text, size_t n);

#endif
