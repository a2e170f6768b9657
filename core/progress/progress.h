/* Progress and waiting.
 *
 * A waiter polls the endpoints that can complete its request, spins for a
 * while that adapts to what paid off, then sleeps in the kernel until an
 * endpoint or another thread wakes it. docs/design.md, "Waiting".
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_H
#define WF_PROGRESS_H

#include "instance.h"
#include "progress/state.h"

/* A thread waits for a word in memory that is shared with other processes, which
 * no endpoint announces; for as long as it stands in wf->flag_waits. */
struct wf_flag_wait {
    struct wf_flag_wait *next;
    struct weft_loc *loc; /* who is to write it */
    void (*arm)(struct wf_flag_wait *); /* before a sleep: the writer is to send
                                           a message from now on */
};

int wf_progress_init(struct wf_instance *);
void wf_progress_fini(struct wf_instance *);
/* Register an endpoint's event descriptor with the sleeper. */
int wf_progress_add(struct wf_instance *, struct weft_core *);

/* Nonblocking calls may start a helper thread (helper.c). */
void wf_progress_allow_helper(struct wf_instance *);
/* There is no helper any more, and never will be one. Section not held. */
void wf_progress_alone(struct wf_instance *);

/* More ranks on this host than CPUs, be it by the affinity mask or by the quota
 * of a container? */
bool wf_progress_crowded(struct wf_instance *);

/* What can complete something that anybody may send. An endpoint that nobody is
 * reached through yet can only announce a caller: polled rarely, as one of the
 * others. */
static inline uint32_t wf_progress_need(const struct wf_instance *wf)
{
    return wf->used ? wf->used : UINT32_MAX;
}

/* Poll endpoints in the mask once (API section held). Returns events handled. */
int wf_progress_poll(struct wf_instance *, uint32_t mask);
/* The same on behalf of a call that asks without waiting. Polls other engines,
 * too, and where there are more ranks than CPUs gives the CPU away if the
 * program asks time and again; leaves the section meanwhile. cause: what the
 * program asks for, for the state page (state.h). */
int wf_progress_test(struct wf_instance *, uint32_t mask,
                     const struct wf_wait_cause *cause);
/* Poll other engines, now and then; leaves the section meanwhile. For calls that
 * poll once. */
void wf_progress_others(struct wf_instance *);
/* This thread is the only one in MPI: nobody waits, and nothing is owed. Asked
 * where threads may be inside. */
bool wf_progress_sole(struct wf_instance *);
static inline bool wf_progress_may_spin(struct wf_instance *wf)
{
    return wf_likely(!wf_cs_entered(&wf->api)) || wf_progress_sole(wf);
}
/* Poll this endpoint, at most `budget` messages at a time, until *state is not 0
 * or it is time to wait in earnest. Nobody is woken, so only where
 * wf_progress_may_spin(); the section is not left, and no longer kept when
 * another thread wants it. */
void wf_progress_spin(struct wf_instance *, struct weft_core *, int budget,
                      const wf_atomic_u32 *state);
/* What is to be done after a look at one message by recv_words, which has not
 * come: poll the endpoint once. false: *state is not 0, or it is time to wait in
 * earnest. *looks counts from 0. */
bool wf_progress_spin_on(struct wf_instance *, struct weft_core *,
                         const wf_atomic_u32 *state, int *looks);
/* Where ranks outnumber CPUs and no thread shares the section: let the others on
 * this CPU run once. false: not so, or it took too long to be worth another. */
bool wf_progress_give_way(struct wf_instance *);
/* Poll, spin, sleep until done(arg) is true. mask: endpoints that can make it
 * true. Enters with the API section held and returns with it held; leaves it
 * while asleep. cause: what the caller waits for, said to the launcher before
 * the sleep (state.h); NULL: the name of the call alone. */
void wf_progress_wait(struct wf_instance *, uint32_t mask, bool (*done)(void *),
                      void *arg, const struct wf_wait_cause *cause);
/* Serve peers until fd (if >= 0) becomes readable, or else until done(arg), or
 * until the deadline (0: none). For conditions no endpoint announces: sleeps
 * are short. True unless the deadline passed. API section held throughout. */
bool wf_progress_serve(struct wf_instance *, int fd, bool (*done)(void *),
                       void *arg, uint64_t deadline);
/* What a sleeper does about once a second: protocol/failure.c. */
void wf_failure_watch(struct wf_instance *);
/* Wake every sleeping thread of the instance (any thread). */
void wf_progress_kick(struct wf_instance *);

#endif
