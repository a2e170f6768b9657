/* mpirun's data: one job of several programs on this host.
 *
 *   struct job ── apps[]   what the command line said, one per ":" part
 *              ── ranks[]  one process each, with its PMI line and streams:
 *                          a rank, or several that are threads of it
 *
 * One thread, one epoll loop. Each descriptor in the loop belongs to a struct
 * source, which is the first member of whoever owns it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_JOB_H
#define WF_MPIRUN_JOB_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "allocation.h"
#include "descendants.h"
#include "hosts.h"

struct job;
struct source {
    int fd; /* -1: closed */
    void (*ready)(struct job *, struct source *);
};

/* One change to the environment: name=value, or name copied if value NULL. */
struct env_change {
    char *name;
    const char *value;
};

struct env_changes {
    struct env_change *list;
    size_t n;
    enum { ENV_DEFAULT, ENV_ALL, ENV_NONE, ENV_LISTED } base;
};

struct app {
    int count; /* ranks; 0: not given */
    int each;  /* ranks in one process; 0: not given */
    int first; /* rank */
    int processes, first_process;
    char **argv;
    char *program; /* argv[0] as it is executed, after search in PATH */
    const char *wdir;
    struct env_changes env;
};

/* What a rank writes, on its way to our own stdout or stderr (tagged). */
struct stream {
    struct source source;
    struct rank *rank;
    struct sink *sink;
    char *line; /* the unfinished line */
    size_t have, room;
    bool paused;
};

struct rank {
    struct source pmi;
    int index; /* in job.ranks */
    int id;    /* its rank, or the first of several */
    int held;  /* how many */
    struct app *app;
    int node, local, local_count;
    pid_t pid;      /* 0: not started, or ended and reaped */
    bool own_group; /* false: shares our terminal group to read the terminal */
    bool ended;
    bool failed; /* by itself, before we began to end the job */
    int status;  /* exit status as a shell would say it */
    /* PMI */
    char *in;
    size_t have, room;
    bool pmi_init, pmi_finalized, in_barrier, in_mcmd;
    int key_gets; /* how often it has asked for the job key */
    int awaits; /* the rank whose card it asked for, or -1 */
    int state_page;    /* what it waits for; -1: none */
    struct source ask; /* weft-remote brings it up to date */
    bool answers, asked;
    struct stream out, err;
    int bound_cpu; /* the first; -1: not bound */
    cpu_set_t cpus;
};

/* Our stdout or stderr with what could not be written yet. */
struct sink {
    struct source source;
    char *data;
    size_t have, room;
    bool pollable, armed, broken;
};

enum phase {
    PHASE_RUN,
    PHASE_ENDING, /* told to end; a deadline runs */
    PHASE_KILLED, /* SIGKILL sent */
    PHASE_LOST    /* even that did not help: leave */
};

enum { STDIN_NONE = -1, STDIN_ALL = -2 };

struct settings {
    int nodes; /* of --nodes, or hosts; 0: neither */
    struct host_list hosts; /* of --host and --hostfile, or an allocation */
    enum allocation allocation; /* that they are of */
    int stdin_rank;
    bool tag, quiet, verbose, bind_core, report_bindings, no_oversubscribe,
        all_exit_codes, keep_going;
    double timeout; /* s; 0: none */
    int universe;   /* 0: number of ranks */
    struct env_changes env;
    const char *route, *ini;
    const char *launcher; /* of --launcher-exec, or NULL */
    char *set;
};

struct job {
    struct settings set;
    struct app *apps;
    int app_count;
    char ***file_words; /* lines of argument files: apps point into them */
    int file_lines;
    struct rank *ranks;
    int size;         /* ranks */
    int count, alive; /* processes */
    char name[64]; /* of the key-value space, and PMI_JOBID */
    int epoll;

    struct kvs *kvs;
    struct job_key *key; /* until all have it: pmi_server.c */
    int in_barrier;

    struct source signals;
    sigset_t old_mask;
    struct rlimit old_files;

    enum phase phase;
    int interrupts;    /* SIGINT so far */
    bool user_ended;   /* by a signal to mpirun */
    uint64_t deadline; /* ns of the next step; 0: none */
    uint64_t timeout;  /* ns at which --timeout strikes; 0: none */
    uint64_t where;    /* ns until which answers are waited for; 0: nobody asks */
    bool where_ends;   /* and then the job ends */
    int exit_code;     /* -1: from the ranks */
    int cause;         /* process that failed first, or -1 */

