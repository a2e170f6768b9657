/* Requests of several engines in one call: see engines.h.
 *
 * Each function here goes from one engine to the next, and calls there the
 * function for requests of one engine, with one request. To wait for all means
 * to wait for one after the other: a thread that waits in one engine also polls
 * the others. To wait for any, the thread waits in the engine of one request,
 * and is a *caller* among the waiters of the other engines, which wake it by a
 * cross-engine task.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "object/status.h"
#include "object/statuses.h"
#include "os/tuning.h"
#include "p2p/completion.h"
#include "progress/engines.h"
#include "progress/other_engines.h"
#include "progress/wait.h"
#include "protocol/request.h"

static struct wf_instance *engine_of(struct wf_instance *wf, MPI_Request handle)
{
    struct wf_req *r = wf_req_of(handle);

    return r ? r->wf : wf;
}

/* Whether the requests are of several engines. If they are of one, *wf is set
 * to that. */
static bool are_of_several(struct wf_instance **wf, int n,
                           const MPI_Request *requests)
{
    struct wf_instance *one = NULL;

    for (int i = 0; i < n; i++) {
        struct wf_req *r = wf_req_of(requests[i]);
        if (r && one && r->wf != one)
            return true;
        if (r)
            one = r->wf;
    }
    if (one)
        *wf = one;
    return false;
}

/* ---- one request, inside its engine -------------------------------------- */

/* Poll once for a request that is not complete; true: it is complete. */
static bool is_ready(struct wf_instance *wf, MPI_Request handle)
{
    struct wf_instance *e = engine_of(wf, handle);
    bool yes = false;

    WF_SECTION(api, e)
        yes = wf_requests_poll(e, NULL, 1, &handle);
    return yes;
}

static int wait_one(struct wf_instance *wf, MPI_Request *request,
                    MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, *request);
    int rc;

    wf_enter_call(e);
    rc = wf_mpi_wait(e, request, status);
    wf_leave_call(e);
    return rc;
}

/* Test one request. *indx becomes 0 or MPI_UNDEFINED, as for an array of
 * one. */
static int test_one(struct wf_instance *wf, MPI_Request *request, int *indx,
                    int *flag, MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, *request);
    int rc;

    wf_enter_call(e);
    rc = wf_mpi_testany(e, 1, request, indx, flag, status);
    wf_leave_call(e);
    return rc;
}

/* Test one request, and leave it to the user also when it is complete. */
static int get_status_one(struct wf_instance *wf, MPI_Request request,
                          int *indx, int *flag, MPI_Status *status)
{
    struct wf_instance *e = engine_of(wf, request);
    int rc = MPI_SUCCESS;

    WF_SECTION(api, e)
        rc = wf_mpi_request_get_status_any(e, 1, &request, indx, flag, status);
    return rc;
}

/* ---- all ----------------------------------------------------------------- */

/* Finish the requests that are complete, after one of them has failed. The
 * others are pending and stay with the user, as in completion.c. */
static int finish_failed(struct wf_instance *wf, int count,
                         MPI_Request *requests, MPI_Status *statuses, int first,
                         int error)
{
    for (int i = 0; i < first; i++)
        wf_status_error_at(statuses, i, MPI_SUCCESS);
    wf_status_error_at(statuses, first, error);
    for (int i = first + 1; i < count; i++) {
        error = MPI_ERR_PENDING;
        if (is_ready(wf, requests[i]))
            error = wait_one(wf, &requests[i], wf_status_at(statuses, i));
        wf_status_error_at(statuses, i, error);
    }
    return wf_error_in_status();
}

static int wait_all(struct wf_instance *wf, int count, MPI_Request *requests,
                    MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        int error = wait_one(wf, &requests[i], wf_status_at(statuses, i));
        if (error)
            return finish_failed(wf, count, requests, statuses, i, error);
    }
    return MPI_SUCCESS;
}

static bool are_all_ready(struct wf_instance *wf, int count,
                          const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        if (!is_ready(wf, requests[i]))
            return false;
    return true;
}

static int test_all(struct wf_instance *wf, int count, MPI_Request *requests,
                    int *flag, MPI_Status *statuses)
{
    *flag = are_all_ready(wf, count, requests);
    return *flag ? wait_all(wf, count, requests, statuses) : MPI_SUCCESS;
}

