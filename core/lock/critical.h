/* Critical sections: the one header that knows the granularity of the build
 * (Balaji, Buntinas, Goodell, Gropp, Thakur: Fine-Grained Multithreading
 * Support for Hybrid Threaded MPI Programming, 2010).
 *
 *                  around a call         inside it, around what
 *                  of point-to-point     the engine shares
 *   global         section call          -
 *   brief-global   -                     section engine
 *   per-object     -                     the same, of one engine of several
 *   lock-free      -                     the same
 *
 * Both are the API section, which all other calls enter as a whole; so the same
 * code with both of them in it is right in each build. per-object gives a rank
 * several engines (engines.h), each with a section of its own, unless
 * core.engines says otherwise, and lends threads the send side of a peer while
 * others wait for the section (protocol/send_side.h); lock-free lends it
 * always.
 *
 * Section api: one per instance, around every MPI call that touches the engine;
 * os/section.h has its place among the others. A waiter leaves it while it
 * sleeps and between polls. User callbacks (error handlers, attribute
 * functions, user operations) run between wf_cs_leave and wf_cs_enter. Where no
 * other thread can be inside, a call pays one test of a flag:
 *
 *   below MPI_THREAD_MULTIPLE
 *      off --wf_cs_enable_for_helper, in a call that leaves an operation to the
 *      progress
 *            thread--> on
 *      on --a leave that finds no such operation--> off
 *
 *   MPI_THREAD_MULTIPLE
 *      alone --an enter that finds a second thread in the process--> on
 *      alone --wf_cs_enable_for_helper--> on --a leave that finds no such
 *      operation and no
 *                                 second thread--> alone
 *
 *   a progress thread that is resident (protocol/helper.c), at any level, for
 *   good or while a window is attended (wf_cs_keep_on)
 *      on, and the fast path enters as with two threads of the program; the
 *      progress thread suspends the bias of the section and does not end it
 *
 * DESIGN  While the section is off, no other thread of the library accesses the
 * engine. Only the thread that is in an MPI call switches it on or off, and it
 * holds the mutex when it does, so the progress thread (helper.c) sees either
 * state and never a change. A call may therefore find the section off when it
 * enters and on when it leaves, or the other way round; both are right.
 *
 * In the state `alone` the section is off as long as the process has one
 * thread; every enter checks that anew (os/single.h). The second thread is
 * started by the first: by the program, outside of MPI; in a callback, for
 * which the section has been left, and is on when it is entered again; or as
 * the progress thread, for which the section is switched on first. So the first
 * thread is not inside when the second enters.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRITICAL_H
#define WF_CRITICAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "os/section.h"
#include "os/single.h"

enum wf_granularity { WF_GLOBAL, WF_BRIEF_GLOBAL, WF_PER_OBJECT, WF_LOCK_FREE };
#ifndef WF_GRANULARITY
#define WF_GRANULARITY WF_GLOBAL
#endif
/* Each granularity has the properties of those before it. */
enum {
    WF_BRIEF = WF_GRANULARITY >= WF_BRIEF_GLOBAL,
    WF_OBJECTS = WF_GRANULARITY >= WF_PER_OBJECT,
    WF_LENDS_ALWAYS = WF_GRANULARITY >= WF_LOCK_FREE
};

/* A section that is a lock in one build and nothing in another: an empty type
 * for the thread-safety analysis. */
struct WF_CAPABILITY("border") wf_optional_section {
};

/* The reason why `on` is set. */
enum wf_cs_mode {
    WF_CS_SHARED,     /* other threads of the program may be inside */
    WF_CS_FOR_HELPER, /* the progress thread may be inside */
    WF_CS_ALONE       /* threads may come, but there is one: no lock is taken */
};

struct WF_CAPABILITY("API section") wf_cs {
    bool on;            /* other threads may be inside, or come: see mode */
    /* `on` is never cleared: MPI_THREAD_MULTIPLE, or a resident progress thread
     * (protocol/helper.h) */
    bool threads;
    wf_atomic_u32 mode; /* changed inside, or while there is no other thread */
    /* The number of operations that the progress thread may drive forward, and
     * of those among them that proceed without it (WF_REQ_QUIESCENT). LOCK
     * mutex */
    unsigned helper_ops;
    unsigned quiescent_ops;
    /* The number of reasons why the progress thread acts at any time for now:
     * calls of wf_cs_keep_on. `on` is not cleared meanwhile. LOCK mutex */
    unsigned kept_on;
    /* Called inside after `on` or `mode` was changed. May be NULL. */
    void (*changed)(struct wf_cs *);
    struct wf_mutex mutex;
};

