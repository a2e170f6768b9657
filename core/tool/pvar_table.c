/* The performance variables of MPI_T: counters that transports and queues have
 * anyway.
 *
 *   NAME.messages_sent, bytes_sent, messages_received, bytes_received, wakeups,
 *   retransmissions, timeouts
 *       for each transport of the configuration and "self"; messages are
 *       containers, of which a large message takes several
 *   message.*    how received messages came: straight into a receive, stored
 *                first, or when the receive asked for them
 *   queue.*      lengths of the four queues, memory of unexpected messages
 *   match.*      searches of the queues
 *   channel.*    messages of real-time channels that exceeded what was reserved
 *   wait.*       how often waiting calls slept
 *   failover.*   events of pairs whose route has failover
 *   time.*       time in calls of MPI, by their class
 *
 * All are totals of the process since MPI started, and are only read. They run
 * always; but calls are timed only while there is a handle of such a variable,
 * or with core.stats. Without an instance they are 0.
 *
 * DESIGN  A row says where its number is: in a record of the engine, in what a
 * transport counts, or in a sum over pairs.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/order.h"
#include "protocol/order_counts.h"
#include "protocol/queues.h"
#include "protocol/traffic.h"
#include "report/call_time.h"
#include "route/links.h"
#include "tool/pvar_table.h"
#include "tool/tool.h"

enum place {
    OF_ENGINE,   /* a member of struct wf_engine, */
    OF_PROGRESS, /* of struct wf_progress, */
    OF_TRAFFIC,  /* or of struct wf_traffic */
    OF_PAIRS,    /* at: enum wf_order_count */
    OF_CALLS,    /* at: enum wf_call_class */
    OF_PLUGIN,   /* a counter of the transport that has the variable's name */
    OF_WAKEUPS,
    OF_POSTED,
    OF_DIRECT,
    OF_CHANNEL, /* messages that exceeded what it reserved */
    OF_DAMAGED
};

struct wf_pvar_row {
    const char *name, *help;
    int var_class;
    uint8_t place, bytes; /* enum place; of the member */
    uint16_t at;          /* its offset */
};

#define MEMBER(place, type, member)                                            \
    (place), sizeof((struct type *)0)->member, offsetof(struct type, member)
#define ENGINE(member)   MEMBER(OF_ENGINE, wf_engine, member)
#define PROGRESS(member) MEMBER(OF_PROGRESS, wf_progress, member)
#define TRAFFIC(member)  MEMBER(OF_TRAFFIC, wf_traffic, member)
#define COUNTER          MPI_T_PVAR_CLASS_COUNTER
#define AGGREGATE        MPI_T_PVAR_CLASS_AGGREGATE
#define LEVEL            MPI_T_PVAR_CLASS_LEVEL
#define HIGHEST          MPI_T_PVAR_CLASS_HIGHWATERMARK
#define TIMER            MPI_T_PVAR_CLASS_TIMER

static const struct wf_pvar_row transport_rows[] = {
    {"messages_sent", "containers handed to this transport", COUNTER,
     TRAFFIC(sent)},
    {"bytes_sent", "payload bytes handed to this transport", AGGREGATE,
     TRAFFIC(sent_bytes)},
    {"messages_received", "containers that came through this transport",
     COUNTER, TRAFFIC(received)},
    {"bytes_received", "payload bytes that came through this transport",
     AGGREGATE, TRAFFIC(received_bytes)},
    {"wakeups", "sleeps that its news ended", COUNTER, OF_WAKEUPS, 0, 0},
    {"retransmissions", "packets, or the kernel's segments, sent again",
     COUNTER, OF_PLUGIN, 0, 0},
    {"timeouts",
     "times that a datagram was not answered in time; 0 where the kernel sends",
     COUNTER, OF_PLUGIN, 0, 0},
};