    struct sink sink_out, sink_err;
    bool output_lost; /* some of the ranks' could not be written */
    struct said *said; /* said.c */
    struct stdin_pump *pump;
    struct guard *guard;
};

/* main.c */
int wf_job_watch(struct job *, struct source *, int fd, uint32_t events,
                 void (*ready)(struct job *, struct source *));
void wf_job_unwatch(struct job *, struct source *); /* and close */
void wf_job_say(const struct job *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t wf_job_now(void);

/* map.c: the processes of the job, each on its host. 0, or -1: no memory */
int wf_map_make(struct job *);
/* the process that holds this rank */
struct rank *wf_job_holder(struct job *, int rank);

/* options.c: fills the job from the command line. Returns -1 to go on, or the
 * exit status. */
int wf_option_parse(struct job *, int argc, char **argv);
/* argfile.c: the words of one line, NULL-ended; NULL at the end of the file or
 * on an unclosed quote (then *bad). */
char **wf_argfile_line(void *file, bool *bad);

/* environ.c */
void wf_env_change(struct env_changes *, const char *name, const char *value);
char **wf_env_of_app(const struct job *, const struct app *);
/* ask: the descriptor of wf_where_ask */
char **wf_env_of_rank(char **app_env, const struct job *, const struct rank *,
                      int pmi_fd, int ask);
void wf_env_free(char **env);
void wf_env_hint(const struct job *);

/* resolve.c: what each program is and where it starts. 0, or the status */
int wf_resolve_all(struct job *);
/* spawn.c */
int wf_spawn_all(struct job *);
/* launcher.c: what starts this rank, with the program's words at the end; NULL:
 * out of memory. The first words belong to the caller. */
const char *wf_launcher_of(const struct job *, const struct rank *);
char **wf_launcher_words(const struct job *, const struct rank *);
void wf_launcher_free(const char *launcher, char **words);

/* pmi_server.c */
int wf_pmi_serve(struct job *);
void wf_pmi_ready(struct job *, struct source *);
void wf_pmi_check_waiting(struct job *);
/* Wipe the job key: in a process that does not need it, or not any more. */
void wf_pmi_forget_key(struct job *);
void wf_pmi_close(struct job *);

/* said.c: last words of the ranks, each once */
void wf_said(struct job *, const struct rank *, const char *base64, size_t n);
void wf_said_report(struct job *);

/* stdio.c: the three descriptors of each rank */
int wf_io_open(struct job *);
int wf_io_rank(struct job *, struct rank *, int child[3]);
void wf_io_drain(struct job *);
bool wf_io_pending(const struct job *);
/* sink.c: what is written to our own stdout and stderr, never blocking */
void wf_sink_open(struct sink *, int fd);
void wf_sink_write(struct job *, struct sink *, const char *data, size_t n);
bool wf_sink_full(const struct sink *);
/* pump.c: --stdin all */
int wf_pump_open(struct job *);
int wf_pump_add(struct job *); /* the reading end of a new rank's pipe */
void wf_pump_start(struct job *);

/* signals.c */
int wf_signal_open(struct job *);
void wf_signal_all(struct job *, int sig);

/* ending.c */
void wf_end_begin(struct job *, int sig);
void wf_end_abort(struct job *, struct rank *, int code);
void wf_end_fail(struct job *, struct rank *, const char *why);
void wf_end_reap(struct job *);
void wf_end_deadline(struct job *);
int wf_end_status(const struct job *);
void wf_end_report(const struct job *);

/* guard.c */
int wf_guard_start(struct job *);
void wf_guard_note(struct job *, int rank, pid_t group);
void wf_guard_stop(struct job *);
/* where.c: what every rank waits for (where.h). The page of a new rank: */
void wf_where_open(struct rank *);
/* For a rank that a launcher starts: the other end of its `ask`, or -1. */
int wf_where_ask(struct job *, struct rank *);
/* Print it, perhaps a little later, and then end the job (--timeout). */
void wf_where_begin(struct job *, bool then_end);
void wf_where_deadline(struct job *);

#endif
