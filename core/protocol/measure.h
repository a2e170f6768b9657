/* The choice of a pair's carrier by what it costs (policy = measured).
 *
 *   round   all carriers are probed at once    PING ... PONG
 *   cost    round trip / 2 + bytes / rate      a carrier keeps the last few
 *   move    every one of them is better        failback_to, as of failback
 *
 * DESIGN  The peer answers when it is in MPI and has a CPU, be it late: that
 * delays the answers on all carriers alike, and hides what differs. So the
 * first answer of a round counts as the fastest one of the last rounds, and the
 * others as what they took longer. A probe that waits behind payload of the
 * pair itself tells nothing of the path: with much under way the rate counts at
 * which it is acknowledged. A carrier whose rate nobody has seen has the one
 * that its transport states, less what was lacking on the current one at best.
 * The mean size of what was sent lately decides between latency and rate.
 *
 * HYSTERESIS  A pair moves when each of the last WF_MEASURES costs of another
 * carrier is better, by a margin, than each of the current one, and not before
 * it has stayed for some rounds, which double each time that it comes back to
 * where it was. Then it stops sending until all is acknowledged, as for
 * failback: so nothing goes again, and nothing is overtaken.
 *
 * COST  A PING and a PONG for each carrier and round, and only if something was
 * sent since the last one, or is not acknowledged. Rounds have no timer of
 * their own: no sleeping process is woken for one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_MEASURE_H
#define WF_PROTOCOL_MEASURE_H

#include "base.h"

struct wf_ordered;

/* Begin the next round when it is time, and decide by the last one. */
void wf_measure_maintain(struct wf_ordered *, uint64_t now);
/* The peer has answered a probe of this carrier. */
void wf_measure_note_answer(struct wf_ordered *, int carrier, uint64_t now);
/* The pair has moved: all is measured anew. */
void wf_measure_note_move(struct wf_ordered *, int left, uint64_t now);
/* The median of the recent costs of a carrier in ns; 0: not known. */
double wf_measure_cost(const struct wf_ordered *, int carrier);

#endif
