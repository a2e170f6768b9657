/* Progress and waiting: the functions that drive operations forward.
 *
 * A waiter polls the event sources (source.h) that can complete its request,
 * spins for a while that adapts to what paid off, then sleeps in the kernel
 * until a source or another thread wakes it.
 * docs/internals/progress-and-wakeups.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_H
#define WF_PROGRESS_H

#include "process/instance.h"
#include "progress/source.h"
#include "report/state.h"

/* The functions by which the progress engine drives what it does not know: the
 * protocol registers them before the first endpoint is opened. */
struct wf_progress_handlers {
    /* Completes sends that were held back until their endpoints are polled;
     * returns the endpoints that must be polled for others. */
    uint32_t (*complete_held)(struct wf_instance *);
    /* Goes on with arrivals that lacked memory, and maintains ordered pairs.
     * Called after a poll in which it was requested. */
    void (*resume_arrivals)(struct wf_instance *);
};

int wf_progress_init(struct wf_instance *);
/* Its sources were removed, or are used no more. */
void wf_progress_fini(struct wf_instance *);

/* Have resume_arrivals called at the end of this poll, or of the next one: a
 * plugin was told to stop reading because memory is lacking, or an ordered pair
 * needs maintenance. */
void wf_progress_request_resume(struct wf_instance *);
bool wf_progress_is_resume_requested(const struct wf_instance *);

/* Allow nonblocking calls to start the progress thread (helper.c). */
void wf_progress_allow_helper(struct wf_instance *);
/* Stop the progress thread, for good. Section not held. */
void wf_progress_stop_helper(struct wf_instance *);

/* Poll the sources in the mask once (API section held). Returns the number of
 * events handled. */
int wf_progress_poll(struct wf_instance *, uint32_t mask);
/* True if this thread is the only one in MPI: no thread waits, no operation is
 * left to the progress thread, and no such thread sleeps on armed sources.
 * Valid where several threads may be inside. */
bool wf_progress_is_only_thread(struct wf_instance *);
static inline bool wf_progress_may_spin(struct wf_instance *wf)
{
    return wf_likely(!wf_cs_uses_lock(&wf->api)) ||
           wf_progress_is_only_thread(wf);
}
/* Poll this source, at most `budget` messages at a time, until *state is not
 * 0 or the poll budget is used up. Wakes no waiter, so it may be called only
 * where wf_progress_may_spin(). The section is not left, and not kept any
 * longer once another thread waits for it. */
void wf_progress_spin(struct wf_instance *, const struct wf_event_source *,
                      int budget, const wf_atomic_u32 *state);
/* Poll the source once, after one poll by recv_words that found no message.
 * False: *state is not 0, or the caller should stop polling and wait. *polls
 * counts the calls; it starts at 0. */
bool wf_progress_keep_spinning(struct wf_instance *,
                               const struct wf_event_source *,
                               const wf_atomic_u32 *state, int *polls);
/* Wake the leader among the sleeping threads of the instance. Callable by any
 * thread. */
void wf_progress_wake_leader(struct wf_instance *);

struct wf_progress;

/* Poll the sources in the mask once, by a thread that goes on polling: it
 * must call wf_progress_end_polling before it stops. Returns the number of
 * events. */
int wf_progress_poll_round(struct wf_instance *, uint32_t mask);

/* The same for sources of which any may complete the thread's request: those
 * that are idle and take long to poll are polled less often (idle_sources.c).
 * rounds: between two looks at the clock, a power of two. waits: the thread
 * sleeps soon if there is no news. */
int wf_progress_poll_asked(struct wf_instance *, uint32_t mask, unsigned rounds,
                           bool waits);

/* Poll the sources that are not in `asked`, unless they had no event lately. */
void wf_progress_poll_unasked(struct wf_instance *, uint32_t asked);

/* Poll the source of a bit, without the end of a round. Returns the number of
 * events. */
int wf_progress_poll_source(struct wf_progress *, uint32_t bit);

/* Arm the sources again if a leader sleeps on them. Polling disarms sources,
 * so a thread that has polled must call this before it goes, or
 * nothing would ever wake the leader. */
void wf_progress_end_polling(struct wf_instance *);

/* Make the descriptors to sleep on, unless they exist. 0 or WEFT_ESYS. */
int wf_progress_open_sleeper(struct wf_progress *);

/* Take the lead from the foreign poller (other_engines.c). */
void wf_progress_remove_foreign_poller(struct wf_instance *);

#endif
