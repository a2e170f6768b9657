/* Critical sections: the one header that knows the granularity of the build
 * (Balaji, Buntinas, Goodell, Gropp, Thakur: Fine-Grained Multithreading
 * Support for Hybrid Threaded MPI Programming, 2010).
 *
 *                  around a call         inside it, around what
 *                  of point-to-point     the engine shares
 *   global         section call          -
 *   brief-global   -                     section engine
 *   per-object     -                     the same, of one engine of several
 *   lock-free      -                     the same, by a try; else a submission
 *
 * Both are the API section, which all other calls enter as a whole; so the same
 * code with both of them in it is right in each build. per-object gives a rank
 * several engines (engines.h), each with a section of its own, unless core.engines
 * says otherwise. lock-free is per-object, and a send or a receive that finds its
 * engine busy does not wait: it is submitted.
 *
 * Section api: one per instance, around every MPI call that touches the engine;
 * os/section.h has its place among the others. A waiter leaves it while it
 * sleeps and between polls. User callbacks (error handlers, attribute
 * functions, user operations) run between wf_cs_leave and wf_cs_enter. Where no
 * other thread can be inside, a call pays one test of a flag:
 *
 *   below MPI_THREAD_MULTIPLE
 *      off --wf_cs_lend, in a call that leaves something to the helper--> on
 *      on --a leave that finds nothing owed--> off
 *
 *   MPI_THREAD_MULTIPLE
 *      alone --who enters finds that the process has a second thread--> on
 *      alone --wf_cs_lend--> on --a leave that finds nothing owed, and no second
 *                                 thread--> alone
 *
 * DESIGN  While it is off, no other thread of the library looks at the engine.
 * Only the thread that is in an MPI call switches, and it holds the mutex when
 * it does, so the helper (helper.c) sees either state and never a change. A
 * call may therefore find the section off when it enters and on when it
 * leaves, or the other way round; both are right.
 *
 * Alone is off as long as the process has one thread, which whoever enters asks
 * anew (os/single.h). The second one is started by the first: by the program, outside;
 * in a callback, for which the section has been left, and is on when it is entered
 * again; or for the helper, which lends first. So the first is not inside when the
 * second enters. Below `global` calls share more than the section protects, and
 * there is no such state.
 *
 * SUBMISSIONS  What is put on cs->submitted is run, in the order of submission, by
 * whoever enters next, before he does anything else, or by who is inside, when
 * he yields or has left:
 *
 *   submitter                        who leaves
 *   push                             pass the ticket on
 *   full fence                       full fence
 *   enter if nobody has a ticket,    something submitted? then enter if nobody
 *   else go                          has a ticket, else go
 *
 * One of the two sees the other: a submitter that goes has seen a ticket that
 * was not passed on, and whose holder so looks after the push. Nobody goes because
 * of a bias; its owner's exit is waited for. tests/model/submit.pml.
 *
 * What is run may not leave the section, or what was submitted behind it, by the
 * same thread, could overtake it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRITICAL_H
#define WF_CRITICAL_H

#include <stdbool.h>
#include <stddef.h>

#include "os/section.h"
#include "os/single.h"
#include "os/stack.h"

enum wf_granularity { WF_GLOBAL, WF_BRIEF_GLOBAL, WF_PER_OBJECT, WF_LOCK_FREE };
#ifndef WF_GRANULARITY
#define WF_GRANULARITY WF_GLOBAL
#endif
/* Each is also what those before it are. */
enum {
    WF_BRIEF = WF_GRANULARITY >= WF_BRIEF_GLOBAL,
    WF_OBJECTS = WF_GRANULARITY >= WF_PER_OBJECT,
    WF_SUBMITS = WF_GRANULARITY >= WF_LOCK_FREE
};

/* What a section is called that is a lock in one build and nothing in another:
 * without size, for the analysis. */
struct WF_CAPABILITY("border") wf_border {
};

