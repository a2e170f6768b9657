/* The start of the instance, and who uses it: see start.h.
 *
 * LOCK  section start of struct wf_process: everything here. It is held while
 *       an instance starts or ends; no thread enters it inside the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "env/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "boot/say.h"
#include "adi/endpoint.h"
#include "env/env.h"
#include "os/copies.h"
#include "progress/progress.h"
#include "protocol/fastpath.h"
#include "route/config.h"
#include "thread/ranks.h"

/* A job whose configuration is wrong cannot be repaired by an error handler:
 * all its errors have been shown, and the process ends as sysexits.h says. */
static _Noreturn void wrong_config(void)
{
    static const char text[] = "weft " WEFT_VERSION ": the configuration has "
                               "errors; check it with weft-info --check\n";
    wf_boot_say(text, sizeof text - 1);
    exit(EX_CONFIG);
}

int wf_start_config(struct wf_config **out)
{
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    int bad = wf_config_load_also(out, errors ? errors : stderr,
                                  wf_plugins_check);
    if (errors)
        fclose(errors);
    if (bad > 0) {
        wf_boot_say(text ? text : "", n);
        wrong_config();
    }
    free(text);
    return bad == 0 ? MPI_SUCCESS : wf_error_last()->mpi_class;
}

/* Calls of one program must reach one library. */
static int check_copies(void)
{
    char text[600];

    return wf_copies_find(text, sizeof text)
               ? wf_error(MPI_ERR_OTHER, "%s", text)
               : MPI_SUCCESS;
}

/* A profiling tool that was loaded beside a program which has MPI inside. */
static void warn_of_tool(struct wf_instance *wf)
{
    const char *tool = &weft_dl_loader ? weft_dl_loader.unused_tool() : NULL;

    if (tool)
        wf_log(wf, WF_LOG_WARN, "%s defines MPI_Init, and this program, which "
               "has MPI inside, calls nothing of it: link the program with "
               "mpicc -shared-mpi, or the tool into it (mpicc -profile=NAME)",
               tool);
}

/* Settings that do nothing are worth one line, from one rank. */
static void warn(struct wf_instance *wf)
{
    const char *const *lines;
    int n = wf->rank == 0 ? wf_config_warnings(wf->config, &lines) : 0;
    for (int i = 0; i < n; i++)
        wf_log(wf, WF_LOG_WARN, "%s", lines[i]);
    if (wf->rank == 0)
        warn_of_tool(wf);
}

/* The cause was recorded where it is known; lack of memory need not be. */
static int cannot_start(int r)
{
    char cause[400];
    const struct wf_error_record *last = wf_error_last();
    int class = r == WEFT_ENOMEM ? MPI_ERR_NO_MEM : last->mpi_class;
    if (r == WEFT_ENOMEM && !last->text[0])
        return wf_error(MPI_ERR_NO_MEM, "starting failed: no memory");
    if (!last->text[0])
        return wf_error(MPI_ERR_INTERN, "starting failed with code %d", r);
    snprintf(cause, sizeof cause, "%.399s", last->text);
    return wf_error(class, "starting failed: %s", cause);
}

/* The connection to the launcher of an earlier attempt, or a new one. */
static int open_boot(struct wf_process *p, struct wf_instance_params *params)
{
    char why[400];
    params->boot = p->start.boot;
    if (params->boot)
        return MPI_SUCCESS;
    int r = wf_boot_open(params->config, &params->boot, why, sizeof why);
    return r < 0 ? wf_error(wf_error_class(r), "%s", why) : MPI_SUCCESS;
}

static int alone(struct wf_process *p, struct wf_instance_params *params)
{
    int rc = wf_start_config(&params->config);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = open_boot(p, params);
    if (rc != MPI_SUCCESS)
        wf_config_free(params->config);
    return rc;
}

/* A failed start keeps what it had from the launcher, which is there once: a
 * second attempt takes it. If there is none, the process ends without good-bye,
 * by which the launcher knows that the others wait in vain. */
static void keep_boot(struct wf_process *p, struct wf_boot *boot)
{
    if (p->ranks)
        p->ranks->boots[p->slot] = boot;
    else
        p->start.boot = boot;
}

