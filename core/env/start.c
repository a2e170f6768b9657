/* The start of the instance, and who uses it: see start.h.
 *
 * LOCK  starts.lock: everything here. It is held while an instance starts or
 *       ends; no thread holds it inside the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "env/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "boot/say.h"
#include "env/env.h"
#include "progress/progress.h"
#include "protocol/short.h"
#include "route/config.h"

static struct {
    struct wf_mutex lock;
    struct wf_instance *instance; /* in use or idle */
    unsigned users;
    pid_t registered; /* the process that has end_at_exit registered */
} starts;

/* A job whose configuration is wrong cannot be repaired by an error handler:
 * all its errors have been shown, and the process ends as sysexits.h says. */
static _Noreturn void wrong_config(void)
{
    static const char text[] = "weft " WEFT_VERSION ": the configuration has "
                               "errors; check it with weft-info --check\n";
    wf_boot_say(text, sizeof text - 1);
    exit(EX_CONFIG);
}

static struct wf_config *load_config(void)
{
    struct wf_config *config;
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    int bad = wf_config_load_also(&config, errors ? errors : stderr,
                                  wf_plugins_check);
    if (errors)
        fclose(errors);
    if (bad) {
        wf_boot_say(text ? text : "", n);
        wrong_config();
    }
    free(text);
    return config;
}

/* Settings that do nothing are worth one line, from one rank. */
static void warn(struct wf_instance *wf)
{
    const char *const *lines;
    int n = wf->rank == 0 ? wf_config_warnings(wf->config, &lines) : 0;
    for (int i = 0; i < n; i++)
        wf_log(wf, WF_LOG_WARN, "%s", lines[i]);
}

/* The cause was recorded where it is known, if it was. */
static int cannot_start(const char *step, int r)
{
    char cause[400];
    const struct wf_error_record *last = wf_error_last();
    if (!last->text[0])
        return wf_error(MPI_ERR_INTERN, "%s failed with code %d", step, r);
    snprintf(cause, sizeof cause, "%.399s", last->text);
    return wf_error(r == WEFT_ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_INTERN,
                    "%s failed: %s", step, cause);
}

static int start(enum wf_use use, struct wf_instance **out)
{
    struct wf_instance_params params = {.threads = use == WF_USE_THREADS};
    char why[400];
    params.config = load_config();
    wf_error_last()->text[0] = 0;
    int r = wf_boot_open(params.config, &params.boot, why, sizeof why);
    if (r < 0) {
        wf_config_free(params.config);
        return wf_error(MPI_ERR_INTERN, "%s", why);
    }
    r = wf_instance_create(&params, out);
    if (r == WEFT_EINVAL)
        wrong_config();
    if (r < 0) {
        params.boot->ops->close(params.boot);
        wf_config_free(params.config);
        return cannot_start("starting", r);
    }
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
    if (use == WF_USE_THREADS && !funneled && !wf->api.on)
        wf->api.on = true;
}

int wf_start_use(enum wf_use use, struct wf_instance **out)
{
    wf_mutex_lock(&starts.lock);
    int rc = starts.instance ? MPI_SUCCESS : start(use, &starts.instance);
    if (rc == MPI_SUCCESS) {
        starts.users++;
        allow(starts.instance, use);
        *out = starts.instance;
        wf_store_release(&wf_process_instance, starts.instance);
        wf_short_update(*out);
    }
    wf_mutex_unlock(&starts.lock);
    return rc;
}

static int end(void)
{
    struct wf_instance *wf = starts.instance;
    starts.instance = NULL;
    int r = wf_instance_destroy(wf);
    if (r < 0)
        return wf_error(MPI_ERR_INTERN, "ending failed with code %d", r);
    return MPI_SUCCESS;
}

/* A child made by fork has the parent's idle instance, which is not its own. */
static void end_at_exit(void)
{
    if (getpid() != starts.registered)
        return;
    wf_mutex_lock(&starts.lock);
    if (starts.instance && starts.users == 0)
        end();
    wf_mutex_unlock(&starts.lock);
}

static void leave_idle(void)
{
    if (starts.registered == getpid())
        return;
    starts.registered = getpid();
    atexit(end_at_exit);
}

int wf_start_leave(struct wf_instance *wf, enum wf_leave how)
{
    int rc = MPI_SUCCESS;
    wf_mutex_lock(&starts.lock);
    if (--starts.users == 0) {
        if (how == WF_LEAVE_END)
            rc = end();
        else
            leave_idle();
        wf_store_release(&wf_process_instance, NULL);
        wf_short_update(NULL);
    }
    wf_mutex_unlock(&starts.lock);
    return rc;
}