/* For whose sake it is on. */
enum wf_cs_mode {
    WF_CS_SHARED,
    WF_CS_LENT, /* for the helper's */
    WF_CS_ALONE /* for that of threads which are not there yet: it is off */
};

struct WF_CAPABILITY("API section") wf_cs {
    bool on;            /* others may be inside, or come: mode */
    bool threads;       /* MPI_THREAD_MULTIPLE: on for good */
    wf_atomic_u32 mode; /* changed inside, or while there is no other thread */
    unsigned owed; /* operations that the helper may move on; LOCK mutex */
    unsigned calm; /* of them those that it need not: WF_REQ_CALM */
    void (*changed)(struct wf_cs *); /* on or mode has; inside. May be NULL */
    struct wf_mutex mutex;
    struct wf_stack submitted;
    void (*run)(struct wf_cs *); /* all of it; inside */
};

static inline bool wf_cs_alone(struct wf_cs *cs)
{
    return !WF_BRIEF && wf_load_relaxed(&cs->mode) == WF_CS_ALONE;
}

/* No longer. true. By any thread, outside: crowd.c. */
bool wf_cs_crowd(struct wf_cs *);

/* Who comes from outside asks whether there is something to enter, */
static inline bool wf_cs_to_enter(struct wf_cs *cs)
{
    return cs->on && (!wf_cs_alone(cs) ||
                      (!wf_single_thread() && wf_cs_crowd(cs)));
}

/* who is inside, whether there is something to leave. */
static inline bool wf_cs_entered(struct wf_cs *cs)
{
    return cs->on && !wf_cs_alone(cs);
}

/* Run what is submitted, if nobody is inside: submit.c. */
void wf_cs_return(struct wf_cs *);

static inline bool wf_cs_owes(struct wf_cs *cs)
{
    return WF_SUBMITS && __builtin_expect(wf_stack_some(&cs->submitted), 0);
}

/* Inside. */
static inline void wf_cs_serve(struct wf_cs *cs)
{
    if (wf_cs_owes(cs))
        cs->run(cs);
}

/* By any thread that is not inside, where threads may be. */
static inline void wf_cs_submit(struct wf_cs *cs, struct wf_stack_link *l)
{
    wf_stack_push(&cs->submitted, l);
    wf_cs_return(cs);
}

/* Whether it is on or not: who comes from outside. */
static inline void wf_cs_take(struct wf_cs *cs)
{
    wf_section_entering(WF_RANK_API, cs);
    wf_mutex_lock(&cs->mutex);
    wf_cs_serve(cs);
}

static inline bool wf_cs_try(struct wf_cs *cs)
{
    if (!(WF_SUBMITS ? wf_mutex_claim(&cs->mutex) : wf_mutex_try(&cs->mutex)))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    wf_cs_serve(cs);
    return true;
}

/* What a thread owes that has tried to enter without calling a function; both NULL:
 * nothing. */
struct wf_cs_debt {
    struct wf_cs *inside; /* it is inside, and has to leave */
    wf_atomic_u32 *vain;  /* wf_mutex_lock_again's */
};
extern _Thread_local struct wf_cs_debt wf_cs_debt WF_TLS_NEAR;
void wf_cs_pay(void);

/* Before the thread does anything that may last. */
static inline void wf_cs_pay_debt(void)
{
    if (__builtin_expect(wf_cs_debt.inside || wf_cs_debt.vain, 0))
        wf_cs_pay();
}

/* Enter if this thread was the last one inside. false: there may be a debt. */
static inline bool wf_cs_take_again(struct wf_cs *cs)
{
    if (!wf_mutex_lock_again(&cs->mutex, &wf_cs_debt.vain))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    if (!wf_cs_owes(cs))
        return true;
    wf_cs_debt.inside = cs;
    return false;
}

