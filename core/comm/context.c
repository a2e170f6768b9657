/* This file allocates context ids by agreement: see context.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/context.h"

#include <stdlib.h>

#include "object/env.h"
#include "process/rank.h"
#include "progress/engines.h"

enum { WORDS_MAX = (1 << 24) / 64, WINDOWS_MAX = WORDS_MAX / WF_CONTEXT_WORDS };

/* value[0] has flags, of which every bit must survive the AND of all
 * members. */
enum {
    FLAG_ABLE = 1u << 0,  /* no member failed, nor lacked memory */
    FLAG_OWNER = 1u << 1, /* all members offered what they have */
    FIRST_SHIFT = 8,      /* the word tried in round 0 */
    NOT_FIRST_SHIFT = 32, /* its complement: shows whether all tried the same */
    CHANNELS_SHIFT = 50,  /* the channels that the member offers */
    ENGINES_SHIFT = 56    /* wf_engines_mask of the member */
};
_Static_assert(CHANNELS_SHIFT + WF_CHANNELS_MAX <= ENGINES_SHIFT,
               "all channels have bits");

struct wf_contexts {
    uint64_t *free; /* bit set: id is free; so are all beyond it */
    uint32_t words;
    struct wf_list offering;        /* allocations whose words are on offer */
    struct wf_list waiting;         /* allocations past round 0, by key */
    struct wf_context_alloc *owner; /* in waiting; offers a window */
};

#define FROM_OFFERING(l) wf_container(l, struct wf_context_alloc, offering)
#define FROM_WAITING(l)  wf_container(l, struct wf_context_alloc, waiting)

static void run_rounds(struct wf_context_alloc *c);

/* ---- the bitmap ---------------------------------------------------------- */

static bool ensure_words(struct wf_contexts *all, uint32_t words)
{
    if (words <= all->words)
        return true;
    words =
        (words + WF_CONTEXT_WORDS - 1) / WF_CONTEXT_WORDS * WF_CONTEXT_WORDS;
    uint64_t *bits = realloc(all->free, words * sizeof *bits);
    if (!bits)
        return false;
    memset(bits + all->words, 0xff, (words - all->words) * sizeof *bits);
    all->free = bits;
    all->words = words;
    return true;
}

static void take_id(struct wf_contexts *all, uint32_t id)
{
    all->free[id / 64] &= ~(UINT64_C(1) << id % 64);
}

/* Returns the ids of a word that are neither used nor on offer. */
static uint64_t available_ids(const struct wf_contexts *all, uint32_t word)
{
    for (struct wf_list *l = all->offering.next; l != &all->offering;
         l = l->next) {
        struct wf_context_alloc *c = FROM_OFFERING(l);
        if (word - c->first < c->words)
            return 0;
    }
    return word < all->words ? all->free[word] : ~UINT64_C(0);
}

struct wf_contexts *wf_contexts_create(void)
{
    struct wf_contexts *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    wf_list_init(&all->offering);
    wf_list_init(&all->waiting);
    if (!ensure_words(all, 1)) {
        free(all);
        return NULL;
    }
    take_id(all, WF_CONTEXT_WORLD);
    take_id(all, WF_CONTEXT_SELF);
    return all;
}

void wf_contexts_destroy(struct wf_contexts *all)
{
    if (all)
        free(all->free);
    free(all);
}

void wf_context_release(struct wf_instance *wf, uint32_t id)
{
    WF_SECTION(objects, wf->rank->env)
        wf->rank->env->contexts->free[id / 64] |= UINT64_C(1) << id % 64;
}

/* ---- one allocation ------------------------------------------------------ */

static struct wf_env *env_of(const struct wf_context_alloc *c)
{
    return c->scope.comm->wf->rank->env;
}

static struct wf_contexts *contexts_of(const struct wf_context_alloc *c)
{
    return env_of(c)->contexts;
}

