/* The bootstrap by PMIx against a server in this process (fake_pmix.h): what it
 * asks, what it believes, and what it leaves behind.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include <pthread.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/error.h"
#include "pmix_job.h"

static void the_server_says_rank_size_and_nodes(void **state)
{
    struct wf_boot *b = open_job(2);

    assert_string_equal(b->ops->name, "pmix");
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->size, 4);
    assert_int_equal(b->appnum, 2);
    assert_int_equal(b->universe_size, 9);
    assert_int_equal(b->node_count, 2);
    assert_int_equal(b->node_of[2], 0);
    assert_int_equal(b->node_of[3], 1);
    assert_false(b->one_host);
    assert_true(b->is_launched);
    assert_false(b->awaits);
    assert_int_equal(strncmp(b->job, "job-17-", 7), 0);
    end_job(b);
}

/* Without the nodes the business cards are asked. */
static void nodes_that_do_not_name_each_process_are_not_believed(void **state)
{
    static const char *const peers[][2] = {
        {"ac", "b"}, {"ac", NULL}, {"ac", "bx"}, {"aa", "aa"}, {"", ""}};
    int rc;

    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        struct wf_boot *b;
        fake_reset(0, 4);
        pmix.nodes = "0,1,7,name";
        pmix.peers[0] = peers[i][0];
        pmix.peers[1] = peers[i][1];
        b = try_to_open(&rc);
        assert_int_equal(rc, 0);
        assert_null(b->node_of);
        assert_int_equal(b->node_count, 0);
        end_job(b);
    }
    fake_reset(0, 2);
    pmix.nodes = "0";
    pmix.peers[0] = "abz"; /* one of them there is not */
    struct wf_boot *b = try_to_open(&rc);
    assert_int_equal(b->node_count, 1);
    assert_true(b->one_host);
    end_job(b);
}

static void a_server_that_makes_no_sense_is_refused(void **state)
{
    int rc;

    fake_reset(0, 0);
    assert_null(try_to_open(&rc));
    assert_true(rc < 0);
    assert_non_null(strstr(err, "how many processes"));
    assert_int_equal(pmix.finalizes, 1);
    fake_reset(4, 4);
    assert_null(try_to_open(&rc));
    assert_non_null(strstr(err, "rank 4 of 4"));
    assert_int_equal(pmix.handlers, 0);
    fake_reset(0, 4);
    pmix.init = PMIX_ERR_UNREACH;
    assert_null(try_to_open(&rc));
    assert_int_equal(rc, WEFT_EUNREACH);
    assert_non_null(strstr(err, "PMIx_Init: UNREACHABLE"));
}

static void assert_value(struct wf_boot *b, const char *key, const char *wanted)
{
    void *value;
    size_t n;

    assert_int_equal(b->ops->get(b, key, &value, &n), 0);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(value, wanted, n);
    free(value);
}

static pmix_value_t bytes_of(const char *text)
{
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT};

    v.data.bo.bytes = (char *)(uintptr_t)text;
    v.data.bo.size = strlen(text);
    return v;
}

/* The start's fence carries cards; the fence at the end has nothing to. */
static void a_fence_collects_what_was_put_before_it(void **state)
{
    struct wf_boot *b = open_job(0);

    pmix.at_once = true;
    assert_int_equal(b->ops->put(b, "weft.card.0", "zero", 4), 0);
    assert_int_equal(pmix.commits, 0);
    assert_int_equal(wf_boot_fence(b), 0);
    assert_int_equal(pmix.commits, 1);
    assert_int_equal(pmix.collected, 1);
    assert_int_equal(wf_boot_fence(b), 0);
    assert_int_equal(pmix.commits, 1);
    assert_int_equal(pmix.collected, 1);
    assert_int_equal(pmix.fences, 2);
    end_job(b);
}

static void a_key_is_asked_of_the_process_that_puts_it(void **state)
{
    struct wf_boot *b = open_job(1);

    fake_store(3, "weft.card.3", bytes_of("three"), false);
    fake_store(3, "weft.card.3.1", bytes_of("engine"), false);
    fake_store(0, "weft.key", bytes_of("secret"), false);
    fake_store(2, "weft.card.2", bytes_of(""), false);
    assert_value(b, "weft.card.3", "three");
    assert_value(b, "weft.card.3.1", "engine");
    assert_value(b, "weft.key", "secret");
    assert_value(b, "weft.card.2", "");
    end_job(b);
}

/* Before the fence nobody may wait for a value that may never come: rank 0 asks
 * for a key, and makes one if there is none. */