static int get_status_all(struct wf_instance *wf, int count,
                          const MPI_Request *requests, int *flag,
                          MPI_Status *statuses)
{
    int first = MPI_SUCCESS, indx, one;

    *flag = are_all_ready(wf, count, requests);
    for (int i = 0; *flag && i < count; i++) {
        int error = get_status_one(wf, requests[i], &indx, &one,
                                   wf_status_at(statuses, i));
        first = first ? first : error;
    }
    return first;
}

static int start_all(struct wf_instance *wf, int count, MPI_Request *requests)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        struct wf_instance *e = engine_of(wf, requests[i]);
        WF_SECTION(api, e)
            rc = wf_mpi_startall(e, 1, &requests[i]);
    }
    return rc;
}

/* ---- any ----------------------------------------------------------------- */

typedef int (*try_one)(struct wf_instance *, MPI_Request *, int *, int *,
                       MPI_Status *);

static int try_get_status(struct wf_instance *wf, MPI_Request *request,
                          int *indx, int *flag, MPI_Status *status)
{
    return get_status_one(wf, *request, indx, flag, status);
}

struct found {
    int indx, flag; /* flag is also set where no request is active */
};

/* Find the first request that is done, with one of the two functions above. */
static int try_any(struct wf_instance *wf, int count, MPI_Request *requests,
                   struct found *found, MPI_Status *status, try_one try)
{
    bool active = false;

    for (int i = 0; i < count; i++) {
        int one, rc = try(wf, &requests[i], &one, &found->flag, status);
        if (one != MPI_UNDEFINED && found->flag) {
            found->indx = i;
            return rc;
        }
        active |= !found->flag;
    }
    *found = (struct found){MPI_UNDEFINED, !active};
    if (found->flag)
        wf_status_empty(status);
    return MPI_SUCCESS;
}

static int test_any(struct wf_instance *wf, int count, MPI_Request *requests,
                    int *indx, int *flag, MPI_Status *status)
{
    struct found found;
    int rc = try_any(wf, count, requests, &found, status, test_one);

    *indx = found.indx;
    *flag = found.flag;
    return rc;
}

static int get_status_any(struct wf_instance *wf, int count,
                          const MPI_Request *requests, int *indx, int *flag,
                          MPI_Status *status)
{
    struct found found;
    int rc = try_any(wf, count, (MPI_Request *)requests, &found, status,
                     try_get_status);

    *indx = found.indx;
    *flag = found.flag;
    return rc;
}

/* The requests that were active when the wait began: only they count. Whether a
 * request is active is read inside its engine; whether it is done, anywhere. */
struct active {
    int n;
    struct wf_req **requests;
};

static bool is_any_done(void *arg)
{
    struct active *a = arg;

    for (int i = 0; i < a->n; i++)
        if (wf_req_done(a->requests[i]))
            return true;
    return false;
}

/* A thread that waits in `home`, among the waiters of another engine. */
struct caller {
    struct wf_waiter waiter;
    struct wf_engine_task task;
    struct wf_instance *home;
};

static void wake_home(struct wf_engine_task *e)
{
    wf_progress_notify(wf_container(e, struct caller, task)->home);
}

static void post_wake_up(struct wf_waiter *w)
{
    struct caller *c = wf_container(w, struct caller, waiter);

    wf_engine_task_post(c->home, &c->task);
}

static void join_waiters(struct caller *c, struct wf_instance *other,
                         struct wf_instance *home, struct active *a)
{
    *c = (struct caller){
        .waiter = {.done = is_any_done, .arg = a, .call = post_wake_up},
        .task = {.run = wake_home},
        .home = home};
    WF_SECTION(api, other)
        wf_list_append(&other->progress->waiters, &c->waiter.link);
}

static void leave_waiters(struct caller *c, struct wf_instance *other)
{
    struct wf_instance *home = c->home;

    WF_SECTION(api, other)
        wf_list_remove(&c->waiter.link);
    WF_SECTION(api, home)
        wf_engine_task_cancel(home, &c->task);
}

/* Describe the wait without the requests: the sections of their engines are not
 * held. */
static void describe_wait(const void *arg, struct wf_wait *w)
{
    w->operation = WF_STATE_REQUESTS;
    w->active = w->count = (uint64_t)((const struct active *)arg)->n;
}

