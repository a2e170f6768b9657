/* With --check-net, one process per host tries to reach every other one, as
 * ranks would, and the first prints what is blocked. No program is started.
 *
 *   probe.c        life of such a process, and what it says to mpirun (PMI-1)
 *   probe_dial.c   listening and dialling
 *   probe_table.c  the table
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_PROBE_H
#define WF_MPIRUN_PROBE_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PROBE_TEXT = 1000, /* of a value of the key-value space */
    PROBE_PORTS = 64,
    PROBE_ADDRESSES = 16 /* of a host */
};

enum probe_result {
    PROBE_OPEN = 'o',
    PROBE_TIMEOUT = 't',
    PROBE_REFUSED = 'r',
    PROBE_UNREACHABLE = 'u',
    PROBE_STRANGER = 's' /* somebody else is there */
};

/* A host is described by its announcement: NAME;PORT,...;ADDRESS, itself:
 * NAME;PORT,...;ADDRESS,... */
struct probe_host {
    char name[256];
    int ports[PROBE_PORTS], port_count;
    char addresses[PROBE_ADDRESSES][INET6_ADDRSTRLEN];
    int address_count;
};

struct probe {
    int rank, size, pmi;
    const char *job;
    struct pollfd listening[PROBE_PORTS];
    struct probe_host own, *hosts;
};

/* Run mpirun --net-probe PORTS; returns the exit status. */
int wf_probe_run(const char *ports);

/* Listen and fill `own`. Returns 0, or -1 after a message. */
int wf_probe_listen(struct probe *, const char *ports);
/* Dial one address and port of another host; meanwhile answer other
 * processes. */
enum probe_result wf_probe_dial(struct probe *, int rank, const char *address,
                                int port);
/* Answer other processes until the descriptor is readable. */
void wf_probe_serve(struct probe *, int fd);

/* Print the table and return the exit status. results[from * size + to] is
 * RESULT/PORT/ADDRESS, RESULT/PORT/ADDRESS,... The exit status. */
int wf_probe_print(const struct probe *, char **results);

#endif
