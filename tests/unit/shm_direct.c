/* plugins/shm: messages that are fetched from the sender's memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/stat.h>

#include "shm_two_nodes.h"

enum { BYTES = 4 << 20, ANNOUNCED = 48 << 10, TRIES = 100000 };

static unsigned char heap[BYTES];

static void connect_both(const struct fake_config *c)
{
    fake_pair(&a, &b, c);
    fake_connect(&a, &b, 8, 6);
    while (b.loc[0].got < 1)
        progress_both();
}

static int start_case(void **state)
{
    (void)state;
    connect_both(NULL);
    return 0;
}

static int start_cma(void **state)
{
    struct fake_config c = fake_defaults();
    (void)state;
    c.cma = 2;
    connect_both(&c);
    return 0;
}

static int start_oversubscribed(void **state)
{
    (void)state;
    fake_local_count = 5;
    fake_cpus = 1;
    connect_both(NULL);
    fake_local_count = 2;
    fake_cpus = 0;
    return 0;
}

static unsigned char *allocate_area(struct fake_node *n, weft_mem *mem)
{
    *mem = (weft_mem){.len = BYTES};
    assert_int_equal(OPS->mem_alloc(n->ep, mem), WEFT_OK);
    fake_fill(mem->base, 5, BYTES);
    return mem->base;
}

static size_t pack_data(struct fake_node *n, void *base, size_t len,
                   unsigned char *key)
{
    weft_mr *mr;
    size_t bytes = 64;
    if (OPS->mr_reg(n->ep, base, len, &mr) < 0)
        return 0;
    assert_int_equal(OPS->mr_pack(n->ep, mr, key, &bytes), WEFT_OK);
    OPS->mr_dereg(n->ep, mr);
    return bytes;
}

/* The key of base, opened by the other side as soon as it can. */
static weft_rkey *open_key(struct fake_node *owner, struct fake_node *other,
                           void *base, size_t len)
{
    unsigned char key[64];
    size_t n = pack_data(owner, base, len, key);
    weft_rkey *k = NULL;
    assert_true(n > 0);
    for (int i = 0; i < TRIES; i++) {
        if (OPS->rkey_open(other->loc[owner->id].peer, key, n, &k) >= 0)
            return k;
        progress_both();
    }
    fail_msg("the area was never mapped");
    return NULL;
}

static weft_get read_of(weft_rkey *k, void *from, void *to, uint64_t len)
{
    return (weft_get){.one = {to, len},
                      .raddr = (uintptr_t)from,
                      .rkey = k};
}

static int finish_case(weft_get *r, int rc)
{
    for (int i = 0; rc == WEFT_OK && !r->priv[5] && i < TRIES; i++)
        progress_both();
    return rc == WEFT_OK ? (int)r->priv[5] - 1000 : rc;
}

static void memory_of_an_area_is_read_by_the_peer(void **state)
{
    weft_mem mem;
    unsigned char *from = allocate_area(&a, &mem);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    (void)state;
    for (uint64_t len = 1; len <= BYTES - 7; len = len * 5 + 2) {
        memset(heap, 0xee, sizeof heap);
        weft_get r = read_of(k, from + 7, heap, len);
        int rc = finish_case(&r, OPS->get(b.loc[0].peer, &r));
        assert_true(rc == WEFT_DONE || rc == WEFT_OK);
        assert_true(fake_same(heap, 5, 7, len));
        assert_true(len == BYTES || heap[len] == 0xee);
    }
    OPS->mem_free(a.ep, &mem);
}

static void the_owner_copies_with_the_reader(void **state)
{
    weft_mem mem, into;
    unsigned char *from = allocate_area(&a, &mem),
                  *to = allocate_area(&b, &into);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    (void)state;
    open_key(&b, &a, to, BYTES);
    for (int round = 0; round < 3; round++) {
        memset(to, 0xee, BYTES);
        weft_get r = read_of(k, from, to, BYTES);
        assert_int_equal(OPS->get(b.loc[0].peer, &r), WEFT_OK);
        while (fake_progress(&a) > 0) /* all that the reader has left */
            ;
        assert_int_equal(r.priv[5], 0);
        assert_true(fake_same(to, 5, 0, BYTES));
        fake_progress(&b);
        assert_int_equal(r.priv[5], 1000 + WEFT_OK);
    }
    OPS->mem_free(a.ep, &mem);
    OPS->mem_free(b.ep, &into);
}