/* Takes the lowest ids that all members offered; false: there are too few. */
static bool take_common(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    unsigned n = 0;
    for (uint32_t i = 0; i < c->words && n < c->count; i++)
        for (uint64_t bits = c->value[1 + i]; bits && n < c->count;
             bits &= bits - 1)
            c->id[n++] = (c->first + i) * 64 + (uint32_t)__builtin_ctzll(bits);
    if (n < c->count)
        return false;
    for (unsigned i = 0; i < n; i++)
        take_id(all, c->id[i]);
    return true;
}

static void withdraw_offer(struct wf_context_alloc *c)
{
    wf_list_remove(&c->offering);
    if (contexts_of(c)->owner == c)
        contexts_of(c)->owner = NULL;
}

static uint64_t offer_engines(const struct wf_context_alloc *c)
{
    return wf_engines_mask(c->engines) << ENGINES_SHIFT | (uint64_t)c->channels
                                                              << CHANNELS_SHIFT;
}

/* Fills value with the ids that this member offers of the words first, first +
 * 1, … */
static void fill_offer(struct wf_context_alloc *c, uint32_t first,
                       uint32_t words, uint64_t flags)
{
    struct wf_contexts *all = contexts_of(c);
    c->first = first;
    c->words = words;
    c->value[0] = ensure_words(all, first + words) ? flags : 0;
    c->value[0] |= offer_engines(c);
    for (uint32_t i = 0; i < words; i++)
        c->value[1 + i] =
            c->value[0] & FLAG_ABLE ? available_ids(all, first + i) : 0;
    c->agree.n = 1 + (int)words;
}

static void offer_word(struct wf_context_alloc *c)
{
    uint32_t word = *c->hint % WORDS_MAX;
    uint64_t flags = (c->failed ? 0 : FLAG_ABLE) |
                     (uint64_t)word << FIRST_SHIFT |
                     (uint64_t)(~word & (WORDS_MAX - 1)) << NOT_FIRST_SHIFT;
    WF_SECTION(objects, env_of(c)) {
        fill_offer(c, word, 1, flags);
        wf_list_append(&contexts_of(c)->offering, &c->offering);
    }
}

/* Only the first of the waiting allocations offers ids, and only one at a
 * time. */
static void offer_window(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    uint32_t window = (c->window + c->tried) % WINDOWS_MAX;
    bool own = !all->owner && all->waiting.next == &c->waiting;
    fill_offer(c, window * WF_CONTEXT_WORDS, WF_CONTEXT_WORDS,
               own ? FLAG_ABLE | FLAG_OWNER : FLAG_ABLE);
    if (!own) {
        memset(c->value + 1, 0, sizeof c->value - sizeof c->value[0]);
        return;
    }
    all->owner = c;
    wf_list_append(&all->offering, &c->offering);
}

static void enqueue_waiting(struct wf_context_alloc *c)
{
    struct wf_list *l = contexts_of(c)->waiting.next;
    while (l != &contexts_of(c)->waiting && FROM_WAITING(l)->key <= c->key)
        l = l->next;
    wf_list_append(l, &c->waiting); /* inserted before l */
}

/* Returns whether all members named the same word in round 0. */
static bool is_same_word(uint64_t flags)
{
    uint32_t first = (uint32_t)(flags >> FIRST_SHIFT) & (WORDS_MAX - 1);
    uint32_t other = (uint32_t)(flags >> NOT_FIRST_SHIFT) & (WORDS_MAX - 1);
    return first == (~other & (WORDS_MAX - 1));
}

/* Chooses one of the engines, and of the channels, that all members have. */
static void choose_engine(struct wf_context_alloc *c)
{
    unsigned common = wf_engines_common(c->value[0] >> ENGINES_SHIFT);
    uint32_t channels = (uint32_t)(c->value[0] >> CHANNELS_SHIFT) & c->channels;
    c->engine = wf_engine_for(c->id[0], common);
    if (channels)
        c->channel = __builtin_ctz(channels);
}

