/* A program without MPI_Init: everything comes from sessions (MPI-5.0 s11.3),
 * which open and close as often as each process likes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "session.h"

#define WORLD "mpi://WORLD"
#define SELF "mpi://SELF"

static const char *value_of(MPI_Info info, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    int n = sizeof value, flag = 0;
    value[0] = 0;
    MPI_Info_get_string(info, key, &n, value, &flag);
    return flag ? value : "";
}

static void the_world_model_is_not_there(void)
{
    int flag = 1;
    MPI_Session s = session_open();
    MPI_Initialized(&flag);
    CHECK(!flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    session_close(&s);
}

static void a_session_names_its_process_sets(MPI_Session s)
{
    int n, len, size;
    MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        char name[MPI_MAX_PSET_NAME_LEN], cut[4] = "xyz";
        MPI_Info info;
        len = 0;
        CHECK(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, NULL) ==
              MPI_SUCCESS);
        CHECK(len > 1 && len <= MPI_MAX_PSET_NAME_LEN);
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, name);
        CHECK((int)strlen(name) + 1 == len);
        len = 3;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, cut);
        CHECK(len == (int)strlen(name) + 1 && strlen(cut) == 2);
        MPI_Group g = session_group(s, name);
        MPI_Group_size(g, &size);
        MPI_Session_get_pset_info(s, name, &info);
        CHECK(atoi(value_of(info, "mpi_size")) == size);
        MPI_Info_free(&info);
        MPI_Group_free(&g);
    }
    CHECK(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, n, &len, NULL) != 0);
    MPI_Group g;
    CHECK(MPI_Group_from_session_pset(s, "mpi://MOON", &g) == MPI_ERR_ARG);
    CHECK(g == MPI_GROUP_NULL);
    g = session_group(s, "mpi://world");
    MPI_Group_free(&g);
}

static void the_level_of_threads_is_told(void)
{
    MPI_Info want, got;
    MPI_Session s;
    MPI_Info_create(&want);
    MPI_Info_set(want, "thread_level", "MPI_THREAD_FUNNELED");
    MPI_Session_init(want, MPI_ERRORS_RETURN, &s);
    MPI_Session_get_info(s, &got);
    CHECK(!strcmp(value_of(got, "thread_level"), "MPI_THREAD_FUNNELED"));
    CHECK(strstr(value_of(got, "mpi_memory_alloc_kinds"), "system"));
    MPI_Info_free(&want);
    MPI_Info_free(&got);
    session_close(&s);
}

static void a_level_that_there_is_not_is_refused(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Info want;
    char text[MPI_MAX_ERROR_STRING];
    int len, rc;
    MPI_Info_create(&want);
    MPI_Info_set(want, "thread_level", "MPI_THREAD_PLENTY");
    rc = MPI_Session_init(want, MPI_ERRORS_RETURN, &s);
    CHECK(rc == MPI_ERR_INFO_VALUE && s == MPI_SESSION_NULL);
    MPI_Error_string(rc, text, &len);
    CHECK(strstr(text, "MPI_THREAD_PLENTY"));
    MPI_Info_free(&want);
}

/* MPI-5.0 s9.1.2: the other predefined attributes are of the World Model. */
static void communicators_of_sessions_have_the_largest_tag_only(MPI_Session s)
{
    static const int others[] = {MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL,
                                 MPI_APPNUM, MPI_UNIVERSE_SIZE,
                                 MPI_LASTUSEDCODE};
    MPI_Comm made = session_comm(s, WORLD, "attributes"), copy;
    void *value;
    int found;

    MPI_Comm_dup(made, &copy);
    MPI_Comm_get_attr(copy, MPI_TAG_UB, &value, &found);
    CHECK(found && *(int *)value >= 32767);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        MPI_Comm_get_attr(made, others[i], &value, &found);
        CHECK(!found);
        MPI_Comm_get_attr(copy, others[i], &value, &found);
        CHECK(!found);
    }
    MPI_Comm_free(&copy);
    MPI_Comm_free(&made);
}