static void reads_queue_and_finish_in_order(void **state)
{
    weft_mem mem;
    unsigned char *from = allocate_area(&a, &mem);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    weft_get r[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        r[i] = read_of(k, from, heap, BYTES);
        assert_int_equal(OPS->get(b.loc[0].peer, &r[i]), WEFT_OK);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(finish_case(&r[i], WEFT_OK), WEFT_OK);
        assert_true(i == 3 || !r[3].priv[5]);
    }
    OPS->mem_free(a.ep, &mem);
}

static void addresses_outside_the_area_are_refused(void **state)
{
    static const unsigned char nonsense[8] = {77, 1, 2, 3, 4, 5, 6, 7};
    weft_mem mem;
    unsigned char *from = allocate_area(&a, &mem);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    weft_peer *p = b.loc[0].peer;
    weft_get r[] = {read_of(k, from - 1, heap, 2),
                    read_of(k, from + 1, heap, BYTES),
                    read_of(k, from + BYTES, heap, 1),
                    read_of(k, heap, heap, UINT64_MAX)};
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true(OPS->get(p, &r[i]) < 0);
    assert_true(OPS->rkey_open(p, nonsense, 8, &k) < 0);
    assert_true(OPS->rkey_open(p, nonsense, 3, &k) < 0);
    for (int i = 0; i < 1000; i++)
        progress_both();
    assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
    OPS->mem_free(a.ep, &mem);
}

static void freed_memory_is_forgotten_by_the_peer(void **state)
{
    weft_mem mem;
    unsigned char key[64];
    int fds = fake_open_fds();
    unsigned char *from = allocate_area(&a, &mem);
    size_t n = pack_data(&a, from, BYTES, key);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    (void)state;
    OPS->mem_free(a.ep, &mem);
    for (int i = 0; i < 2000; i++)
        progress_both();
    /* it is there as long as its key is open */
    volatile char *at = OPS->rkey_map(k, (uintptr_t)from, 1);
    assert_non_null(at);
    (void)*at;
    OPS->rkey_close(b.loc[0].peer, k);
    assert_true(OPS->rkey_open(b.loc[0].peer, key, n, &k) < 0);
    assert_int_equal(fake_open_fds(), fds);
    /* no area any more */
    assert_int_equal(pack_data(&a, from, 500000, key), 0);
}

static void memory_for_later_is_there_when_it_is_touched(void **state)
{
    weft_mem mem = {.len = BYTES, .later = BYTES - 5 * 4096};
    struct stat file;
    (void)state;
    assert_int_equal(OPS->mem_alloc(a.ep, &mem), WEFT_OK);
    assert_int_equal(fstat(wf_shm_area_of(a.ep, mem.base, BYTES)->fd, &file),
                     0);
    assert_int_equal(file.st_blocks * 512, 5 * 4096);
    fake_fill(mem.base, 5, BYTES);
    assert_true(fake_same(mem.base, 5, 0, BYTES));
    OPS->mem_free(a.ep, &mem);
}

static void small_memory_is_left_to_the_heap(void **state)
{
    weft_mem mem = {.len = 4096};
    unsigned char key[64];
    (void)state;
    assert_int_equal(OPS->mem_alloc(a.ep, &mem), WEFT_ENOTSUP);
    assert_int_equal(pack_data(&a, heap, 500000, key), 0);
}

static void a_lost_peer_ends_its_reads(void **state)
{
    weft_mem mem;
    unsigned char *from = allocate_area(&a, &mem);
    weft_rkey *k = open_key(&a, &b, from, BYTES);
    weft_get r[2] = {read_of(k, from, heap, BYTES),
                     read_of(k, from, heap, BYTES)};
    (void)state;
    assert_int_equal(OPS->get(b.loc[0].peer, &r[0]), WEFT_OK);
    assert_int_equal(OPS->get(b.loc[0].peer, &r[1]), WEFT_OK);
    assert_int_equal(OPS->peer_del(b.loc[0].peer, 1), WEFT_OK);
    assert_true((int)r[0].priv[5] - 1000 < 0);
    assert_true((int)r[1].priv[5] - 1000 < 0);
    b.loc[0].peer = NULL;
    OPS->mem_free(a.ep, &mem);
    OPS->close(b.ep);
    b.ep = NULL;
}

