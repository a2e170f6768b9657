/* The stages of a collective access: see twophase.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/twophase.h"

#include <stdlib.h>

#include "coll/args.h"
#include "coll/layout.h"
#include "coll/run.h"
#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/fs.h"
#include "io/plan.h"
#include "io/prepare.h"
#include "io/view.h"
#include "io/vote.h"
#include "io/wait.h"
#include "object/error.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "protocol/request.h"

void wf_twophase_note(struct wf_twophase *t, int rc)
{
    if (!rc || t->rc)
        return;
    t->rc = rc;
    free(t->cause);
    t->cause = strdup(wf_error_last()->text);
}

/* ---- the stages' messages ------------------------------------------------ */

static void add_ask(struct wf_twophase *t, struct wf_sched *s)
{
    struct wf_coll_args a = {.comm = t->file->comm,
                             .sbuf = &t->ask,
                             .rbuf = t->asks,
                             .scount = sizeof t->ask,
                             .rcount = sizeof t->ask,
                             .stype = wf_coll_byte(),
                             .rtype = wf_coll_byte()};

    wf_twophase_note(t, wf_build_allgather(s, &a));
}

static void encode_vote(struct wf_twophase *t)
{
    t->vote[0] = wf_file_encode_vote(t->rc, t->file->comm->rank);
    t->vote[1] = -(int64_t)t->x.unwritten;
}

static void add_vote(struct wf_twophase *t, struct wf_sched *s)
{
    struct wf_coll_args a = {.comm = t->file->comm,
                             .sbuf = t->vote,
                             .rbuf = t->votes,
                             .rcount = 2,
                             .rtype = wf_type_of(MPI_INT64_T),
                             .op = wf_op_of(MPI_MAX)};

    encode_vote(t);
    wf_twophase_note(t, wf_build_allreduce(s, &a));
}

/* Performs a stage that all members do by one blocking collective, which may go
 * through shared memory. */
static int run_collective(struct wf_twophase *t)
{
    struct wf_comm *comm = t->file->comm;
    const size_t n = sizeof t->ask;

    if (t->stage == WF_STAGE_ASK)
        return wf_mpi_allgather(comm->wf, &t->ask, n, wf_coll_byte(), t->asks,
                                n, wf_coll_byte(), comm);
    encode_vote(t);
    return wf_mpi_allreduce(comm->wf, t->vote, t->votes, 2,
                            wf_type_of(MPI_INT64_T), wf_op_of(MPI_MAX), comm);
}

static struct wf_sched *create_schedule(struct wf_twophase *t)
{
    struct wf_comm *comm = t->file->comm;
    struct wf_sched *s =
        t->has_tag ? wf_sched_create_part(comm, t->tag) : wf_sched_create(comm);

    if (!s)
        return NULL;
    t->tag = wf_sched_tag(s);
    t->has_tag = true;
    return s;
}

static struct wf_sched *build_stage(struct wf_twophase *t)
{
    struct wf_sched *s = create_schedule(t);

    if (t->stage == WF_STAGE_HEADS)
        wf_exchange_begin_round(t);
    if (!s)
        return NULL;
    switch (t->stage) {
    case WF_STAGE_ASK:
        add_ask(t, s);
        break;
    case WF_STAGE_HEADS:
        wf_exchange_add_heads(t, s);
        break;
    case WF_STAGE_RECORDS:
        wf_exchange_add_records(t, s);
        break;
    case WF_STAGE_ANSWER:
        wf_exchange_add_answers(t, s);
        break;
    default:
        add_vote(t, s);
    }
    return s;
}

/* ---- from stage to stage ------------------------------------------------- */

static void start_stages(struct wf_twophase *);

/* Returns what follows the rounds' last stage. */
static enum wf_io_stage end_round(struct wf_twophase *t)
{
    return ++t->x.round < t->x.rounds ? WF_STAGE_HEADS : WF_STAGE_VOTE;
}

static void take_vote(struct wf_twophase *t)
{
    struct wf_access *a = &t->access;
    uint64_t unwritten = (uint64_t)-t->votes[1], n;

    if (t->votes[0] != t->vote[0]) {
        t->rc = MPI_SUCCESS;
        wf_twophase_note(t, wf_file_record_vote(t->votes[0]));
    }
    if (!t->has_access || t->accessed || !a->write || !t->x.aggregators)
        return;
    n = wf_view_count_before(a->view, unwritten);
    n = n < a->stream ? 0 : n - a->stream;
    a->bytes_done = n < a->stream_bytes ? n : a->stream_bytes;
}

/* Takes the outcome from what the members have told, if none of them has
 * anything left to do. */
static bool is_settled(struct wf_twophase *t)
{
    uint64_t bytes = 0;

    t->votes[0] = 0;
    for (int i = 0; i < t->file->comm->size; i++) {
        bytes |= t->asks[i].bytes;
        if (t->asks[i].outcome > t->votes[0])
            t->votes[0] = t->asks[i].outcome;
    }
    if (!bytes)
        take_vote(t);
    return !bytes;
}

