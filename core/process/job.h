/* Jobs: a process is named by its job and its index there.
 *
 *   name    job tag << 32 | index: what all processes call it
 *   number  index in the own job; first + index in another: what this process
 *           calls it, in its groups, tables and towards plugins
 *
 * A number means nothing to another process. Whatever travels, and every order
 * that two processes must see alike, is made of names.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_JOB_H
#define WF_PROCESS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/atomic.h"

struct wf_auth_key;    /* boot/auth.h */
struct wf_card_source; /* route/card.h */

/* A job that this process knows. The own one is the first of the list. */
struct wf_job {
    struct wf_job *next; /* with a higher `first`; or NULL */
    uint32_t first;      /* number of the process with index 0 */
    uint32_t size;
    uint32_t tag; /* made of the key: wf_auth_tag; 0: there is none yet */
    struct wf_auth_key *key; /* the own job's; else the first of a list */
    const struct wf_card_source *cards;
    /* Of another job, else NULL. By index: the key by which the process is
     * called, NULL: it has not met this one, or has parted from it; and how
     * many communicators name it. */
    struct wf_auth_key **keys;
    wf_atomic_u32 *comms;
    wf_atomic_u32 groups; /* members of groups that are of it */
};

/* Returns the job of a process, or NULL: nobody has this number. */
static inline const struct wf_job *wf_job_of(const struct wf_job *own,
                                             uint32_t number)
{
    while (own && number - own->first >= own->size)
        own = own->next;
    return own;
}

/* Returns the key by which a process is called; NULL: there is none. */
static inline struct wf_auth_key *wf_job_key(const struct wf_job *own,
                                             uint32_t number)
{
    const struct wf_job *job = wf_job_of(own, number);

    return !job ? NULL : job->keys ? job->keys[number - job->first] : job->key;
}

/* Returns the name of a process, whose number must be one. */
static inline uint64_t wf_job_name(const struct wf_job *own, uint32_t number)
{
    const struct wf_job *job = wf_job_of(own, number);

    return (uint64_t)job->tag << 32 | (number - job->first);
}

/* Find the number of a process. False: no such process is known here. */
static inline bool wf_job_find(const struct wf_job *own, uint64_t name,
                               uint32_t *number)
{
    uint32_t tag = (uint32_t)(name >> 32), index = (uint32_t)name;

    while (own && own->tag != tag)
        own = own->next;
    if (!own || index >= own->size)
        return false;
    *number = own->first + index;
    return true;
}

/* Whether process a comes before b in the order that all processes see. */
static inline bool wf_job_precedes(const struct wf_job *own, uint32_t a,
                                   uint32_t b)
{
    return wf_job_name(own, a) < wf_job_name(own, b);
}

#endif
