/* Opening the other engines of a rank (progress/engines.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_ENGINES_H
#define WF_COMM_ENGINES_H

#include "progress/engines.h"

/* The functions of engines that the opened ones get: p2p/several_engines.c. */
extern const struct wf_engines_ops wf_engines_ops WF_HIDDEN;

/* Open the engines if they are wanted and not open yet; returns how many this
 * rank has. The section of wf is held. */
unsigned wf_engines_ensure(struct wf_instance *wf);
/* Open the engines at the start of the rank, if they are wanted and the
 * launcher exchanges business cards only then. The symbol is NULL in a static
 * program that derives no communicator. */
void wf_engines_open_early(struct wf_instance *home) __attribute__((weak));

#endif
