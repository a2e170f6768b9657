/* The report of unfinished operations when a program ends: receives that no
 * message came for, messages that were not received, sends that were not
 * accepted, operations of other chapters. Each is a line for core.log = info.
 * An unfinished operation is a mistake where the program could have completed
 * it (MPI-5.0 s11.2.2), and none where no process wants the message, so that it
 * is no error. Memory that an operation of another chapter holds is not freed,
 * so that a tool that looks for leaks finds it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_UNFINISHED_H
#define WF_PROTOCOL_UNFINISHED_H

#include "base.h"

/* Report the operations that the program leaves unfinished in
 * this engine. Called in each engine of an instance that ends. Always true. */
bool wf_report_unfinished(void *engine);

#endif
