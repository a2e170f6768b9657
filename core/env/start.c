/* The start and the end of the instance, and its users: see start.h.
 *
 * LOCK  section start of struct wf_process protects everything here. It is held
 *       while an instance starts or ends. No thread enters it inside the API
 *       section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "env/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "adi/loader.h"
#include "boot/boot.h"
#include "boot/fatal_message.h"
#include "comm/engines.h"
#include "config/config.h"
#include "env/ranks.h"
#include "object/env.h"
#include "object/error.h"
#include "os/copies.h"
#include "os/dl.h"
#include "process/endpoint.h"
#include "process/process.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/fastpath.h"
#include "protocol/helper.h"

/* End the process with the code of sysexits.h for a wrong configuration, whose
 * errors have all been shown: no error handler could repair it. */
static _Noreturn void exit_wrong_config(void)
{
    static const char text[] = "weft " WEFT_VERSION ": the configuration has "
                               "errors; check it with weft-info --check\n";
    wf_boot_print_fatal(text, sizeof text - 1);
    exit(EX_CONFIG);
}

int wf_start_config(struct wf_config **out)
{
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    int bad =
        wf_config_load_checked(out, errors ? errors : stderr, wf_plugins_check);
    if (errors)
        fclose(errors);
    if (bad > 0) {
        wf_boot_print_fatal(text ? text : "", n);
        exit_wrong_config();
    }
    free(text);
    return bad == 0 ? MPI_SUCCESS : wf_error_class(wf_error_last()->status);
}

/* Check that all MPI calls of the program reach the same library. */
static int check_one_library(void)
{
    char text[600];

    return wf_copies_find(text, sizeof text)
               ? wf_error(MPI_ERR_OTHER, "%s", text)
               : MPI_SUCCESS;
}

/* Warn of a profiling tool that is loaded with a program which contains MPI,
 * and so cannot intercept its calls. */
static void warn_of_unused_tool(struct wf_instance *wf)
{
    const char *tool = &weft_dl_loader ? weft_dl_loader.unused_tool() : NULL;

    if (tool)
        wf_log(wf, WF_LOG_WARN,
               "%s defines MPI_Init, and this program, which "
               "has MPI inside, calls nothing of it: link the program with "
               "mpicc -shared-mpi, or the tool into it (mpicc -profile=NAME)",
               tool);
}

/* Log settings that have no effect, a line each, from one rank. */
static void log_warnings(struct wf_instance *wf)
{
    const char *const *lines;
    int n =
        wf->rank->id == 0 ? wf_config_warnings(wf->rank->config, &lines) : 0;
    for (int i = 0; i < n; i++)
        wf_log(wf, WF_LOG_WARN, "%s", lines[i]);
    if (wf->rank->id == 0)
        warn_of_unused_tool(wf);
}

/* Record that starting failed. The cause has been recorded where it is known,
 * except lack of memory, perhaps. */
static int record_start_failure(int r)
{
    char cause[400];
    const struct wf_error_record *last = wf_error_last();
    int class = wf_error_class(r == WEFT_ENOMEM ? r : last->status);
    if (r == WEFT_ENOMEM && !last->text[0])
        return wf_error(MPI_ERR_NO_MEM, "starting failed: no memory");
    if (!last->text[0])
        return wf_error(MPI_ERR_INTERN, "starting failed with code %d", r);
    snprintf(cause, sizeof cause, "%.399s", last->text);
    return wf_error(class, "starting failed: %s", cause);
}

/* Take over the connection to the launcher that an earlier attempt left, or
 * open a new one. */
static int open_boot(struct wf_process *p, struct wf_instance_params *params)
{
    char why[400];
    params->boot = p->start.boot;
    if (params->boot)
        return MPI_SUCCESS;
    int r = wf_boot_open(params->config, &params->boot, why, sizeof why);
    return r < 0 ? wf_error(wf_error_class(r), "%s", why) : MPI_SUCCESS;
}

static int prepare_params(struct wf_process *p,
                          struct wf_instance_params *params)
{
    int rc = wf_start_config(&params->config);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = open_boot(p, params);
    if (rc != MPI_SUCCESS)
        wf_config_free(params->config);
    return rc;
}

/* Keep the connection to the launcher after a failed start: it can be opened
 * only once, and a second attempt takes it. If there is none, the process ends
 * without a farewell, and so the launcher knows that the other processes wait
 * in vain. */
static void keep_boot(struct wf_process *p, struct wf_boot *boot)
{
    if (p->ranks)
        p->ranks->boots[p->slot] = boot;
    else
        p->start.boot = boot;
}

