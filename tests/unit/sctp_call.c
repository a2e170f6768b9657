/* Calls over datagrams, between two callers in time that we make: what is late,
 * doubled or forgotten ends no attempt.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../plugins/ip/call.h"
#include "../../plugins/ip/ip.h"
#include "boot/auth.h"
#include "boot/auth_key.h"

#define TIMEOUT UINT64_C(2000000000)

struct said {
    struct wf_ip_word word;
    uint8_t body[WEFT_AUTH_MSG];
    size_t n;
};

struct side {
    struct wf_ip_calls calls;
    struct wf_ip_watch watch;
    struct wf_ip_peer peer;
    struct wf_ip_party other;
    struct wf_auth_key *key;
    uint32_t rank;
    struct said last;
    int ups, fails, doubts;
};

static struct side side[2];
static uint64_t now = 1;

static uint64_t clock_of(weft_core *c)
{
    return now;
}

static int auth_step(weft_core *c, weft_auth **auth, const void *in, size_t n,
                     void *out, size_t *out_n, uint32_t *whom)
{
    struct side *s = (struct side *)c;

    return wf_auth_advance(s->key, s->rank, auth, in, n, out, out_n, whom);
}

static void take_line(weft_core *c, int level, const char *fmt, ...)
{
}

static void say_something(weft_ep *ep, const struct wf_ip_path *to,
                const struct wf_ip_word *w, const void *body, size_t n)
{
    struct side *s = (struct side *)ep;

    s->last = (struct said){.word = *w, .n = n};
    if (n)
        memcpy(s->last.body, body, n);
}

static int is_up(weft_ep *ep, struct wf_ip_party *p, const struct wf_ip_call *c)
{
    ((struct side *)ep)->ups++;
    return WEFT_OK;
}

static void has_failed(struct wf_ip_party *p, int status, const char *why)
{
    ((struct side *)p->peer)->fails++;
}

static void is_doubted(struct wf_ip_party *p)
{
    ((struct side *)p->peer)->doubts++;
}

static struct wf_ip_party *find_party(weft_ep *ep, uint32_t id)
{
    return &((struct side *)ep)->other;
}

static const struct wf_ip_call_ops ops = {.say = say_something,
                                          .up = is_up,
                                          .failed = has_failed,
                                          .doubted = is_doubted,
                                          .party = find_party};
static int call_stands(weft_core *c, weft_loc *loc)
{
    return ((struct side *)c)->rank == 0;
}

static const weft_host host = {.size = sizeof host,
                               .now_ns = clock_of,
                               .auth_step = auth_step,
                               .log = take_line,
                               .call_stands = call_stands};

static void prepare_case(struct side *s, uint32_t me)
{
    memset(s, 0, sizeof *s);
    assert_int_equal(wf_auth_key_create("key", 3, "job", &s->key), WEFT_OK);
    s->calls = (struct wf_ip_calls){.ep = (weft_ep *)s,
                                    .ops = &ops,
                                    .host = &host,
                                    .watch = &s->watch,
                                    .core = (weft_core *)s,
                                    .me = 100, /* of no use to others */
                                    .handshake_timeout = TIMEOUT,
                                    .connect_timeout = 10 * TIMEOUT};
    s->rank = me;
    s->peer.id = 1 - me;
    s->other = (struct wf_ip_party){.peer = (weft_peer *)s, .ip = &s->peer};
}

static struct wf_ip_path make_path(void)
{
    struct wf_ip_path p = {.to_len = sizeof(struct sockaddr_in)};
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(7),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memcpy(&p.to, &at, sizeof at);
    return p;
}

static void dial_peer(struct side *s)
{
    struct wf_ip_path path = make_path();
    struct wf_ip_call *c = wf_ip_call_new(&s->calls, &path);

    assert_non_null(c);
    c->party = &s->other;
    c->dialled = true;
    s->other.calls = s->calls.dialling = 1;
    s->peer.state = PEER_DIALLING;
    wf_ip_calls_run_timers(&s->calls, now);
    assert_int_equal(s->last.word.verb, IP_HELLO);
}

/* Take the next packet of either side. */
static struct said hear_peer(struct side *s, const struct said *what)
{
    struct wf_ip_path path = make_path();

