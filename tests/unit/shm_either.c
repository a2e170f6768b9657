/* plugins/shm: transfers that either side moves alone, or both together.
 *
 * A side that computes is one whose progress is not called. One that has a
 * thread in its place says so: `stands_in`, NO_CPU where programs have them all.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_fake.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../plugins/shm/shm.h"

#define OPS (weft_plugin_2_shm.ops)

enum { NO_CPU = 2, BYTES = 5 << 20, LIMIT_S = 120, SEVERAL = 20 };

/* The thread sanitizer is slow, and sees no races between processes. */
#ifdef __SANITIZE_THREAD__
enum { DEATHS = 3 };
#else
enum { DEATHS = 25 };
#endif

static struct fake_node a, b;
static unsigned char source[BYTES + 64], target[BYTES + 64];

/* For limits, which the clock of the transports does not stop. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void both(void)
{
    fake_progress(&a);
    fake_progress(&b);
}

static int start(void **state)
{
    (void)state;
    fake_stands = 0;
    fake_pair(&a, &b, NULL);
    fake_connect(&a, &b, 8, 6);
    while (b.loc[0].got < 1)
        both();
    fake_fill(source, 3, sizeof source);
    memset(target, 0xee, sizeof target);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (a.ep)
        fake_close(&a, b.ep ? &b : NULL);
    if (b.ep)
        fake_close(&b, NULL);
    return 0;
}

static uint64_t count(struct fake_node *n, const char *what)
{
    const char *name;
    uint64_t value;
    for (int i = 0; OPS->stat(n->ep, i, &name, &value) == WEFT_OK; i++)
        if (strcmp(name, what) == 0)
            return value;
    fail_msg("%s is not counted", what);
    return 0;
}

struct transfer {
    weft_mr *mr;
    weft_rkey *key;
    weft_get rma;
};

/* a offers its memory and b asks for it. */
static void begin(struct transfer *t, uint64_t from, uint64_t len)
{
    unsigned char key[64];
    size_t n = sizeof key;
    memset(t, 0, sizeof *t);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &t->mr), WEFT_OK);
    assert_int_equal(OPS->mr_pack(a.ep, t->mr, key, &n), WEFT_OK);
    if (OPS->rkey_open(b.loc[0].peer, key, n, &t->key) != WEFT_OK)
        skip();
    t->rma = (weft_get){.one = {target + from, len},
                        .raddr = (uintptr_t)source + from,
                        .rkey = t->key};
    int rc = OPS->get(b.loc[0].peer, &t->rma);
    if (rc == WEFT_ENOTSUP) {
        print_message("the kernel does not let processes read each other\n");
        skip();
    }
    assert_true(rc == WEFT_OK || rc == WEFT_DONE);
    if (rc == WEFT_DONE)
        t->rma.priv[5] = 1000 + WEFT_OK;
}

static bool ended(const struct transfer *t)
{
    return t->rma.priv[5] != 0;
}

static void end(struct transfer *t)
{
    OPS->rkey_close(b.loc[0].peer, t->key);
    OPS->mr_dereg(a.ep, t->mr);
}

static void check(const struct transfer *t)
{
    assert_int_equal(t->rma.priv[5], 1000 + WEFT_OK);
    uint64_t from = t->rma.raddr - (uintptr_t)source;
    assert_true(fake_same(target + from, 3, from, t->rma.one.iov_len));
    assert_int_equal(target[from + t->rma.one.iov_len], 0xee);
}

/* progress of one node, or of both where other is given, until it ends */
static void run(const struct transfer *t, struct fake_node *one,
                struct fake_node *other)
{
    uint64_t limit = now() + LIMIT_S * UINT64_C(1000000000);
    while (!ended(t)) {
        fake_progress(one);
        if (other)
            fake_progress(other);
        assert_true(now() < limit);
    }
}

