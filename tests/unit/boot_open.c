/* Which bootstrap a process takes, and the PMI-1 client against a scripted
 * launcher.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/memory.h"
#include "boot_launcher.h"

#include <malloc.h>

#include "config/config.h"

static void under_pmi_the_launcher_gives_the_rank(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    store_value(&l, "PMI_process_mapping", "(vector,(0,2,2))");
    store_value(&l, "weft.hosts", "1");
    b = open_job(&l, 3, 4);
    assert_string_equal(b->ops->name, "pmi1");
    assert_int_equal(b->rank, 3);
    assert_int_equal(b->size, 4);
    assert_int_equal(b->appnum, 2);
    assert_int_equal(b->universe_size, 9);
    assert_int_equal(b->node_of[3], 1);
    assert_int_equal(b->node_count, 2);
    assert_true(b->one_host);
    assert_string_equal(b->job, "kvs_7");
    assert_int_equal(wf_boot_fence(b), 0);
    b->ops->abort(b, 7, "test");
    assert_int_equal(b->ops->finalize(b), 0);
    stop_launcher(&l, b); /* joins the thread that answers */
    assert_int_equal(l.aborted, 7);
    assert_true(l.finalized);
}

static void two_nodes_without_our_key_are_not_one_host(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    store_value(&l, "PMI_process_mapping", "(vector,(0,2,1))");
    b = open_job(&l, 0, 2);
    assert_false(b->one_host);
    stop_launcher(&l, b);
}

static void a_broken_mapping_is_only_a_missing_hint(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    store_value(&l, "PMI_process_mapping", "(vector,(0,999999999999,1");
    b = open_job(&l, 0, 2);
    assert_null(b->node_of);
    stop_launcher(&l, b);
}

static void values_of_any_length_come_back(void **state)
{
    struct launcher l = {.value_max = 100};
    struct wf_boot *b;
    uint8_t in[2000];
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7);
    b = open_job(&l, 0, 1);
    static const size_t sizes[] = {0, 1, 74, 75, 149, 150, 2000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *out;
        size_t n;
        assert_int_equal(b->ops->put(b, "weft.x", in, sizes[i]), 0);
        assert_int_equal(b->ops->get(b, "weft.x", &out, &n), 0);
        assert_int_equal(n, sizes[i]);
        assert_memory_equal(out, in, n);
        free(out);
    }
    stop_launcher(&l, b);
    assert_true(l.longest < 100);
}

/* Two writes or one: the end of the fence may come before the answer to a get,
 * or behind it in the same bytes. */
static void values_too_long_for_the_launcher_are_refused(void **state)
{
    struct launcher l = {.value_max = 128}; /* and keys of 63 characters */
    static char key[64], value[1 << 20];
    struct wf_boot *b;
    b = open_job(&l, 0, 1);
    memset(key, 'k', 40);
    assert_int_equal(b->ops->put(b, key, "value", 5), 0);
    assert_int_equal(b->ops->put(b, key, value, sizeof value), WEFT_ENOTSUP);
    memset(key, 'k', 60);
    assert_int_equal(b->ops->put(b, key, "value", 5), WEFT_ENOTSUP);
    stop_launcher(&l, b);
}

static void a_get_during_the_fence_does_not_lose_its_end(void **state)
{
    for (int behind = 0; behind < 2; behind++) {
        struct launcher l = {.fence_behind_get = behind};
        struct wf_boot *b;
        void *out;
        size_t n;
        int fd;
        b = open_job(&l, 0, 2);
        assert_int_equal(b->ops->put(b, "weft.x", "abc", 3), 0);
        assert_int_equal(b->ops->fence_start(b, &fd), 0);
        assert_int_equal(b->ops->get(b, "weft.x", &out, &n), 0);
        assert_memory_equal(out, "abc", 3);
        free(out);
        assert_true(b->ops->fence_passed(b));
        assert_int_equal(b->ops->fence_end(b), 0);
        assert_int_equal(b->ops->put(b, "weft.y", "d", 1), 0);
        stop_launcher(&l, b);
    }
}

/* Else the process would wait for the fence and serve nobody meanwhile. */
static void a_notice_behind_an_answer_is_not_the_end_of_the_fence(void **state)
{
    struct launcher l = {.fence_kept = 1,
                         .behind_get = "cmd=weft_lost_by rank=1\n"};
    struct wf_boot *b;
    void *out;
    size_t n;
    int fd;

    b = open_job(&l, 0, 2);
    assert_int_equal(b->ops->fence_start(b, &fd), 0);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_false(b->ops->fence_passed(b));
    assert_int_equal(b->given_up_by_count, 1);
    dprintf(l.fd, "cmd=barrier_out\n");
    while (!b->ops->fence_passed(b))
        assert_int_equal(b->ops->hear(b), 0);
    assert_int_equal(b->ops->fence_end(b), 0);
    stop_launcher(&l, b);
}