    memset(&s->last, 0, sizeof s->last);
    wf_ip_take_word(&s->calls, &path, &what->word, what->body, what->n);
    return s->last;
}

static void finish_case(void)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(side[i].ups, 1);
        assert_int_equal(side[i].fails, 0);
        wf_ip_calls_free(&side[i].calls);
        wf_auth_key_free(side[i].key);
        free(side[i].other.why);
    }
}

/* From a HELLO to ACCEPT heard. */
static void go_on(struct said hello)
{
    struct said answer = hear_peer(&side[1], &hello);
    struct said proof = hear_peer(&side[0], &answer);
    struct said accept = hear_peer(&side[1], &proof);

    assert_int_equal(accept.word.verb, IP_ACCEPT);
    hear_peer(&side[0], &accept);
}

static void two_callers_connect(void **state)
{
    prepare_case(&side[0], 0);
    prepare_case(&side[1], 1);
    dial_peer(&side[0]);
    go_on(side[0].last);
    finish_case();
}

/* Both call: side 1 drops its own call for that of side 0, which parks the
 * other until its own is decided. The numbers do not tell which. */
static void of_two_crossed_calls_one_stands(void **state)
{
    struct said hello[2], answer, proof;

    prepare_case(&side[0], 0);
    prepare_case(&side[1], 1);
    for (int i = 0; i < 2; i++) {
        dial_peer(&side[i]);
        hello[i] = side[i].last;
    }
    answer = hear_peer(&side[0], &hello[1]);
    proof = hear_peer(&side[1], &answer);
    assert_int_equal(proof.word.verb, IP_PROOF);
    assert_int_equal(hear_peer(&side[0], &proof).word.verb, 0);
    assert_non_null(side[0].other.parked);
    assert_int_equal(side[0].ups, 0);
    go_on(hello[0]);
    finish_case();
}

/* The listener forgets the call, and finds an old copy of its first word. */
static void an_answer_to_an_earlier_call_is_ignored(void **state)
{
    struct said hello, answer, proof, reset;

    prepare_case(&side[0], 0);
    prepare_case(&side[1], 1);
    dial_peer(&side[0]);
    hello = side[0].last;
    answer = hear_peer(&side[1], &hello);
    proof = hear_peer(&side[0], &answer);
    assert_int_equal(proof.word.verb, IP_PROOF);
    now += TIMEOUT;
    wf_ip_calls_run_timers(&side[1].calls, now);
    reset = hear_peer(&side[1], &proof);
    assert_int_equal(reset.word.verb, IP_RESET);
    hear_peer(&side[0], &reset);
    answer = hear_peer(&side[1], &hello);
    assert_int_equal(answer.word.verb, IP_ANSWER);
    now += TIMEOUT;
    wf_ip_calls_run_timers(&side[0].calls, now);
    hello = side[0].last;
    assert_int_equal(hello.word.verb, IP_HELLO);
    assert_int_equal(hear_peer(&side[0], &answer).word.verb, 0);
    assert_int_equal(side[0].fails, 0);
    go_on(hello);
    finish_case();
}

/* One side has dropped the link and calls; the other one does not know. */
static void a_call_over_an_open_link_has_the_peer_asked(void **state)
{
    struct said answer, proof;

    prepare_case(&side[0], 0);
    prepare_case(&side[1], 1);
    dial_peer(&side[0]);
    go_on(side[0].last);
    assert_int_equal(side[1].doubts, 0);
    wf_ip_calls_free(&side[0].calls);
    wf_auth_key_free(side[0].key);
    prepare_case(&side[0], 0);
    dial_peer(&side[0]);
    answer = hear_peer(&side[1], &side[0].last);
    proof = hear_peer(&side[0], &answer);
    assert_int_equal(hear_peer(&side[1], &proof).word.verb, 0);
    assert_int_equal(side[1].doubts, 1);
    side[0].ups++; /* of the first one */
    finish_case();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_callers_connect),
        cmocka_unit_test(of_two_crossed_calls_one_stands),
        cmocka_unit_test(a_call_over_an_open_link_has_the_peer_asked),
        cmocka_unit_test(an_answer_to_an_earlier_call_is_ignored)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