static void a_sender_that_computes_is_not_needed(void **state)
{
    struct transfer t;
    (void)state;
    begin(&t, 0, BYTES);
    run(&t, &b, NULL);
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), BYTES);
    end(&t);
}

/* It moves all, and the receiver only has to notice. */
static void a_receiver_that_computes_is_not_needed(void **state)
{
    struct transfer t;
    uint64_t limit = now() + LIMIT_S * UINT64_C(1000000000);
    (void)state;
    b.stands_in = 1;
    begin(&t, 7, BYTES - 9);
    while (count(&a, "written_bytes") < BYTES - 9) {
        fake_progress(&a);
        assert_true(now() < limit);
    }
    assert_false(ended(&t));
    assert_int_equal(OPS->arm(b.ep, NULL), WEFT_EAGAIN);
    run(&t, &b, NULL);
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), 0);
    end(&t);
}

/* A program that left after its call: what it left in the ring stays there. */
static void pieces_that_nobody_takes_are_few(void **state)
{
    struct transfer t;
    uint64_t limit = now() + LIMIT_S * UINT64_C(1000000000);
    (void)state;
    begin(&t, 0, BYTES);
    while (count(&a, "written_bytes") < BYTES - (256 << 10)) {
        fake_progress(&a);
        assert_true(now() < limit);
    }
    run(&t, &b, NULL);
    check(&t);
    end(&t);
}

static void both_sides_push_and_take(void **state)
{
    struct transfer t[SEVERAL];
    (void)state;
    for (int i = 0; i < SEVERAL; i++)
        begin(&t[i], 0, BYTES);
    for (int i = 0; i < SEVERAL; i++)
        run(&t[i], &a, &b);
    for (int i = 0; i < SEVERAL; i++) {
        check(&t[i]);
        end(&t[i]);
    }
}

/* The trial of the ways to copy ends where all that comes are pieces. The clock
 * stands: a side that had no processor for a while would else be passed by, and
 * pieces that do not come through the ring are not timed. */
static void pieces_are_timed(void **state)
{
    (void)state;
    struct shm_choice *c = &b.loc[0].peer->in.choice;
    b.ep->ring_pace = (struct shm_pace){100, 1 << 20}; /* no race with CMA */
    b.ep->cma_pace = (struct shm_pace){100, 1};
    fake_stands = now();
    bool tried = false;
    for (int i = 0; i < 40 && (!tried || c->left <= 0); i++) {
        struct transfer t;
        begin(&t, 0, BYTES);
        run(&t, &a, &b);
        check(&t);
        end(&t);
        tried |= c->left <= 0;
    }
    assert_true(tried && c->left > 0);
    assert_int_equal(count(&a, "written_bytes") + count(&b, "read_bytes"), 0);
}

/* Messages of all sizes go between the pieces, in order. */
static void other_messages_pass(void **state)
{
    struct transfer t[SEVERAL];
    uint64_t seed = 5;
    (void)state;
    b.answer_random = true;
    for (int i = 0; i < SEVERAL; i++)
        begin(&t[i], 0, BYTES);
    for (int i = 0; !ended(&t[SEVERAL - 1]) || i < 300; i++) {
        seed = seed * 6364136223846793005u + 1;
        fake_send(&a, 1, (uint32_t)(seed >> 40) % 200000, (unsigned)i % 8);
        fake_progress(seed >> 33 & 1 ? &a : &b);
    }
    while (b.loc[0].got < a.loc[1].sent || b.loc[0].sinking)
        both();
    for (int i = 0; i < SEVERAL; i++) {
        run(&t[i], &a, &b);
        check(&t[i]);
        end(&t[i]);
    }
}

/* The sender comes back in the middle, and goes again. */
static void who_comes_back_takes_part(void **state)
{
    struct transfer t;
    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        memset(target, 0xee, sizeof target);
        begin(&t, round, BYTES - 100);
        for (unsigned i = 0; !ended(&t); i++)
            fake_progress(i >> (round % 7) & 1 ? &a : &b);
        check(&t);
        end(&t);
    }
}