/* The news are heard beside an answer, the end of a fence, or nothing. */
static void a_peer_that_gives_this_process_up_is_reported(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    void *out;
    size_t n;

    store_value(&l, "weft.hosts", "1,await");
    b = open_job(&l, 0, 4);
    assert_int_equal(b->ops->hear(b), 0);
    assert_int_equal(b->given_up_by_count, 0);
    l.news = 3;
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(b->given_up_by_count, 1);
    assert_int_equal(b->given_up_by[0], 3);
    l.news = 2;
    assert_int_equal(wf_boot_fence(b), 0);
    assert_int_equal(b->given_up_by_count, 2);
    assert_int_equal(b->given_up_by[1], 2);
    dprintf(l.fd, "cmd=weft_lost_by rank=4\ncmd=weft_lost_by rank=-1\n"
                  "cmd=weft_lost_by rank=2\ncmd=weft_lost_by rank=1\n");
    while (b->given_up_by_count < 3)
        assert_int_equal(b->ops->hear(b), 0);
    assert_int_equal(b->given_up_by[2], 1);
    l.news = 0;
    b->ops->give_up(b, 3);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.given_up, 3);
    stop_launcher(&l, b);
}

static void hear_state(struct wf_boot *b, uint32_t rank, int what)
{
    while ((int)b->said[rank].state != what)
        assert_int_equal(b->ops->hear(b), 0);
}

static void the_launcher_says_which_ranks_run(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;

    store_value(&l, "weft.hosts", "1,await");
    b = open_job(&l, 0, 4);
    assert_null(b->said);
    b->ops->ask_state(b, 3);
    assert_int_equal(b->said[3].state, WF_BOOT_UNKNOWN);
    dprintf(l.fd, "cmd=weft_state rank=3 runs=1\n");
    hear_state(b, 3, WF_BOOT_RUNS);
    dprintf(l.fd,
            "cmd=weft_state rank=4 runs=1\ncmd=weft_state rank=-1 runs=1\n"
            "cmd=weft_state rank=2\ncmd=weft_state rank=3 runs=0\n");
    hear_state(b, 3, WF_BOOT_ENDED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(b->said[i].state, WF_BOOT_UNKNOWN);
    stop_launcher(&l, b);
}

/* It asks a rank itself, and tells the others how often that has answered. */
static void a_rank_in_mpi_says_so(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    void *out;
    size_t n;

    store_value(&l, "weft.hosts", "1,await");
    b = open_job(&l, 0, 4);
    b->ops->ask_state(b, 3);
    dprintf(l.fd, "cmd=weft_state rank=3 runs=1 answers=7\ncmd=weft_called\n");
    /* one that waits for the launcher serves nobody */
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.heres, 0);
    assert_int_equal(b->said[3].state, WF_BOOT_CALLED);
    assert_int_equal(b->said[3].answers, 7);
    assert_int_equal(b->said[3].replies, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(b->ops->hear(b), 0);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.heres, 1);
    stop_launcher(&l, b);
}

/* A launcher drops who leaves its answers unread. */
static void few_questions_wait_for_an_answer(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    void *out;
    size_t n;

    store_value(&l, "weft.hosts", "1,await");
    b = open_job(&l, 0, 4);
    for (int i = 0; i < 1000; i++)
        b->ops->ask_state(b, 1);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.questions, 16);
    dprintf(l.fd, "cmd=weft_runs_result rc=-1 msg=not_supported\n"
                  "cmd=weft_state rank=1 runs=1\n");
    hear_state(b, 1, WF_BOOT_RUNS);
    for (int i = 0; i < 1000; i++)
        b->ops->ask_state(b, 1);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.questions, 16 + 2);
    stop_launcher(&l, b);
}

static void another_launcher_is_not_asked_which_ranks_run(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    void *out;
    size_t n;

    b = open_job(&l, 0, 4);
    b->ops->ask_state(b, 3);
    assert_null(b->said);
    assert_int_equal(b->ops->get(b, "weft.x", &out, &n), WEFT_EUNREACH);
    assert_int_equal(l.questions, 0);
    stop_launcher(&l, b);
}

