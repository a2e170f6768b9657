/* MPI_T: variables can be listed and read before MPI_Init, inside and after;
 * errors are returned and reach no error handler (MPI-5.0 s15.3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static void every_control_variable_can_be_read(void)
{
    int n = 0, index, count, len, dlen, verbosity, bind, scope;
    char name[128], desc[256], value[4096];
    MPI_Datatype type;
    MPI_T_enum names;
    MPI_T_cvar_handle h;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_SUCCESS && n > 10);
    for (int i = 0; i < n; i++) {
        len = sizeof name;
        dlen = sizeof desc;
        CHECK(MPI_T_cvar_get_info(i, name, &len, &verbosity, &type, &names,
                                  desc, &dlen, &bind, &scope) == MPI_SUCCESS);
        CHECK(len == (int)strlen(name) + 1 && dlen == (int)strlen(desc) + 1);
        CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(MPI_T_cvar_handle_alloc(i, NULL, &h, &count) == MPI_SUCCESS);
        CHECK(count >= 1 && count < (int)sizeof value);
        CHECK(MPI_T_cvar_read(h, value) == MPI_SUCCESS);
        CHECK(MPI_T_cvar_write(h, value) == MPI_T_ERR_CVAR_SET_NEVER);
        CHECK(MPI_T_cvar_handle_free(&h) == MPI_SUCCESS);
        CHECK(h == MPI_T_CVAR_HANDLE_NULL);
    }
    CHECK(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("core.nonsense", &index) ==
          MPI_T_ERR_INVALID_NAME);
}

/* core.log is "warn" unless somebody said otherwise. */
static void an_enumeration_names_its_items(void)
{
    int index, count, items, len = 0, value, stored = -1;
    char item[32];
    MPI_T_enum e;
    MPI_T_cvar_handle h;
    CHECK(MPI_T_cvar_get_index("core.log", &index) == MPI_SUCCESS);
    MPI_T_cvar_get_info(index, NULL, &len, NULL, NULL, &e, NULL, NULL, NULL,
                        NULL);
    CHECK(len == (int)sizeof "core.log");
    CHECK(MPI_T_enum_get_info(e, &items, NULL, NULL) == MPI_SUCCESS);
    CHECK(items == 4);
    len = 3; /* room for two letters */
    CHECK(MPI_T_enum_get_item(e, 1, &value, item, &len) == MPI_SUCCESS);
    CHECK(value == 1 && len == 5 && !strcmp(item, "wa"));
    CHECK(MPI_T_enum_get_item(e, 4, &value, item, &len) ==
          MPI_T_ERR_INVALID_ITEM);
    MPI_T_cvar_handle_alloc(index, NULL, &h, &count);
    MPI_T_cvar_read(h, &stored);
    CHECK(stored >= 0 && stored < items);
    MPI_T_cvar_handle_free(&h);
}

static void a_performance_variable_is_found_by_its_name_and_class(void)
{
    int n, len, var_class, index;
    char name[128];
    CHECK(MPI_T_pvar_get_num(&n) == MPI_SUCCESS && n > 4);
    for (int i = 0; i < n; i++) {
        len = sizeof name;
        CHECK(MPI_T_pvar_get_info(i, name, &len, NULL, &var_class, NULL, NULL,
                                  NULL, NULL, NULL, NULL, NULL,
                                  NULL) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_get_index(name, var_class, &index) == MPI_SUCCESS);
        CHECK(index == i);
    }
}

static unsigned long long sum_of(const char *suffix, int var_class)
{
    unsigned long long sum = 0, value;
    int n, len, count, found;
    char name[128];
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h;
    MPI_T_pvar_get_num(&n);
    CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        len = sizeof name;
        MPI_T_pvar_get_info(i, name, &len, NULL, &found, NULL, NULL, NULL, NULL,
                            NULL, NULL, NULL, NULL);
        if (found != var_class || !strstr(name, suffix))
            continue;
        CHECK(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count) == MPI_SUCCESS);
        CHECK(count == 1);
        CHECK(MPI_T_pvar_start(s, h) == MPI_T_ERR_PVAR_NO_STARTSTOP);
        CHECK(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_reset(s, h) == MPI_T_ERR_PVAR_NO_WRITE);
        CHECK(MPI_T_pvar_read(s, h, &value) == MPI_SUCCESS);
        sum += value;
        if (i % 2)
            CHECK(MPI_T_pvar_handle_free(s, &h) == MPI_SUCCESS);
    }
    CHECK(MPI_T_pvar_session_free(&s) == MPI_SUCCESS);
    CHECK(s == MPI_T_PVAR_SESSION_NULL);
    return sum;
}

/* A handle that was freed, is of another kind or was never given out is an
 * error, and is not followed. */