static void other_nodes_are_asked_after_a_fence_only(void **state)
{
    struct wf_boot *b = open_job(1);
    void *value;
    size_t n;

    fake_store(0, "weft.key", bytes_of("secret"), true);
    assert_int_equal(b->ops->get(b, "weft.key", &value, &n), WEFT_EUNREACH);
    assert_int_equal(pmix.far, 0);
    pmix.at_once = true;
    assert_int_equal(wf_boot_fence(b), 0);
    assert_value(b, "weft.key", "secret");
    assert_int_equal(pmix.far, 1);
    assert_int_equal(b->ops->get(b, "weft.card.1", &value, &n), WEFT_EUNREACH);
    assert_int_equal(pmix.far, 1); /* its own */
    end_job(b);
}

static void a_value_of_another_type_is_refused(void **state)
{
    struct wf_boot *b = open_job(1);
    pmix_value_t v = {.type = PMIX_UINT32};
    void *value;
    size_t n;

    v.data.uint32 = 7;
    fake_store(0, "weft.key", v, false);
    assert_int_equal(b->ops->get(b, "weft.key", &value, &n), WEFT_EPROTO);
    assert_non_null(strstr(wf_error_last()->text, "weft.key"));
    end_job(b);
}

static void the_end_of_a_fence_comes_by_a_descriptor(void **state)
{
    struct wf_boot *b = open_job(0);

    for (int i = 0; i < 100; i++) {
        struct pollfd in = {.events = POLLIN};
        assert_int_equal(b->ops->fence_start(b, &in.fd), 0);
        assert_int_equal(poll(&in, 1, 0), 0);
        assert_false(b->ops->fence_passed(b));
        pthread_t thread = fake_start_end_of_fence();
        assert_int_equal(poll(&in, 1, -1), 1);
        assert_true(b->ops->fence_passed(b));
        assert_int_equal(b->ops->fence_end(b), 0);
        assert_int_equal(poll(&in, 1, 0), 0);
        pthread_join(thread, NULL);
    }
    end_job(b);
}

static void a_fence_that_fails_is_an_error(void **state)
{
    struct wf_boot *b = open_job(0);
    pthread_t thread;
    int fd;

    pmix.fence = PMIX_ERR_TIMEOUT;
    assert_int_equal(b->ops->fence_start(b, &fd), 0);
    thread = fake_start_end_of_fence();
    assert_true(b->ops->fence_end(b) < 0);
    assert_non_null(strstr(wf_error_last()->text, "pmix fence: "));
    pthread_join(thread, NULL);
    pmix.at_once = true;
    assert_int_equal(wf_boot_fence(b), 0);
    end_job(b);
}

static void an_abort_has_its_code(void **state)
{
    struct wf_boot *b = open_job(0);

    b->ops->abort(b, 42, "why");
    assert_int_equal(pmix.aborted, 42);
    end_job(b);
}

/* A process that ends without a farewell: the server is to see that. */
static void a_close_alone_says_no_farewell(void **state)
{
    struct wf_boot *b = open_job(0);

    wf_boot_close(b);
    assert_int_equal(pmix.finalizes, 0);
    assert_int_equal(pmix.handlers, 0);
}

static void a_process_ends_when_its_server_is_gone(void **state)
{
    struct wf_boot *b = open_job(2);
    char text[512] = "";
    int out[2], status;
    ssize_t n;
    pid_t child;

    assert_non_null(pmix.lost);
    assert_int_equal(pipe(out), 0);
    child = fork();
    if (child == 0) {
        dup2(out[1], 2);
        pmix.lost(5, PMIX_ERR_LOST_CONNECTION, NULL, &pmix.lost_info, 1, NULL,
                  0, NULL, NULL);
        _exit(0);
    }
    close(out[1]);
    while ((n = read(out[0], text + strlen(text),
                     sizeof text - 1 - strlen(text))) > 0)
        ;
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(text, "rank 2: the launcher is gone (pmix: "
                                 "LOST_CONNECTION)"));
    end_job(b);
}