/* Switch the lock on because a second thread exists: ends WF_CS_ALONE. Always
 * returns true. Callable by any thread that is not inside. */
bool wf_cs_enable_locking(struct wf_cs *);

/* True if the section stays on, so that it pays to enter it by its bias.
 * Inside. */
static inline bool wf_cs_is_kept_on(const struct wf_cs *cs)
{
    return cs->threads || cs->kept_on;
}

static inline bool wf_cs_is_alone(struct wf_cs *cs)
{
    return wf_load_relaxed(&cs->mode) == WF_CS_ALONE;
}

/* True if a thread that is not inside must take the lock to enter. Switches the
 * lock on if a second thread has appeared. */
static inline bool wf_cs_needs_lock(struct wf_cs *cs)
{
    return cs->on && (!wf_cs_is_alone(cs) ||
                      (!wf_single_thread() && wf_cs_enable_locking(cs)));
}

/* True if a thread that is inside holds the lock, and must release it to
 * leave. */
static inline bool wf_cs_uses_lock(struct wf_cs *cs)
{
    return cs->on && !wf_cs_is_alone(cs);
}

/* Take the lock whether it is on or not. The caller is not inside. */
static inline void wf_cs_lock(struct wf_cs *cs)
{
    wf_section_entering(WF_RANK_API, cs);
    wf_mutex_lock(&cs->mutex);
}

static inline bool wf_cs_try_lock(struct wf_cs *cs)
{
    if (!wf_mutex_try(&cs->mutex))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    return true;
}

/* Take the lock for a moment, whether it is on or not, without ending a bias:
 * for the progress thread, which leaves by wf_cs_unlock_resuming. False: a
 * thread is inside, or waits. */
static inline bool wf_cs_try_lock_suspending(struct wf_cs *cs,
                                             uint32_t *suspended)
{
    if (!wf_mutex_try_suspending(&cs->mutex, suspended))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    return true;
}

/* The unlock that an attempt of the fast path has left to the slow path,
 * because it calls no function itself; both NULL: none. */
struct wf_cs_deferred_unlock {
    struct wf_cs *inside; /* this section is still held */
    /* The bias slot of a failed wf_mutex_reenter: wf_mutex_wake_revoker is
     * due. */
    wf_atomic_u32 *failed_bias_slot;
};
extern _Thread_local struct wf_cs_deferred_unlock wf_cs_deferred_unlock
    WF_TLS_NEAR;
void wf_cs_finish_deferred_unlock(void);

/* Run the deferred unlock, if there is one. To be called before the thread does
 * anything that may last. */
static inline void wf_cs_run_deferred_unlock(void)
{
    if (__builtin_expect(wf_cs_deferred_unlock.inside ||
                             wf_cs_deferred_unlock.failed_bias_slot,
                         0))
        wf_cs_finish_deferred_unlock();
}

/* Enter if this thread was the last one inside. False: an unlock may have been
 * deferred. */
static inline bool wf_cs_try_relock(struct wf_cs *cs)
{
    if (!wf_mutex_reenter(&cs->mutex, &wf_cs_deferred_unlock.failed_bias_slot))
        return false;
    wf_section_entering(WF_RANK_API, cs);
    return true;
}

static inline void wf_cs_unlock_by(struct wf_cs *cs,
                                   void (*leave)(struct wf_mutex *))
{
    leave(&cs->mutex);
    wf_section_left(WF_RANK_API, cs);
}

static inline void wf_cs_unlock(struct wf_cs *cs)
{
    wf_cs_unlock_by(cs, wf_mutex_unlock_open);
}

static inline void wf_cs_unlock_resuming(struct wf_cs *cs, uint32_t suspended)
{
    wf_mutex_unlock_resuming(&cs->mutex, suspended);
    wf_section_left(WF_RANK_API, cs);
}

static inline void wf_cs_set_mode(struct wf_cs *cs, enum wf_cs_mode mode)
{
    wf_store_relaxed(&cs->mode, mode);
    if (cs->changed)
        cs->changed(cs);
}

/* Choose the mode for when no operation is left to the progress thread: `alone`
 * if threads may come but there is only one. */
static inline void wf_cs_choose_mode(struct wf_cs *cs)
{
    bool alone = cs->threads && wf_single_thread();

    wf_cs_set_mode(cs, alone ? WF_CS_ALONE : WF_CS_SHARED);
}

/* Let several threads be inside from now on. No thread may be inside now. */
static inline void wf_cs_allow_threads(struct wf_cs *cs)
{
    cs->on = cs->threads = true;
    wf_cs_set_mode(cs, WF_CS_SHARED);
}

