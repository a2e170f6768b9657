/* The job key handshake: who gets in, who does not, and what each side learns.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* */
#include <cmocka.h>

#include "process/endpoint.h"
#include "boot/auth.h"
#include "boot/auth_key.h"
#include "process/rank.h"

struct side {
    struct wf_rank rank;
    struct wf_instance wf;
    struct weft_core core;
    weft_auth *auth;
    uint32_t met;
    unsigned char out[WEFT_AUTH_MSG];
    size_t out_len;
    int rc;
};

static void side_open(struct side *s, uint32_t rank, const char *secret,
                      const char *job)
{
    memset(s, 0, sizeof *s);
    s->wf.rank = &s->rank;
    s->rank.id = rank;
    s->core.wf = &s->wf;
    s->met = 99;
    assert_int_equal(
        wf_auth_key_create(secret, strlen(secret), job, &s->rank.job.key),
        WEFT_OK);
    s->rank.job.tag = wf_auth_tag(s->rank.job.key);
    s->rank.job.size = UINT32_MAX;
}

static void side_close(struct side *s)
{
    wf_auth_step(&s->core, &s->auth, NULL, 0, NULL, NULL, NULL);
    assert_null(s->auth);
    wf_auth_key_free(s->wf.rank->job.key);
}

static int take_message(struct side *s, const struct side *from)
{
    s->rc = wf_auth_step(&s->core, &s->auth, from->out, from->out_len, s->out,
                         &s->out_len, &s->met);
    if (s->rc != WEFT_EAGAIN)
        assert_null(s->auth);
    return s->rc;
}

static int count_dials(struct side *s, uint32_t whom)
{
    s->met = whom;
    s->rc =
        wf_auth_step(&s->core, &s->auth, NULL, 0, s->out, &s->out_len, &s->met);
    return s->rc;
}

static void two_holders_of_the_key_recognise_each_other(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    assert_int_equal(count_dials(&a, 7), WEFT_EAGAIN);
    assert_int_equal(take_message(&b, &a), WEFT_EAGAIN);
    assert_int_equal(b.out_len, WEFT_AUTH_MSG);
    assert_int_equal(take_message(&a, &b), WEFT_OK);
    assert_int_equal(a.out_len, WEFT_AUTH_MSG);
    assert_int_equal(take_message(&b, &a), WEFT_OK);
    assert_int_equal(b.out_len, 0);
    assert_int_equal(a.met, 7);
    assert_int_equal(b.met, 3);
    side_close(&a);
    side_close(&b);
}

/* Other versions read this much: magic, version, step, order of bytes, and the
 * size of a word beside the highest bit, which says that there is hardware for
 * AES. */
static void a_hello_keeps_its_first_bytes_in_all_versions(void **state)
{
    static const uint16_t one = 1;
    struct side a;

    side_open(&a, 3, "secret", "job");
    assert_int_equal(count_dials(&a, 7), WEFT_EAGAIN);
    assert_int_equal(a.out[5], 1);
    assert_int_equal(a.out[6], *(const uint8_t *)&one ? 1 : 2);
    assert_int_equal(a.out[7] & 0x7f, sizeof(void *));
    side_close(&a);
}

static void ranks_may_have_any_number(void **state)
{
    static const uint32_t numbers[] = {0x01020304, 0xf1f2f3f4, 0x80000000};

    for (int i = 0; i < 3; i++) {
        struct side a, b;
        side_open(&a, numbers[i], "secret", "job");
        side_open(&b, ~numbers[i], "secret", "job");
        assert_int_equal(count_dials(&a, ~numbers[i]), WEFT_EAGAIN);
        assert_int_equal(take_message(&b, &a), WEFT_EAGAIN);
        assert_int_equal(take_message(&a, &b), WEFT_OK);
        assert_int_equal(take_message(&b, &a), WEFT_OK);
        assert_int_equal(b.met, numbers[i]);
        side_close(&a);
        side_close(&b);
    }
}

static void no_two_handshakes_look_alike(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 3, "secret", "job");
    count_dials(&a, 7);
    count_dials(&b, 7);
    assert_memory_not_equal(a.out + 32, b.out + 32, 16);
    side_close(&a);
    side_close(&b);
}