static inline void wf_cs_give_by(struct wf_cs *cs,
                                 void (*leave)(struct wf_mutex *))
{
    leave(&cs->mutex);
    wf_section_left(WF_RANK_API, cs);
    if (wf_cs_owes(cs))
        wf_cs_return(cs);
}

static inline void wf_cs_give(struct wf_cs *cs)
{
    wf_cs_give_by(cs, wf_mutex_step_out);
}

static inline void wf_cs_become(struct wf_cs *cs, enum wf_cs_mode mode)
{
    wf_store_relaxed(&cs->mode, mode);
    if (cs->changed)
        cs->changed(cs);
}

/* Not lent. Alone, if there are to be other threads and are none yet. */
static inline void wf_cs_settle(struct wf_cs *cs)
{
    bool alone = !WF_BRIEF && cs->threads && wf_single_thread();

    wf_cs_become(cs, alone ? WF_CS_ALONE : WF_CS_SHARED);
}

/* Several threads may be inside from now on. Nobody is. */
static inline void wf_cs_share(struct wf_cs *cs)
{
    cs->on = cs->threads = true;
    wf_cs_become(cs, WF_CS_SHARED);
}

/* The same, but there may be no other thread yet. */
static inline void wf_cs_share_later(struct wf_cs *cs)
{
    cs->on = cs->threads = true;
    wf_cs_settle(cs);
}

/* At MPI_THREAD_MULTIPLE it stays on, and others read it. */
static inline void wf_cs_switch(struct wf_cs *cs, bool on)
{
    if (!cs->threads)
        cs->on = on;
}

/* Switch on for the helper, if it is not; then the caller has entered. */
static inline void wf_cs_lend(struct wf_cs *cs)
{
    if (wf_cs_entered(cs))
        return;
    wf_cs_take(cs);
    wf_cs_switch(cs, true);
    wf_cs_become(cs, WF_CS_LENT);
}

/* A leave of one that is not simply shared. false: there is nothing to leave. */
static inline bool wf_cs_leave_specially(struct wf_cs *cs)
{
    if (wf_cs_alone(cs))
        return false;
    if (cs->owed)
        return true;
    wf_cs_switch(cs, false);
    wf_cs_settle(cs);
    return true;
}

static inline void wf_cs_enter(struct wf_cs *cs)
{
    if (wf_cs_to_enter(cs))
        wf_cs_take(cs);
}

static inline void wf_cs_leave_by(struct wf_cs *cs,
                                  void (*leave)(struct wf_mutex *))
{
    if (!cs->on || (__builtin_expect(wf_load_relaxed(&cs->mode), 0) &&
                    !wf_cs_leave_specially(cs)))
        return;
    wf_cs_give_by(cs, leave);
}

static inline void wf_cs_leave(struct wf_cs *cs)
{
    wf_cs_leave_by(cs, wf_mutex_step_out);
}

/* For as long as one sleeps or gives its CPU away: others enter at once. */
static inline void wf_cs_go(struct wf_cs *cs)
{
    wf_cs_leave_by(cs, wf_mutex_unlock);
}

/* For what any thread may call at any level: the section as it is now, and
 * left as it was entered. */
static inline bool wf_cs_hold(struct wf_cs *cs)
{
    bool on = wf_cs_to_enter(cs);

    if (on)
        wf_cs_take(cs);
    return on;
}

static inline void wf_cs_drop(struct wf_cs *cs, bool held)
{
    if (held)
        wf_cs_give(cs);
}

/* Who is inside asks whether another thread waits to enter. */
static inline bool wf_cs_wanted(struct wf_cs *cs)
{
    return wf_mutex_contended(&cs->mutex);
}

/* Leave and re-enter when another thread waits to enter. */
static inline void wf_cs_yield(struct wf_cs *cs)
{
    if (wf_cs_entered(cs) && wf_cs_wanted(cs)) {
        wf_mutex_unlock(&cs->mutex);
        wf_mutex_lock(&cs->mutex);
    }
    wf_cs_serve(cs);
}

#endif
