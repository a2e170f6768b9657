/* weft-info prints what this Weft is, what its configuration means, and what it
 * would do.
 *
 *   main.c      arguments        probe.c     plugins and what they can do here
 *   report.c    everything       explain.c   one pair of processes, and
 *                                deployment.c  facts about their hosts
 *   reach.c     who reaches whom functions.c which functions of MPI there are
 *   check.c     a file           check_static.c  its static start
 *   embed.c     C text for static programs: the configuration
 *   table.c     the same: their transports; object.c finds those of a file
 *   json.c      the machine-readable form of each
 *   draw.c      one collective call    plan.c   schedules without a job
 *   tune*.c     a fragment of mpi.ini from measurements
 *   trace.c     what ranks have recorded
 *
 * It reads the configuration exactly as MPI_Init does and, except for --tune,
 * talks to no other process. A file given to --check may be anybody's: it is
 * read, and no plugin that it names is loaded without --load.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_INFO_H
#define WEFT_INFO_H

#include "process/endpoint.h"
#include "json.h"
#include "config/model.h"
#include "route/route.h"

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.1.0"
#endif

enum { EXIT_CONFIG = 78 }; /* EX_CONFIG: the configuration is wrong */
enum { TRANSPORTS_MAX = 64, ADDRESSES_LEN = 512 };

/* A transport of the configuration and what became of it on this machine. */
struct info_transport {
    const struct wf_transport_config *config;
    const weft_plugin *plugin; /* NULL: not found */
    bool built_in, usable;
    bool assumed;   /* usable: nobody knows, as why says */
    char why[2048]; /* not found, or not usable here */
    char *left;     /* the file of a plugin that was not loaded, or NULL */
    char what[200]; /* what it says of itself when it is usable */
    weft_attr attr; /* when usable */
};

struct info {
    struct wf_config *config;
    struct info_transport transport[TRANSPORTS_MAX];
    int count;
    int problems; /* in the options of plugins */
};

/* Find every plugin and fill its options; problems go to errors. load: also
 * plugins that are not part of the installation. */
void info_collect(struct info *, struct wf_config *, bool load, FILE *errors);
void info_forget(struct info *);
/* Ask the plugins what they can do on this machine; plan: what they could do on
 * machines that have all that the configuration names. */
void info_probe(struct info *, bool plan);
/* Write capability bits as words, such as "local remote get". */
const char *info_caps(uint32_t caps, char *buf, size_t n);

/* A pair of ranks, and what is known of its job. */
struct info_pair {
    const struct wf_route_end *from, *to;
    bool is_static;   /* no launcher passes addresses on */
    bool hosts_known; /* the configuration says who is where */
    bool probed;      /* the transports have been asked what they can do here */
};
/* Whether the configuration gives all ranks a host. */
bool info_has_hosts(const struct wf_config *);
/* Fill in the candidate for a transport: whether it reaches from one rank to
 * the other, or why not. */
void info_judge(const struct info *, const struct info_transport *,
                const struct info_pair *, struct wf_route_candidate *);

int info_report(const struct info *, bool json);
int info_functions(bool json);
/* Write the number of implemented functions, such as "505 of 664". */
void info_function_count(char *text, size_t n);
int info_check(const char *file, bool load, bool json);
/* Check that a job without launcher could start by this configuration: that it
 * has a key, and that each rank has a way to each other one. Returns the number
 * of problems, which are printed. */
int info_check_static(struct wf_config *, bool load, FILE *errors);
/* A question for --explain: about a pair, and messages of so many bytes, on a
 * communicator of that name, of that kind; NULL: not given. job: of the second
 * rank, "own" or "other". */
struct info_question {
    const char *pair, *size, *comm, *kind, *job;
};
/* Explain a pair such as "0->3" or "0@nodea->3@nodeb"; size: "1M" or NULL. */
int info_explain(const struct info *, const struct info_question *, bool json);
/* Whether the pair is one of machines elsewhere, which is planned. */
bool info_explain_plans(const struct info *, const struct info_question *);
/* Print the table of transports; a word is a name or a file. */
int info_table(char *const *words, int n);
int info_embed(const char *file);

#endif
