/* The PMI-1 client over TCP: it says who it is, and is told its rank.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot_launcher.h"

#include <netinet/in.h>

/* A launcher that says these lines to who comes, and then serves. */
struct tcp_launcher {
    struct launcher l;
    int listener;
    const char *greeting;
};

static void *accept_one(void *arg)
{
    struct tcp_launcher *t = arg;
    char line[64] = "";

    t->l.fd = accept(t->listener, NULL, NULL);
    for (size_t n = 0; n < sizeof line - 1 && !strchr(line, '\n'); n++)
        if (read(t->l.fd, line + n, 1) != 1)
            break;
    if (strcmp(line, "cmd=initack pmiid=5\n") == 0)
        dprintf(t->l.fd, "%s", t->greeting);
    serve_lines(&t->l);
    return NULL;
}

/* PMI_PORT leads to one that greets like this. */
static int open_over_tcp(const char *greeting, struct wf_boot **b, char *err,
                         size_t n)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct tcp_launcher t = {.l.value_max = 1024, .greeting = greeting};
    socklen_t len = sizeof at;
    char text[64];
    int rc;

    t.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(t.listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(t.listener, 1), 0);
    getsockname(t.listener, (struct sockaddr *)&at, &len);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(at.sin_port));
    setenv("PMI_PORT", text, 1);
    setenv("PMI_ID", "5", 1);
    assert_int_equal(pthread_create(&t.l.thread, NULL, accept_one, &t), 0);
    rc = wf_boot_open(NULL, b, err, n);
    if (rc == 0) {
        assert_int_equal((*b)->rank, 2);
        assert_int_equal((*b)->size, 3);
        (*b)->ops->close(*b);
    }
    pthread_join(t.l.thread, NULL);
    close(t.l.fd);
    close(t.listener);
    return rc;
}

static void the_tcp_client_names_itself_and_learns_its_rank(void **state)
{
    static const char *const refused[] = {
        "cmd=hello rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n",
        "cmd=initack rc=0\ncmd=get size=3\ncmd=set rank=2\ncmd=set debug=0\n",
        "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n",
        "cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=-1\ncmd=set debug=0\n",
    };
    struct wf_boot *b;
    char err[256] = "";

    assert_int_equal(
        open_over_tcp("cmd=initack rc=0\ncmd=set size=3\n"
                      "cmd=set rank=2\ncmd=set debug=0\n", &b, err,
                      sizeof err), 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(open_over_tcp(refused[i], &b, err, sizeof err) < 0);
        assert_non_null(strstr(err, "does not speak PMI-1"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_tcp_client_names_itself_and_learns_its_rank,
            clear_environment, clear_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
