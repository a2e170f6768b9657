/* Updates of runs of elements: see update.h, and atomic.h for the rules.
 *
 *   words    the processor's atomic operation, or compare and swap in a loop
 *   stripes  hold by hold: fetch, then the kernel of the operation
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/update.h"

#include "datatype/move.h"
#include "datatype/predefined.h"
#include "os/race_notes.h"

enum {
    ELEMENT_MOST = 64, /* bytes from an element to the next, at most */
    WORDS = WF_GROUP_C_INTEGER | WF_GROUP_FORTRAN_INTEGER | WF_GROUP_LOGICAL |
            WF_GROUP_BYTE | WF_GROUP_MULTI
};

/* ---- the rule ------------------------------------------------------------ */

bool wf_rma_uses_words(const struct wf_rma_domain *d, const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);

    if (!wf_rma_has_word_size(d, t->size))
        return false;
    return p->group == WF_GROUP_NONE || p->group & WORDS;
}

/* ---- words --------------------------------------------------------------- */

#define UPDATE_WORDS(BITS)                                                     \
    static uint##BITS##_t update_word_##BITS(const struct wf_rma_update *u,    \
                                             _Atomic uint##BITS##_t *at,       \
                                             uint##BITS##_t value)             \
    {                                                                          \
        uint##BITS##_t old, changed;                                           \
                                                                               \
        switch (u->code) {                                                     \
        case WF_OP_SUM:                                                        \
            return wf_add_acq_rel(at, value);                                  \
        case WF_OP_BAND:                                                       \
            return wf_and_acq_rel(at, value);                                  \
        case WF_OP_BOR:                                                        \
            return wf_or_acq_rel(at, value);                                   \
        case WF_OP_BXOR:                                                       \
            return wf_xor_acq_rel(at, value);                                  \
        case WF_OP_REPLACE:                                                    \
            return wf_exchange_acq_rel(at, value);                             \
        case WF_OP_NO_OP:                                                      \
            return wf_load_acquire(at);                                        \
        default:                                                               \
            break;                                                             \
        }                                                                      \
        old = wf_load_relaxed(at);                                             \
        do {                                                                   \
            changed = old;                                                     \
            u->kernel(&value, &changed, u->units);                             \
        } while (!wf_cas_acq_rel(at, &old, changed));                          \
        return old;                                                            \
    }                                                                          \
    static void update_words_##BITS(const struct wf_rma_update *u, uint64_t n) \
    {                                                                          \
        for (uint64_t i = 0; i < n; i++) {                                     \
            uint##BITS##_t value = 0, old;                                     \
                                                                               \
            if (u->origin)                                                     \
                memcpy(&value, u->origin + (int64_t)i * u->origin_step,        \
                       sizeof value);                                          \
            old = update_word_##BITS(                                          \
                u, (void *)(u->target + (int64_t)i * u->target_step), value);  \
            if (u->result)                                                     \
                memcpy(u->result + (int64_t)i * u->result_step, &old,          \
                       sizeof old);                                            \
        }                                                                      \
    }

UPDATE_WORDS(8)
UPDATE_WORDS(16)
UPDATE_WORDS(32)
UPDATE_WORDS(64)

static void update_words(const struct wf_rma_update *u, uint64_t n)
{
    switch (u->basic->size) {
    case 1:
        update_words_8(u, n);
        break;
    case 2:
        update_words_16(u, n);
        break;
    case 4:
        update_words_32(u, n);
        break;
    default:
        update_words_64(u, n);
    }
}

/* ---- stripes ------------------------------------------------------------- */

static void copy_element(const struct wf_type *basic, void *to,
                         const void *from)
{
    if (basic->true_extent == basic->size)
        wf_copy_short(to, from, (size_t)basic->size);
    else
        (void)wf_type_copy(basic, from, 1, basic, to, 1);
}

/* Elements in a row, `step` bytes apart. */
struct row {
    char *at;
    int64_t step;
};

static void copy_elements(const struct wf_type *basic, struct row to,
                          struct row from, uint64_t n)
{
    int64_t size = basic->size;

