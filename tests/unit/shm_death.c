/* plugins/shm: a process that dies, or writes nonsense, harms only its link.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: talks at random until it is killed. */
static void send_chatter(int fd, unsigned seed)
{
    connect_over(fd, &b, 1);
    b.answer_random = true;
    b.seed = seed;
    for (;;) {
        unsigned r = (unsigned)rand_r(&seed);
        uint32_t len = r % 5 == 0 ? r % 400000 : r % 5000;
        fake_send(&b, 0, len, r >> 16);
        fake_progress(&b);
    }
}

static void kill_one(unsigned seed)
{
    int pair[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        send_chatter(pair[1], seed);
    }
    close(pair[1]);
    connect_over(pair[0], &a, 0);
    a.answer_random = true;
    long when = rand_r(&seed) % 3 ? rand_r(&seed) % 300 : rand_r(&seed) % 8000;
    fake_send(&a, 1, 8, 6);
    for (long i = 0; !a.loc[1].down; i++) {
        if (i == when)
            kill(pid, SIGKILL);
        unsigned r = (unsigned)rand_r(&seed);
        if (!a.loc[1].down)
            fake_send(&a, 1, r % 4 == 0 ? r % 300000 : r % 3000, r >> 16);
        fake_progress(&a);
    }
    if (a.loc[1].up) {
        assert_int_equal(a.loc[1].status, WEFT_EPEER);
        assert_non_null(strstr(a.loc[1].why, "without a goodbye"));
    }
    assert_false(a.loc[1].sinking); /* everything lent came back */
    assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_ELINK);
    int back = a.loc[1].tx_back;
    OPS->close(a.ep);
    assert_int_equal(a.loc[1].tx_back, back);
    close(pair[0]);
    waitpid(pid, &status, 0);
}

static void death_at_any_point_is_noticed(void **state)
{
    (void)state;
    int before = fake_open_fds();
    for (unsigned seed = 1; seed <= 40; seed++)
        kill_one(seed * 7919);
    assert_int_equal(fake_open_fds(), before);
}

/* Scribble over everything that two processes share. */
static void scribble_bytes(weft_peer *p, unsigned *seed)
{
    uint32_t bytes = shm_reserved_bytes(&p->geometry);
    for (int k = rand_r(seed) % 20; k >= 0; k--) {
        uint64_t value = (uint64_t)rand_r(seed) << 33 ^ (uint64_t)rand_r(seed);
        if (rand_r(seed) % 2) { /* a slot of the right lap */
            struct shm_in *in = &p->in;
            struct shm_slot *s = in->next + rand_r(seed) % 3;
            value = (value & ~(7ull << 61)) |
                    (uint64_t)in->wrap << 61;
            if (rand_r(seed) % 2)
                value = (value & ~(7ull << 58)) |
                        (uint64_t)(1 + rand_r(seed) % 6) << 58;
            if (rand_r(seed) % 2)
                value &= ~(((uint64_t)SHM_LEN_MAX << 32) & ~(0xffffull << 32));
            atomic_store(s < in->end ? &s->word : &in->next->word, value);
        } else {
            uint32_t off = rand_r(seed) % 3 ? (uint32_t)rand_r(seed) % 1024
                                            : (uint32_t)rand_r(seed) % bytes;
            memcpy(p->base + (off & ~7u), &value, 8);
        }
    }
}

static int loose_rx(weft_core *core, weft_loc *l, const weft_hdr *h,
                    const void *data, size_t have, weft_sink **sink)
{
    static volatile unsigned sum;
    struct fake_node *n = core->node;
    uint32_t plen = weft_hdr_plen(h);
    for (size_t i = 0; i < have; i++) /* every byte offered can be read */
        sum += ((const unsigned char *)data)[i];
    if (have == plen)
        return WEFT_DONE;
    if (l->sinking || plen > 1u << 22 || rand_r(&n->seed) % 2)
        return WEFT_SKIP;
    return fake_begin_sink(l, SINK_ONE, 0, data, have, plen, sink);
}

static void loose_rx_done(weft_core *core, weft_sink *s, int status)
{
    struct weft_loc *l = fake_sink_loc(s);
    (void)core, (void)status;
    l->sinking = false;
    free(l->into);
}

/* b asks for memory that a has offered; NULL where the kernel forbids it. */
static weft_rkey *ask_peer(weft_get *r)
{
    static unsigned char from[2 << 20], to[2 << 20];
    unsigned char key[64];
    size_t n = sizeof key;
    weft_mr *mr;
    weft_rkey *k;
    if (b.loc[0].up == 0 ||
        OPS->mr_reg(a.ep, from, sizeof from, &mr) != WEFT_OK ||
        OPS->mr_pack(a.ep, mr, key, &n) != WEFT_OK ||
        OPS->rkey_open(b.loc[0].peer, key, n, &k) != WEFT_OK)
        return NULL;
    *r = (weft_get){.one = {to, sizeof to},
                    .raddr = (uintptr_t)from,
                    .rkey = k};
    (void)OPS->get(b.loc[0].peer, r);
    return k;
}

static void invalid_bytes_end_only_the_link(void **state)
{
    (void)state;
    unsigned seed = 99;
    int downs = 0;
    weft_host loose = *fake_host();
    loose.rx = loose_rx;
    loose.rx_done = loose_rx_done;
    for (int round = 0; round < 300; round++) {
        fake_pair(&a, &b, NULL);
        a.ep->host = b.ep->host = &loose;
        fake_send(&a, 1, 8, 6);
        for (int i = 0; i < 40 && !(a.loc[1].up && b.loc[0].up); i++) {
            progress_both();
            a.ep->attend = b.ep->attend = true;
        }
        fake_send(&a, 1, 200000, 2);
        fake_send(&b, 0, 100, 2);
        weft_get rma;
        weft_rkey *key = round % 2 ? ask_peer(&rma) : NULL;
        for (int i = 0; i < 30; i++) {
            if (a.loc[1].peer->base)
                scribble_bytes(a.loc[1].peer, &seed);
            fake_send(&a, 1, (uint32_t)rand_r(&seed) % 100000, 2);
            fake_progress(&b);
            fake_progress(&a);
        }
        downs += a.loc[1].down;
        OPS->close(a.ep);
        for (int i = 0; i < 3; i++)
            fake_progress(&b);
        OPS->close(b.ep);
        if (key)
            OPS->rkey_close(NULL, key);
    }
    assert_true(downs > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death_at_any_point_is_noticed),
        cmocka_unit_test(invalid_bytes_end_only_the_link)};
    return cmocka_run_group_tests_name("shm death", tests, NULL, NULL);
}