/* Where both have a thread in their place, the reader's works. */
static void one_of_two_stand_ins_moves(void **state)
{
    struct transfer t;
    (void)state;
    a.stands_in = b.stands_in = 1;
    begin(&t, 0, BYTES);
    run(&t, &a, &b);
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), BYTES);
    end(&t);
}

/* A sender that computes, with nobody in its place: whoever stands in for the
 * receiver does not go to sleep before it has found that out, and reads. */
static void a_stand_in_does_not_sleep_on_a_guess(void **state)
{
    struct transfer t;
    (void)state;
    b.stands_in = 1;
    begin(&t, 0, BYTES);
    while (!ended(&t)) {
        assert_int_equal(OPS->arm(b.ep, NULL), WEFT_EAGAIN);
        fake_progress(&b);
    }
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), BYTES);
    end(&t);
}

/* A sender's stand-in sleeps, and is not woken for what the receiver can do. */
static void a_stand_in_sleeps_while_the_other_moves(void **state)
{
    struct transfer t;
    (void)state;
    a.stands_in = 1;
    while (OPS->arm(a.ep, NULL) == WEFT_EAGAIN)
        fake_progress(&a);
    uint64_t rang = count(&b, "bells_rung");
    begin(&t, 0, BYTES);
    assert_int_equal(count(&b, "bells_rung"), rang);
    for (int i = 0; i < 100; i++)
        fake_progress(&a);
    assert_int_equal(OPS->arm(a.ep, NULL), WEFT_OK);
    run(&t, &b, NULL);
    check(&t);
    assert_int_equal(count(&a, "written_bytes"), 0);
    assert_int_equal(count(&b, "read_bytes"), BYTES);
    end(&t);
}

/* A receiver's stand-in sleeps because the sender is at work. When that one goes
 * its own stand-in takes over. Who is slow here may miss the moment: again. */
static void the_last_one_awake_moves(void **state)
{
    struct transfer t;
    uint64_t limit = now() + LIMIT_S * UINT64_C(1000000000);
    bool asleep = false;
    (void)state;
    b.stands_in = 1;
    while (!asleep) {
        a.stands_in = 0;
        assert_true(now() < limit);
        begin(&t, 0, BYTES);
        fake_progress(&a);
        asleep = !ended(&t) && OPS->arm(b.ep, NULL) == WEFT_OK;
        a.stands_in = 1;
        while (asleep && OPS->arm(a.ep, NULL) == WEFT_EAGAIN)
            fake_progress(&a);
        run(&t, &b, NULL);
        check(&t);
        end(&t);
    }
    assert_true(count(&a, "written_bytes") >= BYTES);
}

static void let_sleep(struct fake_node *n)
{
    while (OPS->arm(n->ep, NULL) == WEFT_EAGAIN)
        fake_progress(n);
}

/* Both programs compute, on all CPUs that there are: those in their place go to
 * sleep, and move nothing though they are asked to look. */
static void begin_without_a_cpu(struct transfer *t)
{
    a.stands_in = b.stands_in = NO_CPU;
    begin(t, 0, BYTES);
    for (int i = 0; i < 100; i++)
        both();
    let_sleep(&a);
    let_sleep(&b);
    let_sleep(&a);
    assert_false(ended(t));
    assert_int_equal(count(&b, "read_bytes"), 0);
    assert_int_equal(count(&a, "written_bytes"), 0);
}

static void without_a_cpu_the_receiver_that_comes_moves(void **state)
{
    struct transfer t;
    (void)state;
    begin_without_a_cpu(&t);
    b.stands_in = 0;
    run(&t, &b, NULL);
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), BYTES);
    end(&t);
}

