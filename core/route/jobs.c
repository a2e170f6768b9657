/* Jobs that this process meets: see jobs.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/jobs.h"

#include <stdlib.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "object/env.h"
#include "process/rank.h"
#include "report/error.h"
#include "route/card.h"
#include "route/links.h"
#include "route/location.h"

struct gathered {
    void *bytes;
    size_t n;
};

/* A job that was met, with its locations and the cards that came. */
struct met {
    struct wf_job job;
    struct wf_locations table;
    struct weft_loc **of;
    struct gathered *cards;
};

static struct met *met_of(struct wf_job *job)
{
    return wf_container(job, struct met, job);
}

/* Returns a job by the number of a process, or NULL: it is of the own job, or
 * nobody's. */
static struct met *find_met(struct wf_instance *wf, uint32_t number)
{
    struct wf_job *job = wf->rank->job.next;

    while (job && number - job->first >= job->size)
        job = job->next;
    return job ? met_of(job) : NULL;
}

static int fetch_gathered(struct weft_loc *loc)
{
    struct met *m = find_met(loc->wf, loc->id);
    const struct gathered *card = &m->cards[loc->index];
    void *copy;

    if (loc->wf->number > 0 || !card->bytes)
        return wf_fail(WEFT_EUNREACH,
                       "process %u of another job has sent no address",
                       loc->index);
    loc->card = copy = malloc(card->n);
    if (!copy)
        return wf_fail(WEFT_ENOMEM, "no memory for the address of process %u",
                       loc->id);
    memcpy(copy, card->bytes, loc->card_len = card->n);
    return 0;
}

static const struct wf_card_source gathered_cards = {fetch_gathered};

/* Find the record after which so many numbers are free. */
static struct wf_job *find_gap(struct wf_job *own, uint32_t size)
{
    struct wf_job *job = own;

    while (job->next && job->next->first - job->first - job->size < size)
        job = job->next;
    return job;
}

static struct wf_locations *table_of(struct wf_instance *wf, struct wf_job *job)
{
    return job == &wf->rank->job ? &wf->links->own : &met_of(job)->table;
}

static void free_arrays(struct met *m)
{
    free(m->of);
    free(m->cards);
    free(m->job.keys);
    free(m->job.comms);
    free(m);
}

static struct met *create_met(uint32_t size)
{
    struct met *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->of = calloc(size, sizeof *m->of);
    m->cards = calloc(size, sizeof *m->cards);
    m->job.keys = calloc(size, sizeof *m->job.keys);
    m->job.comms = calloc(size, sizeof *m->job.comms);
    if (m->of && m->cards && m->job.keys && m->job.comms)
        return m;
    free_arrays(m);
    return NULL;
}

/* Remember a key by which no process will be called any more. */
static void note_retired(struct wf_rank *rank, const struct wf_auth_key *key)
{
    rank->retired[rank->retired_count++ % WF_RETIRED_MAX] = wf_auth_key_id(key);
}

bool wf_jobs_has_retired(const struct wf_rank *rank, uint64_t key_id)
{
    for (unsigned i = 0; key_id && i < WF_RETIRED_MAX; i++)
        if (rank->retired[i] == key_id)
            return true;
    return false;
}

static void free_keys(struct wf_job *job)
{
    for (struct wf_auth_key *key; (key = job->key);) {
        job->key = wf_auth_key_after(key);
        wf_auth_key_free(key);
    }
}

static void free_met(struct wf_locations *table)
{
    struct met *m = wf_container(table, struct met, table);

    for (uint32_t i = 0; i < m->job.size; i++)
        free(m->cards[i].bytes);
    free_keys(&m->job);
    free_arrays(m);
}

/* Add a job, without a key. */
static int add_job(struct wf_instance *wf, uint32_t tag, uint32_t size)
{
    struct wf_job *before = find_gap(&wf->rank->job, size);
    struct wf_locations *table = table_of(wf, before);
    uint32_t first = before->first + before->size;
    struct met *m;

    if (size > INT32_MAX - first)
        return wf_fail(WEFT_ENOMEM,
                       "no numbers for %u processes of another job", size);
    if (!(m = create_met(size)))
        return wf_fail(WEFT_ENOMEM, "no memory for a job of %u processes",
                       size);
    m->job.next = before->next;
    m->job.first = first;
    m->job.size = size;
    m->job.tag = tag;
    m->job.cards = &gathered_cards;
    m->table = (struct wf_locations){table->next, first, size, m->of, free_met};
    WF_SECTION(objects, wf->rank->env)
        before->next = &m->job;
    table->next = &m->table;
    return 0;
}

