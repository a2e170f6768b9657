/* Sections: locks with a name and a place in one order.
 *
 *     WF_SECTION(codes, process) {
 *         ... what the lock protects; no return, break or goto out of it
 *     }
 *
 *   START    env/start.c: the users of the instance of a process
 *    API      lock/critical.h: the engine of an instance
 *    POOL     protocol/pool.c: which threads have a part of the pool
 *    BOOT     engines.h: the connection to the launcher, of several engines
 *    OBJECTS  object/env.h: what engines share beside the objects themselves
 *    TASKS    engines.h: functions that one engine asks another to run
 *    TOOL     tool/tool.c: users of the tool interface
 *    CODES    object/error_user.c: error codes that the program adds
 *
 * A thread inside a section may enter one that stands below it in this list,
 * never one above it or of the same rank.
 *
 * DESIGN  Two checks cost nothing in a normal build. WF_CHECK_SECTIONS (debug
 * and sanitizer builds) keeps a list of the sections that the thread is inside,
 * and aborts with their names when the thread enters in a wrong order or leaves
 * a section that it is not inside. clang -Wthread-safety (./build.sh analyse)
 * finds paths that leave a section with its lock held, and functions called
 * without theirs.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SECTION_H
#define WF_SECTION_H

#include <stdbool.h>

#include "os/mutex.h"

#ifdef __clang__
#define WF_TSA(x) __attribute__((x))
#else
#define WF_TSA(x)
#endif
#define WF_CAPABILITY(name) WF_TSA(capability(name))
#define WF_REQUIRES(lock)   WF_TSA(requires_capability(lock))
#define WF_ENTERS(lock)     WF_TSA(acquire_capability(lock))
#define WF_TRIES(lock)      WF_TSA(try_acquire_capability(true, lock))
#define WF_LEAVES(lock)     WF_TSA(release_capability(lock))
#define WF_UNANALYSED       WF_TSA(no_thread_safety_analysis)

enum wf_lock_rank {
    WF_RANK_START,
    WF_RANK_API,
    WF_RANK_POOL,
    WF_RANK_BOOT,
    WF_RANK_OBJECTS,
    WF_RANK_TASKS,
    WF_RANK_TOOL,
    WF_RANK_CODES
};

#ifdef WF_CHECK_SECTIONS
/* Records the section; called before the thread waits for it. */
void wf_section_entering(enum wf_lock_rank, const void *lock);
/* Removes the section; called when the thread leaves it. */
void wf_section_left(enum wf_lock_rank, const void *lock);
/* Tells whether the thread is inside. */
bool wf_section_held(const void *lock);
#else
static inline void wf_section_entering(enum wf_lock_rank rank, const void *lock)
{
}
static inline void wf_section_left(enum wf_lock_rank rank, const void *lock)
{
}
#endif

struct WF_CAPABILITY("lock") wf_lock {
    struct wf_mutex mutex;
};

/* Defines wf_enter_NAME and wf_leave_NAME for objects with such a lock. */
#define WF_LOCK_SECTION(name, type, lock, rank)                                \
    static inline void wf_enter_##name(type *o) WF_ENTERS(o->lock)             \
        WF_UNANALYSED                                                          \
    {                                                                          \
        wf_section_entering(rank, &o->lock);                                   \
        wf_mutex_lock(&o->lock.mutex);                                         \
    }                                                                          \
    static inline void wf_leave_##name(type *o) WF_LEAVES(o->lock)             \
        WF_UNANALYSED                                                          \
    {                                                                          \
        wf_section_left(rank, &o->lock);                                       \
        wf_mutex_unlock(&o->lock.mutex);                                       \
    }                                                                          \
    WF_SCOPED_SECTION(name, type, lock)

/* Defines the function that WF_SECTION needs besides these two. */
#define WF_SCOPED_SECTION(name, type, lock)                                    \
    static inline bool wf_enter_once_##name(type *o, bool once)                \
        WF_TRIES(o->lock) WF_UNANALYSED                                        \
    {                                                                          \
        if (once)                                                              \
            wf_enter_##name(o);                                                \
        return once;                                                           \
    }

#define WF_SECTION(name, object)                                               \
    for (bool wf_once_ = true; wf_enter_once_##name((object), wf_once_);       \
         wf_leave_##name(object), wf_once_ = false)

#endif
