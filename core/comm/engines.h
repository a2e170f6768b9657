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
/* Start the progress threads of the further engines that the configuration asks
 * for. They read the launcher's notices: called once the engines take turns at
 * its connection, and with no section held. NULL as above. */
void wf_engines_start_helpers(struct wf_instance *home) __attribute__((weak));

/* The numbers that channels may have, one bit each. */
#define WF_CHANNELS_MASK ((1u << WF_CHANNELS_MAX) - 1)

/* Take all channels of this rank that are free, to agree with others on one.
 * Returns their bits; 0: none is, or peers could not find their engines. The
 * section of wf is held. */
uint32_t wf_channels_offer(struct wf_instance *wf);
/* Log why this member makes no channel. The communicator goes without. */
void wf_channels_log_refusal(struct wf_instance *wf, const char *why);
/* Make channels free again that were taken. */
void wf_channels_give_back(struct wf_instance *wf, uint32_t channels);
/* Open the engine of a channel that was taken, unless it is open. 0 or WEFT_E*,
 * recorded. */
int wf_channel_open(struct wf_instance *wf, unsigned channel);

#endif