static void wrong_handles_are_refused(void)
{
    MPI_T_cvar_handle c, old_c;
    MPI_T_pvar_session s, old_s;
    MPI_T_pvar_handle h, old_h;
    int count;
    unsigned long long value[32];

    MPI_T_cvar_handle_alloc(0, NULL, &c, &count);
    CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(s, 0, NULL, &h, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(s, h, value) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(s, (MPI_T_pvar_handle)c, value) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read((MPI_T_pvar_session)h, h, value) ==
          MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_cvar_read((MPI_T_cvar_handle)h, value) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_read((MPI_T_cvar_handle)(intptr_t)-8, value) ==
          MPI_T_ERR_INVALID_HANDLE);
    old_c = c;
    old_h = h;
    CHECK(MPI_T_cvar_handle_free(&c) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(old_c, value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_free(&old_c) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(s, &h) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(s, old_h, value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_alloc(s, 0, NULL, &h, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(s, old_h, value) == MPI_T_ERR_INVALID_HANDLE);
    old_s = s;
    CHECK(MPI_T_pvar_session_free(&s) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(old_s, 0, NULL, &h, &count) ==
          MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_session_free(&old_s) == MPI_T_ERR_INVALID_SESSION);
}

static void messages_are_counted(void)
{
    unsigned long long before = sum_of(".messages_sent",
                                       MPI_T_PVAR_CLASS_COUNTER);
    int out = 1, in = 0, rank = rank_in(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, rank, 0, &in, 1, MPI_INT, rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(sum_of(".messages_sent", MPI_T_PVAR_CLASS_COUNTER) >= before + 10);
}

/* By whatever way they leave: so many short ones that some find no room at
 * first, with and without a request, and some longer ones. */
static void bytes_that_leave_are_counted(void)
{
    enum { MANY = 3000, SHORT = 5, LONG = 20000, EACH = 3 };
    static char out[LONG], in[LONG];
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request r[2 * MANY + EACH], *q = r;
    unsigned long long before;

    for (int i = 0; i < 2 * MANY; i++)
        MPI_Irecv(in, LONG, MPI_CHAR, from, 0, MPI_COMM_WORLD, q++);
    MPI_Barrier(MPI_COMM_WORLD);
    before = sum_of(".bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    for (int i = 0; i < MANY; i++)
        MPI_Send(out, SHORT, MPI_CHAR, to, 0, MPI_COMM_WORLD);
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
    q = r;
    for (int i = 0; i < MANY; i++)
        MPI_Isend(out, SHORT, MPI_CHAR, to, 0, MPI_COMM_WORLD, q++);
    for (int i = 0; i < EACH; i++)
        MPI_Isend(out, LONG, MPI_CHAR, to, 1, MPI_COMM_WORLD, &r[2 * MANY + i]);
    for (int i = 0; i < EACH; i++)
        MPI_Recv(in, LONG, MPI_CHAR, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Waitall(2 * MANY + EACH, r, MPI_STATUSES_IGNORE);
    CHECK(sum_of(".bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE) - before ==
          2 * MANY * SHORT + EACH * LONG);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void unexpected_messages_are_seen(void)
{
    int out = 1, in = 0, rank = rank_in(MPI_COMM_WORLD);
    MPI_Request r;
    MPI_Isend(&out, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &r);
    CHECK(sum_of("queue.unexpected", MPI_T_PVAR_CLASS_LEVEL) >= 1);
    MPI_Recv(&in, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Messages that find their receive, and one that has to be stored; each rank
 * sends to itself. */
static void ways_of_messages_are_told_apart(void)
{
    enum { DIRECT = 5, STORED = 3, BYTES = 300000 };
    static char out[BYTES], in[BYTES];
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned long long direct, stored, asked, total, sum;
    MPI_Request r[DIRECT + STORED];
    direct = sum_of("message.direct", MPI_T_PVAR_CLASS_COUNTER);
    stored = sum_of("message.stored", MPI_T_PVAR_CLASS_COUNTER);
    asked = sum_of("message.rendezvous", MPI_T_PVAR_CLASS_COUNTER);
    total = sum_of("queue.unexpected_total", MPI_T_PVAR_CLASS_COUNTER);
    sum = sum_of("queue.unexpected_sum", MPI_T_PVAR_CLASS_AGGREGATE);
    for (int i = 0; i < DIRECT; i++)
        MPI_Irecv(&in[i], 1, MPI_CHAR, from, 5, MPI_COMM_WORLD, &r[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < DIRECT; i++)
        MPI_Send(&out[i], 1, MPI_CHAR, to, 5, MPI_COMM_WORLD);
    MPI_Waitall(DIRECT, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < STORED; i++)
        MPI_Isend(&out[i], 1, MPI_CHAR, rank, 6 + i, MPI_COMM_WORLD, &r[i]);
    for (int i = STORED; i-- > 0;) /* none is the oldest until the end */
        MPI_Recv(in, 1, MPI_CHAR, rank, 6 + i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Waitall(STORED, r, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, BYTES, MPI_CHAR, from, 9, MPI_COMM_WORLD, r);
    MPI_Ssend(out, BYTES, MPI_CHAR, to, 9, MPI_COMM_WORLD);
    MPI_Wait(r, MPI_STATUS_IGNORE);
    total = sum_of("queue.unexpected_total", MPI_T_PVAR_CLASS_COUNTER) - total;
    sum = sum_of("queue.unexpected_sum", MPI_T_PVAR_CLASS_AGGREGATE) - sum;
    stored = sum_of("message.stored", MPI_T_PVAR_CLASS_COUNTER) - stored;
    asked = sum_of("message.rendezvous", MPI_T_PVAR_CLASS_COUNTER) - asked;
    direct = sum_of("message.direct", MPI_T_PVAR_CLASS_COUNTER) - direct;
    CHECK(total >= STORED && sum >= 1 + 2 + 3);
    CHECK(stored + asked >= STORED);      /* core.eager = 0 announces them */
    CHECK(direct + asked >= DIRECT + 1u); /* core.eager = 1G sends it whole */
    CHECK(sum_of("queue.unexpected_high", MPI_T_PVAR_CLASS_HIGHWATERMARK) >=
          STORED);
    CHECK(sum_of("match.searches", MPI_T_PVAR_CLASS_COUNTER) > 0);
    CHECK(sum_of("match.searched", MPI_T_PVAR_CLASS_COUNTER) > 0);
}

/* Time in MPI is measured while somebody has a handle of such a variable. */
static void time_is_told_by_class_of_call(void)
{
    static const char *const names[] = {"time.point_to_point",
                                        "time.completion", "time.collective",
                                        "time.probe"};
    unsigned long long before[4], after[4], idle[4];
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h[4];
    int index, count, in = 0, out = 1, rank = rank_in(MPI_COMM_WORLD);
    MPI_Request r[2];

    CHECK(MPI_T_pvar_session_create(&s) == MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_TIMER, &index) ==
              MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(s, index, NULL, &h[i], &count) ==
              MPI_SUCCESS);
        CHECK(MPI_T_pvar_read(s, h[i], &before[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < 100; i++) {
        MPI_Irecv(&in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(&out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Iprobe(rank, 4, MPI_COMM_WORLD, &count, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_T_pvar_read(s, h[i], &after[i]) == MPI_SUCCESS);
        CHECK(after[i] > before[i]);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &count); /* of none of these classes */
    for (int i = 0; i < 4; i++) {
        CHECK(MPI_T_pvar_read(s, h[i], &idle[i]) == MPI_SUCCESS);
        CHECK(idle[i] == after[i]);
    }
    CHECK(MPI_T_pvar_session_free(&s) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Without a handle nothing is measured, unless core.stats is set. */
static void time_is_not_measured_unasked(void)
{
    unsigned long long before, now;

    if (getenv("WEFT_SET") && strstr(getenv("WEFT_SET"), "stats"))
        return;
    before = sum_of("time.other", MPI_T_PVAR_CLASS_TIMER);
    for (int i = 0, size; i < 10; i++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    now = sum_of("time.other", MPI_T_PVAR_CLASS_TIMER);
    CHECK(now == before);
}

static void categories_list_every_variable(void)
{
    int n, cvars, pvars, all_c = 0, all_p = 0, indices[256], index, len;
    char name[64];
    MPI_T_category_get_num(&n);
    for (int i = 0; i < n; i++) {
        len = sizeof name;
        CHECK(MPI_T_category_get_info(i, name, &len, NULL, NULL, &cvars, &pvars,
                                      NULL) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS);
        CHECK(index == i);
        MPI_T_category_get_pvars(i, 256, indices);
        for (int k = 1; k < pvars; k++)
            CHECK(indices[k] > indices[k - 1]);
        all_c += cvars;
        all_p += pvars;
    }
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    CHECK(all_c == cvars && all_p == pvars);
}

static void look_at_everything(void)
{
    every_control_variable_can_be_read();
    a_performance_variable_is_found_by_its_name_and_class();
    an_enumeration_names_its_items();
    categories_list_every_variable();
    sum_of("", MPI_T_PVAR_CLASS_COUNTER);
}

int main(int argc, char **argv)
{
    int n, provided;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    look_at_everything();
    job_begin(&argc, &argv);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    look_at_everything();
    wrong_handles_are_refused();
    messages_are_counted();
    bytes_that_leave_are_counted();
    unexpected_messages_are_seen();
    ways_of_messages_are_told_apart();
    time_is_told_by_class_of_call();
    time_is_not_measured_unasked();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    int status = job_end();
    look_at_everything();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return status || job_failures;
}
