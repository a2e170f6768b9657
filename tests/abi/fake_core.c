/* The core as the bindings see it, without a core.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "process/process.h"
#include "bindings_test.h"

#include "api/handle_int.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "group/group.h"
#include "group/raise.h"
#include "io/calls.h"
#include "io/collective.h"
#include "io/collective_calls.h"
#include "io/shared_calls.h"
#include "io/vote.h"
#include "lock/critical.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "object/status.h"
#include "process/rank.h"
#include "protocol/pool.h"
#include "protocol/fastpath.h"
#include "protocol/receive.h"
#include "protocol/request.h"

struct wf_instance *_Atomic wf_process_instance;
_Thread_local struct wf_instance *wf_thread_instance;
_Thread_local const char *wf_call_name;
_Thread_local struct wf_call_now wf_call_now;
_Thread_local const struct wf_event *wf_event_shown;

/* The short path finds no contact, so every call takes the long way. */
const struct wf_comm wf_comm_without_contacts;
const struct wf_comm *wf_fastpath_world = &wf_comm_without_contacts;
static const char shut = 0;
const char *_Atomic wf_fastpath_enabled = &shut;
const struct wf_comm *wf_fastpath_shared_world;

bool wf_cs_enable_locking(struct wf_cs *cs)
{
    return true;
}

bool wf_progress_is_only_thread(struct wf_instance *wf)
{
    return false;
}

bool wf_fastpath_post_receive(struct wf_comm *comm, struct weft_loc *from,
                              uint64_t env1, void *buf, uint64_t bytes,
                              MPI_Request *request)
{
    return false;
}

void wf_req_poll_briefly(struct wf_req *r)
{
}

void wf_comm_put(struct wf_comm *comm)
{
}

void wf_status_set(MPI_Status *s, int source, int tag, uint64_t bytes,
                   bool cancelled)
{
}

bool wf_receive_fast(struct wf_comm *comm, struct weft_loc *loc,
                      const struct wf_expected *what, MPI_Status *status,
                      int *rc)
{
    fail_msg("the short path was taken");
    return false;
}

struct wf_type_sizes wf_type_sizes[WF_TYPES_END];

bool wf_rma_fast_lock(MPI_Win h, int lock_type, int rank, int assert)
{
    return false;
}

bool wf_rma_fast_unlock(MPI_Win h, int rank)
{
    return false;
}

bool wf_rma_fast_lock_all(MPI_Win h, int assert)
{
    return false;
}

bool wf_rma_fast_unlock_all(MPI_Win h)
{
    return false;
}

/* As if a Fortran layer had said so. */
bool wf_type_is_removed(MPI_Datatype handle)
{
    return handle == MPI_REAL2;
}

struct fake_job job;
struct wf_error_record record;
struct fake_call last;
struct fake_raise raised;
MPI_Count next_result;
int next_code;

void fake_begin(const char *family, struct wf_instance *wf)
{
    memset(&last, 0, sizeof(last));
    snprintf(last.family, sizeof(last.family), "%s", family);
    last.wf = wf;
}

void fake_arg(const char *name, intptr_t value)
{
    last.arg[last.count].name = name;
    last.arg[last.count++].value = value;
}

void fake_ints(const char *name, struct wf_ints v)
{
    last.arg[last.count].width = v.width;
    fake_arg(name, (intptr_t)v.base);
}

void fake_count(const char *name, MPI_Count *v)
{
    fake_arg(name, (intptr_t)(v ? *v : 0));
    if (v)
        *v = next_result;
}

int fake_end(void)
{
    return next_code;
}

int wf_error(int mpi_class, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(record.text, sizeof(record.text), fmt, args);
    va_end(args);
    record.status = wf_error_status(mpi_class);
    return mpi_class;
}

int wf_error_class_of_failure(int status)
{
    return -status;
}

int wf_error_status_of_failure(int mpi_class)
{
    return -mpi_class;
}

int wf_raise(struct wf_instance *wf, void *comm, const char *function,
             int rc)
{
    raised.count++;
    raised.comm = comm;
    snprintf(raised.function, sizeof(raised.function), "%s%s", function,
             wf_call_now.large ? "_c" : "");
    return rc;
}

struct wf_type *wf_type_of(MPI_Datatype h)
{
    if (h == MPI_INT)
        return &job.integer;
    return wf_is_object(h, WF_KIND_TYPE) ? (struct wf_type *)h : NULL;
}

struct wf_group *wf_group_of(struct wf_instance *wf, MPI_Group h)
{
    return wf_is_object(h, WF_KIND_GROUP) ? (struct wf_group *)h : NULL;
}

struct wf_file *wf_file_of(MPI_File h)
{
    return wf_is_object(h, WF_KIND_FILE) ? (struct wf_file *)h : NULL;
}

struct wf_instance *wf_file_engine(const struct wf_file *file)
{
    return wf_current();
}

void *wf_file_null(struct wf_instance *wf)
{
    return NULL;
}

