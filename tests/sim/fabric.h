/* A fabric that exists only in this process: N instances, one seeded
 * scheduler that decides which channel delivers next, how much of a payload
 * arrives with the header, and when a sender is told to wait.
 *
 * Channels between two processes keep order; different channels are delivered
 * in any order, after any delay. Everything follows from the seed.
 *
 * The ranks may be of several jobs, whose processes have met. Here they are
 * numbered through; each of them has numbers of its own for the others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include "process/instance.h"

enum { SIM_MAX = 8, SIM_FABRICS = 2, SIM_JOBS = 3 };

struct sim_options {
    unsigned seed;
    int ranks;
    int jobs[SIM_JOBS]; /* how many ranks each has; all 0: one job */
    const char *config;  /* more mpi.ini text: eager limits, credits */
    uint32_t max_payload, max_short;
    bool starve;    /* now and then the core gets no memory for a message */
    bool get, keys; /* offers get(), with registration keys */
    bool failover;  /* two fabrics, of which sim_trouble breaks one */
    bool stripe;    /* with failover: they share large messages */
    bool corrupt;   /* with failover: now and then a byte changes */
    bool streams;   /* headers may pass the payload of those before them */
    /* Told of every initial message in the order of its delivery. */
    void (*arrived)(void *arg, uint32_t from, uint32_t to);
    void *arg;
};

struct sim {
    struct wf_instance *ranks[SIM_MAX];
    struct wf_comm *all[SIM_MAX]; /* each rank's communicator of all of them */
    int n;
    unsigned seed;
};

/* Counts what the ordered pairs of all jobs so far have gone through. */
struct sim_counts {
    uint64_t moves, resent, duplicates, damaged;
    /* pieces that went by the second fabric beside the first */
    uint64_t striped;
};
extern struct sim_counts sim_counts;

/* Build the job; asserts on failure. */
void sim_start(struct sim *, const struct sim_options *);
/* Deliver one container, or a piece of one, on a channel of the seed's
 * choice. False: nothing is on its way. */
bool sim_step(struct sim *);
/* With failover: a connection of the seed's choice is cut, or a cable, loudly
 * or in silence; or all are whole again. */
void sim_trouble(struct sim *);
void sim_heal(struct sim *);
/* The process dies: what it sent is lost, its channels break. */
void sim_kill(struct sim *, uint32_t rank);
/* Deliver all, then end every instance. */
void sim_stop(struct sim *);
unsigned sim_random(struct sim *, unsigned below);
/* The number that a rank has in another one. */
uint32_t sim_number_of(uint32_t rank, uint32_t in);

#endif
