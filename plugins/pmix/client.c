/* The PMIx client: the bootstrap of processes that a PMIx server started.
 *
 *   PMIx_Init  [Put]*  Commit Fence(collect)  [Get]* ...  Fence  PMIx_Finalize
 *
 * DESIGN  A fence brings the values to all nodes if something was put before
 * it: each process puts its business card before the first fence, and nothing
 * afterwards. So a get is answered by the server of this node. Should that not
 * have the value, it asks others only after a fence: before, a value may never
 * come, and the server would wait for it.
 *
 * libpmix has a thread, which calls what is named "note_" here.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GET_LIMIT = 60 }; /* s */

void wf_pmix_set_flag(pmix_info_t *info, const char *key, bool value)
{
    memset(info, 0, sizeof *info);
    snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = PMIX_BOOL;
    info->value.data.flag = value;
}

/* Write what PMIx says of a failure. Returns the status that it becomes. */
static int explain_failure(pmix_status_t rc, const char *what,
                           weft_boot_error *why)
{
    snprintf(why->text, sizeof why->text, "%s: %s", what,
             PMIx_Error_string(rc));
    return rc == PMIX_ERR_NOMEM     ? WEFT_ENOMEM
           : rc == PMIX_ERR_UNREACH ? WEFT_EUNREACH
                                    : WEFT_ESYS;
}

/* Ask this node's server, which asks others only if `far`. */
static pmix_status_t ask_server(const struct weft_boot *b, uint32_t rank,
                                const char *key, bool far, pmix_value_t **v)
{
    pmix_proc_t of = b->me;
    pmix_info_t how;

    of.rank = rank;
    wf_pmix_set_flag(&how, far ? PMIX_TIMEOUT : PMIX_IMMEDIATE, true);
    if (far) {
        how.value.type = PMIX_INT;
        how.value.data.integer = GET_LIMIT;
    }
    return PMIx_Get(&of, key, &how, 1, v);
}

/* ---- the server is lost -------------------------------------------------- */

static void note_loss(size_t registration, pmix_status_t status,
                      const pmix_proc_t *source, pmix_info_t info[],
                      size_t ninfo, pmix_info_t *results, size_t nresults,
                      pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    const struct weft_boot *b = NULL;

    for (size_t i = 0; i < ninfo; i++)
        if (strcmp(info[i].key, PMIX_EVENT_RETURN_OBJECT) == 0 &&
            info[i].value.type == PMIX_POINTER)
            b = info[i].value.data.ptr;
    if (b)
        b->host->lost(b->host->arg, PMIx_Error_string(status));
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}

/* Have the loss of the server reported. Without that the job goes on. */
static void watch_server(struct weft_boot *b)
{
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    pmix_info_t self;
    pmix_status_t r;

    wf_pmix_set_flag(&self, PMIX_EVENT_RETURN_OBJECT, true);
    self.value.type = PMIX_POINTER;
    self.value.data.ptr = b;
    r = PMIx_Register_event_handler(&code, 1, &self, 1, note_loss, NULL, NULL);
    b->handler = r >= 0 ? r : -1;
}

static void stop_watching(struct weft_boot *b)
{
    if (b->handler >= 0)
        PMIx_Deregister_event_handler((size_t)b->handler, NULL, NULL);
    b->handler = -1;
}

/* ---- opening ------------------------------------------------------------- */

/* Get a number of the job, or of a process; false: the server does not say. */
static bool get_number(const pmix_proc_t *of, const char *key, uint32_t *out)
{
    pmix_value_t *v = NULL;
    bool known;

    if (PMIx_Get(of, key, NULL, 0, &v) != PMIX_SUCCESS || !v)
        return false;
    known = v->type == PMIX_UINT32;
    if (known)
        *out = v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return known;
}