/* Defines a function of the core that the bindings of accesses call. */
#define PERFORMS(name)                                                         \
    int wf_file_##name(const struct wf_file_call *c,                           \
                       const struct wf_file_function *f, void *out)            \
    {                                                                          \
        fake_begin(#name, c->file ? wf_process_instance : NULL);               \
        return next_code;                                                      \
    }
PERFORMS(start_alone)
PERFORMS(run_together)
PERFORMS(start_together)
PERFORMS(begin_together)
PERFORMS(run_shared)
PERFORMS(start_shared)
PERFORMS(run_ordered)
PERFORMS(begin_ordered)

int wf_file_end_split(struct wf_file *file, enum wf_split which,
                      MPI_Status *status)
{
    fake_begin("end_split", wf_process_instance);
    return next_code;
}

int wf_file_refuse(struct wf_file *file, int rc, bool waits)
{
    return rc;
}
int wf_file_refuse_ordered(struct wf_file *file, int rc, bool waits)
{
    return rc;
}
int wf_file_refuse_vote(struct wf_comm *comm, int rc, int words)
{
    return rc;
}

struct wf_win *wf_win_of(MPI_Win h)
{
    return wf_is_object(h, WF_KIND_WIN) ? (struct wf_win *)h : NULL;
}

struct wf_instance *wf_win_engine(const struct wf_win *win)
{
    return wf_current();
}

struct wf_op *wf_op_of(MPI_Op h)
{
    return h == MPI_SUM ? (struct wf_op *)&job.op : NULL;
}

struct wf_info *wf_info_of(struct wf_instance *wf, MPI_Info h)
{
    return wf_is_object(h, WF_KIND_INFO) ? (struct wf_info *)h : NULL;
}

struct wf_errhandler *wf_errhandler_of(MPI_Errhandler h)
{
    return h == MPI_ERRORS_RETURN ? (struct wf_errhandler *)&job.errhandler
                                  : NULL;
}

/* One thread enters and leaves by ticket, and owes nothing. */
_Thread_local struct wf_cs_deferred_unlock wf_cs_deferred_unlock;

void wf_cs_finish_deferred_unlock(void)
{
    fail_msg("the short path was taken");
}

_Thread_local uint32_t wf_mutex_thread_id = WF_MUTEX_THREAD_ID_UNSET;

void wf_mutex_lock_by_ticket(struct wf_mutex *m)
{
    if (m->next++ != m->serving)
        fail_msg("the section is entered twice");
}

void wf_mutex_pass_ticket(struct wf_mutex *m)
{
    m->serving++;
}

void wf_mutex_pass_or_leave_open(struct wf_mutex *m)
{
    wf_mutex_pass_ticket(m);
}

void wf_mutex_wake_revoker(wf_atomic_u32 *inside)
{
}

static void make_comm(struct wf_comm *c, struct wf_group *local,
                      struct wf_group *peers, int rank, const char *name)
{
    wf_object_init(&c->object, WF_KIND_COMM);
    c->wf = &job.wf;
    c->rank = rank;
    c->size = local->size;
    c->local = local;
    c->peers = peers;
    c->inter = local != peers;
    snprintf(c->name, sizeof(c->name), "%s", name);
}

int fake_setup(void **state)
{
    memset(&job, 0, sizeof(job));
    memset(&record, 0, sizeof(record));
    memset(&raised, 0, sizeof(raised));
    memset(&last, 0, sizeof(last));
    next_result = next_code = 0;
    wf_object_init(&job.group4.object, WF_KIND_GROUP);
    wf_object_init(&job.group3.object, WF_KIND_GROUP);
    job.group4.size = 4;
    job.group3.size = 3;
    make_comm(&job.world, &job.group4, &job.group4, 1, "MPI_COMM_WORLD");
    make_comm(&job.inter, &job.group4, &job.group3, 1, "");
    wf_object_init(&job.integer.object, WF_KIND_TYPE);
    job.integer.flags = WF_TYPE_PREDEFINED | WF_TYPE_CONTIG;
    job.integer.size = 4;
    wf_object_init(&job.pair.object, WF_KIND_TYPE);
    job.pair.flags = WF_TYPE_COMMITTED;
    job.pair.size = 8;
    wf_object_init(&job.raw.object, WF_KIND_TYPE);
    wf_object_init(&job.info, WF_KIND_INFO);
    wf_object_init(&job.request.object, WF_KIND_REQUEST);
    job.request.wf = &job.wf;
    job.wf.rank = &job.rank;
    job.rank.home = &job.wf;
    job.wf.world = &job.world;
    job.wf.self = &job.self;
    /* a section left open shows as a deadlock */
    wf_cs_allow_threads(&job.wf.api);
    wf_process_instance = &job.wf;
    wf_store_release(&wf_process_state.phase, WF_PHASE_INSIDE);
    return 0;
}

int fake_teardown(void **state)
{
    wf_process_instance = NULL;
    assert_int_equal(wf_load_relaxed(&job.wf.api.mutex.next),
                     wf_load_relaxed(&job.wf.api.mutex.serving));
    if (job.wf.rank->handle_ints)
        job.wf.rank->handle_ints->free(job.wf.rank->handle_ints);
    return 0;
}

/* Of --granularity=brief-global, where the bindings refer to them. */
bool wf_req_take_settled(MPI_Request *request, MPI_Status *status)
{
    return false;
}

void wf_pool_give(struct wf_p2p *p)
{
}

intptr_t arg(const char *name)
{
    for (int i = 0; i < last.count; i++)
        if (!strcmp(last.arg[i].name, name))
            return last.arg[i].value;
    fail_msg("%s was not called with %s", last.family, name);
    return 0;
}

void refused_on(void *object, int rc, int mpi_class,
                const char *function, const char *text)
{
    assert_int_equal(rc, mpi_class);
    assert_int_equal(raised.count, 1);
    assert_ptr_equal(raised.comm, object);
    assert_string_equal(raised.function, function);
    if (!strstr(record.text, text))
        fail_msg("'%s' does not say '%s'", record.text, text);
    assert_string_equal(last.family, "");
    memset(&raised, 0, sizeof(raised));
}

void refused(int rc, int mpi_class, const char *function, const char *text)
{
    refused_on(&job.world, rc, mpi_class, function, text);
}

void passed(int rc, const char *family)
{
    if (rc)
        fail_msg("%s: %s", raised.function, record.text);
    assert_string_equal(last.family, family);
    assert_int_equal(raised.count, 0);
}
