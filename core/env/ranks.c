/* The state that the ranks of one process share: see ranks.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "env/ranks.h"

#include <stdlib.h>

#include "boot/boot.h"
#include "boot/hosted.h"
#include "config/config.h"
#include "env/start.h"
#include "object/error.h"
#include "process/process.h"
#include "report/state.h"

uint32_t wf_ranks_planned(void)
{
    long n = wf_boot_env_number("WEFT_PROCESS_RANKS");
    return n > 1 ? (uint32_t)n : 1;
}

/* ---- making the ranks ---------------------------------------------------- */

/* Opens the launcher's boot; stores NULL if there is no launcher. */
static int open_launcher(const struct wf_config *config, struct wf_boot **up)
{
    char why[400];
    int r = wf_boot_open(config, up, why, sizeof why);
    if (r < 0)
        return wf_error(wf_error_class(r), "%s", why);
    if (strcmp((*up)->ops->name, "singleton") != 0)
        return MPI_SUCCESS;
    wf_boot_close(*up);
    *up = NULL;
    return MPI_SUCCESS;
}

/* Checks the ranks of a process that is one of several in a static start: they
 * are WEFT_RANK and those that follow. */
static int check_static_ranks(const struct wf_boot *up, uint32_t count)
{
    if (up->size - up->rank >= count)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG,
                    "ranks is %u, but the job has %u from rank %u on: correct "
                    "WEFT_RANK, or how many this process holds",
                    count, up->size - up->rank, up->rank);
}

static int check_launcher(const struct wf_boot *up, uint32_t count)
{
    uint32_t planned = wf_ranks_planned();
    if (up->is_static)
        return check_static_ranks(up, count);
    if (!up->awaits)
        return wf_error(MPI_ERR_OTHER,
                        "ranks in threads need Weft's mpirun, or no launcher: "
                        "'%s' starts one rank in each process",
                        up->ops->name);
    if (count != planned || up->rank + count > up->size)
        return wf_error(MPI_ERR_ARG,
                        "ranks is %u but mpirun gave this process %u of %u: "
                        "start it with mpirun -n %u --ranks-per-process %u",
                        count, planned, up->size, count, count);
    return MPI_SUCCESS;
}

static int make_boots(struct wf_ranks *all, struct wf_boot *up)
{
    all->boots = calloc(all->count, sizeof *all->boots);
    all->processes = calloc(all->count, sizeof *all->processes);
    if (!all->boots || !all->processes ||
        wf_boot_hosted_create(up, all->count, all->boots) < 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %u ranks", all->count);
    return MPI_SUCCESS;
}

/* Fills the ranks in. On success they own the launcher's boot. */
static int fill_ranks(struct wf_ranks *all, struct wf_boot *up)
{
    int rc = up ? check_launcher(up, all->count) : MPI_SUCCESS;
    all->launched = up != NULL;
    all->first = up ? up->rank : 0;
    all->size = up ? up->size : all->count;
    if (rc == MPI_SUCCESS)
        rc = make_boots(all, up);
    for (uint32_t i = 0; rc == MPI_SUCCESS && i < all->count; i++) {
        all->processes[i].ranks = all;
        all->processes[i].slot = i;
    }
    return rc;
}

int wf_ranks_create(uint32_t count, struct wf_ranks **out)
{
    struct wf_boot *up = NULL;
    struct wf_ranks *all = calloc(1, sizeof *all);
    if (!all)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the ranks");
    pthread_mutex_init(&all->open_lock, NULL);
    all->count = count ? count : wf_ranks_planned();
    int rc =
        all->count > WF_RANK_THREADS_MAX
            ? wf_error(MPI_ERR_ARG, "%u ranks: one process holds at most %d",
                       all->count, WF_RANK_THREADS_MAX)
            : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = wf_start_config(&all->config);
    if (rc == MPI_SUCCESS)
        rc = open_launcher(all->config, &up);
    if (rc == MPI_SUCCESS)
        rc = fill_ranks(all, up);
    if (rc != MPI_SUCCESS) {
        if (up)
            wf_boot_close(up);
        wf_ranks_free(all);
        return rc;
    }
    *out = all;
    return MPI_SUCCESS;
}

void wf_ranks_free(struct wf_ranks *all)
{
    for (uint32_t i = 0; all->boots && i < all->count; i++)
        if (all->boots[i])
            wf_boot_close(all->boots[i]);
    for (uint32_t i = 0; all->processes && i < all->count; i++) {
        if (all->processes[i].codes)
            all->processes[i].codes->free(all->processes[i].codes);
        wf_state_close(&all->processes[i]);
    }
    pthread_mutex_destroy(&all->open_lock);
    wf_config_free(all->config);
    free(all->boots);
    free(all->processes);
    free(all);
}

/* ---- threads ------------------------------------------------------------- */

void wf_ranks_bind(struct wf_ranks *all, uint32_t slot)
{
    wf_thread_process = &all->processes[slot];
}

void wf_ranks_unbind(void)
{
    wf_thread_process = NULL;
}

/* Returns the ranks of this process. The first call makes them; they live as
 * long as the process. */
static int get_process_ranks(struct wf_ranks **out)
{
    struct wf_process *p = &wf_process_state;
    int rc = MPI_SUCCESS;
    WF_SECTION(start, p)
    {
        if (!p->ranks)
            rc = wf_ranks_create(0, &p->ranks);
        *out = p->ranks;
    }
    return rc;
}

int wf_ranks_claim_slot(void)
{
    struct wf_ranks *all;
    int rc = get_process_ranks(&all);
    if (rc != MPI_SUCCESS)
        return rc;
    uint32_t slot = wf_add_acq_rel(&all->claimed, 1);
    if (slot >= all->count)
        return wf_error(MPI_ERR_OTHER,
                        "thread %u of this process asks to be a "
                        "rank, but the process holds %u: start it with mpirun "
                        "--ranks-per-process",
                        slot + 1, all->count);
    wf_ranks_bind(all, slot);
    return MPI_SUCCESS;
}

void wf_ranks_leave_job(struct wf_process *p)
{
    struct wf_boot *unused = p->ranks->boots[p->slot];
    if (!unused)
        return;
    p->ranks->boots[p->slot] = NULL;
    wf_boot_hosted_gone(unused);
    wf_boot_close(unused);
}

int wf_ranks_fill_params(struct wf_process *p,
                         struct wf_instance_params *params)
{
    params->boot = p->ranks->boots[p->slot];
    if (!params->boot)
        return wf_error(MPI_ERR_OTHER, "this rank has taken its leave already");
    p->ranks->boots[p->slot] = NULL;
    params->ranks = p->ranks;
    params->config = wf_config_share(p->ranks->config);
    return MPI_SUCCESS;
}
