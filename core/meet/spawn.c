/* MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI-5.0 s11.8): a launcher starts
 * processes, which meet their parents by a port.
 *
 *   root      opens a port; asks the launcher to start the processes, with it;
 *             tells the others which were started
 *   parents   accept at the port            MPI_Comm_spawn
 *   children  connect to it                 MPI_Init
 *
 * All or none of the processes are started, but for the info key soft. While
 * the parents accept, they look whether the children have ended.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "boot/spawn.h"
#include "coll/args.h"
#include "config/config.h"
#include "core_api.h"
#include "group/comm.h"
#include "meet/exchange.h"
#include "meet/meet.h"
#include "meet/members.h"
#include "meet/spawn_info.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/launcher_requests.h"

/* The arguments of a call, which only the root reads. */
struct wanted {
    int count;
    char *const *commands;
    char **const *argvs; /* or NULL */
    const int *most;
    const MPI_Info *infos;
};

struct spawning {
    struct wf_comm *comm;
    struct weft_boot_command *commands;
    struct wf_spawn_entry *entries;
    uint32_t count; /* of entries */
    char port[MPI_MAX_PORT_NAME];
    bool opened;
    int job; /* the launcher's number */
    uint64_t deadline;
    int processes; /* asked for */
    int *codes;    /* of each */
    char late[90]; /* that the deadline has passed */
};

/* ---- the root's request -------------------------------------------------- */

static int find_info(struct wf_instance *wf, MPI_Info handle,
                     struct wf_info **info)
{
    *info = handle == MPI_INFO_NULL ? NULL : wf_info_of(wf, handle);
    if (*info || handle == MPI_INFO_NULL)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_INFO, "array_of_info has a handle that is no info "
                                  "object");
}

static int make_commands(struct spawning *s, const struct wanted *w)
{
    int64_t processes = 0;
    struct wf_info *info;
    int rc = MPI_SUCCESS;

    if (w->count < 1 || !w->commands || !w->most || !w->infos)
        return wf_error(MPI_ERR_ARG,
                        "there is no array of %d commands, counts "
                        "and infos",
                        w->count);
    s->commands = calloc((size_t)w->count, sizeof *s->commands);
    s->entries = calloc((size_t)w->count, sizeof *s->entries);
    if (!s->commands || !s->entries)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a spawn request");
    for (int i = 0; rc == MPI_SUCCESS && i < w->count; i++) {
        rc = find_info(s->comm->wf, w->infos[i], &info);
        if (rc != MPI_SUCCESS)
            break;
        rc = wf_spawn_command_make(
            &s->commands[i], &s->entries[i], w->commands[i],
            w->argvs ? w->argvs[i] : NULL, w->most[i], info);
        s->count++;
        processes += s->entries[i].most > 0 ? s->entries[i].most : 0;
    }
    if (rc == MPI_SUCCESS && processes > INT_MAX / 8)
        rc = wf_error(MPI_ERR_SPAWN, "%lld processes are too many",
                      (long long)processes);
    s->processes = rc == MPI_SUCCESS ? (int)processes : 0;
    return rc;
}

/* Gives each process that was asked for its code. Those that `soft` has left
 * out come last of their command. */
static void fill_codes(struct spawning *s, const int *statuses)
{
    int at = 0;

    for (uint32_t i = 0; i < s->count; i++)
        for (int k = 0; k < s->entries[i].most; k++) {
            bool asked = k < (int)s->commands[i].count;
            s->codes[at++] =
                asked && *statuses == 0 ? MPI_SUCCESS : MPI_ERR_SPAWN;
            statuses += asked;
        }
}

static int start_processes(struct spawning *s)
{
    struct wf_instance *wf = s->comm->wf;
    uint64_t limit_ms = wf->rank->options->start_timeout / 1000000;
    const struct weft_boot_spawn q = {
        .size = sizeof q,
        .command_count = s->count,
        .commands = s->commands,
        .parent_port = s->port,
        .wait_ms = limit_ms < INT_MAX ? (int)limit_ms : INT_MAX};
    int *statuses = calloc((size_t)s->processes + 1, sizeof *statuses), rc;

    s->codes = calloc((size_t)s->processes + 1, sizeof *s->codes);
    if (!statuses || !s->codes) {
        free(statuses);
        s->processes = 0;
        return wf_error(MPI_ERR_NO_MEM, "no memory for a spawn request");
    }
    rc = wf_launcher_spawn(wf, &q, statuses, &s->job);
    fill_codes(s, statuses);
    free(statuses);
    if (rc < 0)
        return wf_error_raise_as(rc == WEFT_ENOMEM ? MPI_ERR_NO_MEM
                                                   : MPI_ERR_SPAWN);
    s->deadline = wf_now(wf) + wf->rank->options->start_timeout;
    return MPI_SUCCESS;
}

static int open_port(struct spawning *s)
{
    struct wf_instance *wf = s->comm->wf, *home = wf_home(wf);
    int rc;

    wf_engine_switch(wf, home);
    rc = wf_port_open(home, s->port);
    wf_engine_switch(home, wf);
    s->opened = rc == MPI_SUCCESS;
    return rc;
}

