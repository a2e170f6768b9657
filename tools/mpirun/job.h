/* This header has mpirun's data: one job of several programs.
 *
 *   struct job ── apps[]   what the command line said, one per ":" part
 *              ── hosts    in the order of their nodes
 *              ── links[]  agents that this process has started on other hosts
 *              ── ranks[]  one process each, with its PMI line and streams:
 *                          a rank, or several that are threads of it
 *
 * An agent (agent.c) has the same data: the part of it that is behind its link,
 * with its own host as the first.
 *
 * mpirun has one thread and one epoll loop. Each descriptor in the loop belongs
 * to a struct event_source, which is the first member of its owner.
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
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "allocation.h"
#include "descendants.h"
#include "hosts.h"
#include "output.h"
#include "placement.h"
#include "event_source.h"

enum { JOB_LABEL = 64 };

/* Returns the exit code for a status of waitpid: 128 and the signal's number
 * for a process that was killed. */
static inline int wf_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A change to the environment sets name=value, or copies name if value is
 * NULL. */
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
    const char *path;  /* directories to search first, or NULL */
    int *on, on_count; /* hosts, by index, in turn; none: as the options say */
    struct env_changes env;
    /* In an agent: the NAME=VALUE strings of the launch request; own_env: they
     * are set over the agent's own environment. */
    char **sent_env;
    bool own_env;
};

/* The output of a rank on its way to mpirun's stdout or stderr, or from an
 * agent to its parent. */
struct stream {
    struct event_source source;
    struct rank *rank;
    struct sink *sink, *copy; /* both get what is written; copy may be NULL */
    char *line; /* bytes not yet written to the sinks */
    size_t have, room;
    uint64_t last_write; /* ns; of the rank */
    bool held, ended; /* output_lines.h: waits for the line of another stream */
    /* Of a rank on another host: bytes taken but not yet allowed again by
     * FRAME_MORE. In an agent: bytes sent for which no FRAME_MORE has come. */
    size_t window;
    bool paused;
};

struct rank {
    struct event_source pmi;
    int index; /* in job.ranks */
    int id;    /* its rank, or the first of several */
    int rank_count;  /* how many */
    struct app *app;
    struct host *host;
    int local, local_count; /* among the ranks of its host */
    bool reads_input;
    pid_t pid;      /* 0: not started, or ended and reaped */
    bool own_group; /* false: shares our terminal group to read the terminal */
    bool ended;
    bool failed; /* by itself, before we began to end the job */
    int status;  /* exit status as a shell would say it */
    int wait_status;     /* wait status */
    pid_t last_pid; /* set when it has ended */
    bool end_sent;   /* in an agent: its end was reported */
    bool aborts; /* it has called MPI_Abort with abort_code */
    int abort_code;
    /* PMI */
    char *in;
    size_t have, room;
    bool pmi_open, pmi_init, pmi_finalized, in_barrier;
    struct spawn_request *spawn; /* of which some lines have come */
    bool has_names;
    bool called; /* it was asked whether it is in MPI, and has not answered */
    unsigned call_answers; /* how often it has */
    int key_gets; /* how often it has asked for the job key */
    int awaited_rank; /* the rank whose card it asked for, or -1 */
    int state_page; /* what it waits for; -1: none */
    struct wf_state_head *remote_page; /* the page of another host, as it was */
    bool page_requested;                    /* its agent, for that */
    struct stream out, err;
    struct rank_input *input; /* in an agent: input on its way to it */
    const struct wf_cpus *cpus; /* the CPUs it is bound to; NULL: not bound */
};

/* mpirun's stdout or stderr, or a file, with what could not be written yet. */
struct sink {
    struct event_source source;
    const char *name; /* for messages */
    char *data;
    size_t have, room;
    bool pollable, armed, broken;
    struct stream *in_line_of; /* began the unfinished last line, or NULL */
};

enum phase {
    PHASE_RUN,
    PHASE_ENDING, /* told to end; a deadline runs */
    PHASE_KILLED, /* SIGKILL sent */
    PHASE_LOST    /* even that did not help: leave */
};

enum { STDIN_NONE = -1, STDIN_ALL = -2 };

struct settings {
    int nodes; /* of --nodes; 0: none are pretended */
    enum allocation allocation; /* in which mpirun runs */
    int stdin_rank;
    struct placement place;
    struct output output;
    bool quiet, verbose, report_bindings, all_exit_codes, keep_going;
    double timeout; /* s; 0: none */
    int universe;   /* MPI_UNIVERSE_SIZE */
    struct env_changes env;
    const char *route, *ini;
    char *set;
    /* Agents are started with these settings: starter.h. */
    const char *starter; /* their command */
    bool starter_given;  /* --launcher-exec: also for pretended nodes */
    const char *prefix, *agent;
    double host_timeout, wait_hosts; /* s */
    int tree_width, umask;
    const char *check_net; /* ports; NULL: a program is started */
    const char *report_pid;
    const char *names; /* where names are served: name_server.h; or NULL */
};

