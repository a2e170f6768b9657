/* Accumulates on mapped memory: see atomic.h for the rules.
 *
 *   both sides --runs of elements--> update  --words-->   atomic operations
 *   (elements.h)       (update.h)            --stripes--> hold by hold: fetch,
 *                                                         then a kernel (op.c)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/atomic.h"

#include "datatype/op.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "os/race_notes.h"
#include "rma/update.h"

enum {
    SWAPPED = WF_GROUP_C_INTEGER | WF_GROUP_FORTRAN_INTEGER | WF_GROUP_LOGICAL |
              WF_GROUP_BYTE | WF_GROUP_MULTI
};

/* ---- calls --------------------------------------------------------------- */

int wf_rma_check_op(const struct wf_op *op, const struct wf_type *basic)
{
    if (!op->predefined)
        return wf_error(MPI_ERR_OP, "an operation of MPI_Op_create is not "
                                    "allowed in one-sided communication; use "
                                    "a predefined one");
    if (op->predefined == WF_OP_REPLACE || op->predefined == WF_OP_NO_OP)
        return MPI_SUCCESS;
    return wf_op_check(op, basic, NULL);
}

static int begin_update(struct wf_rma_update *u, const struct wf_rma_domain *d,
                        const struct wf_op *op, const struct wf_type *basic)
{
    u->kernel = op->predefined ? wf_op_find_kernel(op, basic) : NULL;
    if (wf_unlikely(!u->kernel)) {
        int rc = wf_rma_check_op(op, basic);

        if (rc)
            return rc;
    }
    u->domain = d;
    u->basic = basic;
    u->code = op->predefined;
    u->units = u->code >= WF_OP_BAND && u->code <= WF_OP_BXOR
                   ? (uint32_t)basic->size
                   : 1;
    u->words = wf_rma_uses_words(d, basic);
    return MPI_SUCCESS;
}

static int find_basic(const struct wf_rma_side *side, const char *name,
                      const struct wf_type **basic)
{
    *basic = wf_rma_find_basic(side->type);
    if (wf_likely(*basic))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_TYPE,
                    "the %s datatype '%s' is not made of one predefined "
                    "datatype, as accumulate operations need",
                    name, wf_type_name(side->type));
}

/* Returns whether both are the same machine type, as MPI_LONG and MPI_INT64_T
 * are. */
static bool is_same_scalar(const struct wf_type *a, const struct wf_type *b)
{
    return a->predefined == b->predefined ||
           (a->size == b->size && a->extent == b->extent &&
            wf_predefined(a)->scalar == wf_predefined(b)->scalar);
}

/* Checks that the side has as many elements of the basic type as the target. */
static int check_side(const struct wf_rma_side *side, const char *name,
                      const struct wf_type *basic, uint64_t n)
{
    const struct wf_type *own;
    int rc = find_basic(side, name, &own);

    if (rc)
        return rc;
    if (!is_same_scalar(own, basic))
        return wf_error(MPI_ERR_TYPE,
                        "the %s has elements of %s and the target of %s; "
                        "accumulate operations need the same",
                        name, wf_type_name(own), wf_type_name(basic));
    if (wf_rma_count_elements(side, basic) == n)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_COUNT,
                    "the %s has %llu elements and the target "
                    "%llu",
                    name,
                    (unsigned long long)wf_rma_count_elements(side, basic),
                    (unsigned long long)n);
}

static uint64_t smallest_run(const struct wf_rma_elements *t,
                             const struct wf_rma_elements *o,
                             const struct wf_rma_elements *r)
{
    uint64_t n = t->left;

    if (o && o->left < n)
        n = o->left;
    return r && r->left < n ? r->left : n;
}

/* Walks the sides together for so many elements; o and r may be NULL. */
static void update_some(struct wf_rma_update *u, struct wf_rma_elements *t,
                        struct wf_rma_elements *o, struct wf_rma_elements *r,
                        uint64_t count)
{
    uint64_t n;

    u->origin = u->result = NULL;
    while (count > 0 && (n = smallest_run(t, o, r)) > 0) {
        if (n > count)
            n = count;
        count -= n;
        u->n = n;
        u->target = t->at;
        u->target_step = t->step;
        if (o) {
            u->origin = o->at;
            u->origin_step = o->step;
            wf_rma_elements_advance(o, n);
        }
        if (r) {
            u->result = r->at;
            u->result_step = r->step;
            wf_rma_elements_advance(r, n);
        }
        wf_rma_elements_advance(t, n);
        wf_rma_update_run(u);
    }
}

static int accumulate_sides(const struct wf_rma_domain *d,
                            const struct wf_op *op,
                            const struct wf_rma_side *target,
                            const struct wf_rma_side *origin,
                            const struct wf_rma_side *result)
{
    struct wf_rma_elements t, o, r;
    const struct wf_type *basic;
    struct wf_rma_update u;
    uint64_t n;
    int rc;

    if (target->count == 0 || target->type->size == 0)
        return MPI_SUCCESS;
    if (op->predefined == WF_OP_NO_OP)
        origin = NULL;
    rc = find_basic(target, "target", &basic);
    if (rc || (rc = begin_update(&u, d, op, basic)))
        return rc;
    n = wf_rma_count_elements(target, basic);
    if ((origin && (rc = check_side(origin, "origin", basic, n))) ||
        (result && (rc = check_side(result, "result", basic, n))))
        return rc;
    wf_rma_elements_begin(&t, target, basic);
    if (origin)
        wf_rma_elements_begin(&o, origin, basic);
    if (result)
        wf_rma_elements_begin(&r, result, basic);
    update_some(&u, &t, origin ? &o : NULL, result ? &r : NULL, n);
    return MPI_SUCCESS;
}

