/* The calls that operate on memory of other processes (MPI-5.0 s12.3): their
 * arguments are checked, and the leg of the target starts the operation.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/derive.h"
#include "datatype/describe.h"
#include "datatype/op.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/instance.h"
#include "protocol/queues.h"
#include "rma/apply.h"
#include "rma/direct.h"
#include "rma/epoch.h"
#include "rma/mapped.h"
#include "rma/open.h"
#include "rma/operation.h"
#include "rma/target.h"

/* The arguments of all calls together. */
struct arguments {
    struct wf_rma_call call; /* prepare_call fills the rest of it */
    int rank;
    MPI_Aint disp;
    struct wf_op *op;
    MPI_Request *request; /* NULL: the call has none */
};

static struct wf_rma_side buffer_of(const void *at, MPI_Count count,
                                    struct wf_type *type)
{
    return (struct wf_rma_side){(void *)(uintptr_t)at, type, (uint64_t)count};
}

/* ---- checks -------------------------------------------------------------- */

static int check_length(const struct wf_rma_side *b, const char *name,
                        uint64_t bytes)
{
    uint64_t here;

    if (!__builtin_mul_overflow(b->count, (uint64_t)b->type->size, &here) &&
        here == bytes)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_COUNT,
                    "the %s has %llu elements of %lld bytes, and the target "
                    "%llu bytes: they must be as many",
                    name, (unsigned long long)b->count,
                    (long long)b->type->size, (unsigned long long)bytes);
}

/* Finds the place of the data from the base of the member's window, and checks
 * that it is inside. A dynamic window is known to its owner only. */
static int find_position(const struct wf_win *win, struct arguments *a)
{
    const struct wf_win_member *m = &win->members[a->rank];
    const struct wf_rma_side *target = &a->call.target;
    int64_t at = a->disp;

    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        a->call.position = (uint64_t)a->disp;
        return MPI_SUCCESS;
    }
    if (a->disp < 0)
        return wf_error(MPI_ERR_DISP,
                        "target_disp is %lld but must be 0 or more",
                        (long long)a->disp);
    if (!__builtin_mul_overflow(at, (int64_t)m->unit, &at) &&
        wf_rma_is_in_range(m->size, (uint64_t)at, target->type,
                           target->count)) {
        a->call.position = (uint64_t)at;
        return MPI_SUCCESS;
    }
    return wf_error(MPI_ERR_RMA_RANGE,
                    "%llu elements at displacement %lld are not inside the "
                    "%llu bytes that rank %d has in %s (its displacement unit "
                    "is %llu)",
                    (unsigned long long)target->count, (long long)a->disp,
                    (unsigned long long)m->size, a->rank, wf_win_name(win).text,
                    (unsigned long long)m->unit);
}

static int check_op(const struct wf_instance *wf, const struct arguments *a,
                    const struct wf_type *basic)
{
    uint32_t op = a->op->predefined;

    if (!op)
        return wf_error(MPI_ERR_OP, "op was made by MPI_Op_create; accumulates "
                                    "take predefined operations only");
    if (op == WF_OP_NO_OP && a->call.kind == WF_RMA_ACC)
        return wf_error(MPI_ERR_OP, "MPI_NO_OP is only for calls that fetch, "
                                    "such as MPI_Get_accumulate");
    if (op >= WF_OP_REPLACE && wf_rma_op_is_valid(op, basic))
        return MPI_SUCCESS;
    return wf_op_check(a->op, basic, wf);
}

/* Finds the basic type of an accumulate, which both sides have. */
static int find_basic(const struct wf_instance *wf, struct arguments *a)
{
    struct wf_rma_call *c = &a->call;
    struct wf_type *basic = wf_type_basic(c->target.type);

    if (!basic)
        return wf_error(MPI_ERR_TYPE,
                        "target_datatype has basic elements of several types");
    if (c->origin.type && c->origin.type != c->target.type) {
        const struct wf_type *other = wf_type_basic(c->origin.type);
        if (!other || other->predefined != basic->predefined)
            return wf_error(MPI_ERR_TYPE,
                            "origin_datatype does not consist of %s, as "
                            "target_datatype does",
                            wf_type_name(basic));
    }
    c->basic = basic;
    c->op = a->op->predefined;
    return check_op(wf, a, basic);
}

