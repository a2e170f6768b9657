/* Random programs of sends and receives on the simulated fabric, checked
 * against a plain sequential model of MPI matching: one list of posted
 * receives and one of unexpected messages per rank, walked from the oldest
 * end. The fabric tells the model when a message arrives; whatever was
 * delayed, cut or refused, every receive must get the message of the model.
 *
 *   sim_random_programs [FIRST_SEED [COUNT]]
 *
 * In a third of the seeds every pair has two fabrics, and connections are cut,
 * cables break, loudly or in silence, and bytes change; the model is the same.
 *
 * A failing seed is printed and reproduces the run.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "datatype/predefined.h"
#include "object/status.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "sim/fabric.h"

enum { STEPS_LIMIT = 1000000 };
enum { RANKS = 4, STEPS = 1500, OPS = STEPS + 64, LONGEST = 20000 };

struct message {
    int from, to, tag, id;
    uint32_t bytes;
    uint8_t *data;
    int arrived; /* when, from 1; 0: not yet */
    bool taken;
    struct wf_req *req;
};

struct receive {
    int rank, source, tag;
    uint32_t room;
    uint8_t *data;
    struct wf_req *req;
    struct message *expected; /* what the model says */
};

static struct message messages[OPS];
static struct receive receives[OPS];
static int message_count, receive_count, arrivals;
static struct sim sim;
static unsigned seed_in_use;
static uint32_t tags;
static bool troubled; /* fabrics break */

static void fail_with(const char *what, int id)
{
    fprintf(stderr, "seed %u: %s (%d)\n", seed_in_use, what, id);
    exit(1);
}

/* ---- the model ----------------------------------------------------------- */

static bool does_match(const struct receive *r, const struct message *m)
{
    return m->to == r->rank &&
           (r->source == MPI_ANY_SOURCE || r->source == m->from) &&
           (r->tag == MPI_ANY_TAG || r->tag == m->tag);
}

/* Messages of a pair arrive in the order sent: it is the first that has not. */
static void model_arrived(void *arg, uint32_t from, uint32_t to)
{
    struct message *m = NULL;

    for (int i = 0; i < message_count && !m; i++)
        if (!messages[i].arrived && messages[i].from == (int)from &&
            messages[i].to == (int)to)
            m = &messages[i];
    if (!m)
        fail_with("a message arrived that nobody sent", (int)from);
    m->arrived = ++arrivals;
    for (int i = 0; i < receive_count; i++)
        if (!receives[i].expected && does_match(&receives[i], m)) {
            receives[i].expected = m;
            m->taken = true;
            return;
        }
}

static void model_posted(struct receive *r)
{
    struct message *oldest = NULL;

    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        if (m->arrived && !m->taken && does_match(r, m) &&
            (!oldest || m->arrived < oldest->arrived))
            oldest = m;
    }
    r->expected = oldest;
    if (oldest)
        oldest->taken = true;
}

/* ---- the program --------------------------------------------------------- */

static uint32_t random_size(void)
{
    switch (sim_random(&sim, 4)) {
    case 0:
        return sim_random(&sim, 16);
    case 1:
        return sim_random(&sim, 300);
    case 2:
        return sim_random(&sim, 6000);
    default:
        return sim_random(&sim, LONGEST);
    }
}

static void random_send(void)
{
    struct message *m = &messages[message_count];
    int rc;

    m->from = (int)sim_random(&sim, RANKS);
    m->to = (int)sim_random(&sim, RANKS);
    m->tag = (int)sim_random(&sim, tags);
    m->id = message_count;
    m->bytes = random_size();
    m->data = malloc(m->bytes + 1);
    for (uint32_t i = 0; i < m->bytes; i++)
        m->data[i] = (uint8_t)(m->id * 7 + (int)i);
    message_count++;
    if (m->from == m->to) /* delivered inside the process, at once */
        model_arrived(NULL, (uint32_t)m->from, (uint32_t)m->to);
    rc = wf_isend(sim.all[m->from], m->data, m->bytes,
                  wf_type_of(MPI_BYTE), m->to, m->tag, WF_SPACE_P2P,
                  sim_random(&sim, 3) ? WF_SEND_STANDARD : WF_SEND_SYNC,
                  &m->req);
    if (rc)
        fail_with("a send failed", m->id);
}

static void receive_with(int rank, int source, int tag, uint32_t room)
{
    struct receive *r = &receives[receive_count];
    int rc;

    *r = (struct receive){
        .rank = rank, .source = source, .tag = tag, .room = room};
    r->data = malloc(room + 1);
    receive_count++;
    model_posted(r);
    rc = wf_irecv(sim.all[rank], r->data, room, wf_type_of(MPI_BYTE),
                  source, tag, WF_SPACE_P2P, &r->req);
    if (rc)
        fail_with("a receive failed", receive_count - 1);
}

static void random_receive(void)
{
    receive_with((int)sim_random(&sim, RANKS),
                 sim_random(&sim, 3) ? (int)sim_random(&sim, RANKS)
                                     : MPI_ANY_SOURCE,
                 sim_random(&sim, 3) ? (int)sim_random(&sim, tags)
                                     : MPI_ANY_TAG,
                 sim_random(&sim, 8) ? LONGEST : 100);
}

/* Every message must find a receive, so that every send completes. */
static void settle_all(void)
{
    for (int steps = 0; sim_step(&sim); steps++)
        if (steps == STEPS_LIMIT)
            fail_with("messages go round and round", steps);
}

static void receive_the_rest(void)
{
    settle_all();
    for (int i = 0; i < message_count; i++)
        if (!messages[i].arrived)
            fail_with("a message never arrived", i);
        else if (!messages[i].taken)
            receive_with(messages[i].to, messages[i].from, messages[i].tag,
                         LONGEST);
    settle_all();
}