/* Wait until one of the active requests is done. */
static void wait_active(struct active *a)
{
    struct wf_wait_cause cause = {describe_wait, a};
    struct wf_instance *home = a->requests[0]->wf;
    struct wf_engines *all = wf_engines(home);
    struct caller callers[WF_ENGINES_ALL];
    bool joined[WF_ENGINES_ALL] = {false};

    for (int i = 0; i < a->n; i++) {
        struct wf_instance *e = a->requests[i]->wf;
        if (e == home || joined[e->number])
            continue;
        joined[e->number] = true;
        join_waiters(&callers[e->number], e, home, a);
    }
    WF_SECTION(api, home)
        wf_progress_wait(home, UINT32_MAX, is_any_done, a, &cause);
    for (unsigned i = 0; i < WF_ENGINES_ALL; i++)
        if (joined[i])
            leave_waiters(&callers[i], wf_engine_if_open(all, i));
}

static bool is_active(struct wf_req *r)
{
    bool yes = false;

    WF_SECTION(api, r->wf)
        yes = !(r->flags & WF_REQ_PERSISTENT) || r->flags & WF_REQ_ACTIVE;
    return yes;
}

/* Wait until a request that is active now is done; false: there is no memory
 * for that. */
static bool await_any(int count, MPI_Request *requests)
{
    struct active a = {.requests = malloc((size_t)count * sizeof *a.requests)};

    if (!a.requests)
        return false;
    for (int i = 0; i < count; i++) {
        struct wf_req *r = wf_req_of(requests[i]);
        if (r && is_active(r))
            a.requests[a.n++] = r;
    }
    wait_active(&a);
    free(a.requests);
    return true;
}

static int wait_any(struct wf_instance *wf, int count, MPI_Request *requests,
                    int *indx, MPI_Status *status)
{
    int rc, flag, rounds = 0;

    do {
        rc = test_any(wf, count, requests, indx, &flag, status);
        if (!flag && ++rounds > WF_ENGINES_TESTS / count + 1)
            await_any(count, requests); /* without memory: go on testing */
    } while (!flag);
    return rc;
}

/* ---- some ---------------------------------------------------------------- */

/* Finish every active request that is done, as in completion.c. */
static int take_some(struct wf_instance *wf, int count, MPI_Request *requests,
                     int *outcount, int *indices, MPI_Status *statuses)
{
    int failed = MPI_SUCCESS, one, flag;
    bool active = false;

    *outcount = 0;
    for (int i = 0; i < count; i++) {
        int k = *outcount;
        int error =
            test_one(wf, &requests[i], &one, &flag, wf_status_at(statuses, k));
        active |= !flag;
        if (!flag || one == MPI_UNDEFINED)
            continue;
        failed = wf_status_note_some(statuses, k, error, failed);
        indices[(*outcount)++] = i;
    }
    if (*outcount == 0 && !active)
        *outcount = MPI_UNDEFINED;
    return failed ? wf_error_in_status() : MPI_SUCCESS;
}

static int wait_some(struct wf_instance *wf, int count, MPI_Request *requests,
                     int *outcount, int *indices, MPI_Status *statuses)
{
    int rc, rounds = 0;

    do {
        rc = take_some(wf, count, requests, outcount, indices, statuses);
        if (*outcount == 0 && ++rounds > WF_ENGINES_TESTS / count + 1)
            await_any(count, requests);
    } while (*outcount == 0);
    return rc;
}

static int get_status_some(struct wf_instance *wf, int count,
                           const MPI_Request *requests, int *outcount,
                           int *indices, MPI_Status *statuses)
{
    int first = MPI_SUCCESS, one, flag;
    bool active = false;

    *outcount = 0;
    for (int i = 0; i < count; i++) {
        int error = get_status_one(wf, requests[i], &one, &flag,
                                   wf_status_at(statuses, *outcount));
        active |= !flag || one != MPI_UNDEFINED;
        if (!flag || one == MPI_UNDEFINED)
            continue;
        first = first ? first : error;
        indices[(*outcount)++] = i;
    }
    if (!active)
        *outcount = MPI_UNDEFINED;
    return first;
}

const struct wf_engines_ops wf_engines_ops = {
    .poll = wf_other_engines_poll,
    .sleep = wf_other_engines_sleep,
    .tasks = wf_engine_tasks_run,
    .post = wf_engine_task_put,
    .several = are_of_several,
    .waitall = wait_all,
    .waitany = wait_any,
    .waitsome = wait_some,
    .testall = test_all,
    .testany = test_any,
    .testsome = take_some,
    .startall = start_all,
    .request_get_status_all = get_status_all,
    .request_get_status_any = get_status_any,
    .request_get_status_some = get_status_some};