static void any_memory_is_read_where_the_kernel_allows_it(void **state)
{
    static unsigned char source[BYTES];
    weft_peer *p = b.loc[0].peer;
    unsigned char key[64];
    weft_rkey *k;
    (void)state;
    fake_fill(source, 9, BYTES);
    size_t n = pack_data(&a, source, BYTES, key);
    assert_true(n > 0);
    assert_int_equal(OPS->rkey_open(p, key, n, &k), WEFT_OK);
    weft_get r = read_of(k, source + 3, heap, BYTES - 3);
    int rc = finish_case(&r, OPS->get(p, &r));
    OPS->rkey_close(p, k);
    if (rc == WEFT_ENOTSUP)
        skip(); /* forbidden here */
    assert_true(rc == WEFT_DONE || rc == WEFT_OK);
    assert_true(fake_same(heap, 9, 3, BYTES - 3));
}

static void shorter_messages_go_through_the_ring(void **state)
{
    unsigned char key[64];
    (void)state;
    assert_int_equal(pack_data(&a, heap, ANNOUNCED, key), 0);
}

/* The sender does not have to be there. */
static void where_many_ranks_share_a_cpu_the_receiver_reads_all(void **state)
{
    static unsigned char source[ANNOUNCED];
    weft_peer *p = b.loc[0].peer;
    unsigned char key[64];
    weft_rkey *k;
    (void)state;
    fake_fill(source, 9, ANNOUNCED);
    size_t n = pack_data(&a, source, ANNOUNCED, key);
    assert_true(n > 0);
    assert_int_equal(OPS->rkey_open(p, key, n, &k), WEFT_OK);
    weft_get r = read_of(k, source, heap, ANNOUNCED);
    int rc = OPS->get(p, &r);
    OPS->rkey_close(p, k);
    if (rc == WEFT_ENOTSUP)
        skip(); /* forbidden here */
    assert_int_equal(rc, WEFT_DONE);
    assert_true(fake_same(heap, 9, 0, ANNOUNCED));
}

/* An address that cannot be read stands for a kernel that forbids it. */
static void a_kernel_that_refuses_is_not_asked_again(void **state)
{
    weft_peer *p = b.loc[0].peer;
    unsigned char key[64];
    weft_rkey *k;
    size_t n = pack_data(&a, heap, BYTES, key);
    (void)state;
    assert_int_equal(OPS->rkey_open(p, key, n, &k), WEFT_OK);
    weft_get r = read_of(k, NULL, heap, BYTES);
    assert_int_equal(OPS->get(p, &r), WEFT_ENOTSUP);
    OPS->rkey_close(p, k);
    assert_int_equal(OPS->rkey_open(p, key, n, &k), WEFT_ENOTSUP);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start_case, end_pair)
    const struct CMUnitTest tests[] = {
        CASE(memory_of_an_area_is_read_by_the_peer),
        CASE(the_owner_copies_with_the_reader),
        CASE(reads_queue_and_finish_in_order),
        CASE(addresses_outside_the_area_are_refused),
        CASE(freed_memory_is_forgotten_by_the_peer),
        CASE(memory_for_later_is_there_when_it_is_touched),
        CASE(small_memory_is_left_to_the_heap),
        CASE(a_lost_peer_ends_its_reads),
        cmocka_unit_test_setup_teardown(
            any_memory_is_read_where_the_kernel_allows_it, start_cma,
            end_pair),
        CASE(shorter_messages_go_through_the_ring),
        cmocka_unit_test_setup_teardown(
            where_many_ranks_share_a_cpu_the_receiver_reads_all,
            start_oversubscribed, end_pair),
        cmocka_unit_test_setup_teardown(
            a_kernel_that_refuses_is_not_asked_again, start_cma, end_pair)};
    return cmocka_run_group_tests_name("shm direct", tests, NULL, NULL);
}