static int read_job(struct weft_boot *b, weft_boot_job *job,
                    weft_boot_error *why)
{
    pmix_proc_t all = b->me;
    uint32_t appnum = 0;

    all.rank = PMIX_RANK_WILDCARD;
    if (!get_number(&all, PMIX_JOB_SIZE, &b->count)) {
        snprintf(why->text, sizeof why->text,
                 "it does not say how many processes there are");
        return WEFT_EPROTO;
    }
    job->rank = b->me.rank;
    job->count = b->count;
    if (get_number(&b->me, PMIX_APPNUM, &appnum) && appnum <= INT32_MAX)
        job->appnum = (int32_t)appnum;
    get_number(&all, PMIX_UNIV_SIZE, &job->universe);
    snprintf(job->name, sizeof job->name, "%s", b->me.nspace);
    if (wf_pmix_find_nodes(b, job) == 0 &&
        (job->size <= offsetof(weft_boot_job, parent_port) ||
         wf_pmix_take_parent(&job->parent_port) == 0))
        return 0;
    snprintf(why->text, sizeof why->text, "no memory for the nodes");
    return WEFT_ENOMEM;
}

/* Refuse a second program of one rank: a server takes it for the first, whose
 * values the others may still get, or never answers. A program leaves a file in
 * the server's directory, which goes with the job. Where that is not known, or
 * is not writable, nothing is refused, and path becomes "". */
static int mark_rank(char path[static PATH_MAX], weft_boot_error *why)
{
    const char *dir = getenv("PMIX_SERVER_TMPDIR");
    const char *space = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
    int n, fd;

    path[0] = 0;
    if (!dir || !*dir || !space || !rank)
        return 0;
    n = snprintf(path, PATH_MAX, "%s/weft.%s.%s", dir, space, rank);
    fd = n < PATH_MAX
             ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)
             : -1;
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    path[0] = 0;
    if (n >= PATH_MAX || errno != EEXIST)
        return 0;
    snprintf(why->text, sizeof why->text,
             "an earlier program of rank %.12s has used MPI: let each rank run "
             "one program that does, or start the launcher for each of them",
             rank);
    return WEFT_EUNREACH;
}

/* Have the server send its values, rather than lend them in the shared memory
 * of its modules "ds12" and "ds21", the default before PMIx 5: a process that
 * starts while another reads there may wait for the lock for ever. */
static void avoid_dstore(void)
{
    const char *modules = getenv("PMIX_GDS_MODULE");

    if (modules && strncmp(modules, "ds", 2) == 0)
        setenv("PMIX_GDS_MODULE", "hash", 1);
}

static int start_client(struct weft_boot *b, weft_boot_error *why)
{
    char mark[PATH_MAX];
    int rc = mark_rank(mark, why);
    pmix_status_t r;

    if (rc != 0)
        return rc;
    avoid_dstore();
    r = PMIx_Init(&b->me, NULL, 0);
    if (r == PMIX_SUCCESS)
        return 0;
    if (mark[0])
        unlink(mark);
    return explain_failure(r, "PMIx_Init", why);
}

static void pmix_close(weft_boot *b)
{
    stop_watching(b);
    wf_pmix_forget_jobs(b);
    free(b);
}

static int pmix_open(const weft_boot_host *host, weft_boot **out,
                     weft_boot_job *job, weft_boot_error *why)
{
    struct weft_boot *b = calloc(1, sizeof *b);
    int rc;

    if (!b) {
        snprintf(why->text, sizeof why->text, "no memory");
        return WEFT_ENOMEM;
    }
    b->host = host;
    b->handler = -1;
    rc = start_client(b, why);
    if (rc == 0) {
        b->connected = true;
        rc = read_job(b, job, why);
        if (rc != 0)
            PMIx_Finalize(NULL, 0);
    }
    if (rc != 0) {
        free(b);
        return rc;
    }
    watch_server(b);
    *out = b;
    return 0;
}

/* ---- put and get --------------------------------------------------------- */

static int pmix_put(weft_boot *b, const char *key, const void *value, size_t n,
                    weft_boot_error *why)
{
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t r;

    v.data.bo.bytes = (char *)(uintptr_t)value; /* it is copied */
    v.data.bo.size = n;
    r = PMIx_Put(PMIX_GLOBAL, key, &v);
    if (r != PMIX_SUCCESS)
        return explain_failure(r, "PMIx_Put", why);
    b->fresh = true;
    return 0;
}