/* Takes what the stage has brought, and chooses the next one. failed: its
 * messages have not all come. */
static enum wf_io_stage finish_stage(struct wf_twophase *t, bool failed)
{
    switch (t->stage) {
    case WF_STAGE_ASK:
        return failed                ? WF_STAGE_VOTE
               : is_settled(t)       ? WF_STAGE_ENDED
               : wf_exchange_plan(t) ? WF_STAGE_HEADS
                                     : WF_STAGE_ACCESS;
    case WF_STAGE_HEADS:
        wf_exchange_take_heads(t, failed);
        return WF_STAGE_RECORDS;
    case WF_STAGE_RECORDS:
        t->x.lost |= failed;
        return WF_STAGE_TRANSFER;
    case WF_STAGE_TRANSFER:
        return t->x.write ? end_round(t) : WF_STAGE_ANSWER;
    case WF_STAGE_ANSWER:
        wf_exchange_take_answers(t, failed);
        return end_round(t);
    case WF_STAGE_ACCESS:
        return WF_STAGE_VOTE;
    default:
        if (!failed)
            take_vote(t);
        return WF_STAGE_ENDED;
    }
}

/* A member that is gone ends the access: nothing more can be agreed on. */
static void end_stage(struct wf_twophase *t, int rc)
{
    wf_twophase_note(t, rc);
    t->stage =
        rc == MPI_ERR_PROC_ABORTED ? WF_STAGE_ENDED : finish_stage(t, rc != 0);
}

static void finish_schedule(void *arg, int error)
{
    end_stage(arg, error);
    start_stages(arg);
}

static void run_access(struct wf_io_task *task)
{
    struct wf_twophase *t = wf_container(task, struct wf_twophase, task);

    wf_twophase_note(t, t->stage == WF_STAGE_ACCESS ? wf_access_run(&t->access)
                                                    : wf_exchange_transfer(t));
}

static void finish_access(struct wf_io_task *task)
{
    struct wf_twophase *t = wf_container(task, struct wf_twophase, task);

    end_stage(t, MPI_SUCCESS);
    start_stages(t);
}

/* Returns whether this member has something to do in the stage. */
static bool has_access_to_make(const struct wf_twophase *t)
{
    return t->stage == WF_STAGE_ACCESS ? t->has_access && !t->accessed
                                       : t->x.number >= 0;
}

/* Starts a stage of a nonblocking access, which ends by finish_schedule or
 * finish_access. */
static void start_stage(struct wf_twophase *t)
{
    int rc;

    if (t->stage != WF_STAGE_ACCESS && t->stage != WF_STAGE_TRANSFER) {
        wf_sched_start_part(build_stage(t), finish_schedule, t);
        return;
    }
    t->task = (struct wf_io_task){
        .wf = t->file->wf, .run = run_access, .done = finish_access};
    rc = has_access_to_make(t) ? wf_io_submit(&t->task) : MPI_SUCCESS;
    if (rc)
        run_access(&t->task); /* there is no way to a thread */
    if (rc || !has_access_to_make(t))
        finish_access(&t->task);
}

/* Starts stages as long as they end at once. */
static void start_stages(struct wf_twophase *t)
{
    t->due = true;
    if (t->proceeds)
        return; /* called by a stage that ended at once: the loop goes on */
    t->proceeds = true;
    while (t->due && t->stage != WF_STAGE_ENDED) {
        t->due = false;
        start_stage(t);
    }
    t->proceeds = false;
    if (t->stage != WF_STAGE_ENDED)
        return;
    if (t->attends)
        wf_file_stop_attending(t->file->wf);
    t->ended(t);
}

/* Runs a stage of a blocking access. */
static void run_stage(struct wf_twophase *t)
{
    struct wf_instance *wf = t->file->wf;
    int rc = MPI_SUCCESS;

    if (t->stage == WF_STAGE_ASK || t->stage == WF_STAGE_VOTE) {
        rc = run_collective(t);
    } else if (t->stage != WF_STAGE_ACCESS && t->stage != WF_STAGE_TRANSFER) {
        rc = wf_sched_run(build_stage(t));
    } else if (has_access_to_make(t)) {
        wf_cs_leave(&wf->api);
        run_access(&t->task);
        wf_cs_enter(&wf->api);
    }
    end_stage(t, rc);
}

/* ---- what a member tells ------------------------------------------------- */

/* Asks about the file system, once for a file. */
static void identify_file_system(struct wf_file *f)
{
    struct wf_fs_identity id = {.kind = WF_FS_LOCAL, .block = 4096};

    if (f->block)
        return;
    (void)f->fs_file->fs->identify(f->fs_file, &id);
    f->block = id.block;
    f->is_local = id.kind == WF_FS_LOCAL;
}

/* Returns the size of pieces from which two phases do not pay. Reads of a local
 * file system find the pages that another process has read. */
