/* The processor that a thread runs on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CPU_H
#define WF_CPU_H

/* Moves the calling thread to another of the processors that it may use, if
 * there is one. Its affinity mask stays the same. */
void wf_cpu_leave(void);

#endif
