/* The types of events, their elements and texts: event.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/event_types.h"

#include "tool/event.h"

#include <stdio.h>
#include <string.h>

#include "core_api.h"
#include "os/section.h"

/* ---- shapes -------------------------------------------------------------- */

static uint64_t store_int(int value)
{
    uint64_t cell = 0;

    memcpy(&cell, &value, sizeof value);
    return cell;
}

static uint64_t store_unsigned(unsigned value)
{
    uint64_t cell = 0;

    memcpy(&cell, &value, sizeof value);
    return cell;
}

static void fill_message(const struct wf_trace *t,
                         const struct wf_trace_record *r, uint64_t e[])
{
    e[0] = store_int(r->peer);
    e[1] = store_int(r->tag);
    e[2] = store_unsigned(r->comm & 0xffffff);
    e[3] = store_unsigned(r->comm >> 24);
    e[4] = r->bytes;
}

static void fill_step(const struct wf_trace *t, const struct wf_trace_record *r,
                      uint64_t e[])
{
    e[0] = store_int(r->peer);
    e[1] = r->bytes;
}

static void fill_link(const struct wf_trace *t, const struct wf_trace_record *r,
                      uint64_t e[])
{
    e[0] = store_unsigned((unsigned)r->peer);
    e[1] = store_int(wf_event_text_number(wf_trace_text(t, r->names[0])));
}

static void fill_collective(const struct wf_trace *t,
                            const struct wf_trace_record *r, uint64_t e[])
{
    uint8_t reason = (uint8_t)wf_trace_reason_of(r);

    e[0] = store_int(wf_event_text_number(wf_trace_text(t, r->names[0])));
    e[1] = store_int(wf_event_text_number(wf_trace_text(t, r->names[1])));
    e[2] = store_int(wf_event_text_number(wf_trace_text(t, reason)));
    e[3] = store_unsigned(wf_trace_rule_of(r));
    e[4] = store_unsigned(r->comm);
    e[5] = r->bytes;
}

static void fill_wait(const struct wf_trace *t, const struct wf_trace_record *r,
                      uint64_t e[])
{
    e[0] = store_unsigned(r->engine);
    e[1] = r->bytes;
}

static const struct wf_event_shape
    message = {5,
               {MPI_INT, MPI_INT, MPI_UNSIGNED, MPI_UNSIGNED,
                MPI_UNSIGNED_LONG_LONG},
               false,
               fill_message},
    step = {2, {MPI_INT, MPI_UNSIGNED_LONG_LONG}, false, fill_step},
    link = {2, {MPI_UNSIGNED, MPI_INT}, true, fill_link},
    process = {1, {MPI_UNSIGNED}, false, fill_link},
    collective = {6,
                  {MPI_INT, MPI_INT, MPI_INT, MPI_UNSIGNED, MPI_UNSIGNED,
                   MPI_UNSIGNED_LONG_LONG},
                  true,
                  fill_collective},
    sleep = {1, {MPI_UNSIGNED}, false, fill_wait},
    wake = {2, {MPI_UNSIGNED, MPI_UNSIGNED_LONG_LONG}, false, fill_wait};

/* ---- types --------------------------------------------------------------- */

#define OF_MESSAGE                                                             \
    ": process, tag, context, its space (0: of the program), bytes"
#define OF_STEP ": process, bytes"
#define OF_LINK ": process, transport"