/* Another member may have ended with one of these ids, and use it: this process
 * does not offer them again. */
static void retire_offered(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);

    for (uint32_t i = 0; i < c->words; i++)
        if (c->first + i < all->words)
            all->free[c->first + i] = 0;
}

/* Evaluates the result of a round. True: the allocation has ended. */
static bool settle_round(struct wf_context_alloc *c, int *error)
{
    uint64_t flags = c->value[0];
    bool usable = c->round > 0 || is_same_word(flags);
    *error = c->agree.error;
    if (*error == MPI_ERR_PROC_ABORTED && !wf_list_empty(&c->offering))
        retire_offered(c);
    withdraw_offer(c);
    if (!*error && !(flags & FLAG_ABLE))
        *error = MPI_ERR_NOT_SAME;
    if (*error || (usable && take_common(c)))
        return true;
    if (c->round++ == 0) {
        /* this part of the word's number is the same in all members */
        c->window = ((uint32_t)(flags >> FIRST_SHIFT) & (WORDS_MAX - 1)) /
                    WF_CONTEXT_WORDS;
        enqueue_waiting(c);
    } else if ((flags & FLAG_OWNER) && ++c->tried == WINDOWS_MAX) {
        c->exhausted = true;
        *error = MPI_ERR_NO_MEM;
        return true;
    }
    return false;
}

/* Ends a round. True: the allocation has ended; otherwise the words of the next
 * round are on offer. */
static bool end_round(struct wf_context_alloc *c, int *error)
{
    bool over = false;
    WF_SECTION(objects, env_of(c)) {
        over = settle_round(c, error);
        if (over)
            wf_list_remove(&c->waiting);
        else
            offer_window(c);
    }
    return over;
}

static void finish_alloc(struct wf_context_alloc *c, int error)
{
    if (!error) {
        *c->hint = c->id[0] / 64;
        choose_engine(c);
    }
    c->done(c, error);
}

/* Goes on after a round has ended. */
static void run_rounds(struct wf_context_alloc *c)
{
    int error;
    do {
        if (end_round(c, &error)) {
            finish_alloc(c, error);
            return;
        }
    } while (wf_agree_start(&c->agree));
}

static void resume_alloc(struct wf_agree *a)
{
    run_rounds(a->arg);
}

/* Takes the lowest free ids: a process alone need not agree with others. */
static int take_lowest_ids(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    uint32_t word = 0;
    for (unsigned i = 0; i < c->count; i++) {
        while (word < WORDS_MAX && !available_ids(all, word))
            word++;
        c->exhausted = word == WORDS_MAX;
        if (c->exhausted || !ensure_words(all, word + 1))
            return MPI_ERR_NO_MEM;
        c->id[i] =
            word * 64 + (uint32_t)__builtin_ctzll(available_ids(all, word));
        take_id(all, c->id[i]);
    }
    return MPI_SUCCESS;
}

static void alloc_alone(struct wf_context_alloc *c)
{
    int error = MPI_ERR_NOT_SAME;
    c->value[0] = offer_engines(c);
    if (!c->failed)
        WF_SECTION(objects, env_of(c))
            error = take_lowest_ids(c);
    finish_alloc(c, error);
}

void wf_context_start(struct wf_context_alloc *c)
{
    wf_list_init(&c->waiting);
    wf_list_init(&c->offering);
    c->round = c->tried = c->window = 0;
    c->channel = -1;
    if (c->scope.size == 1 && !c->scope.bridged) {
        alloc_alone(c);
        return;
    }
    if (wf_agree_has_dead(&c->scope)) {
        finish_alloc(c, MPI_ERR_PROC_ABORTED);
        return;
    }
    c->began = true;
    c->agree = (struct wf_agree){.scope = &c->scope,
                                 .value = c->value,
                                 .input = c->input,
                                 .resume = resume_alloc,
                                 .arg = c};
    offer_word(c);
    if (wf_agree_start(&c->agree))
        run_rounds(c);
}