static int start(struct wf_process *p, enum wf_use use,
                 struct wf_instance **out)
{
    struct wf_instance_params params = {.threads = use == WF_USE_THREADS};
    int rc = check_copies();
    if (rc != MPI_SUCCESS)
        return rc;
    rc = p->ranks ? wf_ranks_fill_params(p, &params) : alone(p, &params);
    if (rc != MPI_SUCCESS)
        return rc;
    wf_error_forget();
    int r = wf_instance_create(&params, out);
    if (r == WEFT_EINVAL)
        wrong_config();
    keep_boot(p, r < 0 ? params.boot : NULL);
    if (r < 0) {
        wf_config_free(params.config);
        return cannot_start(r);
    }
    wf_progress_allow_helper(*out);
    warn(*out);
    return MPI_SUCCESS;
}

/* ---- users --------------------------------------------------------------- */

/* A later user may bring threads. The section can be switched on as long as no
 * other thread is inside, which earlier users promised; but under
 * MPI_THREAD_FUNNELED the main thread may be. */
static void allow(struct wf_instance *wf, enum wf_use use)
{
    bool funneled = wf->world && wf->thread_level == MPI_THREAD_FUNNELED &&
                    !pthread_equal(pthread_self(), wf->env->main_thread);
    if (use != WF_USE_THREADS || funneled || wf->api.threads)
        return;
    wf_mutex_prepare();
    wf_instance_share(wf);
}

/* From here on the calls of this process, or of this thread, find it. */
static void publish(struct wf_process *p, struct wf_instance *wf)
{
    if (p != &wf_process_state) {
        wf_thread_instance = wf;
        return;
    }
    wf_store_release(&wf_process_instance, wf);
    wf_fastpath_update(wf);
}

/* A process that is to hold several ranks has none of its own. */
static int check_rank(const struct wf_process *p)
{
    uint32_t planned = wf_ranks_planned();
    if (p->ranks || planned == 1)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_OTHER, "this process is to hold %u ranks, and this "
                    "thread is none of them: build the program with mpicc "
                    "-fthread-ranks, or call MPIX_Run_ranks, or let each "
                    "thread ask for MPIX_THREAD_AS_RANK", planned);
}

/* The launcher can see from here on where this process is. */
static struct wf_state_slot *tell_start(struct wf_process *p)
{
    wf_state_open(p);
    return wf_state_begin_outside(p, WF_STATE_START);
}

int wf_start_use(enum wf_use use, struct wf_instance **out)
{
    struct wf_process *p = wf_process();
    struct wf_state_slot *told = NULL;
    int rc = check_rank(p);
    if (rc != MPI_SUCCESS)
        return rc;
    WF_SECTION(start, p) {
        told = tell_start(p);
        if (!p->start.instance)
            rc = start(p, use, &p->start.instance);
        if (rc == MPI_SUCCESS) {
            p->start.users++;
            allow(p->start.instance, use);
            *out = p->start.instance;
            publish(p, *out);
            wf_state_phase(p, WF_STATE_INSIDE);
        }
        wf_state_end_wait(told);
    }
    return rc;
}

static int end(struct wf_process *p)
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
            end(p);
    }
}

/* A child made by fork has the parent's idle instance, which is not its own. */
static void end_at_exit(void)
{
    if (getpid() != wf_process_state.start.registered)
        return;
    wf_call_name = "exit";
    wf_start_end_idle(&wf_process_state);
}

/* What is left idle in a rank thread ends with the thread (thread/run.c). */
static void leave_idle(struct wf_process *p)
{
    if (p != &wf_process_state || p->start.registered == getpid())
        return;
    p->start.registered = getpid();
    atexit(end_at_exit);
}

int wf_start_leave(struct wf_instance *wf, enum wf_leave how)
{
    struct wf_process *p = wf_process();
    int rc = MPI_SUCCESS;
    WF_SECTION(start, p) {
        if (--p->start.users == 0) {
            if (how == WF_LEAVE_END)
                rc = end(p);
            else if (how == WF_LEAVE_IDLE)
                leave_idle(p);
            if (p->start.instance)
                wf_state_phase(p, WF_STATE_BETWEEN);
            publish(p, NULL);
        }
    }
    return rc;
}