struct job {
    struct settings set;
    struct host_list hosts;
    struct link *links;
    int link_count;
    struct channel *up; /* in an agent: to whoever started it */
    /* Jobs that ranks have spawned: child_job.h. */
    struct child_job *children;
    int children_so_far;
    char label[JOB_LABEL];  /* "1.2": the second child of the first; or "" */
    struct channel *parent; /* in the launcher of a child job */
    const struct spawn_request *spawned; /* by which it was asked for */
    bool is_spawned;                     /* also in its agents */
    int singleton; /* the connection of singleton.h; 0: there is none */
    uint64_t link_tick;      /* ns of the next second of links; 0: none */
    uint64_t agent_wake;      /* ns at which an agent looks at its clock */
    struct app *apps;
    int app_count;
    char ***file_words; /* lines of argument files: apps point into them */
    int file_lines;
    struct rank *ranks;
    int size;         /* ranks */
    int count, alive; /* processes */
    struct machine *machine; /* of this host; NULL: nobody asked */
    int bound_cpus; /* processors that our bound processes have together */
    char name[64]; /* of the key-value space, and PMI_JOBID */
    char mark[80]; /* of what this process starts: guard.c */
    int epoll;

    struct kvs *kvs;
    struct name_table *names;
    struct name_server *name_server; /* for other launchers */
    struct name_link *name_links;    /* to others' servers: name_client.h */
    struct job_key *key; /* until all have it: pmi_key.h */
    int in_barrier;

    struct event_source signals;
    sigset_t old_mask;
    struct rlimit old_files;

    enum phase phase;
    int interrupts;    /* SIGINT so far */
    bool user_ended;   /* by a signal to mpirun */
    uint64_t deadline; /* ns of the next step; 0: none */
    uint64_t timeout;  /* ns at which --timeout strikes; 0: none */
    /* ns; until then answers are awaited; 0: none */
    uint64_t report_deadline;
    bool report_ends_job;   /* then the job ends */
    /* ns of the next check for another MPI; 0: none */
    uint64_t foreign_deadline;
    int foreign_round;
    int exit_code;     /* -1: from the ranks */
    int first_failed;         /* process that failed first, or -1 */
    int died_after_finalize;          /* process reported to end so, or -1 */
    uint64_t settle_deadline;   /* ns; until then agents may report */
    int hosts_unsettled;     /* hosts that have not reported */

    struct sink sink_out, sink_err;
    struct output_file *files;
    int held_streams; /* output_lines.h */
    bool output_lost; /* some output of the ranks could not be written */
    struct repeated_message *messages; /* repeated_messages.c */
    struct stdin_forward *stdin_forward;
    struct guard *guard;
};

/* main.c */
int wf_job_watch(struct job *, struct event_source *, int fd, uint32_t events,
                 void (*ready)(struct job *, struct event_source *));
