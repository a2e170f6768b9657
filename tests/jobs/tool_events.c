/* MPI_T events: a tool sees the messages, collectives and waits of its rank,
 * whether it registers before MPI_Init or in the middle, and nothing after it
 * has ended its registrations (MPI-5.0 s15.3.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"

enum { TAGS = 4, MESSAGES = 20, TEXT = 64, ELEMENTS_MAX = 8, ELEMENT = 8 };

/* The events of one type that one rank has counted. */
struct tally {
    const char *name;
    MPI_T_event_registration registration;
    int tag;                       /* events with another one are not counted */
    atomic_int events, wrong, ends;
    atomic_llong dropped;
    int frees_itself;
};

static int index_of(const char *name)
{
    int index = -1;
    CHECK(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    return index;
}

static void end_tally(MPI_T_event_registration r, MPI_T_cb_safety safety,
                      void *arg)
{
    struct tally *t = arg;
    t->ends++;
}

static void count_dropped(MPI_Count count, MPI_T_event_registration r,
                          int source, MPI_T_cb_safety safety, void *arg)
{
    struct tally *t = arg;
    t->dropped += count;
}

/* A message: process, tag, context, space, bytes. */
static void count_message(MPI_T_event_instance e, MPI_T_event_registration r,
                          MPI_T_cb_safety safety, void *arg)
{
    struct tally *t = arg;
    int process = -2, tag = -1, source = -1;
    unsigned space = 9;
    unsigned long long bytes = 0, all[ELEMENTS_MAX];
    MPI_Count time = 0, now = 0;
    t->wrong += MPI_T_event_read(e, 0, &process) != MPI_SUCCESS;
    t->wrong += MPI_T_event_read(e, 1, &tag) != MPI_SUCCESS;
    t->wrong += MPI_T_event_read(e, 3, &space) != MPI_SUCCESS;
    t->wrong += MPI_T_event_read(e, 4, &bytes) != MPI_SUCCESS;
    t->wrong += MPI_T_event_read(e, 5, &bytes) != MPI_T_ERR_INVALID_INDEX;
    t->wrong += MPI_T_event_copy(e, all) != MPI_SUCCESS || all[4] != bytes;
    t->wrong += MPI_T_event_get_source(e, &source) != MPI_SUCCESS || source;
    t->wrong += MPI_T_event_get_timestamp(e, &time) != MPI_SUCCESS;
    t->wrong += MPI_T_source_get_timestamp(0, &now) != MPI_SUCCESS;
    t->wrong += time <= 0 || now < time;
    t->wrong += safety != MPI_T_CB_REQUIRE_MPI_RESTRICTED &&
                safety != MPI_T_CB_REQUIRE_THREAD_SAFE;
    if (tag != t->tag || space != 0)
        return;
    t->wrong += bytes != sizeof(int);
    t->events++;
    if (t->frees_itself)
        t->wrong += MPI_T_event_handle_free(r, t, end_tally) != MPI_SUCCESS;
}

static void count_any(MPI_T_event_instance e, MPI_T_event_registration r,
                      MPI_T_cb_safety safety, void *arg)
{
    struct tally *t = arg;
    t->events++;
}

static void start_watch(struct tally *t, const char *name, int tag,
                  MPI_T_event_cb_function *count)
{
    *t = (struct tally){.name = name, .tag = tag};
    CHECK(MPI_T_event_handle_alloc(index_of(name), NULL, MPI_INFO_NULL,
                                   &t->registration) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(t->registration,
                                        MPI_T_CB_REQUIRE_THREAD_SAFE,
                                        MPI_INFO_NULL, t,
                                        count) == MPI_SUCCESS);
}

static void end_watch(struct tally *t)
{
    CHECK(MPI_T_event_handle_free(t->registration, t, end_tally) ==
          MPI_SUCCESS);
    CHECK(t->ends == 1);
    CHECK(t->wrong == 0);
    CHECK(MPI_T_event_handle_free(t->registration, t, end_tally) ==
          MPI_T_ERR_INVALID_HANDLE);
}

/* Each rank sends MESSAGES to the next one; the tag is that of the sender. */
static void send_around(int base)
{
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < MESSAGES; i++) {
        int out = rank * MESSAGES + i, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, to, base + rank, &in, 1, MPI_INT, from,
                     base + from, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == from * MESSAGES + i);
    }
}

static int sender_of(int rank)
{
    int size = size_of(MPI_COMM_WORLD);
    return (rank + size - 1) % size;
}

