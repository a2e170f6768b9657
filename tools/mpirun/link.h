/* A link leads to an agent that this process has started, and to the hosts
 * behind it.
 *
 *   PAUSED --> STARTING --greeting--> UP --> CLOSING --> GONE
 *      ^----------'  no answer, within --wait-hosts
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_LINK_H
#define WF_MPIRUN_LINK_H

#include <stdio.h>
#include <sys/types.h>

#include "channel.h"
#include "hosts.h"

enum link_state {
    LINK_PAUSED,   /* until its next attempt, at `deadline` */
    LINK_STARTING, /* must say its greeting until `deadline` */
    LINK_UP,
    LINK_CLOSING, /* its end, which was asked for or not, is awaited */
    LINK_GONE
};

struct link {
    struct channel channel;
    enum link_state state;
    struct host *host; /* its own; those behind it have host->link = this */
    pid_t pid;         /* of the command that started it; 0: not there */
    int status;        /* of that command, when it has ended */
    uint64_t deadline, retry_until; /* ns */
    int silent;        /* ticks without a frame */
    /* its output has ended; its command has until `deadline` */
    bool ending;
    bool lost;         /* and that was told */
    char command[256]; /* for messages */
};

/* Start agents for all hosts but this one, at most --tree-width; they start the
 * others. Returns 0, or -1 after a message. */
int wf_links_start(struct job *);
/* Print the commands that would start them. */
int wf_links_print(struct job *, FILE *);
/* Send a frame to every agent. */
void wf_links_send(struct job *, enum frame_type, const void *data, size_t n);
/* Returns whether an agent answers for this host. */
bool wf_link_is_up(const struct host *);
/* Send a frame to this host. */
void wf_link_send(struct job *, const struct host *, enum frame_type, int rank,
                  const void *data, size_t n);
/* Returns whether the process was the command of a link. */
bool wf_link_reaped(struct job *, pid_t, int status);
/* Do everything that is due: time limits of starts, new attempts, checks for
 * silent agents. */
void wf_links_deadline(struct job *);
uint64_t wf_links_next(const struct job *); /* ns; 0: none */
/* Give up the links that are not up yet. */
void wf_links_cancel(struct job *);
/* End the agents when the job is over. The second function returns whether one
 * has not ended yet. */
void wf_links_close(struct job *);
bool wf_links_open(const struct job *);
void wf_links_free(struct job *);

#endif