static void a_wrong_key_or_job_is_refused_on_both_sides(void **state)
{
    static const char *const other[2][2] = {{"Secret", "job"},
                                            {"secret", "job2"}};
    for (int i = 0; i < 2; i++) {
        struct side a, b;
        side_open(&a, 3, "secret", "job");
        side_open(&b, 7, other[i][0], other[i][1]);
        count_dials(&a, 7);
        assert_int_equal(take_message(&b, &a), WEFT_EAUTH);
        assert_int_equal(b.out_len, WEFT_AUTH_MSG);
        assert_int_equal(take_message(&a, &b), WEFT_EAUTH);
        assert_int_equal(a.out_len, 0);
        side_close(&a);
        side_close(&b);
    }
}

static void a_caller_that_wants_another_rank_is_told(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    count_dials(&a, 8);
    assert_int_equal(take_message(&b, &a), WEFT_EUNREACH);
    assert_int_equal(take_message(&a, &b), WEFT_EUNREACH);
    side_close(&a);
    side_close(&b);
}

static void a_process_does_not_accept_its_own_messages(void **state)
{
    struct side a, b, c;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    side_open(&c, 3, "secret", "job");
    count_dials(&a, 7);
    assert_int_equal(take_message(&a, &a), WEFT_EPROTO); /* reflected hello */
    count_dials(&a, 3);
    assert_int_equal(take_message(&c, &a),
                     WEFT_EUNREACH); /* from its own rank */
    side_close(&a);
    side_close(&b);
    side_close(&c);
}

static void a_replayed_conversation_fails_at_the_proof(void **state)
{
    struct side a, b, recorded_hello, recorded_proof;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    count_dials(&a, 7);
    recorded_hello = a;
    take_message(&b, &a);
    take_message(&a, &b);
    recorded_proof = a;
    assert_int_equal(take_message(&b, &a), WEFT_OK);
    assert_int_equal(take_message(&b, &recorded_hello), WEFT_EAGAIN);
    assert_int_equal(take_message(&b, &recorded_proof), WEFT_EAUTH);
    side_close(&a);
    side_close(&b);
}

/* Every single flipped bit of every message, and every wrong length. */
static void a_changed_message_never_passes(void **state)
{
    for (int message = 0; message < 3; message++)
        for (int bit = 0; bit < WEFT_AUTH_MSG * 8; bit++) {
            struct side a, b;
            side_open(&a, 3, "secret", "job");
            side_open(&b, 7, "secret", "job");
            count_dials(&a, 7);
            if (message >= 1)
                take_message(&b, &a);
            if (message == 2)
                take_message(&a, &b);
            struct side *from = message == 1 ? &b : &a;
            struct side *to = message == 1 ? &a : &b;
            from->out[bit / 8] ^= (unsigned char)(1 << bit % 8);
            assert_true(take_message(to, from) < WEFT_EAGAIN);
            side_close(&a);
            side_close(&b);
        }
}

static void wrong_lengths_are_protocol_errors(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    for (size_t n = 0; n < WEFT_AUTH_MSG; n++) {
        count_dials(&a, 7);
        a.out_len = n;
        assert_int_equal(take_message(&b, &a), WEFT_EPROTO);
        assert_int_equal(b.out_len, 0);
        wf_auth_step(&a.core, &a.auth, NULL, 0, NULL, NULL, NULL);
    }
    side_close(&a);
    side_close(&b);
}

static void unknown_callers_get_no_answer(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    memset(a.out, 'G', sizeof a.out);
    a.out_len = sizeof a.out;
    assert_int_equal(take_message(&b, &a), WEFT_EPROTO);
    assert_int_equal(b.out_len, 0);
    side_close(&a);
    side_close(&b);
}

static void a_caller_of_another_version_is_told(void **state)
{
    struct side a, b;
    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    count_dials(&a, 7);
    a.out[4] = 3;
    assert_int_equal(take_message(&b, &a), WEFT_EPROTO);
    assert_int_equal(b.out_len, WEFT_AUTH_MSG);
    assert_int_equal(take_message(&a, &b), WEFT_EPROTO);
    side_close(&a);
    side_close(&b);
}

static void without_a_key_no_caller_is_accepted(void **state)
{
    struct side a, b;
    struct wf_auth_key *key;
    assert_int_equal(wf_auth_key_create("", 0, "job", &key), WEFT_EINVAL);
    side_open(&a, 3, "secret", "job");
    memset(&b, 0, sizeof b);
    b.wf.rank = &b.rank;
    b.core.wf = &b.wf;
    count_dials(&a, 0);
    assert_int_equal(take_message(&b, &a), WEFT_EAUTH);
    side_close(&a);
    side_close(&b);
}