static uint64_t find_large_piece(const struct wf_file *f, bool write)
{
    if (!f->is_local)
        return WF_IO_PIECE_REMOTE;
    return write ? WF_IO_PIECE_LOCAL : 0;
}

static void fill_ask(struct wf_twophase *t)
{
    const struct wf_file_hints *h = &t->file->hints;
    const struct wf_access *a = &t->access;
    struct wf_io_ask *ask = &t->ask;

    identify_file_system(t->file);
    *ask = (struct wf_io_ask){.use = WF_HINT_AUTOMATIC,
                              .cpus = t->file->wf->rank->cpus,
                              .aggregators = (uint32_t)h->cb_nodes,
                              .buffer = h->cb_buffer_size,
                              .block = t->file->block};
    ask->cpus += !ask->cpus;
    ask->alone = !wf_layout_of(t->file->comm);
    if (!t->has_access)
        return;
    ask->use = a->write ? h->cb_write : h->cb_read;
    if (!a->stream_bytes)
        return;
    ask->alone |= a->locks || !a->view->ascending ||
                  a->view->datarep->kind != WF_REP_NATIVE;
    ask->bytes = a->stream_bytes;
    ask->writes = a->write;
    ask->large = find_large_piece(t->file, a->write);
    wf_view_find_byte(a->view, a->stream, &ask->first);
    wf_view_find_byte(a->view, a->stream + a->stream_bytes - 1, &ask->last);
    ask->pieces = a->view->linear || a->view->piece <= 0
                      ? 1
                      : a->stream_bytes / (uint64_t)a->view->piece;
    ask->pieces += !ask->pieces;
}

/* ---- memory -------------------------------------------------------------- */

static bool has_spare(void *arg)
{
    return ((struct wf_file *)arg)->spare != NULL;
}

static struct wf_twophase *take_spare(struct wf_file *f)
{
    struct wf_twophase *t;

    if (!f->spare)
        wf_file_wait(f, UINT32_MAX, has_spare, f);
    t = f->spare;
    f->spare = NULL;
    t->file = f;
    return t;
}

struct wf_twophase *wf_twophase_take(struct wf_file *f)
{
    struct wf_twophase *t = wf_twophase_allocate(f->comm->size);

    if (!t)
        return take_spare(f);
    t->file = f;
    return t;
}

int wf_twophase_end(struct wf_twophase *t)
{
    struct wf_file *f = t->file;
    int rc = t->rc;

    if (rc)
        wf_error_on(f, rc, "%s", t->cause ? t->cause : "no memory");
    free(t->cause);
    wf_exchange_reset(&t->x);
    *t = (struct wf_twophase){.asks = t->asks, .x = t->x};
    if (f->spare)
        free(t);
    else
        f->spare = t;
    return rc;
}

/* ---- the whole ----------------------------------------------------------- */

/* Whether nothing that the others tell changes how this member accesses the
 * file: then it does so first, and none of them has to wait for it again. */
static bool goes_first(const struct wf_twophase *t)
{
    const struct wf_io_ask *ask = &t->ask;

    return ask->alone || ask->use == WF_HINT_DISABLE ||
           (ask->pieces == 1 && ask->use == WF_HINT_AUTOMATIC &&
            t->file->is_local);
}

/* Functions of the program convert in its own threads only. */
static bool converts_in_call(const struct wf_twophase *t)
{
    return t->access.view->datarep->kind == WF_REP_REGISTERED;
}

/* Prepares a collective access of this member, which performs it if `first` of
 * it is true. */
static void prepare_member(struct wf_twophase *t, const struct wf_access *a,
                           int rc, bool (*first)(const struct wf_twophase *))
{
    t->has_access = a && !rc;
    if (t->has_access)
        t->access = *a;
    t->access.bytes_done = 0;
    wf_twophase_note(t, rc);
    fill_ask(t);
    if (t->has_access && first(t)) {
        wf_twophase_note(t, wf_file_run(t->file, &t->access));
        t->accessed = true;
        t->ask.bytes = 0;
    }
    encode_vote(t);
    t->ask.outcome = t->vote[0];
}

int wf_twophase_run(struct wf_file *f, struct wf_access *a, int rc)
{
    struct wf_twophase *t = take_spare(f);

    f->under_way++;
    prepare_member(t, a, rc, goes_first);
    if (t->has_access)
        wf_access_hold(&t->access);
    while (t->stage != WF_STAGE_ENDED)
        run_stage(t);
    if (t->has_access)
        wf_access_drop(&t->access);
    f->under_way--;
    if (a)
        a->bytes_done = t->access.bytes_done;
    return wf_twophase_end(t);
}

void wf_twophase_start(struct wf_twophase *t, const struct wf_access *a, int rc)
{
    prepare_member(t, a, rc, converts_in_call);
    t->attends = wf_file_attend(t->file->wf);
    start_stages(t);
}