    if (to.step == size && from.step == size && n > 1) {
        memcpy(to.at, from.at, n * (size_t)size);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        copy_element(basic, to.at + (int64_t)i * to.step,
                     from.at + (int64_t)i * from.step);
}

static struct row target_of(const struct wf_rma_update *u)
{
    return (struct row){(char *)u->target, u->target_step};
}

static void fetch_elements(const struct wf_rma_update *u, uint64_t n)
{
    copy_elements(u->basic, (struct row){u->result, u->result_step},
                  target_of(u), n);
}

static void replace_elements(const struct wf_rma_update *u, uint64_t n)
{
    copy_elements(u->basic, target_of(u),
                  (struct row){(char *)(uintptr_t)u->origin, u->origin_step},
                  n);
}

/* Applies the kernel to copies: the elements are not aligned, or do not lie as
 * in an array. */
static void compute_apart(const struct wf_rma_update *u, uint64_t n)
{
    _Alignas(16) char in[ELEMENT_MOST] = {0}, inout[ELEMENT_MOST] = {0};

    WF_ASSERT(u->basic->extent <= ELEMENT_MOST);
    for (uint64_t i = 0; i < n; i++) {
        char *target = u->target + (int64_t)i * u->target_step;

        copy_element(u->basic, in, u->origin + (int64_t)i * u->origin_step);
        copy_element(u->basic, inout, target);
        u->kernel(in, inout, u->units);
        copy_element(u->basic, target, inout);
    }
}

/* Returns whether the elements are an array of C on both sides. */
static bool are_arrays(const struct wf_rma_update *u, uint64_t n)
{
    uintptr_t align = wf_predefined(u->basic)->align;
    int64_t extent = u->basic->extent;

    if (((uintptr_t)u->target | (uintptr_t)u->origin) & (align - 1))
        return false;
    return n == 1 || (u->target_step == extent && u->origin_step == extent);
}

static void change_elements(const struct wf_rma_update *u, uint64_t n)
{
    if (u->code == WF_OP_NO_OP)
        return;
    if (u->code == WF_OP_REPLACE)
        replace_elements(u, n);
    else if (are_arrays(u, n))
        u->kernel(u->origin, u->target, n * u->units);
    else
        compute_apart(u, n);
}

/* Returns how many of the next elements begin in the same piece of the window;
 * of those that go backwards, one. */
static uint64_t count_in_piece(const struct wf_rma_update *u)
{
    uintptr_t offset = (uintptr_t)u->target - u->domain->base, room, n;

    if (u->n == 1 || u->target_step <= 0)
        return 1;
    room = WF_RMA_STRIPE_BYTES - offset % WF_RMA_STRIPE_BYTES;
    n = (room + (uintptr_t)u->target_step - 1) / (uintptr_t)u->target_step;
    return n < u->n ? n : u->n;
}

static void skip_elements(struct wf_rma_update *u, uint64_t n)
{
    u->n -= n;
    u->target += (int64_t)n * u->target_step;
    if (u->origin)
        u->origin += (int64_t)n * u->origin_step;
    if (u->result)
        u->result += (int64_t)n * u->result_step;
}

static void update_under_stripes(struct wf_rma_update *u)
{
    while (u->n > 0) {
        struct wf_rma_stripe *s = wf_rma_stripe_of(u->domain, u->target);
        uint64_t n = count_in_piece(u);

        wf_rma_stripe_enter(s, u->domain);
        wf_race_note_load((uint32_t)(s - u->domain->stripes));
        if (u->result)
            fetch_elements(u, n);
        change_elements(u, n);
        wf_race_note_store((uint32_t)(s - u->domain->stripes));
        wf_rma_stripe_leave(s);
        skip_elements(u, n);
    }
}

void wf_rma_update_run(struct wf_rma_update *u)
{
    if (u->words && wf_rma_is_aligned(u->target, u->basic->size) &&
        (u->n == 1 || u->target_step % u->basic->size == 0))
        update_words(u, u->n);
    else if (u->words && u->target_step % u->basic->size == 0)
        update_under_stripes(u);
    else if (u->words)
        while (u->n > 0) { /* each location has the way of its address */
            struct wf_rma_update one = *u;

            one.n = 1;
            wf_rma_update_run(&one);
            skip_elements(u, 1);
        }
    else
        update_under_stripes(u);
}
