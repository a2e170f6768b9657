/* Last words: they go to the launcher by the socket that PMI_SAY names, if that
 * is what it was when the launcher named it; else to standard error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/base64.h"
#include "boot/fatal_message.h"

enum { MOST = 40000, ROOM = 60000 };

static int launcher, rank, error_file, real_error;
static char said[ROOM];

/* Returns what has come since the last call to the launcher, or to standard
 * error. */
static size_t read_said(int fd)
{
    ssize_t n, all = 0;

    while (all < ROOM - 1 &&
           (n = fd == launcher
                    ? recv(fd, said + all, (size_t)(ROOM - 1 - all),
                           MSG_DONTWAIT)
                    : read(fd, said + all, (size_t)(ROOM - 1 - all))) > 0)
        all += n;
    said[all] = 0;
    return (size_t)all;
}

static void set_names(int fd, uint64_t socket_more, uint64_t dev_more,
                      uint64_t ino_more, const char *end)
{
    struct stat s, e;
    char text[200];

    assert_int_equal(fstat(rank, &s), 0);
    assert_int_equal(fstat(2, &e), 0);
    snprintf(text, sizeof text,
             "%d:%" PRIu64 ":%" PRIu64 ":%" PRIu64 "%s", fd,
             (uint64_t)s.st_ino + socket_more, (uint64_t)e.st_dev + dev_more,
             (uint64_t)e.st_ino + ino_more, end);
    setenv("PMI_SAY", text, 1);
}

static int start_case(void **state)
{
    char path[] = "/tmp/boot_fatal_message.XXXXXX";
    int pair[2], file = mkstemp(path);

    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return -1;
    unlink(path);
    launcher = pair[0];
    rank = pair[1];
    fflush(stderr);
    real_error = dup(2);
    dup2(file, 2);
    error_file = file;
    return 0;
}

static int stop_case(void **state)
{
    fflush(stderr);
    dup2(real_error, 2);
    close(real_error);
    close(error_file);
    close(launcher);
    close(rank);
    unsetenv("PMI_SAY");
    return 0;
}

static void to_launcher(const char *text, size_t n)
{
    static char wanted[ROOM];
    size_t head = (size_t)sprintf(wanted, "cmd=weft_say text=");

    wf_base64_encode(wanted + head, text, n);
    head += wf_base64_len(n);
    strcpy(wanted + head, "\n");
    wf_boot_print_fatal(text, n);
    assert_int_equal(read_said(launcher), head + 1);
    assert_string_equal(said, wanted);
    fflush(stderr);
    assert_int_equal(lseek(error_file, 0, SEEK_END), 0);
}

static void to_error(const char *text, size_t n)
{
    wf_boot_print_fatal(text, n);
    fflush(stderr);
    lseek(error_file, 0, SEEK_SET);
    assert_int_equal(read_said(error_file), n);
    assert_memory_equal(said, text, n);
    assert_int_equal(ftruncate(error_file, 0), 0);
    lseek(error_file, 0, SEEK_SET);
    assert_int_equal(read_said(launcher), 0);
}

static void the_launcher_is_told_in_one_line(void **state)
{
    static char large[MOST + 1];

    memset(large, 'x', sizeof large);
    set_names(rank, 0, 0, 0, "");
    to_launcher("a", 1);
    to_launcher("two\nlines\n", 10);
    to_launcher(large, MOST);
    to_error(large, MOST + 1);
    wf_boot_print_fatal(large, 0);
    assert_int_equal(read_said(launcher), 0);
}

static void without_a_launcher_it_goes_to_standard_error(void **state)
{
    to_error("alone\n", 6);
    setenv("PMI_SAY", "", 1);
    to_error("alone\n", 6);
    setenv("PMI_SAY", "nonsense", 1);
    to_error("alone\n", 6);
    set_names(rank, 0, 0, 0, ":");
    to_error("alone\n", 6);
    set_names(rank, 0, 0, 0, ":1");
    to_error("alone\n", 6);
}

static void a_replaced_descriptor_is_not_used(void **state)
{
    struct stat s;

    set_names(rank, 1, 0, 0, ""); /* another socket */
    to_error("hm\n", 3);
    set_names(rank, 0, 1, 0, ""); /* another standard error */
    to_error("hm\n", 3);
    set_names(rank, 0, 0, 1, "");
    to_error("hm\n", 3);
    assert_int_equal(fstat(error_file, &s), 0);
    set_names(error_file, 0, 0, 0,
              ""); /* a file, with the number of the socket */
    to_error("hm\n", 3);
    set_names(1000000, 0, 0, 0, "");
    to_error("hm\n", 3);
    set_names(rank, 0, 0, 0, "");
    close(launcher);
    launcher = dup(error_file);
    wf_boot_print_fatal("gone\n", 5); /* no signal */
    fflush(stderr);
    lseek(error_file, 0, SEEK_SET);
    assert_int_equal(read_said(error_file), 5);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start_case, stop_case)
    static const struct CMUnitTest tests[] = {
        CASE(the_launcher_is_told_in_one_line),
        CASE(without_a_launcher_it_goes_to_standard_error),
        CASE(a_replaced_descriptor_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
