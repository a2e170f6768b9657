/* This file runs a process of --check-net: see probe.h.
 *
 *   listen -> announce -> fence -> dial all -> results -> fence -> print
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/pmi_line.h"

/* ---- PMI-1 --------------------------------------------------------------- */

/* Send a line and read its answer; meanwhile other processes may dial. */
static bool ask_launcher(struct probe *p, const char *line, char *reply,
                         size_t size)
{
    size_t n = strlen(line), have = 0;

    if (send(p->pmi, line, n, MSG_NOSIGNAL) != (ssize_t)n)
        return false;
    wf_probe_serve(p, p->pmi);
    while (have + 1 < size && recv(p->pmi, reply + have, 1, 0) == 1)
        if (reply[have++] == '\n') {
            reply[have - 1] = '\0';
            return true;
        }
    return false;
}

static bool put_value(struct probe *p, const char *key, const char *value)
{
    char line[PROBE_TEXT + 200], reply[256];

    snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", p->job,
             key, value);
    return ask_launcher(p, line, reply, sizeof reply);
}

static char *get_value(struct probe *p, const char *key)
{
    char line[200], reply[PROBE_TEXT + 200];
    const char *value;
    size_t n;

    snprintf(line, sizeof line, "cmd=get kvsname=%s key=%s\n", p->job, key);
    if (!ask_launcher(p, line, reply, sizeof reply) ||
        !wf_pmi_field_is(reply, "rc", "0") ||
        !wf_pmi_field(reply, "value", &value, &n))
        return NULL;
    return strndup(value, n);
}

static bool pass_fence(struct probe *p)
{
    char reply[256];

    return ask_launcher(p, "cmd=barrier_in\n", reply, sizeof reply);
}

/* ---- what hosts say of themselves ---------------------------------------- */

static bool announce_host(struct probe *p)
{
    const struct probe_host *h = &p->own;
    char text[PROBE_TEXT + 1], key[32];
    size_t n = (size_t)snprintf(text, sizeof text, "%s;", h->name);

    for (int i = 0; i < h->port_count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", i ? "," : "",
                              h->ports[i]);
    if (n < sizeof text)
        n += (size_t)snprintf(text + n, sizeof text - n, ";");
    for (int i = 0; i < h->address_count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "",
                              h->addresses[i]);
    snprintf(key, sizeof key, "net.%d", p->rank);
    return n < sizeof text && put_value(p, key, text);
}

static bool parse_host(struct probe_host *h, char *text)
{
    char *ports = strchr(text, ';'), *addresses, *save = NULL;

    addresses = ports ? strchr(ports + 1, ';') : NULL;
    if (!addresses)
        return false;
    *ports++ = *addresses++ = '\0';
    snprintf(h->name, sizeof h->name, "%s", text);
    for (char *t = strtok_r(ports, ",", &save);
         t && h->port_count < PROBE_PORTS; t = strtok_r(NULL, ",", &save))
        h->ports[h->port_count++] = atoi(t);
    for (char *t = strtok_r(addresses, ",", &save);
         t && h->address_count < PROBE_ADDRESSES;
         t = strtok_r(NULL, ",", &save))
        snprintf(h->addresses[h->address_count++], INET6_ADDRSTRLEN, "%.45s",
                 t);
    return true;
}

static bool hear_hosts(struct probe *p)
{
    char key[32];

    p->hosts = calloc((size_t)p->size, sizeof *p->hosts);
    for (int i = 0; p->hosts && i < p->size; i++) {
        snprintf(key, sizeof key, "net.%d", i);
        char *text = get_value(p, key);
        bool good = text && parse_host(&p->hosts[i], text);
        free(text);
        if (!good)
            return false;
    }
    return p->hosts != NULL;
}

/* ---- dialling ------------------------------------------------------------ */

/* Dial the addresses of a port; one that works is enough. */
static void dial_port(struct probe *p, int to, int port, char *text, size_t *n)
{
    const struct probe_host *h = &p->hosts[to];

    for (int i = 0; i < h->address_count && *n < PROBE_TEXT; i++) {
        enum probe_result r = wf_probe_dial(p, to, h->addresses[i], port);
        size_t left = PROBE_TEXT - *n;
        int more = snprintf(text + *n, left, "%s%c/%d/%s", *n ? "," : "", r,
                            port, h->addresses[i]);
        if (more > 0 && (size_t)more < left)
            *n += (size_t)more;
        else
            text[*n] = '\0';
        if (r == PROBE_OPEN)
            return;
    }
}

/* Dial all hosts, beginning with the one after this one, so that not all
 * processes dial the same one. */
static bool dial_hosts(struct probe *p)
{
    for (int k = 1; k < p->size; k++) {
        int to = (p->rank + k) % p->size;
        char text[PROBE_TEXT + 1] = "", key[48];
        size_t n = 0;
        for (int i = 0; i < p->hosts[to].port_count; i++)
            dial_port(p, to, p->hosts[to].ports[i], text, &n);
        snprintf(key, sizeof key, "net.%d.%d", p->rank, to);
        if (!put_value(p, key, n ? text : "-"))
            return false;
    }
    return true;
}

static void free_results(const struct probe *p, char **results)
{
    for (int i = 0; results && i < p->size * p->size; i++)
        free(results[i]);
    free(results);
}

static int print_results(struct probe *p)
{
    char **results = calloc((size_t)p->size * (size_t)p->size, sizeof *results);
    bool good = results != NULL;
    char key[48];
    int status;

    for (int i = 0; good && i < p->size * p->size; i++) {
        if (i / p->size == i % p->size)
            continue;
        snprintf(key, sizeof key, "net.%d.%d", i / p->size, i % p->size);
        results[i] = get_value(p, key);
        good = results[i] != NULL;
    }
    status = good ? wf_probe_print(p, results) : 1;
    free_results(p, results);
    return status;
}

static int read_number(const char *variable)
{
    const char *text = getenv(variable);

    return text ? atoi(text) : -1;
}

int wf_probe_run(const char *ports)
{
    struct probe p = {.rank = read_number("PMI_RANK"),
                      .size = read_number("PMI_SIZE"),
                      .pmi = read_number("PMI_FD"),
                      .job = getenv("PMI_JOBID")};

    bool good;
    int status = 1;

    if (p.pmi < 0 || !p.job || wf_probe_listen(&p, ports) < 0)
        return 1;
    good = announce_host(&p) && pass_fence(&p) && hear_hosts(&p) &&
           dial_hosts(&p) && pass_fence(&p);
    if (good)
        status = p.rank == 0 ? print_results(&p) : 0;
    free(p.hosts);
    return status;
}