/* By the numbers of report/trace_events.def, less 1. */
static const struct wf_event_type types[] = {
#define TYPE(symbol) [WF_TRACE_##symbol - 1]
    TYPE(SEND_EAGER) = {"message.send_eager",
                        "a transport has taken a message" OF_MESSAGE, &message},
    TYPE(SEND_RENDEZVOUS) = {"message.send_rendezvous",
                             "a transport has taken the announcement of a "
                             "message" OF_MESSAGE,
                             &message},
    TYPE(RECEIVE) = {"message.receive_posted", "a receive begins" OF_MESSAGE,
                     &message},
    TYPE(MATCH) = {"message.match", "a receive and a message meet" OF_MESSAGE,
                   &message},
    TYPE(UNEXPECTED) = {"message.unexpected",
                        "a message is stored, because no receive waits for "
                        "it" OF_MESSAGE,
                        &message},
    TYPE(APPROVE) = {"rendezvous.approve",
                     "a receiver lets the sender push" OF_STEP, &step},
    TYPE(APPROVED) = {"rendezvous.approved",
                      "a sender was allowed to push" OF_STEP, &step},
    TYPE(DATA) = {"rendezvous.data_sent", "a piece of a payload leaves" OF_STEP,
                  &step},
    TYPE(DATA_HERE) = {"rendezvous.data_received",
                       "a piece of a payload has come" OF_STEP, &step},
    TYPE(PULL) = {"rendezvous.pull", "a receiver begins to fetch" OF_STEP,
                  &step},
    TYPE(PULLED) = {"rendezvous.pulled", "a receiver has fetched" OF_STEP,
                    &step},
    TYPE(FINISH) = {"rendezvous.finish",
                    "a receiver tells the sender that it has fetched" OF_STEP,
                    &step},
    TYPE(CONNECT) = {"link.connect", "a route is chosen" OF_LINK, &link},
    TYPE(LINK_UP) = {"link.up", "a route is connected" OF_LINK, &link},
    TYPE(DISCONNECT) = {"link.disconnect", "a process is gone: process",
                        &process},
    TYPE(CARRIER_LOST) = {"failover.carrier_lost",
                          "a pair with failover loses its transport" OF_LINK,
                          &link},
    TYPE(FAILOVER) = {"failover.moved",
                      "a pair goes on by another transport" OF_LINK, &link},
    TYPE(COLLECTIVE) = {"collective.begin",
                        "a collective begins: its name, algorithm, the reason "
                        "for that, number of the rule or 0, context, bytes",
                        &collective},
    TYPE(SLEEP) = {"wait.sleep", "a waiting call sleeps: engine", &sleep},
    TYPE(WAKE) = {"wait.wake", "a waiting call has slept: engine, nanoseconds",
                  &wake},
#undef TYPE
};
_Static_assert(sizeof types / sizeof types[0] == WF_EVENT_TYPES, "all of them");

const struct wf_event_type *wf_event_type_at(int index)
{
    return index >= 0 && index < WF_EVENT_TYPES ? &types[index] : NULL;
}

int wf_event_element_bytes(MPI_Datatype type)
{
    return type == MPI_INT        ? sizeof(int)
           : type == MPI_UNSIGNED ? sizeof(unsigned)
                                  : sizeof(unsigned long long);
}

/* ---- texts --------------------------------------------------------------- */

/* Copies of those of all ranks of the process; they stay. Item 0 is "". */
static struct texts {
    struct wf_lock lock;
    int count;
    char text[1 + WF_TRACE_NAMES][WF_TRACE_NAME];
} texts = {.count = 1};

WF_LOCK_SECTION(texts, struct texts, lock, WF_RANK_TOOL)

int wf_event_text_number(const char *text)
{
    int i = 0;

    WF_SECTION(texts, &texts) {
        while (i < texts.count &&
               strncmp(texts.text[i], text, WF_TRACE_NAME - 1) != 0)
            i++;
        if (i == texts.count && i < 1 + WF_TRACE_NAMES)
            snprintf(texts.text[texts.count++], WF_TRACE_NAME, "%s", text);
    }
    return i < 1 + WF_TRACE_NAMES ? i : 0;
}

const char *wf_event_text(int number)
{
    const char *text = NULL;

    WF_SECTION(texts, &texts)
        if (number >= 0 && number < texts.count)
            text = texts.text[number];
    return text;
}

int wf_event_count_texts(void)
{
    int count = 0;

    WF_SECTION(texts, &texts)
        count = texts.count;
    return count;
}

MPI_T_enum wf_event_text_enum(void)
{
    return (MPI_T_enum)&texts;
}