/* Copy a value out, wipe PMIx's copy, which may be the job key, and release
 * it. */
static int take_value(pmix_value_t *v, void **value, size_t *n)
{
    pmix_byte_object_t *bo = &v->data.bo;
    int rc = WEFT_EPROTO;

    if (v->type == PMIX_BYTE_OBJECT && (bo->bytes || !bo->size)) {
        *n = bo->size;
        *value = malloc(*n ? *n : 1);
        rc = *value ? 0 : WEFT_ENOMEM;
        if (bo->size) {
            if (rc == 0)
                memcpy(*value, bo->bytes, *n);
            explicit_bzero(bo->bytes, bo->size);
        }
    }
    PMIX_VALUE_RELEASE(v);
    return rc;
}

static int pmix_get(weft_boot *b, uint32_t rank, const char *key, void **value,
                    size_t *n, weft_boot_error *why)
{
    pmix_value_t *v = NULL;
    pmix_status_t r = ask_server(b, rank, key, false, &v);
    int rc;

    if (r != PMIX_SUCCESS && rank != b->me.rank && b->has_fenced)
        r = ask_server(b, rank, key, true, &v);
    if (r == PMIX_ERR_NOT_FOUND || r == PMIX_ERR_TIMEOUT)
        return WEFT_EUNREACH;
    if (r != PMIX_SUCCESS || !v) {
        rc = explain_failure(r, "PMIx_Get", why);
        return rc == WEFT_EUNREACH ? WEFT_ESYS : rc;
    }
    rc = take_value(v, value, n);
    if (rc == WEFT_EPROTO)
        snprintf(why->text, sizeof why->text, "%s is no string of bytes", key);
    return rc;
}

/* ---- the fence ----------------------------------------------------------- */

/* Nothing of the connection is touched after passed(). */
static void note_fence(pmix_status_t status, void *arg)
{
    struct weft_boot *b = arg;
    const weft_boot_host *host = b->host;
    bool good = status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;

    b->has_fenced = true;
    host->passed(host->arg, good ? 0 : WEFT_EPEER);
}

static int pmix_fence(weft_boot *b, weft_boot_error *why)
{
    pmix_status_t r = b->fresh ? PMIx_Commit() : PMIX_SUCCESS;

    if (r != PMIX_SUCCESS)
        return explain_failure(r, "PMIx_Commit", why);
    wf_pmix_set_flag(&b->collect, PMIX_COLLECT_DATA, b->fresh);
    b->fresh = false;
    r = PMIx_Fence_nb(NULL, 0, &b->collect, 1, note_fence, b);
    if (r == PMIX_OPERATION_SUCCEEDED)
        note_fence(r, b);
    else if (r != PMIX_SUCCESS)
        return explain_failure(r, "PMIx_Fence", why);
    return 0;
}

/* ---- the end ------------------------------------------------------------- */

static void pmix_abort(weft_boot *b, int code, const char *message)
{
    PMIx_Abort(code, message, NULL, 0);
}

static int pmix_finalize(weft_boot *b, weft_boot_error *why)
{
    pmix_status_t r = PMIX_SUCCESS;

    stop_watching(b);
    if (b->connected)
        r = PMIx_Finalize(NULL, 0);
    b->connected = false;
    return r == PMIX_SUCCESS ? 0 : explain_failure(r, "PMIx_Finalize", why);
}

WEFT_BOOTSTRAP(pmix) = {
    .magic = WEFT_BOOT_MAGIC,
    .abi = WEFT_BOOT_ABI,
    .size = sizeof(weft_bootstrap),
    .name = "pmix",
    .open = pmix_open,
    .put = pmix_put,
    .get = pmix_get,
    .fence = pmix_fence,
    .abort = pmix_abort,
    .finalize = pmix_finalize,
    .close = pmix_close,
    .psets = wf_pmix_list_psets,
    .spawn = wf_pmix_spawn,
    .has_ended = wf_pmix_has_ended,
};
