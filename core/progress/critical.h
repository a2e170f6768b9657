/* Critical sections: the one header that knows the granularity of the build
 * (Balaji, Buntinas, Goodell, Gropp, Thakur: Fine-Grained Multithreading
 * Support for Hybrid Threaded MPI Programming, 2010).
 *
 *                  around a call         inside it, around what
 *                  of point-to-point     the engine shares
 *   global         section call          -
 *   brief-global   -                     section engine
 *   per-object     -                     the same, of one engine of several
 *
 * Both are the API section, which all other calls enter as a whole; so the same
 * code with both of them in it is right in each build. per-object gives a rank
 * several engines (engines.h), each with a section of its own, unless core.engines
 * says otherwise.
 *
 * Section api: one per instance, around every MPI call that touches the engine;
 * os/section.h has its place among the others. At MPI_THREAD_MULTIPLE it is
 * always on; lower levels pay one test of a flag. A waiter leaves it while it
 * sleeps and between polls. User callbacks (error handlers, attribute
 * functions, user operations) run between wf_cs_leave and wf_cs_enter.
 *
 *   below MPI_THREAD_MULTIPLE
 *      off --wf_cs_lend, in a call that leaves something to the helper--> on
 *      on --a leave that finds nothing owed--> off
 *
 * DESIGN  While it is off, no other thread of the library looks at the engine.
 * Only the thread that is in an MPI call switches, and it holds the mutex when
 * it does, so the helper (helper.c) sees either state and never a change. A
 * call may therefore find the section off when it enters and on when it
 * leaves, or the other way round; both are right.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRITICAL_H
#define WF_CRITICAL_H

#include <stdbool.h>
#include <stddef.h>

#include "os/section.h"

enum wf_granularity { WF_GLOBAL, WF_BRIEF_GLOBAL, WF_PER_OBJECT };
#ifndef WF_GRANULARITY
#define WF_GRANULARITY WF_GLOBAL
#endif
/* Each is also what those before it are. */
enum {
    WF_BRIEF = WF_GRANULARITY >= WF_BRIEF_GLOBAL,
    WF_OBJECTS = WF_GRANULARITY >= WF_PER_OBJECT
};

/* What a section is called that is a lock in one build and nothing in another:
 * without size, for the analysis. */
struct WF_CAPABILITY("border") wf_border {
};

struct WF_CAPABILITY("API section") wf_cs {
    bool on;
    bool threads;  /* MPI_THREAD_MULTIPLE: on for good */
    unsigned owed; /* operations that the helper may move on; LOCK mutex */
    void (*lent)(struct wf_cs *); /* on for the helper: called when it is off
                                     again */
    struct wf_mutex mutex;
};

/* Whether it is on or not: who comes from outside. */
static inline void wf_cs_take(struct wf_cs *cs)
{
    wf_section_entering(WF_RANK_API, cs);
    wf_mutex_lock(&cs->mutex);
}

static inline bool wf_cs_try(struct wf_cs *cs)
{
    if (!wf_mutex_try(&cs->mutex))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    return true;
}

/* Enter if this thread has been alone inside for some time. */
static inline bool wf_cs_take_own(struct wf_cs *cs)
{
    if (!wf_mutex_lock_own(&cs->mutex))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    return true;
}

static inline void wf_cs_give(struct wf_cs *cs)
{
    wf_mutex_unlock(&cs->mutex);
    wf_section_left(WF_RANK_API, cs);
}

/* Several threads may be inside from now on. Nobody is. */
static inline void wf_cs_share(struct wf_cs *cs)
{
    cs->on = cs->threads = true;
    cs->lent = NULL;
}

/* Switch on for the helper, if it is off; then the caller has entered. */
static inline void wf_cs_lend(struct wf_cs *cs, void (*ended)(struct wf_cs *))
{
    if (cs->on)
        return;
    wf_cs_take(cs);
    cs->on = true;
    cs->lent = ended;
}

static inline void wf_cs_take_back(struct wf_cs *cs)
{
    void (*ended)(struct wf_cs *) = cs->lent;

    cs->on = false;
    cs->lent = NULL;
    ended(cs);
}

static inline void wf_cs_enter(struct wf_cs *cs)
{
    if (cs->on)
        wf_cs_take(cs);
}

static inline void wf_cs_leave(struct wf_cs *cs)
{
    if (!cs->on)
        return;
    if (cs->lent && !cs->owed)
        wf_cs_take_back(cs);
    wf_cs_give(cs);
}

/* For what any thread may call at any level: the section as it is now, and
 * left as it was entered. */
static inline bool wf_cs_hold(struct wf_cs *cs)
{
    bool on = cs->on;

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
    if (cs->on && wf_cs_wanted(cs)) {
        wf_mutex_unlock(&cs->mutex);
        wf_mutex_lock(&cs->mutex);
    }
}

#endif