/* And the one in the receiver's place is called when that is done. */
static void without_a_cpu_the_sender_that_comes_moves(void **state)
{
    struct transfer t;
    uint64_t limit = now() + LIMIT_S * UINT64_C(1000000000), rang;
    (void)state;
    begin_without_a_cpu(&t);
    rang = count(&a, "bells_rung");
    a.stands_in = 0;
    while (count(&a, "written_bytes") < BYTES) {
        fake_progress(&a);
        assert_true(now() < limit);
    }
    assert_int_equal(count(&a, "bells_rung"), rang + 1);
    run(&t, &b, NULL);
    check(&t);
    assert_int_equal(count(&b, "read_bytes"), 0);
    end(&t);
}

/* What was taken from the front has to be pushed by whoever is there. */
static void without_a_cpu_what_was_begun_is_finished(void **state)
{
    struct transfer t;
    (void)state;
    begin(&t, 0, BYTES);
    fake_progress(&a);
    a.stands_in = NO_CPU;
    run(&t, &b, &a);
    check(&t);
    end(&t);
}

/* The receiver's buffer has room for less. */
static void less_than_was_offered_is_moved(void **state)
{
    struct transfer t;
    (void)state;
    for (uint64_t len = 1; len < BYTES; len = len * 7 + 3) {
        memset(target, 0xee, sizeof target);
        begin(&t, 5, len);
        run(&t, &a, &b);
        check(&t);
        end(&t);
    }
}

/* What is not offered, or no more, is not pushed; the reader does it, or fails. */
/* Nothing refers to its memory any more, and the next one is moved. */
static void an_offer_that_ends_leaves_the_others(void **state)
{
    (void)state;
    const struct shm_pushes *asked = &a.loc[1].peer->pushes;
    struct transfer t[2];
    begin(&t[0], 0, BYTES / 2 - 64);
    begin(&t[1], BYTES / 2, BYTES / 2);
    while (asked->n < 2)
        fake_progress(&a);
    OPS->mr_dereg(a.ep, t[0].mr);
    assert_null(asked->at[asked->first % SHM_FETCHES].mr);
    assert_ptr_equal(asked->at[(asked->first + 1) % SHM_FETCHES].mr, t[1].mr);
    run(&t[0], &b, &a);
    run(&t[1], &b, &a);
    check(&t[0]);
    check(&t[1]);
    OPS->rkey_close(b.loc[0].peer, t[0].key);
    end(&t[1]);
}

static void what_is_not_offered_is_not_pushed(void **state)
{
    struct transfer t;
    (void)state;
    begin(&t, 0, BYTES);
    OPS->mr_dereg(a.ep, t.mr);
    for (int i = 0; i < 1000; i++)
        fake_progress(&a);
    assert_int_equal(count(&a, "written_bytes"), 0);
    run(&t, &b, NULL);
    check(&t);
    OPS->rkey_close(b.loc[0].peer, t.key);
    assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
}

static void memory_that_cannot_be_read_is_an_error(void **state)
{
    struct transfer t;
    (void)state;
    begin(&t, 0, BYTES);
    end(&t);
    struct transfer u = {0};
    unsigned char key[64];
    size_t n = sizeof key;
    run(&t, &b, NULL);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &u.mr), WEFT_OK);
    assert_int_equal(OPS->mr_pack(a.ep, u.mr, key, &n), WEFT_OK);
    assert_int_equal(OPS->rkey_open(b.loc[0].peer, key, n, &u.key), WEFT_OK);
    u.rma = (weft_get){.one = {target, BYTES},
                       .raddr = 4096,
                       .rkey = u.key};
    assert_int_equal(OPS->get(b.loc[0].peer, &u.rma), WEFT_OK);
    run(&u, &a, &b);
    assert_true((int)u.rma.priv[5] - 1000 < 0);
    end(&u);
}