static void event_types_are_described(void)
{
    int n, len, dlen, index, verbosity, elements, bind, in_categories = 0;
    char name[TEXT], desc[512];
    MPI_Datatype types[ELEMENTS_MAX];
    MPI_Aint displacements[ELEMENTS_MAX];
    MPI_T_enum texts;
    MPI_Info info;
    CHECK(MPI_T_event_get_num(&n) == MPI_SUCCESS && n >= 15);
    for (int i = 0; i < n; i++) {
        len = sizeof name;
        dlen = sizeof desc;
        elements = ELEMENTS_MAX;
        CHECK(MPI_T_event_get_info(i, name, &len, &verbosity, types,
                                   displacements, &elements, &texts, &info,
                                   desc, &dlen, &bind) == MPI_SUCCESS);
        CHECK(len == (int)strlen(name) + 1 && dlen == (int)strlen(desc) + 1);
        CHECK(elements > 0 && elements <= ELEMENTS_MAX);
        for (int k = 0; k < elements; k++)
            CHECK(types[k] != MPI_DATATYPE_NULL &&
                  displacements[k] == k * ELEMENT);
        CHECK(info != MPI_INFO_NULL && MPI_Info_free(&info) == MPI_SUCCESS);
        CHECK(bind == MPI_T_BIND_NO_OBJECT);
        CHECK(index_of(name) == i);
        elements = 0; /* asks for their number only */
        CHECK(MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, &elements,
                                   NULL, NULL, NULL, NULL,
                                   NULL) == MPI_SUCCESS && elements > 0);
    }
    CHECK(MPI_T_event_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL, NULL, NULL,
                               NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("nonsense", &index) == MPI_T_ERR_INVALID_NAME);
    MPI_T_category_get_num(&len);
    for (int i = 0; i < len; i++) {
        int indices[64], events;
        CHECK(MPI_T_category_get_num_events(i, &events) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_events(i, 64, indices) == MPI_SUCCESS);
        for (int k = 0; k < events; k++)
            CHECK(indices[k] >= 0 && indices[k] < n);
        in_categories += events;
    }
    CHECK(in_categories == n);
}

static void the_source_is_described(void)
{
    int n, len = TEXT, dlen = 0;
    char name[TEXT];
    MPI_T_source_order order;
    MPI_Count ticks = 0, most = 0, a = 0, b = 0;
    MPI_Info info;
    CHECK(MPI_T_source_get_num(&n) == MPI_SUCCESS && n == 1);
    CHECK(MPI_T_source_get_info(0, name, &len, NULL, &dlen, &order, &ticks,
                                &most, &info) == MPI_SUCCESS);
    CHECK(!strcmp(name, "weft") && ticks == 1000000000 && most > ticks);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &a) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &b) == MPI_SUCCESS && b >= a);
    CHECK(MPI_T_source_get_timestamp(1, &b) == MPI_T_ERR_INVALID_INDEX);
}

