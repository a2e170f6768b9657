/* This file prints the table of --check-net: see probe.h. A pair of hosts is
 * blocked on a port when no address of the second one works.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

struct row {
    enum probe_result result;
    int port;
    char address[INET6_ADDRSTRLEN];
};

/* Read the next RESULT/PORT/ADDRESS of a list; returns NULL at the end. */
static const char *next_row(const char *text, struct row *row)
{
    char result;
    int n = 0;

    if (sscanf(text, "%c/%d/%45[^,]%n", &result, &row->port, row->address,
               &n) != 3 || n == 0)
        return NULL;
    row->result = (enum probe_result)result;
    return text + n + (text[n] == ',');
}

static bool port_works(const char *results, int port)
{
    struct row row;

    for (const char *at = results; (at = next_row(at, &row)) != NULL;)
        if (row.port == port && row.result == PROBE_OPEN)
            return true;
    return false;
}

static const char *describe_result(enum probe_result r)
{
    switch (r) {
    case PROBE_OPEN:
        return "works";
    case PROBE_TIMEOUT:
        return "no answer: packets are dropped (a firewall?)";
    case PROBE_REFUSED:
        return "refused: no process listens there, or a firewall";
    case PROBE_STRANGER:
        return "another host answers there";
    default:
        return "no route from this host";
    }
}

static void print_rows(const struct probe *p, int from, int to,
                       const char *text, int port)
{
    struct row row;

    for (const char *at = text; (at = next_row(at, &row)) != NULL;)
        if (row.port == port)
            printf("  %-16s %-16s %-24s %5d  %s\n", p->hosts[from].name,
                   p->hosts[to].name, row.address, port,
                   describe_result(row.result));
}

/* Print what is blocked between two hosts; returns the number of blocked
 * ports. */
static int print_pair(const struct probe *p, int from, int to, const char *text,
                      bool first)
{
    const struct probe_host *h = &p->hosts[to];
    int blocked = 0;

    for (int i = 0; i < h->port_count; i++) {
        if (port_works(text, h->ports[i]))
            continue;
        if (first && !blocked)
            printf("  %-16s %-16s %-24s %5s  %s\n", "from", "to", "address",
                   "port", "result");
        if (h->address_count == 0)
            printf("  %-16s %-16s %-24s %5d  it has no address but loopback\n",
                   p->hosts[from].name, h->name, "-", h->ports[i]);
        print_rows(p, from, to, text, h->ports[i]);
        blocked++;
    }
    return blocked;
}

int wf_probe_print(const struct probe *p, char **results)
{
    int pairs = 0, blocked = 0;

    for (int from = 0; from < p->size; from++)
        for (int to = 0; to < p->size; to++)
            if (from != to) {
                const char *text = results[from * p->size + to];
                pairs++;
                blocked += print_pair(p, from, to, text, blocked == 0) > 0;
            }
    if (blocked)
        printf("%d of %d pairs of hosts are blocked; let the ports through, or "
               "name other interfaces and ports in mpi.ini ([transport tcp])\n",
               blocked, pairs);
    else
        printf("%d hosts: all %d pairs reach each other\n", p->size, pairs);
    fflush(stdout);
    return blocked ? 1 : 0;
}
