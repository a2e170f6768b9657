/* The processor that a thread runs on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CPU_H
#define WF_CPU_H

/* Continue on another processor of those that the calling thread may use, if
 * there is one. Which it may use stays the same. */
void wf_cpu_leave(void);

#endif