static void the_end_of_a_fence_is_heard(void **state)
{
    struct launcher l = {.news = 1};
    struct wf_boot *b;
    int fd;

    b = open_job(&l, 0, 2);
    assert_int_equal(b->ops->fence_start(b, &fd), 0);
    while (!b->fence_passed)
        assert_int_equal(b->ops->hear(b), 0);
    assert_int_equal(b->ops->fence_end(b), 0);
    stop_launcher(&l, b);
}

static void a_missing_key_is_unreachable_and_garbage_is_refused(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    void *out;
    size_t n;
    store_value(&l, "bad", "!!!!");
    store_value(&l, "cut", "*3");
    store_value(&l, "huge", "*99999999999999");
    b = open_job(&l, 0, 1);
    assert_int_equal(b->ops->get(b, "none", &out, &n), WEFT_EUNREACH);
    assert_int_equal(b->ops->get(b, "bad", &out, &n), WEFT_EPROTO);
    assert_int_equal(b->ops->get(b, "cut", &out, &n), WEFT_EUNREACH);
    assert_int_equal(b->ops->get(b, "huge", &out, &n), WEFT_EPROTO);
    stop_launcher(&l, b);
}

static void a_launcher_that_speaks_something_else_is_named(void **state)
{
    struct launcher l = {.broken = "220 mail.example.org ESMTP\n"};
    struct wf_boot *b = NULL;
    char err[256];
    start_launcher(&l, 0, 2);
    assert_true(wf_boot_open(NULL, &b, err, sizeof(err)) < 0);
    assert_non_null(strstr(err, "does not speak PMI-1"));
    pthread_join(l.thread, NULL);
    close(l.fd);
}

static void a_closed_pmi_descriptor_is_an_error_only_among_several(void **state)
{
    struct wf_boot *b;
    char err[256];
    setenv("PMI_FD", "1023", 1);
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    assert_true(wf_boot_open(NULL, &b, err, sizeof(err)) < 0);
    assert_non_null(strstr(err, "PMI_FD=1023"));
    setenv("PMI_SIZE", "1", 1);
    assert_int_equal(wf_boot_open(NULL, &b, err, sizeof(err)), 0);
    assert_string_equal(b->ops->name, "singleton");
    b->ops->close(b);
}

static void a_process_on_its_own_is_rank_0_of_1(void **state)
{
    struct wf_boot *b;
    char err[256];
    void *out;
    size_t n;
    assert_int_equal(wf_boot_open(NULL, &b, err, sizeof(err)), 0);
    assert_string_equal(b->ops->name, "singleton");
    assert_int_equal(b->rank, 0);
    assert_int_equal(b->size, 1);
    assert_true(b->one_host);
    assert_int_equal(b->ops->put(b, "k", "one", 3), 0);
    assert_int_equal(b->ops->put(b, "k", "three", 5), 0);
    assert_int_equal(wf_boot_fence(b), 0);
    assert_int_equal(b->ops->get(b, "k", &out, &n), 0);
    assert_int_equal(n, 5);
    free(out);
    assert_int_equal(b->ops->get(b, "other", &out, &n), WEFT_EUNREACH);
    assert_int_equal(b->ops->finalize(b), 0);
    b->ops->close(b);
}

static void one_of_several_under_a_foreign_launcher_is_refused(void **state)
{
    struct wf_boot *b;
    char err[512];
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_true(wf_boot_open(NULL, &b, err, sizeof(err)) < 0);
    assert_non_null(strstr(err, "OMPI_COMM_WORLD_SIZE=4"));
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("SLURM_NTASKS", "4", 1); /* a batch script alone is no srun */
    assert_int_equal(wf_boot_open(NULL, &b, err, sizeof(err)), 0);
    b->ops->close(b);
    setenv("PMIX_RANK", "1", 1);
    assert_true(wf_boot_open(NULL, &b, err, sizeof(err)) < 0);
    assert_non_null(strstr(err, "srun"));
}

static struct wf_boot *open_static(const char *ini, int ok, char *err)
{
    struct wf_config *config;
    struct wf_boot *b = NULL;
    assert_int_equal(wf_config_from_text(ini, &config, stderr), 0);
    int rc = wf_boot_open(config, &b, err, 512);
    assert_int_equal(rc == 0, ok);
    wf_config_free(config);
    return b;
}

static const char cell[] = "[core]\nbootstrap = static\njob = cell7\n"
                           "[host ctl]\naddress = 10.0.0.1\n"
                           "[host dsp]\naddress = 10.0.0.2\n"
                           "[rank 0]\nhost = ctl\n[rank 1-2]\nhost = dsp\n";