static struct wf_job *find_tag(struct wf_instance *wf, uint32_t tag)
{
    struct wf_job *job = &wf->rank->job;

    while (job && job->tag != tag)
        job = job->next;
    return job;
}

/* Two jobs may have one tag by chance, about once in four thousand millions of
 * meetings. */
static int check_known(const struct wf_instance *wf, const struct wf_job *job,
                       uint32_t size)
{
    if (job == &wf->rank->job)
        return wf_fail(WEFT_EINVAL, "the other process is of this job");
    if (job->size != size)
        return wf_fail(WEFT_EINVAL,
                       "a job of %u processes has the tag of one of %u; start "
                       "one of them again",
                       size, job->size);
    return 0;
}

int wf_jobs_meet(struct wf_instance *wf, uint32_t tag, uint32_t size,
                 struct wf_auth_key *key, struct wf_job **out)
{
    struct wf_job *known = find_tag(wf, tag);
    int r = 0;

    WF_ASSERT(wf->number == 0);
    if (known)
        r = check_known(wf, known, size);
    else if (size == 0)
        r = wf_fail(WEFT_EINVAL, "the other job has no processes");
    else
        r = add_job(wf, tag, size);
    if (r != 0) {
        wf_auth_key_free(key);
        return r;
    }
    *out = known ? known : find_tag(wf, tag);
    if (key) {
        wf_auth_key_put_before(key, (*out)->key);
        (*out)->key = key;
    }
    return 0;
}

int wf_jobs_note_card(struct wf_instance *wf, uint32_t number,
                      struct wf_auth_key *key, const void *card, size_t n)
{
    struct met *m = find_met(wf, number);
    struct gathered *to = &m->cards[number - m->job.first];
    void *bytes = malloc(n ? n : 1);

    if (!bytes)
        return wf_fail(WEFT_ENOMEM, "no memory for an address");
    free(to->bytes);
    memcpy(bytes, card, to->n = n);
    to->bytes = bytes;
    if (!m->job.keys[number - m->job.first])
        m->job.keys[number - m->job.first] = key;
    return 0;
}

/* ---- parting ------------------------------------------------------------- */

static bool is_in_use(const struct wf_job *job, const struct wf_auth_key *key)
{
    for (uint32_t i = 0; i < job->size; i++)
        if (job->keys[i] == key)
            return true;
    return false;
}

/* Free the keys by which no process is called any more: its peer has parted,
 * too. */
static void free_unused_keys(struct wf_rank *rank, struct wf_job *job)
{
    struct wf_auth_key *kept = NULL;

    for (struct wf_auth_key *key; (key = job->key);) {
        job->key = wf_auth_key_after(key);
        if (is_in_use(job, key)) {
            wf_auth_key_put_before(key, kept);
            kept = key;
        } else {
            note_retired(rank, key);
            wf_auth_key_free(key);
        }
    }
    job->key = kept;
}

void wf_jobs_part(struct wf_instance *wf, uint32_t number)
{
    struct met *m = find_met(wf, number);
    uint32_t index = number - m->job.first;

    WF_ASSERT(!m->of[index]);
    m->job.keys[index] = NULL;
    free(m->cards[index].bytes);
    m->cards[index] = (struct gathered){0};
}

static bool is_named(struct met *m)
{
    if (wf_load_relaxed(&m->job.groups) > 0)
        return true;
    for (uint32_t i = 0; i < m->job.size; i++)
        if (m->of[i])
            return true;
    return false;
}

/* Whether a job was taken out of the list, from behind `before`. */
static bool drop_behind(struct wf_instance *wf, struct wf_job *before)
{
    struct met *m = met_of(before->next);
    struct wf_locations *table = table_of(wf, before);
    bool named = true;

    WF_SECTION(objects, wf->rank->env) {
        named = is_named(m);
        if (!named)
            before->next = m->job.next;
    }
    if (named)
        return false;
    table->next = m->table.next;
    for (const struct wf_auth_key *key = m->job.key; key;
         key = wf_auth_key_after(key))
        note_retired(wf->rank, key);
    free_met(&m->table);
    return true;
}

void wf_jobs_prune(struct wf_instance *wf)
{
    struct wf_job *job = &wf->rank->job;

    while (job->next)
        if (!drop_behind(wf, job)) {
            job = job->next;
            free_unused_keys(wf->rank, job);
        }
}