static void generated_keys_differ(void **state)
{
    unsigned char x[WF_AUTH_KEY_BYTES], y[WF_AUTH_KEY_BYTES];
    assert_int_equal(wf_auth_key_generate(x), WEFT_OK);
    assert_int_equal(wf_auth_key_generate(y), WEFT_OK);
    assert_memory_not_equal(x, y, sizeof x);
}

static struct wf_auth_session sessions[2]; /* by rank / 4 */

static void remember_value(struct weft_core *core, uint32_t id,
                     const struct wf_auth_session *made)
{
    assert_int_equal(id, core->wf->rank->id == 3 ? 7 : 3);
    sessions[core->wf->rank->id / 4] = *made;
}

static void connect_both(struct side *a, struct side *b)
{
    count_dials(a, 7);
    take_message(b, a);
    assert_int_equal(take_message(a, b), WEFT_OK);
    assert_int_equal(take_message(b, a), WEFT_OK);
}

static void a_handshake_derives_equal_and_unique_keys(void **state)
{
    struct wf_auth_session first;
    struct side a, b;

    side_open(&a, 3, "secret", "job");
    side_open(&b, 7, "secret", "job");
    a.wf.rank->on_authenticated = b.wf.rank->on_authenticated = remember_value;
    connect_both(&a, &b);
    assert_true(sessions[0].dialled);
    assert_false(sessions[1].dialled);
    assert_int_equal(sessions[0].id, sessions[1].id);
    assert_memory_equal(sessions[0].key, sessions[1].key,
                        sizeof sessions[0].key);
    assert_memory_not_equal(sessions[0].key[0], sessions[0].key[1],
                            WF_AUTH_KEY_BYTES);
    first = sessions[0];
    connect_both(&a, &b);
    assert_int_not_equal(first.id, sessions[0].id);
    assert_memory_not_equal(first.key[0], sessions[0].key[0],
                            WF_AUTH_KEY_BYTES);
    side_close(&a);
    side_close(&b);
}

/* A second job, as a side of another one knows it. */
static struct wf_job other_job_of(const struct side *s, uint32_t size,
                                  struct wf_auth_key *pair)
{
    return (struct wf_job){.first = s->rank.job.size,
                           .size = size,
                           .key = pair};
}

/* Process 1 of a job of 2, and process 2 of a job of 4, which have a key of
 * their own beside those of the jobs. */
struct two_jobs {
    struct side a, b;
    struct wf_job of_b, of_a; /* as the other side knows them */
    struct wf_auth_key *pair;
};

static void jobs_meet(struct two_jobs *t)
{
    side_open(&t->a, 1, "secret of a", "a");
    side_open(&t->b, 2, "secret of b", "b");
    t->a.rank.job.size = 2;
    t->b.rank.job.size = 4;
    assert_int_equal(wf_auth_key_create("pair", 4, "a b", &t->pair), 0);
    t->of_b = other_job_of(&t->a, 4, t->pair);
    t->of_a = other_job_of(&t->b, 2, t->pair);
    t->of_b.tag = t->b.rank.job.tag;
    t->of_a.tag = t->a.rank.job.tag;
    t->a.rank.job.next = &t->of_b;
    t->b.rank.job.next = &t->of_a;
}

static void jobs_part(struct two_jobs *t)
{
    side_close(&t->a);
    side_close(&t->b);
    wf_auth_key_free(t->pair);
}

static void processes_of_two_jobs_know_each_other_by_number(void **state)
{
    struct two_jobs t;

    jobs_meet(&t);
    assert_int_equal(count_dials(&t.a, 2 + 2), WEFT_EAGAIN);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EAGAIN);
    assert_int_equal(take_message(&t.a, &t.b), WEFT_OK);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_OK);
    assert_int_equal(t.a.met, 2 + 2);
    assert_int_equal(t.b.met, 4 + 1);
    jobs_part(&t);
}

/* The index in another job is no index in the own one. */
static void a_caller_that_wants_another_process_of_a_job_is_told(void **state)
{
    struct two_jobs t;

    jobs_meet(&t);
    assert_int_equal(count_dials(&t.a, 2 + 1), WEFT_EAGAIN);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EUNREACH);
    assert_int_equal(take_message(&t.a, &t.b), WEFT_EUNREACH);
    jobs_part(&t);
}