static void processes_open_sessions_as_often_as_they_like(int rank)
{
    for (int i = 0; i < 3 + 20 * rank; i++) {
        MPI_Session s = session_open();
        MPI_Comm c = session_comm(s, SELF, "own");
        CHECK(size_of(c) == 1);
        check_talks(c);
        MPI_Comm_disconnect(&c);
        session_close(&s);
    }
}

static void rings_go_round_in_every_new_session(void)
{
    for (int i = 0; i < 5; i++) {
        MPI_Session s = session_open();
        MPI_Comm c = session_comm(s, WORLD, "ring");
        check_talks(c);
        MPI_Comm_disconnect(&c);
        session_close(&s);
    }
}

static void sessions_at_the_same_time_are_apart(void)
{
    MPI_Session a = session_open(), b = session_open();
    MPI_Comm ca = session_comm(a, WORLD, "same"), dup;
    MPI_Comm cb = session_comm(b, WORLD, "same");
    int result, n = size_of(ca), r = rank_in(ca), got[2] = {-1, -1};
    MPI_Request q[2];
    CHECK(a != b);
    MPI_Comm_compare(ca, cb, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Irecv(&got[0], 1, MPI_INT, (r + n - 1) % n, 1, ca, &q[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, (r + n - 1) % n, 1, cb, &q[1]);
    MPI_Send(&n, 1, MPI_INT, (r + 1) % n, 1, cb);
    MPI_Send(&r, 1, MPI_INT, (r + 1) % n, 1, ca);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    CHECK(got[0] == (r + n - 1) % n);
    CHECK(got[1] == n);
    MPI_Comm_disconnect(&cb);
    session_close(&b);
    MPI_Comm_dup(ca, &dup);
    check_talks(dup);
    MPI_Comm_disconnect(&dup);
    MPI_Comm_disconnect(&ca);
    session_close(&a);
}

static int calls;
static MPI_Session called_on;

static void note_event(MPI_Session *s, int *code, ...)
{
    calls++;
    called_on = *s;
}

static int init_wrongly(MPI_Errhandler h)
{
    MPI_Session s;
    MPI_Info want;
    int rc;

    MPI_Info_create(&want);
    MPI_Info_set(want, "thread_level", "MPI_THREAD_PLENTY");
    rc = MPI_Session_init(want, h, &s);
    MPI_Info_free(&want);
    return rc;
}

static void errors_of_a_session_go_to_its_handler(void)
{
    MPI_Errhandler h, got;
    MPI_Session s;
    MPI_Group g;
    MPI_Session_create_errhandler(note_event, &h);
    CHECK(MPI_Session_init(MPI_INFO_NULL, h, &s) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(s, "none", &g) == MPI_ERR_ARG);
    CHECK(calls == 1 && called_on == s);
    CHECK(MPI_Group_from_session_pset(s, NULL, &g) == MPI_ERR_ARG);
    CHECK(calls == 2);
    g = session_group(s, WORLD);
    int rank = 1 << 20;
    MPI_Group made;
    CHECK(MPI_Group_incl(g, 1, &rank, &made) == MPI_ERR_RANK);
    CHECK(calls == 3 && called_on == s);
    MPI_Group_free(&g);
    MPI_Session_get_errhandler(s, &got);
    CHECK(got == h);
    MPI_Errhandler_free(&got);
    MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN);
    CHECK(MPI_Session_call_errhandler(s, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(calls == 3);
    MPI_Session_set_errhandler(s, h);
    MPI_Session_call_errhandler(s, MPI_ERR_OTHER);
    CHECK(calls == 4);
    called_on = s;
    CHECK(init_wrongly(h) == MPI_ERR_INFO_VALUE);
    CHECK(calls == 5 && called_on == MPI_SESSION_NULL);
    MPI_Errhandler_free(&h);
    session_close(&s);
}

static int comm_calls;

static void note_comm(MPI_Comm *c, int *code, ...)
{
    comm_calls++;
    CHECK(*c == MPI_COMM_NULL);
}

/* Wrong arguments included. */
static void creation_calls_the_handler_it_was_given(MPI_Session s)
{
    MPI_Group all = session_group(s, WORLD);
    MPI_Errhandler h;
    MPI_Comm_create_errhandler(note_comm, &h);
    CHECK(MPI_Comm_create_from_group(all, "tag", MPI_INFO_NULL, h, NULL) ==
          MPI_ERR_ARG);
    CHECK(comm_calls == 1);
    CHECK(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, h, NULL) ==
          MPI_ERR_ARG);
    CHECK(comm_calls == 2);
    MPI_Errhandler_free(&h);
    MPI_Group_free(&all);
}

static void creation_reports_to_the_handler_it_was_given(MPI_Session s)
{
    MPI_Group all = session_group(s, WORLD), none;
    MPI_Comm c = MPI_COMM_SELF;
    int rank, size;
    char *longtag = malloc(MPI_MAX_STRINGTAG_LEN + 1);
    memset(longtag, 'x', MPI_MAX_STRINGTAG_LEN);
    longtag[MPI_MAX_STRINGTAG_LEN] = 0;
    CHECK(MPI_Comm_create_from_group(all, longtag, MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &c) == MPI_ERR_ARG);
    CHECK(c == MPI_COMM_NULL);
    free(longtag);
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &size);
    MPI_Group_excl(all, 1, &rank, &none);
    if (size > 1)
        CHECK(MPI_Comm_create_from_group(none, "x", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &c) ==
              MPI_ERR_GROUP);
    CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "x", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    CHECK(c == MPI_COMM_NULL);
    if (none != MPI_GROUP_EMPTY)
        MPI_Group_free(&none);
    MPI_Group_free(&all);
}

static void a_session_has_a_buffer_of_its_own(MPI_Session s)
{
    MPI_Comm c = session_comm(s, WORLD, "buffered");
    int n = size_of(c), r = rank_in(c), got = -1;
    char room[64 + MPI_BSEND_OVERHEAD];
    void *back;
    MPI_Request q;
    CHECK(MPI_Bsend(&r, 1, MPI_INT, (r + 1) % n, 0, c) == MPI_ERR_BUFFER);
    CHECK(MPI_Session_attach_buffer(s, room, sizeof room) == MPI_SUCCESS);
    CHECK(MPI_Session_attach_buffer(s, room, sizeof room) == MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(&r, 1, MPI_INT, (r + 1) % n, 0, c) == MPI_SUCCESS);
    MPI_Recv(&got, 1, MPI_INT, (r + n - 1) % n, 0, c, MPI_STATUS_IGNORE);
    CHECK(got == (r + n - 1) % n);
    MPI_Session_flush_buffer(s);
    MPI_Session_iflush_buffer(s, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    int size = 0;
    CHECK(MPI_Session_detach_buffer(s, &back, &size) == MPI_SUCCESS);
    CHECK(back == room && size == (int)sizeof room);
    MPI_Comm_disconnect(&c);
}

static void a_session_has_an_integer(MPI_Session s)
{
    CHECK(MPI_Session_fromint(MPI_Session_toint(s)) == s);
    CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) ==
          MPI_SESSION_NULL);
}

static int my_rank(MPI_Session s)
{
    int rank;
    MPI_Group g = session_group(s, WORLD);
    MPI_Group_rank(g, &rank);
    MPI_Group_free(&g);
    return rank;
}

int main(void)
{
    the_world_model_is_not_there();
    MPI_Session s = session_open();
    int rank = my_rank(s);
    a_session_names_its_process_sets(s);
    communicators_of_sessions_have_the_largest_tag_only(s);
    creation_reports_to_the_handler_it_was_given(s);
    creation_calls_the_handler_it_was_given(s);
    a_session_has_a_buffer_of_its_own(s);
    a_session_has_an_integer(s);
    session_close(&s);
    the_level_of_threads_is_told();
    a_level_that_there_is_not_is_refused();
    processes_open_sessions_as_often_as_they_like(rank);
    rings_go_round_in_every_new_session();
    sessions_at_the_same_time_are_apart();
    errors_of_a_session_go_to_its_handler();
    return job_failures != 0;
}