/* Checks the arguments, and completes the call. */
static int prepare_call(struct wf_win *win, struct arguments *a)
{
    struct wf_rma_call *c = &a->call;
    const struct wf_type *t = c->target.type;
    int rc = find_position(win, a);

    if (a->op && a->op->predefined == WF_OP_NO_OP)
        c->origin = (struct wf_rma_side){0}; /* it may be anything */
    if (rc == MPI_SUCCESS &&
        __builtin_mul_overflow(c->target.count, (uint64_t)t->size, &c->bytes))
        rc = wf_error(MPI_ERR_COUNT, "the target has more than 2^64 bytes");
    if (rc == MPI_SUCCESS && c->origin.type)
        rc = check_length(&c->origin, "origin", c->bytes);
    if (rc == MPI_SUCCESS && c->result.type)
        rc = check_length(&c->result, "result", c->bytes);
    if (wf_type_is_contiguous(t))
        c->position += (uint64_t)t->true_lb;
    if (rc == MPI_SUCCESS && a->op && c->bytes)
        rc = find_basic(win->wf, a);
    return rc;
}

/* ---- the way of all calls ------------------------------------------------ */

static int start_inside(struct wf_win *win, struct arguments *a)
{
    struct wf_req *req = &win->wf->engine->sent;
    struct wf_win_peer *p;
    int rc = wf_epoch_check_access(win, a->rank, a->request != NULL);

    if (rc == MPI_SUCCESS)
        rc = prepare_call(win, a);
    if (rc || a->call.bytes == 0)
        return rc;
    p = wf_win_find(win, a->rank, &rc);
    if (!p)
        return rc;
    wf_epoch_prepare(p);
    rc = p->leg->start(p, &a->call, a->request ? &req : NULL);
    if (a->request)
        *a->request = (MPI_Request)req;
    return rc;
}

static int start_beside(struct wf_win_peer *p, struct arguments *a)
{
    int rc = prepare_call(p->win, a);

    return rc || a->call.bytes == 0 ? rc : wf_rma_perform_mapped(p, &a->call);
}

/* Outside of the section, which only the message leg and the first operation of
 * an epoch need. */
static int start_call(struct wf_win *win, struct arguments *a)
{
    struct wf_win_peer *p;
    int rc = wf_epoch_check_rank(win, a->rank);

    if (a->request)
        *a->request = (MPI_Request)&win->wf->engine->sent;
    if (rc || a->rank == MPI_PROC_NULL)
        return rc;
    p = wf_open_find(win, a->rank,
                     a->request ? WF_OPEN_PASSIVE : WF_OPEN_ACTIVE);
    if (p)
        return start_beside(p, a);
    wf_enter_api(win->wf);
    rc = start_inside(win, a);
    wf_leave_api(win->wf);
    return rc;
}

int wf_mpi_put(struct wf_instance *wf, const void *origin_addr,
               MPI_Count origin_count, struct wf_type *origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               struct wf_type *target_datatype, struct wf_win *win)
{
    return wf_mpi_rput(wf, origin_addr, origin_count, origin_datatype,
                       target_rank, target_disp, target_count, target_datatype,
                       win, NULL);
}

int wf_mpi_rput(struct wf_instance *wf, const void *origin_addr,
                MPI_Count origin_count, struct wf_type *origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                struct wf_type *target_datatype, struct wf_win *win,
                MPI_Request *request)
{
    struct arguments a = {
        .call.kind = WF_RMA_PUT,
        .call.origin = buffer_of(origin_addr, origin_count, origin_datatype),
        .rank = target_rank,
        .disp = target_disp,
        .call.target = buffer_of(NULL, target_count, target_datatype),
        .request = request};

    return start_call(win, &a);
}

int wf_mpi_get(struct wf_instance *wf, void *origin_addr,
               MPI_Count origin_count, struct wf_type *origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               struct wf_type *target_datatype, struct wf_win *win)
{
    return wf_mpi_rget(wf, origin_addr, origin_count, origin_datatype,
                       target_rank, target_disp, target_count, target_datatype,
                       win, NULL);
}

int wf_mpi_rget(struct wf_instance *wf, void *origin_addr,
                MPI_Count origin_count, struct wf_type *origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                struct wf_type *target_datatype, struct wf_win *win,
                MPI_Request *request)
{
    struct arguments a = {
        .call.kind = WF_RMA_GET,
        .call.result = buffer_of(origin_addr, origin_count, origin_datatype),
        .rank = target_rank,
        .disp = target_disp,
        .call.target = buffer_of(NULL, target_count, target_datatype),
        .request = request};

    return start_call(win, &a);
}

int wf_mpi_accumulate(struct wf_instance *wf, const void *origin_addr,
                      MPI_Count origin_count, struct wf_type *origin_datatype,
                      int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, struct wf_type *target_datatype,
                      struct wf_op *op, struct wf_win *win)
{
    return wf_mpi_raccumulate(wf, origin_addr, origin_count, origin_datatype,
                              target_rank, target_disp, target_count,
                              target_datatype, op, win, NULL);
}