static void a_process_beyond_the_end_of_its_job_is_refused(void **state)
{
    struct two_jobs t;

    jobs_meet(&t);
    t.of_a.size = 1;
    count_dials(&t.a, 2 + 2);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EUNREACH);
    jobs_part(&t);
}

/* Forgetting a job ends what it has under way, too. */
static void a_job_that_was_left_behind_gets_no_further(void **state)
{
    struct two_jobs t;

    jobs_meet(&t);
    count_dials(&t.a, 2 + 2);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EAGAIN);
    assert_int_equal(take_message(&t.a, &t.b), WEFT_OK);
    t.b.rank.job.next = NULL;
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EAUTH);
    count_dials(&t.a, 2 + 2);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EAUTH);
    jobs_part(&t);
}

/* The key of the own job opens nothing for a process of another. */
static void a_key_belongs_to_the_job_with_which_it_is_known(void **state)
{
    struct two_jobs t;

    jobs_meet(&t);
    t.of_b.key = t.a.rank.job.key;
    count_dials(&t.a, 2 + 2);
    assert_int_equal(take_message(&t.b, &t.a), WEFT_EAUTH);
    jobs_part(&t);
}

static void derive_seed(const char *secret, const char *job,
                        const char *transport, uint32_t rank, unsigned engine,
                        unsigned char *seed)
{
    struct wf_auth_endpoint of = {transport, rank, engine};
    struct wf_auth_key *key;

    assert_int_equal(wf_auth_key_create(secret, strlen(secret), job, &key), 0);
    wf_auth_derive_seed(key, &of, seed);
    wf_auth_key_free(key);
}

static void a_seed_belongs_to_one_endpoint_of_one_job(void **state)
{
    unsigned char first[WEFT_SEED], other[WEFT_SEED];

    derive_seed("secret", "job", "my-shm", 3, 0, first);
    derive_seed("secret", "job", "my_shm", 3, 0, other);
    assert_memory_equal(first, other, WEFT_SEED);
    derive_seed("Secret", "job", "my-shm", 3, 0, other);
    assert_memory_not_equal(first, other, WEFT_SEED);
    derive_seed("secret", "jo", "my-shm", 3, 0, other);
    assert_memory_not_equal(first, other, WEFT_SEED);
    derive_seed("secret", "job", "my-shm2", 3, 0, other);
    assert_memory_not_equal(first, other, WEFT_SEED);
    derive_seed("secret", "job", "my-shm", 4, 0, other);
    assert_memory_not_equal(first, other, WEFT_SEED);
    derive_seed("secret", "job", "my-shm", 3, 1, other);
    assert_memory_not_equal(first, other, WEFT_SEED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_holders_of_the_key_recognise_each_other),
        cmocka_unit_test(a_hello_keeps_its_first_bytes_in_all_versions),
        cmocka_unit_test(ranks_may_have_any_number),
        cmocka_unit_test(no_two_handshakes_look_alike),
        cmocka_unit_test(a_wrong_key_or_job_is_refused_on_both_sides),
        cmocka_unit_test(a_caller_that_wants_another_rank_is_told),
        cmocka_unit_test(a_process_does_not_accept_its_own_messages),
        cmocka_unit_test(a_replayed_conversation_fails_at_the_proof),
        cmocka_unit_test(a_changed_message_never_passes),
        cmocka_unit_test(wrong_lengths_are_protocol_errors),
        cmocka_unit_test(unknown_callers_get_no_answer),
        cmocka_unit_test(a_caller_of_another_version_is_told),
        cmocka_unit_test(without_a_key_no_caller_is_accepted),
        cmocka_unit_test(generated_keys_differ),
        cmocka_unit_test(
            a_handshake_derives_equal_and_unique_keys),
        cmocka_unit_test(processes_of_two_jobs_know_each_other_by_number),
        cmocka_unit_test(a_caller_that_wants_another_process_of_a_job_is_told),
        cmocka_unit_test(a_process_beyond_the_end_of_its_job_is_refused),
        cmocka_unit_test(a_job_that_was_left_behind_gets_no_further),
        cmocka_unit_test(a_key_belongs_to_the_job_with_which_it_is_known),
        cmocka_unit_test(a_seed_belongs_to_one_endpoint_of_one_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