/* ---- the verdict --------------------------------------------------------- */

static void check_received(struct receive *r, int i)
{
    struct message *m = r->expected;
    uint32_t n = m->bytes < r->room ? m->bytes : r->room;
    MPI_Status status;
    int rc = wf_wait(&r->req, &status);

    if (rc != (m->bytes > r->room ? WF_ETRUNCATED : 0))
        fail_with("a receive ended with the wrong error", i);
    if (status.MPI_SOURCE != m->from || status.MPI_TAG != m->tag)
        fail_with("a receive got another message than the model's", i);
    if (wf_status_bytes(&status) != n || memcmp(r->data, m->data, n) != 0)
        fail_with("a receive got the wrong bytes", i);
}

static void check_result(void)
{
    for (int i = 0; i < receive_count; i++) {
        struct receive *r = &receives[i];
        if (wf_req_done(r->req) != (r->expected != NULL))
            fail_with(r->expected ? "a receive is not done"
                                  : "a receive is done "
                                    "that has no message",
                      i);
        if (r->expected)
            check_received(r, i);
        else
            wf_req_withdraw(r->req);
        free(r->data);
    }
    for (int i = 0; i < message_count; i++) {
        if (!wf_req_done(messages[i].req))
            fail_with("a send is not done", i);
        wf_wait(&messages[i].req, MPI_STATUS_IGNORE);
        free(messages[i].data);
    }
}

/* One seed sends and receives in turn, the next first sends, so that hundreds
 * of messages are unexpected, the third first receives. */
static void random_call(unsigned lean, bool early)
{
    bool favoured = sim_random(&sim, 8) != 0;

    if (lean == 0)
        favoured = sim_random(&sim, 2) != 0;
    if (lean == 2 ? early == favoured : early != favoured)
        random_receive();
    else
        random_send();
}

static void take_step(void)
{
    if (troubled && sim_random(&sim, 60) == 0)
        sim_trouble(&sim);
    else
        sim_step(&sim);
}

/* Runs a program of ranks that are of so many jobs. */
static void run_case(unsigned seed, const struct sim_options *variant, int jobs)
{
    struct sim_options o = *variant;

    seed_in_use = o.seed = seed;
    o.ranks = RANKS;
    for (int i = 0; jobs > 1 && i < RANKS; i++) /* each has a rank at least */
        o.jobs[i < jobs ? i : (int)(seed >> i) % jobs]++;
    o.arrived = model_arrived;
    troubled = o.failover;
    tags = seed % 4 ? 3 : 60;
    message_count = receive_count = arrivals = 0;
    memset(messages, 0, sizeof messages);
    memset(receives, 0, sizeof receives);
    sim_start(&sim, &o);
    for (int i = 0; i < STEPS; i++)
        if (sim_random(&sim, 3) == 0)
            random_call(seed % 3, i < STEPS / 2);
        else
            take_step();
    if (troubled)
        sim_heal(&sim);
    receive_the_rest();
    check_result();
    sim_stop(&sim);
}

int main(int argc, char **argv)
{
    static const struct sim_options variants[] = {
        {.max_short = 64, .max_payload = 65536},
        {.config = "eager = 0", .max_short = 64, .max_payload = 3000},
        {.config = "eager = 1M", .max_payload = 1000000},
        {.max_short = 64, .max_payload = 5000, .get = true},
        {.max_short = 64, .starve = true},
        {.config = "eager = 100", .get = true, .keys = true, .starve = true},
        {.config = "rndv = push", .max_payload = 5000, .get = true},
        {.config = "credits = 4K", .max_short = 1000, .max_payload = 700},
        {.failover = true, .max_short = 64},
        {.failover = true, .config = "eager = 0", .max_payload = 3000},
        {.failover = true, .max_short = 1000, .corrupt = true},
        {.failover = true, .config = "credits = 4K", .max_payload = 700,
         .corrupt = true},
        {.failover = true, .max_short = 64, .streams = true},
        {.failover = true, .config = "eager = 0", .max_payload = 3000,
         .streams = true, .corrupt = true},
        {.failover = true, .stripe = true, .config = "eager = 100",
         .max_payload = 1500},
        {.failover = true, .stripe = true, .config = "eager = 0",
         .max_payload = 700, .corrupt = true},
    };
    enum { VARIANTS = sizeof variants / sizeof *variants };
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 40;

    for (unsigned seed = first; seed < first + count; seed++)
        run_case(seed, &variants[seed % VARIANTS], 1);
    for (unsigned seed = first; seed < first + (count + 1) / 2; seed++)
        for (int jobs = 2; jobs <= SIM_JOBS; jobs++)
            run_case(seed, &variants[seed % VARIANTS], jobs);
    if (argc < 2) /* damage makes the first message of a pair look plain */
        run_case(9019, &variants[9019 % VARIANTS], 1);
    printf("%u random programs agree with the model (seeds %u to %u), and half "
           "as many of two and of three jobs\n",
           count, first, first + count - 1);
    printf("pairs moved %llu times, resent %llu, dropped %llu doubles and %llu "
           "damaged, striped %llu\n",
           (unsigned long long)sim_counts.moves,
           (unsigned long long)sim_counts.resent,
           (unsigned long long)sim_counts.duplicates,
           (unsigned long long)sim_counts.damaged,
           (unsigned long long)sim_counts.striped);
    if (count >= 40 && (!sim_counts.moves || !sim_counts.duplicates ||
                        !sim_counts.damaged || !sim_counts.striped)) {
        fprintf(stderr, "nothing broke: the fabrics are too kind\n");
        return 1;
    }
    return 0;
}