static const struct wf_pvar_row process_rows[] = {
    {"message.direct", "messages that came whole, into their receive", COUNTER,
     OF_DIRECT, 0, 0},
    {"message.stored", "messages that came whole, before their receive",
     COUNTER, ENGINE(counts.stored)},
    {"message.rendezvous", "messages whose payload a receive has asked for",
     COUNTER, ENGINE(counts.rendezvous)},
    {"queue.posted", "receives that wait for a message", LEVEL, OF_POSTED, 0,
     0},
    {"queue.unexpected", "messages that wait for a receive", LEVEL,
     ENGINE(match.stored)},
    {"queue.unexpected_high", "the most that ever waited at a time", HIGHEST,
     ENGINE(counts.length_high)},
    {"queue.unexpected_total", "messages that have waited for a receive",
     COUNTER, ENGINE(counts.growths)},
    {"queue.unexpected_sum",
     "sum of queue.unexpected each time it grew: its mean times "
     "queue.unexpected_total",
     AGGREGATE, ENGINE(counts.length_sum)},
    {"match.searches",
     "searches of a queue whose first entry was not the right one", COUNTER,
     ENGINE(match.searches)},
    {"match.searched", "entries that they looked at; a look into a table is 1",
     COUNTER, ENGINE(match.searched)},
    {"queue.pending", "sends that wait for an answer", LEVEL,
     ENGINE(pending.used)},
    {"queue.matched", "receives that wait for their payload", LEVEL,
     ENGINE(matched.used)},
    {"queue.unexpected_bytes", "memory that unexpected messages take", LEVEL,
     ENGINE(unexpected_bytes)},
    {"queue.unexpected_bytes_high", "the most that they ever took", HIGHEST,
     ENGINE(unexpected_high)},
    {"queue.unexpected_bytes_sum",
     "sum of queue.unexpected_bytes each time it grew: its mean times "
     "queue.unexpected_total",
     AGGREGATE, ENGINE(counts.bytes_sum)},
    {"channel.exceeded",
     "messages of real-time channels that found no room or no credit, or were "
     "too large",
     COUNTER, OF_CHANNEL, 0, 0},
    {"wait.sleeps", "times that a waiting call slept in the kernel", COUNTER,
     PROGRESS(sleeps)},
    {"wait.missed", "sleeps that no wake-up ended, though something had come",
     COUNTER, PROGRESS(missed)},
    {"failover.moves", "changes of the transport, or of its connection",
     COUNTER, OF_PAIRS, 0, WF_ORDER_MOVES},
    {"failover.failbacks", "moves back to a better transport", COUNTER,
     OF_PAIRS, 0, WF_ORDER_FAILBACKS},
    {"failover.reconnects", "used-up connections that were replaced", COUNTER,
     OF_PAIRS, 0, WF_ORDER_RECONNECTS},
    {"failover.resent", "containers that were sent again", COUNTER, OF_PAIRS, 0,
     WF_ORDER_RESENT},
    {"failover.duplicates", "containers dropped because they had come already",
     COUNTER, OF_PAIRS, 0, WF_ORDER_DUPLICATES},
    {"failover.damaged", "containers dropped because their sum was wrong",
     COUNTER, OF_DAMAGED, 0, WF_ORDER_DAMAGED},
    {"failover.striped",
     "pieces that a further transport took (policy = stripe)", COUNTER,
     OF_PAIRS, 0, WF_ORDER_STRIPED},
    {"failover.measured",
     "moves to a transport that was measured as better (policy = measured)",
     COUNTER, OF_PAIRS, 0, WF_ORDER_MEASURED},
    {"time.point_to_point", "ns in sends and receives", TIMER, OF_CALLS, 0,
     WF_CALL_POINT_TO_POINT},
    {"time.completion", "ns in wait and test", TIMER, OF_CALLS, 0,
     WF_CALL_COMPLETION},
    {"time.probe", "ns in probes", TIMER, OF_CALLS, 0, WF_CALL_PROBE},
    {"time.collective", "ns in collectives", TIMER, OF_CALLS, 0,
     WF_CALL_COLLECTIVE},
    {"time.other", "ns in all other calls but those of MPI_T", TIMER, OF_CALLS,
     0, WF_CALL_OTHER},
};