static void wrong_handles_are_refused(void)
{
    MPI_T_event_registration r;
    int buffer[16];
    MPI_Count time;
    MPI_Info info;
    CHECK(MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, &r) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(r, (MPI_T_cb_safety)77, MPI_INFO_NULL,
                                        NULL, count_any) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &info) ==
          MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_read((MPI_T_event_instance)r, 0, buffer) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(NULL, buffer) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(NULL, &time) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_free(r, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_set_info(r, MPI_INFO_NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
}

/* Hints are kept: those of a registration, and those of each callback. */
static void hints_are_kept(void)
{
    MPI_T_cb_safety safe = MPI_T_CB_REQUIRE_THREAD_SAFE;
    MPI_T_event_registration r;
    MPI_Info hint, got;
    char value[8] = "";
    int found = 0, len = sizeof value, keys = -1;
    MPI_Info_create(&hint);
    MPI_Info_set(hint, "a", "1");
    CHECK(MPI_T_event_handle_alloc(0, NULL, hint, &r) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(r, safe, MPI_INFO_NULL, NULL,
                                        count_any) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(r, safe, &got) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(got, &keys) == MPI_SUCCESS && keys == 0);
    MPI_Info_free(&got);
    MPI_Info_set(hint, "b", "2");
    CHECK(MPI_T_event_callback_set_info(r, safe, hint) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(r, safe, &got) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(got, &keys) == MPI_SUCCESS && keys == 2);
    MPI_Info_free(&got);
    CHECK(MPI_T_event_handle_get_info(r, &got) == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(got, &keys) == MPI_SUCCESS && keys == 1);
    MPI_Info_get_string(got, "a", &len, value, &found);
    CHECK(found && !strcmp(value, "1"));
    MPI_Info_free(&got);
    MPI_Info_free(&hint);
    CHECK(MPI_T_event_handle_free(r, NULL, NULL) == MPI_SUCCESS);
}

/* Registrations from before MPI_Init see the first message. */
static void check_early(struct tally *eager, struct tally *rendezvous)
{
    eager->tag = rendezvous->tag = 100 + rank_in(MPI_COMM_WORLD);
    send_around(100);
    CHECK(eager->events + rendezvous->events == MESSAGES);
    end_watch(eager);
    end_watch(rendezvous);
}

static void messages_are_seen_by_both_sides(void)
{
    int rank = rank_in(MPI_COMM_WORLD), base = 200, before;
    struct tally eager, rendezvous, posted, match;
    send_around(base); /* connected, and short messages take the fast path */
    start_watch(&eager, "message.send_eager", base + rank, count_message);
    start_watch(&rendezvous, "message.send_rendezvous", base + rank,
                count_message);
    start_watch(&posted, "message.receive_posted", base + sender_of(rank),
          count_message);
    start_watch(&match, "message.match", base + sender_of(rank), count_message);
    send_around(base);
    CHECK(eager.events + rendezvous.events == MESSAGES);
    CHECK(posted.events == 0 || posted.events == MESSAGES);
    CHECK(match.events == MESSAGES);
    end_watch(&posted);
    end_watch(&match);
    end_watch(&eager);
    before = eager.events;
    end_watch(&rendezvous);
    send_around(base); /* on the fast path again */
    CHECK(eager.events == before);
}

/* Two registrations of one type: one of them ends in its first callback. */
static void a_registration_ends_in_its_callback(void)
{
    int rank = rank_in(MPI_COMM_WORLD), base = 300;
    struct tally first, second;
    start_watch(&first, "message.match", base + sender_of(rank), count_message);
    start_watch(&second, "message.match", base + sender_of(rank),
                count_message);
    first.frees_itself = 1;
    send_around(base);
    CHECK(first.events == 1 && first.ends == 1 && first.wrong == 0);
    CHECK(second.events == MESSAGES);
    end_watch(&second);
}

/* A callback that may do anything cannot be called inside MPI. */
static void events_without_a_suitable_callback_are_dropped(void)
{
    int rank = rank_in(MPI_COMM_WORLD), base = 400;
    struct tally t = {.tag = base + sender_of(rank)};
    CHECK(MPI_T_event_handle_alloc(index_of("message.match"), NULL,
                                   MPI_INFO_NULL,
                                   &t.registration) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(t.registration, MPI_T_CB_REQUIRE_NONE,
                                        MPI_INFO_NULL, &t,
                                        count_message) == MPI_SUCCESS);
    CHECK(MPI_T_event_set_dropped_handler(t.registration, count_dropped) ==
          MPI_SUCCESS);
    send_around(base);
    CHECK(t.events == 0 && t.dropped >= MESSAGES);
    CHECK(MPI_T_event_register_callback(t.registration,
                                        MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
                                        MPI_INFO_NULL, &t,
                                        count_message) == MPI_SUCCESS);
    send_around(base);
    CHECK(t.events == MESSAGES);
    end_watch(&t);
}

/* The name of a collective is an item of the enumeration. */
static int last_name = -1, last_algorithm = -1;

static void note_collective(MPI_T_event_instance e, MPI_T_event_registration r,
                            MPI_T_cb_safety safety, void *arg)
{
    struct tally *t = arg;
    t->wrong += MPI_T_event_read(e, 0, &last_name) != MPI_SUCCESS;
    t->wrong += MPI_T_event_read(e, 1, &last_algorithm) != MPI_SUCCESS;
    t->events++;
}

static void collectives_are_named(void)
{
    struct tally t;
    MPI_T_enum texts;
    int items = 0, value, len = TEXT, dlen = 0, elements = 0, in[4] = {1};
    int out[4];
    char name[TEXT];
    MPI_Request r;
    start_watch(&t, "collective.begin", 0, note_collective);
    CHECK(MPI_T_event_get_info(index_of("collective.begin"), NULL, &dlen, NULL,
                               NULL, NULL, &elements, &texts, NULL, NULL, NULL,
                               NULL) == MPI_SUCCESS);
    MPI_Iallreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(t.events >= 1 || size_of(MPI_COMM_WORLD) == 1);
    if (t.events) {
        CHECK(MPI_T_enum_get_info(texts, &items, name, &len) == MPI_SUCCESS);
        CHECK(last_name > 0 && last_name < items);
        len = TEXT;
        CHECK(MPI_T_enum_get_item(texts, last_name, &value, name, &len) ==
              MPI_SUCCESS);
        CHECK(value == last_name && strstr(name, "allreduce"));
        len = TEXT;
        CHECK(MPI_T_enum_get_item(texts, last_algorithm, &value, name, &len) ==
              MPI_SUCCESS && len > 1);
        CHECK(MPI_T_enum_get_item(texts, items + 100, &value, name, &len) ==
              MPI_T_ERR_INVALID_ITEM);
    }
    end_watch(&t);
}

/* MPI_T_finalize ends what is left. */
static void leave_one(struct tally *t)
{
    start_watch(t, "message.match", 0, count_any);
}

int main(int argc, char **argv)
{
    int n, provided;
    struct tally eager, rendezvous, left;
    CHECK(MPI_T_event_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    event_types_are_described();
    the_source_is_described();
    start_watch(&eager, "message.send_eager", -1, count_message);
    start_watch(&rendezvous, "message.send_rendezvous", -1, count_message);
    job_begin(&argc, &argv);
    check_early(&eager, &rendezvous);
    wrong_handles_are_refused();
    hints_are_kept();
    messages_are_seen_by_both_sides();
    a_registration_ends_in_its_callback();
    events_without_a_suitable_callback_are_dropped();
    collectives_are_named();
    leave_one(&left);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    n = left.events;
    send_around(500);
    CHECK(left.events == n);
    return job_end();
}