static int start_instance(struct wf_process *p, enum wf_use use,
                          struct wf_instance **out)
{
    struct wf_instance_params params = {.threads = use == WF_USE_THREADS};
    int rc = check_one_library();
    if (rc != MPI_SUCCESS)
        return rc;
    rc = p->ranks ? wf_ranks_fill_params(p, &params)
                  : prepare_params(p, &params);
    if (rc != MPI_SUCCESS)
        return rc;
    wf_error_clear();
    int r = wf_instance_create(&params, out);
    if (r == WEFT_EINVAL)
        exit_wrong_config();
    keep_boot(p, r < 0 ? params.boot : NULL);
    if (r < 0) {
        wf_config_free(params.config);
        return record_start_failure(r);
    }
    wf_progress_allow_helper(*out);
    log_warnings(*out);
    return MPI_SUCCESS;
}

/* ---- users --------------------------------------------------------------- */

/* Let several threads enter, if this user brings threads. The section can be
 * switched on only while no other thread is inside. The earlier users have
 * promised that, except that under MPI_THREAD_FUNNELED the main thread may be
 * inside. */
static void allow_threads(struct wf_instance *wf, enum wf_use use)
{
    bool funneled = wf->world &&
                    wf->rank->thread_level == MPI_THREAD_FUNNELED &&
                    !pthread_equal(pthread_self(), wf->rank->env->main_thread);
    if (use != WF_USE_THREADS || funneled || wf->rank->multiple)
        return;
    wf_mutex_prepare();
    wf_instance_allow_threads(wf);
}

/* Let the calls of this process, or of this rank thread, find the instance. */
static void publish_instance(struct wf_process *p, struct wf_instance *wf)
{
    if (p != &wf_process_state) {
        wf_thread_instance = wf;
        return;
    }
    wf_store_release(&wf_process_instance, wf);
    wf_fastpath_update(wf);
}

/* Refuse a thread that is no rank in a process that is to hold several
 * ranks. */
static int check_rank(const struct wf_process *p)
{
    uint32_t planned = wf_ranks_planned();
    if (p->ranks || planned == 1)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_OTHER,
                    "this process is to hold %u ranks, and this "
                    "thread is none of them: build the program with mpicc "
                    "-fthread-ranks, or call MPIX_Run_ranks, or let each "
                    "thread ask for MPIX_THREAD_AS_RANK",
                    planned);
}

/* Open the state page, by which the launcher sees what this process does, and
 * note there that it starts. */
static struct wf_state_slot *report_start(struct wf_process *p)
{
    wf_state_open(p);
    return wf_state_begin_outside(p, WF_STATE_START);
}

int wf_start_add_user(enum wf_use use, struct wf_instance **out)
{
    struct wf_process *p = wf_process();
    struct wf_state_slot *told = NULL;
    int rc = check_rank(p);
    if (rc != MPI_SUCCESS)
        return rc;
    WF_SECTION(start, p) {
        told = report_start(p);
        if (!p->start.instance)
            rc = start_instance(p, use, &p->start.instance);
        if (rc == MPI_SUCCESS) {
            p->start.users++;
            allow_threads(p->start.instance, use);
            *out = p->start.instance;
            publish_instance(p, *out);
            if (&weft_helpers)
                weft_helpers.start(*out);
            if (wf_engines_start_helpers)
                wf_engines_start_helpers(*out);
            wf_state_phase(p, WF_STATE_INSIDE);
        }
        wf_state_end_wait(told);
    }
    return rc;
}

static int end_instance(struct wf_process *p)
{
    struct wf_instance *wf = p->start.instance;
    struct wf_state_slot *told = wf_state_begin_outside(p, WF_STATE_END);
    p->start.instance = NULL;
    int r = wf_instance_destroy(wf);
    wf_state_end_wait(told);
    wf_state_phase(p, WF_STATE_FINALIZED);
    if (r < 0)
        return wf_error(MPI_ERR_INTERN, "ending failed with code %d", r);
    return MPI_SUCCESS;
}

void wf_start_end_idle(struct wf_process *p)
{
    WF_SECTION(start, p) {
        if (p->start.instance && p->start.users == 0)
            end_instance(p);
    }
}

/* End the idle instance at exit. A child made by fork has a copy of its
 * parent's, which it leaves alone. */
static void end_at_exit(void)
{
    if (getpid() != wf_process_state.start.registered)
        return;
    wf_call_name = "exit";
    wf_start_end_idle(&wf_process_state);
}

/* Have the idle instance end when the process exits. That of a rank thread ends
 * with the thread (thread/run.c). */
static void register_end_at_exit(struct wf_process *p)
{
    if (p != &wf_process_state || p->start.registered == getpid())
        return;
    p->start.registered = getpid();
    atexit(end_at_exit);
}

int wf_start_remove_user(struct wf_instance *wf, enum wf_leave how)
{
    struct wf_process *p = wf_process();
    int rc = MPI_SUCCESS;
    WF_SECTION(start, p) {
        if (--p->start.users == 0) {
            if (how == WF_LEAVE_END)
                rc = end_instance(p);
            else if (how == WF_LEAVE_IDLE)
                register_end_at_exit(p);
            if (p->start.instance)
                wf_state_phase(p, WF_STATE_BETWEEN);
            publish_instance(p, NULL);
        }
    }
    return rc;
}