/* The endpoint of a transport, or NULL. */
static const struct weft_core *find_endpoint(struct wf_instance *wf,
                                             const char *transport)
{
    const struct wf_links *links = wf->links;
    for (int i = 0; transport && i < links->ep_count; i++)
        if (strcmp(links->eps[i].config->name, transport) == 0)
            return &links->eps[i];
    return NULL;
}

static uint64_t read_member(const void *record, const struct wf_pvar_row *row)
{
    const char *at = (const char *)record + row->at;
    uint32_t small;
    uint64_t value;
    if (row->bytes == sizeof small) {
        memcpy(&small, at, sizeof small);
        return small;
    }
    WF_ASSERT(row->bytes == sizeof value);
    memcpy(&value, at, sizeof value);
    return value;
}

/* Read a variable of a transport that is open. */
static uint64_t read_of_transport(const struct weft_core *c,
                                  const struct wf_pvar_row *row)
{
    struct wf_traffic t = {0};
    if (row->place == OF_WAKEUPS)
        return c->wf->progress->wakeups[c->index];
    if (row->place == OF_PLUGIN)
        return wf_traffic_plugin_count(c, row->name);
    wf_traffic_add(c, &t);
    return read_member(&t, row);
}

uint64_t wf_tool_read_pvar(const struct wf_pvar *v, struct wf_instance *wf)
{
    const struct wf_pvar_row *row = v->row;
    const struct weft_core *c = find_endpoint(wf, v->transport);
    if (v->transport)
        return c ? read_of_transport(c, row) : 0;
    switch ((enum place)row->place) {
    case OF_ENGINE:
        return read_member(wf->engine, row);
    case OF_PROGRESS:
        return read_member(wf->progress, row);
    case OF_PAIRS:
        return wf_orders_count(wf, (enum wf_order_count)row->at);
    case OF_DAMAGED:
        return wf_orders_count(wf, WF_ORDER_DAMAGED) + wf->links->damaged;
    case OF_CALLS: /* the rank has them once */
        return wf != wf_home(wf)
                   ? 0
                   : wf_call_time(wf->rank, (enum wf_call_class)row->at);
    case OF_CHANNEL:
        return wf_engine_is_channel(wf) ? wf->engine->counts.late : 0;
    case OF_POSTED:
        return wf_match_posted_count(&wf->engine->match);
    default:
        return wf_traffic_count_direct(wf);
    }
}

bool wf_tool_pvar_times_calls(const struct wf_pvar *v)
{
    return v->row->place == OF_CALLS;
}

enum {
    PER_TRANSPORT = sizeof transport_rows / sizeof transport_rows[0],
    OF_PROCESS = sizeof process_rows / sizeof process_rows[0]
};

/* Returns the number of transports; "self" is one of them in any
 * configuration. */
static int list_transports(const struct wf_transport_config **all)
{
    return wf_config_transports(wf_tool_config(), all);
}

int wf_tool_count_pvars(void)
{
    const struct wf_transport_config *all;
    return list_transports(&all) * PER_TRANSPORT + OF_PROCESS;
}

/* The variables of the transports come first, then those of the process. */
bool wf_tool_find_pvar(int i, struct wf_pvar *v)
{
    const struct wf_transport_config *all;
    int of_all = list_transports(&all) * PER_TRANSPORT;
    if (i < 0 || i >= of_all + OF_PROCESS)
        return false;
    const struct wf_pvar_row *row = i < of_all
                                        ? &transport_rows[i % PER_TRANSPORT]
                                        : &process_rows[i - of_all];
    v->transport = i < of_all ? all[i / PER_TRANSPORT].name : NULL;
    v->help = row->help;
    v->var_class = row->var_class;
    v->row = row;
    snprintf(v->name, sizeof v->name, "%.60s%s%s",
             v->transport ? v->transport : "", v->transport ? "." : "",
             row->name);
    return true;
}