static void close_port(struct spawning *s)
{
    struct wf_instance *wf = s->comm->wf, *home = wf_home(wf);

    if (!s->opened)
        return;
    wf_engine_switch(wf, home);
    wf_port_close(home, s->port);
    wf_engine_switch(home, wf);
    explicit_bzero(s->port, sizeof s->port);
}

static int ask_launcher(struct spawning *s, const struct wanted *w)
{
    int rc = make_commands(s, w);

    if (rc == MPI_SUCCESS)
        rc = open_port(s);
    return rc == MPI_SUCCESS ? start_processes(s) : rc;
}

/* ---- all members --------------------------------------------------------- */

/* Tells the others the class of the root's error, and the processes' codes. */
static int spread_codes(struct spawning *s, int root, int rc)
{
    int head[2] = {rc, s->processes}, sent;
    struct wf_comm *comm = s->comm;
    bool is_root = comm->rank == root;
    struct wf_error_record cause = *wf_error_last(); /* before a connection */

    sent =
        wf_mpi_bcast(comm->wf, head, sizeof head, wf_coll_byte(), root, comm);
    if (sent != MPI_SUCCESS)
        return rc != MPI_SUCCESS ? rc : sent;
    if (!is_root) {
        rc = head[0];
        s->processes = head[1];
        s->codes = calloc((size_t)s->processes + 1, sizeof *s->codes);
        if (!s->codes)
            return wf_error(MPI_ERR_NO_MEM, "no memory for %d error codes",
                            s->processes);
    }
    if (s->processes)
        sent = wf_mpi_bcast(comm->wf, s->codes,
                            (MPI_Count)sizeof(int) * s->processes,
                            wf_coll_byte(), root, comm);
    if (rc != MPI_SUCCESS && !is_root)
        wf_error(rc, "rank %d, the root, could not spawn processes", root);
    else if (rc != MPI_SUCCESS && cause.text[0])
        wf_error(rc, "%s", cause.text);
    return rc != MPI_SUCCESS ? rc : sent;
}

/* Tells why the children will not come: they have ended, or take too long. */
static const char *look_for_children(void *arg)
{
    struct spawning *s = arg;
    struct wf_instance *wf = s->comm->wf;

    if (wf_launcher_has_job_ended(wf, s->job))
        return "the spawned processes have ended, and did not call MPI_Init";
    if (wf_now(wf) < s->deadline)
        return NULL;
    snprintf(s->late, sizeof s->late,
             "the spawned processes have not called MPI_Init within %.3g s "
             "(core.start_timeout)",
             (double)wf->rank->options->start_timeout / 1e9);
    return s->late;
}

static int spawn_all(struct wf_comm *comm, const struct wanted *w, int root,
                     MPI_Comm *intercomm, int *errcodes)
{
    struct spawning s = {.comm = comm};
    struct wf_meeting m = {.exchange = wf_exchange_accept,
                           .name = s.port,
                           .look = look_for_children,
                           .look_arg = &s};
    int rc = MPI_SUCCESS;

    *intercomm = MPI_COMM_NULL;
    if (comm->inter)
        return wf_error(MPI_ERR_COMM, "the communicator is an "
                                      "intercommunicator");
    if (comm->rank == root)
        rc = ask_launcher(&s, w);
    rc = spread_codes(&s, root, rc);
    for (int i = 0; errcodes && s.codes && i < s.processes; i++)
        errcodes[i] = s.codes[i];
    if (rc == MPI_SUCCESS)
        rc = wf_meet(comm, root, &m, intercomm);
    close_port(&s);
    for (uint32_t i = 0; i < s.count; i++)
        wf_spawn_entry_free(&s.entries[i]);
    free(s.entries);
    free(s.commands);
    free(s.codes);
    return rc;
}

int wf_mpi_comm_spawn_multiple(struct wf_instance *wf, int count,
                               char *array_of_commands[],
                               char **array_of_argv[],
                               const int array_of_maxprocs[],
                               const MPI_Info array_of_info[], int root,
                               struct wf_comm *comm, MPI_Comm *intercomm,
                               int array_of_errcodes[])
{
    const struct wanted w = {count, array_of_commands, array_of_argv,
                             array_of_maxprocs, array_of_info};

    return spawn_all(comm, &w, root, intercomm, array_of_errcodes);
}

int wf_mpi_comm_spawn(struct wf_instance *wf, const char *command, char *argv[],
                      int maxprocs, struct wf_info *info, int root,
                      struct wf_comm *comm, MPI_Comm *intercomm,
                      int array_of_errcodes[])
{
    char *program = (char *)(uintptr_t)command;
    MPI_Info handle = info ? (MPI_Info)info : MPI_INFO_NULL;
    const struct wanted w = {1, &program, argv ? &argv : NULL, &maxprocs,
                             &handle};

    return spawn_all(comm, &w, root, intercomm, array_of_errcodes);
}