static void a_lost_peer_ends_its_transfers(void **state)
{
    struct transfer t[SEVERAL];
    (void)state;
    for (int i = 0; i < SEVERAL; i++)
        begin(&t[i], 0, BYTES);
    for (int i = 0; i < 3; i++)
        both();
    assert_int_equal(OPS->peer_del(b.loc[0].peer, 1), WEFT_OK);
    for (int i = 0; i < SEVERAL; i++)
        assert_true(ended(&t[i]));
    for (int i = 0; i < SEVERAL; i++)
        end(&t[i]);
    b.loc[0].peer = NULL;
    for (int i = 0; i < 3000; i++)
        fake_progress(&a);
}

/* ---- the end of a process ------------------------------------------------- */

/* The first offer of an endpoint. */
static const uint64_t first_id = UINT64_C(1) << 63 | UINT64_C(1) << 32;

static void meet(struct fake_node *n, uint32_t id, int fd)
{
    memset(n, 0, sizeof *n);
    if (fake_open(n, id, 2, 7, NULL) != WEFT_OK ||
        write(fd, n->address[id], n->address_len) < 0 ||
        read(fd, n->address[1 - id], n->address_len) < 0)
        _exit(4);
    fake_add(n, 1 - id);
}

/* One transfer after the other; both processes have `source` at one place. */
static void keep_asking(struct fake_node *n, struct transfer *t)
{
    weft_peer *p = n->loc[1 - n->id].peer;
    if (t->key && !ended(t))
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

static void work(struct fake_node *n, struct transfer *t, unsigned *seed)
{
    if (n->loc[1 - n->id].got > 0)
        keep_asking(n, t);
    if (rand_r(seed) % 2000 == 0)
        usleep(200); /* computes */
    fake_progress(n);
}

static void child(int fd, unsigned seed)
{
    struct transfer t = {0};
    weft_mr *mr;
    meet(&b, 1, fd);
    if (OPS->mr_reg(b.ep, source, BYTES, &mr) != WEFT_OK)
        _exit(5);
    while (fake_send(&b, 0, 8, 6) < 0)
        fake_progress(&b);
    for (;;)
        work(&b, &t, &seed);
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
        child(pair[1], seed);
    }
    close(pair[1]);
    meet(&a, 0, pair[0]);
    assert_int_equal(OPS->mr_reg(a.ep, source, BYTES, &mr), WEFT_OK);
    while (fake_send(&a, 1, 8, 6) < 0)
        fake_progress(&a);
    for (long when = rand_r(&seed) % 4000; !a.loc[1].down; when--) {
        if (when == 0)
            kill(pid, SIGKILL);
        work(&a, &t, &seed);
    }
    assert_int_equal(a.loc[1].status, WEFT_EPEER);
    if (t.key) {
        assert_true(ended(&t));
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
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        CASE(a_sender_that_computes_is_not_needed),
        CASE(a_receiver_that_computes_is_not_needed),
        CASE(pieces_that_nobody_takes_are_few),
        CASE(both_sides_push_and_take),
        CASE(pieces_are_timed),
        CASE(other_messages_pass),
        CASE(who_comes_back_takes_part),
        CASE(one_of_two_stand_ins_moves),
        CASE(a_stand_in_does_not_sleep_on_a_guess),
        CASE(a_stand_in_sleeps_while_the_other_moves),
        CASE(the_last_one_awake_moves),
        CASE(without_a_cpu_the_receiver_that_comes_moves),
        CASE(without_a_cpu_the_sender_that_comes_moves),
        CASE(without_a_cpu_what_was_begun_is_finished),
        CASE(less_than_was_offered_is_moved),
        CASE(an_offer_that_ends_leaves_the_others),
        CASE(what_is_not_offered_is_not_pushed),
        CASE(memory_that_cannot_be_read_is_an_error),
        CASE(a_lost_peer_ends_its_transfers),
        cmocka_unit_test(death_in_the_middle_is_noticed)};
    return cmocka_run_group_tests_name("shm either", tests, NULL, NULL);
}