static void static_ranks_come_from_the_file(void **state)
{
    char err[512] = "";
    void *out;
    size_t n;
    setenv("WEFT_RANK", "2", 1);
    struct wf_boot *b = open_static(cell, 1, err);
    assert_string_equal(b->ops->name, "static");
    assert_true(b->is_static);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->size, 3);
    assert_int_equal(b->node_of[0], 0);
    assert_int_equal(b->node_of[2], 1);
    assert_int_equal(b->node_count, 2);
    assert_false(b->one_host);
    assert_string_equal(b->job, "cell7");
    assert_int_equal(b->ops->get(b, "weft.card.0", &out, &n), WEFT_EUNREACH);
    b->ops->close(b);
}

static void a_static_rank_out_of_range_or_unknown_is_refused(void **state)
{
    char err[512] = "";
    setenv("WEFT_RANK", "3", 1);
    open_static(cell, 0, err);
    assert_non_null(strstr(err, "WEFT_RANK=3"));
    setenv("WEFT_RANK", "two", 1);
    open_static(cell, 0, err);
    assert_non_null(strstr(err, "WEFT_RANK=two"));
    unsetenv("WEFT_RANK");
    open_static(cell, 0, err);
    assert_non_null(strstr(err, "set WEFT_RANK"));
    setenv("WEFT_RANK", "0", 1);
    open_static("[core]\nbootstrap = static\n", 0, err);
    assert_non_null(strstr(err, "WEFT_SIZE"));
}

static void boots_in_memory_share_what_they_put(void **state)
{
    struct wf_boot *b[3];
    void *out;
    size_t n;
    assert_int_equal(wf_boot_memory_create(3, b), 0);
    assert_string_equal(b[0]->job, b[2]->job);
    assert_int_equal(b[0]->ops->put(b[0], "weft.card.0", "zero", 4), 0);
    b[0]->ops->close(b[0]);
    assert_int_equal(b[2]->ops->get(b[2], "weft.card.0", &out, &n), 0);
    assert_memory_equal(out, "zero", 4);
    free(out);
    assert_int_equal(b[2]->rank, 2);
    assert_int_equal(b[2]->size, 3);
    assert_int_equal(b[2]->appnum, -1); /* unknown */
    b[1]->ops->close(b[1]);
    b[2]->ops->close(b[2]);
}

/* The last one takes everything along. */
static void boots_in_memory_leave_nothing_behind(void **state)
{
    static char value[1000];
    struct wf_boot *b[3];
#ifdef __GLIBC__
    struct mallinfo2 before = mallinfo2(), after;
#endif
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(wf_boot_memory_create(3, b), 0);
        assert_int_equal(b[1]->ops->put(b[1], "key", value, sizeof value), 0);
        for (int k = 0; k < 3; k++)
            b[k]->ops->close(b[k]);
    }
#ifdef __GLIBC__
    after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 100 * sizeof value);
#endif
}

#define boot_test(f)                                                           \
    cmocka_unit_test_setup_teardown(f, clear_environment, clear_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        boot_test(under_pmi_the_launcher_gives_the_rank),
        boot_test(two_nodes_without_our_key_are_not_one_host),
        boot_test(a_broken_mapping_is_only_a_missing_hint),
        boot_test(values_of_any_length_come_back),
        boot_test(values_too_long_for_the_launcher_are_refused),
        boot_test(a_get_during_the_fence_does_not_lose_its_end),
        boot_test(a_notice_behind_an_answer_is_not_the_end_of_the_fence),
        boot_test(a_peer_that_gives_this_process_up_is_reported),
        boot_test(the_launcher_says_which_ranks_run),
        boot_test(a_rank_in_mpi_says_so),
        boot_test(few_questions_wait_for_an_answer),
        boot_test(another_launcher_is_not_asked_which_ranks_run),
        boot_test(the_end_of_a_fence_is_heard),
        boot_test(a_missing_key_is_unreachable_and_garbage_is_refused),
        boot_test(a_launcher_that_speaks_something_else_is_named),
        boot_test(a_closed_pmi_descriptor_is_an_error_only_among_several),
        boot_test(a_process_on_its_own_is_rank_0_of_1),
        boot_test(one_of_several_under_a_foreign_launcher_is_refused),
        boot_test(static_ranks_come_from_the_file),
        boot_test(a_static_rank_out_of_range_or_unknown_is_refused),
        boot_test(boots_in_memory_share_what_they_put),
        boot_test(boots_in_memory_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