void wf_job_unwatch(struct job *, struct event_source *); /* and close */
void wf_job_say(const struct job *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Report why nothing can be started, and set the status with which the job
 * ends. */
void wf_job_fail(struct job *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prepare descriptors, signals and the guard before the ranks start. Returns 0,
 * or -1 after a message. */
int wf_job_prepare(struct job *);
void wf_job_run_once(struct job *); /* one round of the loop */
/* Run a job whose programs are resolved, to its end. Returns its status. */
int wf_job_run(struct job *);
/* Returns the status of a job that went well, which is an error if its output
 * could not be written. */
int wf_job_check_output(const struct job *, int status);
uint64_t wf_job_now(void);
/* Returns p; ends mpirun if p is NULL, which means that there is no memory. */
void *wf_job_check_memory(void *p);

/* map.c: make the processes of the job, each on its host. Returns 0, or -1
 * without memory. */
int wf_map_make(struct job *);
void wf_map_clear(struct rank *); /* as it is before anything is known of it */
/* Returns the first host with more processes than slots, or NULL. */
const struct host *wf_map_overfull(const struct job *);
/* Returns the process of this index, or NULL. */
struct rank *wf_map_rank(const struct job *, int index);
/* Returns the process that holds this rank. */
struct rank *wf_job_find_holder(struct job *, int rank);
/* map_show.c: print the map for --display-map and --dry-run. */
void wf_map_show(const struct job *, FILE *);

/* options.c: fills the job from the command line. Returns -1 to go on, or the
 * exit status. */
int wf_option_parse(struct job *, int argc, char **argv);
/* argfile.c: returns the words of one line, NULL-ended; NULL at the end of the
 * file or on an unclosed quote (then *bad). */
char **wf_argfile_line(void *file, bool *bad);

/* environ.c */
void wf_env_change(struct env_changes *, const char *name, const char *value);
/* Free the changes of a part of the command line that starts no program. */
void wf_env_forget(struct env_changes *);
char **wf_env_of_app(const struct job *, const struct app *);
/* Returns the part of mpirun's environment that goes to other hosts, and
 * whether it is set over that of the agent. */
char **wf_env_for_agent(const struct job *, const struct app *);
bool wf_env_has_base(const struct job *, const struct app *);
/* Returns the environment of one process. err_fd: its standard error */
char **wf_env_of_rank(char **app_env, const struct job *, const struct rank *,
                      int pmi_fd, int err_fd);
void wf_env_free(char **env);
void wf_env_check(const struct job *); /* say what cannot be passed */
void wf_env_hint(const struct job *);

/* resolve.c: find each program and the directory where it starts. Returns 0, or
 * the status. */
int wf_resolve_all(struct job *);
/* Look for a program in the directories of path (NULL: the default ones).
 * Returns 0 with its full name, which the caller frees; or the exit status of a
 * job without it. */
int wf_resolve_search(const char *path, const char *name, char **found);
/* spawn.c */
int wf_spawn_all(struct job *);
/* node_map.c: returns false if the text is too long. */
bool wf_node_map_text(const struct job *, char *text, size_t size);
/* pmi_server.c */
int wf_pmi_serve(struct job *);
void wf_pmi_ready(struct job *, struct event_source *);
/* Handle bytes of a rank on another host; n 0: the end of its connection. */
void wf_pmi_take(struct job *, struct rank *, const char *data, size_t n);
void wf_pmi_check_waiting(struct job *);
void wf_pmi_close(struct job *);

/* repeated_messages.c: print the fatal messages of the ranks, each once. */
void wf_repeated_message_take(struct job *, const struct rank *,
                              const char *base64, size_t n);
void wf_repeated_message_report(struct job *);

/* stdio.c: these functions manage the three standard descriptors of each
 * rank. */
int wf_io_open(struct job *);
int wf_io_rank(struct job *, struct rank *, int child[3]);
/* Handle output of a rank on another host. */
void wf_io_take(struct job *, struct stream *, const char *data, size_t n);
void wf_io_end(struct job *, struct rank *);
void wf_io_attach(struct job *, struct rank *);
void wf_io_pause(struct job *, struct stream *, bool pause);
/* Returns whether the stream is not read because its sink is full. */
bool wf_io_is_paused(const struct stream *);
/* Leave standard input to nobody. -1: it cannot be replaced. */
int wf_io_leave_input(void);
bool wf_io_input_is_ours(void); /* may a rank with our input read it? */
void wf_io_drain(struct job *);
bool wf_io_pending(const struct job *);
/* sink.c: these functions write to mpirun's own stdout and stderr and to files
 * and never block. */
void wf_sink_open(struct sink *, int fd, const char *name);
/* Report, once, that nothing more can be written there. */
void wf_sink_fail(struct job *, struct sink *, const char *why);
void wf_sink_write(struct job *, struct sink *, const char *data, size_t n);
bool wf_sink_full(const struct sink *);
/* stdin_forward.c: forward input for --stdin all, or to a rank on another
 * host. */
int wf_stdin_open(struct job *);
/* returns the reading end of a new rank's pipe */
int wf_stdin_add_pipe(struct job *);
void wf_stdin_add_remote(struct job *, struct rank *);
/* Allow n bytes more for a rank on another host; or drop a rank that has
 * ended. */
void wf_stdin_add_credit(struct job *, const struct rank *, size_t n);
void wf_stdin_drop_reader(struct job *, const struct rank *);
void wf_stdin_start(struct job *);

/* signals.c */
int wf_signal_open(struct job *);
void wf_signal_all(struct job *, int sig);
/* Do the same with a signal of the user: SIGUSR1 and SIGUSR2 go only to
 * processes that catch them. */
void wf_signal_pass(struct job *, int sig);

/* ending.c */
void wf_end_begin(struct job *, int sig);
void wf_end_abort(struct job *, struct rank *, int code);
void wf_end_fail(struct job *, struct rank *, const char *why);
/* Handle the end of a process on another host. */
void wf_end_remote_process(struct job *, struct rank *, int wait_status);
/* Handle the loss of hosts, which are marked `lost`. */
void wf_end_lost(struct job *, const char *why);
void wf_end_settled(struct job *); /* one host has reported all */
void wf_end_reap(struct job *);
void wf_end_deadline(struct job *);
int wf_end_status(const struct job *);
void wf_end_report(const struct job *);

/* foreign.c: detect programs of other MPI libraries, which do not join the
 * job. */
void wf_foreign_start(struct job *);
void wf_foreign_deadline(struct job *);
void wf_foreign_ended(struct job *, const struct rank *);

/* guard.c */
int wf_guard_start(struct job *);
void wf_guard_note(struct job *, const struct rank *, pid_t group);
/* Handle the end of a process that is neither a rank nor a link: perhaps it is
 * the guard. */
void wf_guard_handle_exit(struct job *, pid_t);
/* Ends what is left of the job, and then the guard: this process may be killed
 * meanwhile. */
void wf_guard_finish(struct job *);
/* state_report.c: print what every rank waits for (state_report.h). The first
 * function makes the page of a new process. */
void wf_state_report_open(struct rank *);
/* Take the page of a process on another host. */
void wf_state_report_take(struct job *, struct rank *, const char *page,
                          size_t n);
/* Print the report, perhaps a little later, and with then_end end the job
 * afterwards (--timeout). */
void wf_state_report_begin(struct job *, bool then_end);
void wf_state_report_deadline(struct job *);

#endif
