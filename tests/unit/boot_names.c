/* Published names between launchers: each is a file in a folder of the user.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base.h"
#include "boot/names.h"
#include "boot/pmi_word.h"

#define FOLDER "folder"

static int find_port(const char *service, char *port)
{
    return wf_names_lookup(FOLDER, service, port, 64);
}

static void a_name_is_found_until_it_is_unpublished(void **state)
{
    struct wf_names *names = NULL;
    char port[64];

    assert_int_equal(find_port("a b/c", port), WEFT_EUNREACH);
    assert_int_equal(wf_names_publish(&names, FOLDER, "a b/c", "port 1"), 0);
    assert_int_equal(find_port("a b/c", port), 0);
    assert_string_equal(port, "port 1");
    assert_int_equal(find_port("a b", port), WEFT_EUNREACH);
    assert_int_equal(wf_names_unpublish(&names, "a b/c"), 0);
    assert_int_equal(find_port("a b/c", port), WEFT_EUNREACH);
    assert_int_equal(wf_names_unpublish(&names, "a b/c"), WEFT_EUNREACH);
    wf_names_free(names);
}

static void a_name_is_published_once(void **state)
{
    struct wf_names *names = NULL, *others = NULL;
    char port[64];

    assert_int_equal(wf_names_publish(&names, FOLDER, "one", "p1"), 0);
    assert_int_equal(wf_names_publish(&names, FOLDER, "one", "p2"),
                     WEFT_EAGAIN);
    assert_int_equal(wf_names_publish(&others, FOLDER, "one", "p3"),
                     WEFT_EAGAIN);
    assert_int_equal(wf_names_unpublish(&others, "one"), WEFT_EUNREACH);
    assert_int_equal(find_port("one", port), 0);
    assert_string_equal(port, "p1");
    wf_names_free(others);
    assert_int_equal(find_port("one", port), 0);
    wf_names_free(names);
    assert_int_equal(find_port("one", port), WEFT_EUNREACH);
}

/* A process publishes, and is killed. */
static void a_name_ends_with_its_process(void **state)
{
    struct wf_names *names = NULL;
    int ready[2];
    char port[64], byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        byte = (char)wf_names_publish(&names, FOLDER, "brief", "p");
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(find_port("brief", port), 0);
    assert_int_equal(wf_names_publish(&names, FOLDER, "brief", "q"),
                     WEFT_EAGAIN);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(access(FOLDER "/n.brief", F_OK), 0);
    assert_int_equal(find_port("brief", port), WEFT_EUNREACH);
    assert_int_equal(access(FOLDER "/n.brief", F_OK), -1);
    assert_int_equal(wf_names_publish(&names, FOLDER, "brief", "q"), 0);
    wf_names_free(names);
    close(ready[0]);
    close(ready[1]);
}

static void a_stale_name_can_be_published(void **state)
{
    struct wf_names *names = NULL;
    char port[64];

    mkdir(FOLDER, 0700);
    put_text(FOLDER "/n.left", "old");
    assert_int_equal(wf_names_publish(&names, FOLDER, "left", "new"), 0);
    assert_int_equal(find_port("left", port), 0);
    assert_string_equal(port, "new");
    wf_names_free(names);
}

static void a_folder_that_others_may_use_is_refused(void **state)
{
    struct wf_names *names = NULL;
    char port[64];

    mkdir(FOLDER, 0700);
    chmod(FOLDER, 0750);
    assert_int_equal(wf_names_publish(&names, FOLDER, "x", "p"), WEFT_EAUTH);
    assert_int_equal(find_port("x", port), WEFT_EAUTH);
    chmod(FOLDER, 0700);
    assert_int_equal(symlink(FOLDER, "link"), 0);
    assert_int_equal(wf_names_publish(&names, "link", "x", "p"), WEFT_ESYS);
    assert_int_equal(wf_names_publish(&names, "none/there", "x", "p"),
                     WEFT_ESYS);
    if (geteuid() == 0) {
        assert_int_equal(chown(FOLDER, 1, 1), 0);
        assert_int_equal(wf_names_publish(&names, FOLDER, "x", "p"),
                         WEFT_EAUTH);
        assert_int_equal(chown(FOLDER, 0, 0), 0);
    }
    wf_names_free(names);
}

static void a_link_in_the_folder_is_not_followed(void **state)
{
    struct wf_names *names = NULL;
    char port[64];

    mkdir(FOLDER, 0700);
    put_text("victim", "keep");
    assert_int_equal(symlink("../victim", FOLDER "/n.s"), 0);
    assert_int_equal(find_port("s", port), WEFT_EUNREACH);
    assert_int_equal(wf_names_publish(&names, FOLDER, "s", "p"), WEFT_ESYS);
    wf_names_free(names);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    struct wf_names *names = NULL;
    char service[300], port[8];

    memset(service, 'x', sizeof service);
    service[WF_NAME_MOST - 4] = '\0';
    assert_int_equal(wf_names_publish(&names, FOLDER, service, "a port of 16"),
                     0);
    assert_int_equal(wf_names_lookup(FOLDER, service, port, sizeof port),
                     WEFT_EUNREACH); /* no room for it */
    service[WF_NAME_MOST - 4] = 'x';
    service[WF_NAME_MOST] = '\0';
    assert_int_equal(wf_names_publish(&names, FOLDER, service, "p"),
                     WEFT_EINVAL);
    assert_int_equal(wf_names_publish(&names, FOLDER, "", "p"), WEFT_EINVAL);
    wf_names_free(names);
}

static void a_word_is_decoded_to_its_text(void **state)
{
    char word[3 * 255 + 2], back[256], all[256];

    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = '\0';
    assert_true(wf_pmi_word_encode(word, sizeof word, all));
    assert_null(strpbrk(word, " =\n\t;"));
    assert_true(wf_pmi_word_decode(back, sizeof back, word, strlen(word)));
    assert_string_equal(back, all);
    assert_false(wf_pmi_word_encode(word, 8, "123456789"));
    assert_false(wf_pmi_word_decode(back, 4, "12345", 5));
    assert_false(wf_pmi_word_decode(back, sizeof back, "a%00", 4));
    assert_true(wf_pmi_word_decode(back, sizeof back, "50%zz%4", 7));
    assert_string_equal(back, "50%zz%4");
}

#define FOLDER_TEST(f)                                                         \
    cmocka_unit_test_setup_teardown(f, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_name_is_found_until_it_is_unpublished),
        FOLDER_TEST(a_name_is_published_once),
        FOLDER_TEST(a_name_ends_with_its_process),
        FOLDER_TEST(a_stale_name_can_be_published),
        FOLDER_TEST(a_folder_that_others_may_use_is_refused),
        FOLDER_TEST(a_link_in_the_folder_is_not_followed),
        FOLDER_TEST(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(a_word_is_decoded_to_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
