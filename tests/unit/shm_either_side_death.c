/* plugins/shm: this test kills a process in the middle of transfers that either
 * side moves.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_transfer.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The thread sanitizer is slow, and sees no races between processes. */
#ifdef __SANITIZE_THREAD__
enum { DEATHS = 3 };
#else
enum { DEATHS = 25 };
#endif

/* This is the id of the first offer of an endpoint. */
static const uint64_t first_id = UINT64_C(1) << 63 | UINT64_C(1) << 32;

/* Ask for one transfer after the other; both processes have `source` at the
 * same address. */
static void keep_asking(struct fake_node *n, struct transfer *t)
{
    weft_peer *p = n->loc[1 - n->id].peer;
    if (t->key && !has_ended(t))
        return;
    if (t->key) {
        int status = (int)t->rma.priv[5] - 1000;
        if (status >= 0 && !fake_same(target, 3, 0, BYTES))
            abort();
        OPS->rkey_close(p, t->key);
    }
    memset(t, 0, sizeof *t);
    if (n->loc[1 - n->id].down ||
        OPS->rkey_open(p, &first_id, sizeof first_id, &t->key) != WEFT_OK)
        return;
    t->rma = (weft_get){.one = {target, BYTES},
                        .raddr = (uintptr_t)source,
                        .rkey = t->key};
    int rc = OPS->get(p, &t->rma);
    if (rc != WEFT_OK)
        t->rma.priv[5] = (uint64_t)(1000 + rc);
}

static void do_work(struct fake_node *n, struct transfer *t, unsigned *seed)
{
    if (n->loc[1 - n->id].got > 0)
        keep_asking(n, t);
    if (rand_r(seed) % 2000 == 0)
        usleep(200); /* computes */
    fake_progress(n);
}

static void run_child(int fd, unsigned seed)
{
    struct transfer t = {0};
    weft_mr *mr;
    connect_over(fd, &b, 1);
    if (OPS->mr_reg(b.ep, source, BYTES, &mr) != WEFT_OK)
        _exit(5);
    while (fake_send(&b, 0, 8, 6) < 0)
        fake_progress(&b);
    for (;;)
        do_work(&b, &t, &seed);
}

static void kill_one(unsigned seed)
{
    struct transfer t = {0};
    int pair[2], status;
    weft_mr *mr;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        run_child(pair[1], seed);
    }
    close(pair[1]);
    connect_over(pair[0], &a, 0);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &mr), WEFT_OK);
    while (fake_send(&a, 1, 8, 6) < 0)
        fake_progress(&a);
    for (long when = rand_r(&seed) % 4000; !a.loc[1].down; when--) {
        if (when == 0)
            kill(pid, SIGKILL);
        do_work(&a, &t, &seed);
    }
    assert_int_equal(a.loc[1].status, WEFT_EPEER);
    if (t.key) {
        assert_true(has_ended(&t));
        OPS->rkey_close(NULL, t.key);
    }
    OPS->close(a.ep);
    a.ep = NULL;
    close(pair[0]);
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void death_in_the_middle_is_noticed(void **state)
{
    (void)state;
    fake_fill(source, 3, sizeof source);
    int before = fake_open_fds();
    for (unsigned seed = 1; seed <= DEATHS; seed++)
        kill_one(seed * 7919);
    assert_int_equal(fake_open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death_in_the_middle_is_noticed)};
    return cmocka_run_group_tests_name("shm either side, death", tests, NULL,
                                       NULL);
}
