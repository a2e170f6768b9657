/* MPI_Init and MPI_Init_thread: configuration, bootstrap, instance.
 *
 * The program's arguments are left alone (MPI-5.0 s11.2.1): everything comes
 * from mpi.ini and the environment.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "core_api.h"
#include "env/env.h"
#include "route/config.h"

/* The lowest level that includes the required one (s11.6). */
static int level_for(int required)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                 MPI_THREAD_SERIALIZED};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (required <= levels[i])
            return levels[i];
    return MPI_THREAD_MULTIPLE;
}

/* A job whose configuration is wrong cannot be repaired by an error handler:
 * all its errors have been shown, and the process ends as sysexits.h says. */
static _Noreturn void wrong_config(void)
{
    fprintf(stderr, "weft " WEFT_VERSION ": the configuration has errors; "
                    "check it with weft-info --check\n");
    exit(EX_CONFIG);
}

static struct wf_config *load_config(void)
{
    struct wf_config *config;
    if (wf_config_load(&config, stderr) != 0)
        wrong_config();
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

static int start(int level)
{
    struct wf_instance_params params = {.thread_level = level};
    struct wf_instance *wf;
    char why[400];
    params.config = load_config();
    wf_error_last()->text[0] = 0;
    int r = wf_boot_open(params.config, &params.boot, why, sizeof why);
    if (r < 0) {
        wf_config_free(params.config);
        return wf_error(MPI_ERR_INTERN, "%s", why);
    }
    r = wf_instance_create(&params, &wf);
    if (r == WEFT_EINVAL)
        wrong_config();
    if (r < 0) {
        params.boot->ops->close(params.boot);
        wf_config_free(params.config);
        return cannot_start("starting", r);
    }
    wf_process_instance = wf;
    warn(wf);
    return MPI_SUCCESS;
}

int wf_mpi_init_thread(struct wf_instance *wf, int *argc, char ***argv,
                       int required, int *provided)
{
    uint32_t idle = 0;
    if (!wf_cas_acq_rel(&wf_process_state.starting, &idle, 1))
        return wf_error(MPI_ERR_OTHER,
                        "another thread is inside MPI_Init: call it once");
    int level = level_for(required);
    int rc = start(level);
    if (rc == MPI_SUCCESS)
        *provided = level;
    wf_store_release(&wf_process_state.starting, 0);
    return rc;
}

int wf_mpi_init(struct wf_instance *wf, int *argc, char ***argv)
{
    int provided;
    return wf_mpi_init_thread(wf, argc, argv, MPI_THREAD_SINGLE, &provided);
}