int wf_mpi_raccumulate(struct wf_instance *wf, const void *origin_addr,
                       MPI_Count origin_count, struct wf_type *origin_datatype,
                       int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, struct wf_type *target_datatype,
                       struct wf_op *op, struct wf_win *win,
                       MPI_Request *request)
{
    struct arguments a = {
        .call.kind = WF_RMA_ACC,
        .call.origin = buffer_of(origin_addr, origin_count, origin_datatype),
        .rank = target_rank,
        .disp = target_disp,
        .call.target = buffer_of(NULL, target_count, target_datatype),
        .op = op,
        .request = request};

    return start_call(win, &a);
}

int wf_mpi_get_accumulate(struct wf_instance *wf, const void *origin_addr,
                          MPI_Count origin_count,
                          struct wf_type *origin_datatype, void *result_addr,
                          MPI_Count result_count,
                          struct wf_type *result_datatype, int target_rank,
                          MPI_Aint target_disp, MPI_Count target_count,
                          struct wf_type *target_datatype, struct wf_op *op,
                          struct wf_win *win)
{
    return wf_mpi_rget_accumulate(wf, origin_addr, origin_count,
                                  origin_datatype, result_addr, result_count,
                                  result_datatype, target_rank, target_disp,
                                  target_count, target_datatype, op, win, NULL);
}

int wf_mpi_rget_accumulate(struct wf_instance *wf, const void *origin_addr,
                           MPI_Count origin_count,
                           struct wf_type *origin_datatype, void *result_addr,
                           MPI_Count result_count,
                           struct wf_type *result_datatype, int target_rank,
                           MPI_Aint target_disp, MPI_Count target_count,
                           struct wf_type *target_datatype, struct wf_op *op,
                           struct wf_win *win, MPI_Request *request)
{
    struct arguments a = {
        .call.kind = WF_RMA_GET_ACC,
        .call.origin = buffer_of(origin_addr, origin_count, origin_datatype),
        .call.result = buffer_of(result_addr, result_count, result_datatype),
        .rank = target_rank,
        .disp = target_disp,
        .call.target = buffer_of(NULL, target_count, target_datatype),
        .op = op,
        .request = request};

    return start_call(win, &a);
}

/* ---- one element --------------------------------------------------------- */

static int check_element(const struct wf_type *type, const void *result)
{
    if (!wf_predefined(type))
        return wf_error(MPI_ERR_TYPE,
                        "datatype must be predefined, and is not");
    if (!result)
        return wf_error(MPI_ERR_BUFFER, "result_addr is NULL");
    return MPI_SUCCESS;
}

int wf_mpi_fetch_and_op(struct wf_instance *wf, const void *origin_addr,
                        void *result_addr, struct wf_type *datatype,
                        int target_rank, MPI_Aint target_disp, struct wf_op *op,
                        struct wf_win *win)
{
    struct arguments a = {.call.kind = WF_RMA_GET_ACC,
                          .call.origin = buffer_of(origin_addr, 1, datatype),
                          .call.result = buffer_of(result_addr, 1, datatype),
                          .rank = target_rank,
                          .disp = target_disp,
                          .call.target = buffer_of(NULL, 1, datatype),
                          .op = op};
    int rc = check_element(datatype, result_addr);

    if (rc == MPI_SUCCESS && !origin_addr && op->predefined != WF_OP_NO_OP)
        rc = wf_error(MPI_ERR_BUFFER, "origin_addr is NULL");
    return rc ? rc : start_call(win, &a);
}

int wf_mpi_compare_and_swap(struct wf_instance *wf, const void *origin_addr,
                            const void *compare_addr, void *result_addr,
                            struct wf_type *datatype, int target_rank,
                            MPI_Aint target_disp, struct wf_win *win)
{
    enum {
        ALLOWED = WF_GROUP_C_INTEGER | WF_GROUP_FORTRAN_INTEGER |
                  WF_GROUP_LOGICAL | WF_GROUP_MULTI | WF_GROUP_BYTE
    };
    struct arguments a = {.call.kind = WF_RMA_CAS,
                          .call.origin = buffer_of(origin_addr, 1, datatype),
                          .call.result = buffer_of(result_addr, 1, datatype),
                          .call.compare = compare_addr,
                          .rank = target_rank,
                          .disp = target_disp,
                          .call.target = buffer_of(NULL, 1, datatype)};
    int rc = check_element(datatype, result_addr);

    if (rc == MPI_SUCCESS &&
        (!(wf_predefined(datatype)->group & ALLOWED) ||
         wf_op_is_withheld(wf, datatype) || datatype->size > WF_RMA_BASIC_MOST))
        rc = wf_error(MPI_ERR_TYPE,
                      "%s cannot be compared: use an integer, a logical type, "
                      "or MPI_BYTE",
                      wf_type_name(datatype));
    if (rc == MPI_SUCCESS && (!origin_addr || !compare_addr))
        rc = wf_error(MPI_ERR_BUFFER, "%s is NULL",
                      origin_addr ? "compare_addr" : "origin_addr");
    return rc ? rc : start_call(win, &a);
}
