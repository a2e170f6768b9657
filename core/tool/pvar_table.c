/* The performance variables of MPI_T: counters that transports and queues have
 * anyway.
 *
 *   NAME.messages_sent, bytes_sent, messages_received, bytes_received, wakeups
 *       for each transport of the configuration and "self"; messages are
 *       containers, of which a large message takes several
 *   message.*    how received messages came: straight into a receive, stored
 *                first, or when the receive asked for them
 *   queue.*      lengths of the four queues, memory of unexpected messages
 *   match.*      searches of the queues
 *   channel.*    messages of real-time channels that exceeded what was reserved
 *   wait.*       how often waiting calls slept
 *   failover.*   events of pairs whose route has failover
 *
 * All are totals of the process since MPI started: they run always and are
 * only read. Without an instance they are 0.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "progress/wait.h"
#include "protocol/order.h"
#include "protocol/order_counts.h"
#include "protocol/queues.h"
#include "protocol/traffic.h"
#include "route/links.h"
#include "tool/pvar.h"
#include "tool/tool.h"

static const struct weft_core *find_endpoint(struct wf_instance *wf,
                                             const char *transport)
{
    const struct wf_links *links = wf->links;
    static const struct weft_core none;
    for (int i = 0; i < links->ep_count; i++)
        if (strcmp(links->eps[i].config->name, transport) == 0)
            return &links->eps[i];
    return &none;
}

static uint64_t read_messages_sent(struct wf_instance *wf,
                                   const char *transport)
{
    struct wf_traffic t = {0};
    const struct weft_core *c = find_endpoint(wf, transport);
    if (c->wf)
        wf_traffic_add(c, &t);
    return t.sent;
}

static uint64_t read_bytes_sent(struct wf_instance *wf, const char *transport)
{
    struct wf_traffic t = {0};
    const struct weft_core *c = find_endpoint(wf, transport);
    if (c->wf)
        wf_traffic_add(c, &t);
    return t.sent_bytes;
}

static uint64_t read_messages_received(struct wf_instance *wf,
                                       const char *transport)
{
    return find_endpoint(wf, transport)->rx_count;
}

static uint64_t read_bytes_received(struct wf_instance *wf,
                                    const char *transport)
{
    return find_endpoint(wf, transport)->rx_bytes;
}

static uint64_t read_posted(struct wf_instance *wf, const char *transport)
{
    return wf_match_posted_count(&wf->engine->match);
}

static uint64_t read_unexpected(struct wf_instance *wf, const char *transport)
{
    return wf->engine->match.stored;
}

static uint64_t read_pending(struct wf_instance *wf, const char *transport)
{
    return wf->engine->pending.used;
}

static uint64_t read_matched(struct wf_instance *wf, const char *transport)
{
    return wf->engine->matched.used;
}

static uint64_t read_unexpected_bytes(struct wf_instance *wf,
                                      const char *transport)
{
    return wf->engine->unexpected_bytes;
}

static uint64_t read_unexpected_high(struct wf_instance *wf,
                                     const char *transport)
{
    return wf->engine->unexpected_high;
}

static uint64_t read_direct(struct wf_instance *wf, const char *transport)
{
    return wf_traffic_count_direct(wf);
}

static uint64_t read_stored(struct wf_instance *wf, const char *transport)
{
    return wf->engine->counts.stored;
}

static uint64_t read_rendezvous(struct wf_instance *wf, const char *transport)
{
    return wf->engine->counts.rendezvous;
}

static uint64_t read_length_high(struct wf_instance *wf, const char *transport)
{
    return wf->engine->counts.length_high;
}

static uint64_t read_growths(struct wf_instance *wf, const char *transport)
{
    return wf->engine->counts.stored + wf->engine->counts.announced;
}

static uint64_t read_length_sum(struct wf_instance *wf, const char *transport)
{
    return wf->engine->counts.length_sum;
}

static uint64_t read_searches(struct wf_instance *wf, const char *transport)
{
    return wf->engine->match.searches;
}

static uint64_t read_searched(struct wf_instance *wf, const char *transport)
{
    return wf->engine->match.searched;
}

static uint64_t read_exceeded(struct wf_instance *wf, const char *transport)
{
    return wf_engine_is_channel(wf) ? wf->engine->counts.late : 0;
}

static uint64_t read_wakeups(struct wf_instance *wf, const char *transport)
{
    const struct weft_core *c = find_endpoint(wf, transport);
    return c->wf ? wf->progress->wakeups[c->index] : 0;
}

static uint64_t read_moves(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_MOVES);
}

static uint64_t read_failbacks(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_FAILBACKS);
}

static uint64_t read_reconnects(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_RECONNECTS);
}

static uint64_t read_resent(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_RESENT);
}

static uint64_t read_duplicates(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_DUPLICATES);
}

static uint64_t read_damaged(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_DAMAGED) + wf->links->damaged;
}

static uint64_t read_sleeps(struct wf_instance *wf, const char *transport)
{
    return wf->progress->sleeps;
}

static uint64_t read_missed(struct wf_instance *wf, const char *transport)
{
    return wf->progress->missed;
}

static uint64_t read_striped(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_STRIPED);
}

struct row {
    const char *name, *help;
    int var_class;
    uint64_t (*read)(struct wf_instance *, const char *transport);
};

static const struct row transport_rows[] = {
    {"messages_sent", "containers handed to this transport",
     MPI_T_PVAR_CLASS_COUNTER, read_messages_sent},
    {"bytes_sent", "payload bytes handed to this transport",
     MPI_T_PVAR_CLASS_AGGREGATE, read_bytes_sent},
    {"messages_received", "containers that came through this transport",
     MPI_T_PVAR_CLASS_COUNTER, read_messages_received},
    {"bytes_received", "payload bytes that came through this transport",
     MPI_T_PVAR_CLASS_AGGREGATE, read_bytes_received},
    {"wakeups", "sleeps that its news ended", MPI_T_PVAR_CLASS_COUNTER,
     read_wakeups},
};

static const struct row process_rows[] = {
    {"message.direct", "messages that came whole, into their receive",
     MPI_T_PVAR_CLASS_COUNTER, read_direct},
    {"message.stored", "messages that came whole, before their receive",
     MPI_T_PVAR_CLASS_COUNTER, read_stored},
    {"message.rendezvous", "messages whose payload a receive has asked for",
     MPI_T_PVAR_CLASS_COUNTER, read_rendezvous},
    {"queue.posted", "receives that wait for a message", MPI_T_PVAR_CLASS_LEVEL,
     read_posted},
    {"queue.unexpected", "messages that wait for a receive",
     MPI_T_PVAR_CLASS_LEVEL, read_unexpected},
    {"queue.unexpected_high", "the most that ever waited at a time",
     MPI_T_PVAR_CLASS_HIGHWATERMARK, read_length_high},
    {"queue.unexpected_total", "messages that have waited for a receive",
     MPI_T_PVAR_CLASS_COUNTER, read_growths},
    {"queue.unexpected_sum",
     "sum of queue.unexpected each time it grew: its mean times "
     "queue.unexpected_total",
     MPI_T_PVAR_CLASS_AGGREGATE, read_length_sum},
    {"match.searches",
     "searches of a queue whose first entry was not the right one",
     MPI_T_PVAR_CLASS_COUNTER, read_searches},
    {"match.searched", "entries that they looked at; a look into a table is 1",
     MPI_T_PVAR_CLASS_COUNTER, read_searched},
    {"queue.pending", "sends that wait for an answer", MPI_T_PVAR_CLASS_LEVEL,
     read_pending},
    {"queue.matched", "receives that wait for their payload",
     MPI_T_PVAR_CLASS_LEVEL, read_matched},
    {"queue.unexpected_bytes", "memory that unexpected messages take",
     MPI_T_PVAR_CLASS_LEVEL, read_unexpected_bytes},
    {"queue.unexpected_bytes_high", "the most that they ever took",
     MPI_T_PVAR_CLASS_HIGHWATERMARK, read_unexpected_high},
    {"channel.exceeded",
     "messages of real-time channels that found no room or no credit, or were "
     "too large",
     MPI_T_PVAR_CLASS_COUNTER, read_exceeded},
    {"wait.sleeps", "times that a waiting call slept in the kernel",
     MPI_T_PVAR_CLASS_COUNTER, read_sleeps},
    {"wait.missed", "sleeps that no wake-up ended, though something had come",
     MPI_T_PVAR_CLASS_COUNTER, read_missed},
    {"failover.moves", "changes of the transport, or of its connection",
     MPI_T_PVAR_CLASS_COUNTER, read_moves},
    {"failover.failbacks", "moves back to a better transport",
     MPI_T_PVAR_CLASS_COUNTER, read_failbacks},
    {"failover.reconnects", "used-up connections that were replaced",
     MPI_T_PVAR_CLASS_COUNTER, read_reconnects},
    {"failover.resent", "containers that were sent again",
     MPI_T_PVAR_CLASS_COUNTER, read_resent},
    {"failover.duplicates", "containers dropped because they had come already",
     MPI_T_PVAR_CLASS_COUNTER, read_duplicates},
    {"failover.damaged", "containers dropped because their sum was wrong",
     MPI_T_PVAR_CLASS_COUNTER, read_damaged},
    {"failover.striped",
     "pieces that a further transport took (policy = stripe)",
     MPI_T_PVAR_CLASS_COUNTER, read_striped},
};

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
    const struct row *row = i < of_all ? &transport_rows[i % PER_TRANSPORT]
                                       : &process_rows[i - of_all];
    v->transport = i < of_all ? all[i / PER_TRANSPORT].name : NULL;
    v->help = row->help;
    v->var_class = row->var_class;
    v->read = row->read;
    snprintf(v->name, sizeof v->name, "%.60s%s%s",
             v->transport ? v->transport : "", v->transport ? "." : "",
             row->name);
    return true;
}