/* Let several threads be inside once there are several. No thread may be inside
 * now. */
static inline void wf_cs_expect_threads(struct wf_cs *cs)
{
    cs->on = cs->threads = true;
    wf_cs_choose_mode(cs);
}

/* Set `on`, except where it stays set and other threads read it. */
static inline void wf_cs_set_on(struct wf_cs *cs, bool on)
{
    if (!cs->threads)
        cs->on = on;
}

/* True if several threads have been in MPI and the section is not around whole
 * calls. Outside of the section it is a hint. */
static inline bool wf_cs_is_brief(struct wf_cs *cs)
{
    return WF_BRIEF && cs->threads && !wf_cs_is_alone(cs);
}

/* True if requests had better be taken from the shares of threads: they come
 * inside in turn. Any request can be ended by any thread. Inside. */
static inline bool wf_cs_has_shares(struct wf_cs *cs)
{
    return wf_cs_is_brief(cs) && !wf_mutex_is_biased(&cs->mutex);
}

/* Switch the section on for the progress thread, if it is off; the caller then
 * holds the lock. */
static inline void wf_cs_enable_for_helper(struct wf_cs *cs)
{
    if (wf_cs_uses_lock(cs))
        return;
    wf_cs_lock(cs);
    wf_cs_set_on(cs, true);
    wf_cs_set_mode(cs, WF_CS_FOR_HELPER);
}

/* Keep the section on until wf_cs_stop_keeping_on, for a progress thread that
 * acts at any time. Called inside, after wf_cs_enable_for_helper. */
static inline void wf_cs_keep_on(struct wf_cs *cs)
{
    cs->kept_on++;
    if (cs->changed)
        cs->changed(cs);
}

static inline void wf_cs_stop_keeping_on(struct wf_cs *cs)
{
    cs->kept_on--;
    if (cs->changed)
        cs->changed(cs);
}

/* Prepare to leave a section whose mode is not WF_CS_SHARED; switches it off if
 * no operation needs it on. False: no lock is held. */
static inline bool wf_cs_prepare_leave(struct wf_cs *cs)
{
    if (wf_cs_is_alone(cs))
        return false;
    if (cs->helper_ops || cs->kept_on)
        return true;
    wf_cs_set_on(cs, false);
    wf_cs_choose_mode(cs);
    return true;
}

static inline void wf_cs_enter(struct wf_cs *cs)
{
    if (wf_cs_needs_lock(cs))
        wf_cs_lock(cs);
}

static inline void wf_cs_leave_by(struct wf_cs *cs,
                                  void (*leave)(struct wf_mutex *))
{
    if (!cs->on || (__builtin_expect(wf_load_relaxed(&cs->mode), 0) &&
                    !wf_cs_prepare_leave(cs)))
        return;
    wf_cs_unlock_by(cs, leave);
}

static inline void wf_cs_leave(struct wf_cs *cs)
{
    wf_cs_leave_by(cs, wf_mutex_unlock_open);
}

/* Leave for a sleep or to give the CPU away: the lock is not kept open for this
 * thread, so others enter at once. */
static inline void wf_cs_leave_to_sleep(struct wf_cs *cs)
{
    wf_cs_leave_by(cs, wf_mutex_unlock);
}

/* Enter if no other thread is inside or waits. */
static inline bool wf_cs_try_enter(struct wf_cs *cs)
{
    return !wf_cs_needs_lock(cs) || wf_cs_try_lock(cs);
}

/* Enter in a function that any thread may call at any thread level. The result
 * tells wf_cs_leave_as_entered whether the lock was taken. */
static inline bool wf_cs_enter_as_is(struct wf_cs *cs)
{
    bool on = wf_cs_needs_lock(cs);

    if (on)
        wf_cs_lock(cs);
    return on;
}

static inline void wf_cs_leave_as_entered(struct wf_cs *cs, bool held)
{
    if (held)
        wf_cs_unlock(cs);
}

/* True if another thread waits to enter. The caller is inside. */
static inline bool wf_cs_is_contended(struct wf_cs *cs)
{
    return wf_mutex_contended(&cs->mutex);
}

/* Let a waiting thread enter, if there is one. */
static inline void wf_cs_yield(struct wf_cs *cs)
{
    if (wf_cs_uses_lock(cs) && wf_cs_is_contended(cs)) {
        wf_mutex_unlock(&cs->mutex);
        wf_mutex_lock(&cs->mutex);
    }
}

#endif