int wf_rma_accumulate_part(const struct wf_rma_domain *d,
                           const struct wf_op *op,
                           const struct wf_rma_part *target,
                           const struct wf_rma_side *origin,
                           const struct wf_rma_side *result)
{
    struct wf_rma_elements t, o, r;
    struct wf_rma_update u;
    int rc;

    if (op->predefined == WF_OP_NO_OP)
        origin = NULL;
    if (target->count == 0 || (!origin && !result))
        return MPI_SUCCESS;
    rc = begin_update(&u, d, op, target->basic);
    if (rc)
        return rc;
    wf_rma_elements_begin_at(&t, &target->side, target->basic, target->first);
    if (origin)
        wf_rma_elements_begin(&o, origin, target->basic);
    if (result)
        wf_rma_elements_begin(&r, result, target->basic);
    update_some(&u, &t, origin ? &o : NULL, result ? &r : NULL, target->count);
    return t.broken ? MPI_ERR_TYPE : MPI_SUCCESS;
}

int wf_rma_accumulate(const struct wf_rma_domain *d, const struct wf_op *op,
                      const struct wf_rma_side *target,
                      const struct wf_rma_side *origin)
{
    if (op->predefined == WF_OP_NO_OP)
        return MPI_SUCCESS;
    return accumulate_sides(d, op, target, origin, NULL);
}

int wf_rma_get_accumulate(const struct wf_rma_domain *d, const struct wf_op *op,
                          const struct wf_rma_side *target,
                          const struct wf_rma_side *origin,
                          const struct wf_rma_side *result)
{
    return accumulate_sides(d, op, target, origin, result);
}

int wf_rma_fetch_and_op(const struct wf_rma_domain *d, const struct wf_op *op,
                        const struct wf_type *type, void *target,
                        const void *origin, void *result)
{
    struct wf_rma_update u = {.n = 1, .target = target, .result = result};
    int rc = begin_update(&u, d, op, type);

    if (rc)
        return rc;
    u.origin = u.code == WF_OP_NO_OP ? NULL : origin;
    wf_rma_update_run(&u);
    return MPI_SUCCESS;
}

/* ---- compare and swap ---------------------------------------------------- */

int wf_rma_check_swap_type(const struct wf_type *t)
{
    if (t->predefined && wf_predefined(t)->group & SWAPPED)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_TYPE,
                    "MPI_Compare_and_swap is for integers, logicals and bytes, "
                    "and '%s' is none",
                    wf_type_name(t));
}

#define SWAP_WORD(BITS)                                                        \
    static void swap_word_##BITS(_Atomic uint##BITS##_t *at,                   \
                                 const struct wf_rma_swap *s)                  \
    {                                                                          \
        uint##BITS##_t old, value;                                             \
                                                                               \
        memcpy(&old, s->compare, sizeof old);                                  \
        memcpy(&value, s->origin, sizeof value);                               \
        (void)wf_cas_acq_rel(at, &old, value);                                 \
        memcpy(s->result, &old, sizeof old);                                   \
    }

SWAP_WORD(8)
SWAP_WORD(16)
SWAP_WORD(32)
SWAP_WORD(64)

static void swap_word(void *target, int64_t size, const struct wf_rma_swap *s)
{
    switch (size) {
    case 1:
        swap_word_8(target, s);
        break;
    case 2:
        swap_word_16(target, s);
        break;
    case 4:
        swap_word_32(target, s);
        break;
    default:
        swap_word_64(target, s);
    }
}

void wf_rma_swap_bytes(const struct wf_rma_domain *d, void *target, size_t size,
                       const struct wf_rma_swap *s)
{
    struct wf_rma_stripe *stripe;
    bool equal;

    if (wf_rma_has_word_size(d, (int64_t)size) &&
        wf_rma_is_aligned(target, (int64_t)size)) {
        swap_word(target, (int64_t)size, s);
        return;
    }
    stripe = wf_rma_stripe_of(d, target);
    wf_rma_stripe_enter(stripe, d);
    wf_race_note_load((uint32_t)(stripe - d->stripes));
    equal = memcmp(target, s->compare, size) == 0;
    memcpy(s->result, target, size);
    if (equal)
        memcpy(target, s->origin, size);
    wf_race_note_store((uint32_t)(stripe - d->stripes));
    wf_rma_stripe_leave(stripe);
}

int wf_rma_compare_and_swap(const struct wf_rma_domain *d,
                            const struct wf_type *type, void *target,
                            const struct wf_rma_swap *s)
{
    int rc = wf_rma_check_swap_type(type);

    if (rc == MPI_SUCCESS)
        wf_rma_swap_bytes(d, target, (size_t)type->size, s);
    return rc;
}