/* Sets are those that this process is in; other jobs may have members. */
static void the_servers_process_sets_are_listed(void **state)
{
    struct wf_boot *b = open_job(1);
    const struct wf_boot_pset *sets = NULL;
    char too_long[MPI_MAX_PSET_NAME_LEN + 1] = "";
    uint32_t count;

    memset(too_long, 'x', sizeof too_long - 1);
    pmix.sets[3][0] = too_long;
    pmix.sets[3][1] = "ab";
    pmix.sets[0][0] = "app/left";
    pmix.sets[0][1] = "ab";
    pmix.sets[1][0] = "app/others";
    pmix.sets[1][1] = "cd";
    pmix.sets[2][0] = "wide";
    pmix.sets[2][1] = "dCbBz";
    assert_int_equal(b->ops->psets(b, &sets, &count), 0);
    assert_int_equal(count, 2);
    assert_string_equal(sets[0].name, "app/left");
    assert_int_equal(sets[0].count, 2);
    assert_int_equal(sets[0].ranks[1], 1);
    assert_string_equal(sets[1].name, "wide");
    assert_int_equal(sets[1].count, 2);
    assert_int_equal(sets[1].ranks[0], 3);
    assert_int_equal(sets[1].ranks[1], 1);
    assert_int_equal(pmix.queries, 5);
    pmix.sets[0][0] = NULL; /* they stay as they were */
    assert_int_equal(b->ops->psets(b, &sets, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(pmix.queries, 5);
    end_job(b);
}

static void a_server_without_process_sets_has_none(void **state)
{
    struct wf_boot *b = open_job(1);
    const struct wf_boot_pset *sets;
    uint32_t count;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(b->ops->psets(b, &sets, &count), 0);
        assert_int_equal(count, 0);
    }
    assert_int_equal(pmix.queries, 1);
    end_job(b);
}

/* A server takes it for the first, and may never answer it. */
static void a_second_program_of_a_rank_is_refused(void **state)
{
    struct wf_boot *b;
    char at[256];
    int rc;

    snprintf(at, sizeof at, "%s", (char *)*state);
    setenv("PMIX_SERVER_TMPDIR", at, 1);
    setenv("PMIX_NAMESPACE", "job-17", 1);
    setenv("PMIX_RANK", "2", 1);
    fake_reset(2, 4);
    pmix.init = PMIX_ERR_UNREACH; /* a start that failed does not count */
    assert_null(try_to_open(&rc));
    assert_int_not_equal(access("weft.job-17.2", F_OK), 0);
    b = open_job(2);
    assert_int_equal(access("weft.job-17.2", F_OK), 0);
    end_job(b);
    assert_null(try_to_open(&rc));
    assert_int_equal(rc, WEFT_EUNREACH);
    assert_non_null(strstr(err, "an earlier program of rank 2 has used MPI"));
    assert_int_equal(pmix.inits, 1); /* libpmix is not even asked */
    setenv("PMIX_RANK", "3", 1);
    end_job(open_job(3));
    setenv("PMIX_SERVER_TMPDIR", "/proc/none", 1);
    end_job(open_job(3)); /* without the directory nobody can tell */
}

/* Its lock may keep a process in PMIx_Init for ever. */
static void the_shared_memory_of_old_servers_is_not_used(void **state)
{
    static const char *const cases[][2] = {{"ds21,ds12,hash", "hash"},
                                           {"ds12,hash", "hash"},
                                           {"shmem2,hash", "shmem2,hash"},
                                           {"hash", "hash"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("PMIX_GDS_MODULE", cases[i][0], 1);
        end_job(open_job(1));
        assert_string_equal(pmix.modules, cases[i][1]);
    }
    unsetenv("PMIX_GDS_MODULE");
    end_job(open_job(1));
    assert_string_equal(pmix.modules, "");
}

static int clear_environment(void **state)
{
    unsetenv("PMIX_SERVER_TMPDIR");
    return leave_directory(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_server_says_rank_size_and_nodes),
        CASE(nodes_that_do_not_name_each_process_are_not_believed),
        CASE(a_server_that_makes_no_sense_is_refused),
        CASE(a_fence_collects_what_was_put_before_it),
        CASE(a_key_is_asked_of_the_process_that_puts_it),
        CASE(other_nodes_are_asked_after_a_fence_only),
        CASE(a_value_of_another_type_is_refused),
        CASE(the_end_of_a_fence_comes_by_a_descriptor),
        CASE(a_fence_that_fails_is_an_error),
        CASE(an_abort_has_its_code),
        CASE(a_close_alone_says_no_farewell),
        CASE(a_process_ends_when_its_server_is_gone),
        CASE(the_servers_process_sets_are_listed),
        CASE(a_server_without_process_sets_has_none),
        CASE(the_shared_memory_of_old_servers_is_not_used),
        cmocka_unit_test_setup_teardown(a_second_program_of_a_rank_is_refused,
                                        enter_directory, clear_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
