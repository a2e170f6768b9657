/* These tests check which files are trusted: owners, modes, directories, links,
 * exchanges.
 *
 * Cases about other owners need root, and say so otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trust_tree.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "openat_fails.h"
#include "race_tries.h"

/* ---- the file ------------------------------------------------------------ */

static void an_own_file_in_own_directories_is_trusted(void **state)
{
    char text[8] = "";
    make_dir("d", 0755);
    put_file("d/f", 0644);
    int fd = wf_trust_open("d/f", why, sizeof why);
    assert_int_equal(read(fd, text, sizeof text - 1), 3);
    assert_string_equal(text, "d/f");
    close(fd);
    assert_trusted("./d//f");
    assert_trusted("d/../d/./f");
}

static void a_file_of_root_is_trusted(void **state)
{
    assert_trusted("/etc/passwd");
}

static void a_file_that_others_may_write_is_refused(void **state)
{
    put_file("g", 0664);
    assert_refused("g", "others may write file /tmp/weft-unit-");
    assert_says("/g (user ");
    assert_says("mode 0664); correct it with chmod go-w");
    put_file("o", 0646);
    assert_refused("o", "mode 0646");
    put_file("all", 0666);
    assert_refused("all", "mode 0666");
}

static void a_file_of_another_user_is_refused(void **state)
{
    char wanted[128];
    NEED_ROOT();
    put_file("f", 0644);
    change_owner("f", STRANGER);
    snprintf(wanted, sizeof wanted,
             "file %s/f belongs to user 65534 (mode 0644), and only what "
             "belongs to root or to user 0 is trusted; use a copy",
             (char *)*state);
    assert_refused("f", wanted);
}

static void the_effective_user_counts(void **state)
{
    NEED_ROOT();
    put_file("mine", 0600);
    put_file("roots", 0644);
    put_file("others", 0644);
    put_file("secret", 0600);
    change_owner("mine", STRANGER);
    change_owner("others", OTHER);
    assert_int_equal(seteuid(STRANGER), 0);
    assert_trusted("mine");
    assert_trusted("roots");
    assert_refused("others", "belongs to user 65533");
    assert_refused("secret", "cannot be read: Permission denied");
    assert_int_equal(seteuid(0), 0);
}

/* It can be read, and nobody can say who may rename the directories above. */
static void a_file_that_cannot_be_reached_from_the_root_is_refused(void **state)
{
    NEED_ROOT();
    make_dir("closed", 0700);
    make_dir("closed/d", 0755);
    put_file("closed/d/f", 0644);
    assert_int_equal(chdir("closed/d"), 0);
    assert_int_equal(seteuid(STRANGER), 0);
    assert_refused("f", "file f cannot be reached from the root directory: "
                        "Permission denied");
    assert_absent("g", "No such file");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chdir(*state), 0);
}

static void a_special_file_is_absent_and_does_not_block(void **state)
{
    make_dir("d", 0755);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_absent("d", "not a regular file");
    assert_absent("d/", "not a regular file");
    assert_absent("pipe", "not a regular file");
    assert_absent("/dev/null", "not a regular file");
    assert_absent("/", "not a regular file");
    assert_absent("", "No such file");
    assert_absent("missing", "No such file");
    assert_absent("missing/f", "No such file");
    put_file("f", 0644);
    assert_absent("f/g", "Not a directory");
}

static void long_names_are_absent(void **state)
{
    static char path[3 * PATH_MAX];
    memset(path, 'a', 300);
    assert_absent(path, "File name too long");
    for (size_t i = 0; i + 2 < sizeof path; i += 2)
        memcpy(path + i, "./", 3);
    assert_absent(path, "File name too long");
}

/* ---- directories --------------------------------------------------------- */

static void a_directory_that_others_may_write_is_refused(void **state)
{
    make_dir("d", 0777);
    put_file("d/f", 0644);
    assert_refused("d/f", "others may write directory /tmp/weft-unit-");
    assert_says("/d (user ");
    assert_says("mode 0777");
    assert_int_equal(chmod("d", 0775), 0);
    assert_refused("d/f", "mode 0775");
    assert_int_equal(chmod("d", 0755), 0);
    assert_trusted("d/f");
}

static void every_directory_above_counts(void **state)
{
    make_dir("a", 0777);
    make_dir("a/b", 0755);
    make_dir("a/b/c", 0755);
    put_file("a/b/c/f", 0644);
    assert_refused("a/b/c/f", "/a (user");
    assert_int_equal(chdir("a/b/c"), 0);
    assert_refused("f", "/a (user");
    assert_refused("../../b/c/f", "/a (user");
    assert_int_equal(chdir(*state), 0);
}

static void a_directory_of_another_user_is_refused(void **state)
{
    NEED_ROOT();
    make_dir("d", 0755);
    put_file("d/f", 0644);
    change_owner("d", STRANGER);
    assert_refused("d/f", "directory /tmp/weft-unit-");
    assert_says("belongs to user 65534 (mode 0755)");
}

static void a_missing_file_is_absent_and_not_refused(void **state)
{
    make_dir("d", 0777);
    assert_absent("d/mpi.ini", "No such file");
}

static void a_sticky_directory_may_be_passed_through(void **state)
{
    make_dir("s", 01777);
    make_dir("s/d", 0755);
    put_file("s/d/f", 0644);
    put_file("s/f", 0644);
    assert_trusted("s/d/f");
    assert_trusted("s/f");
    assert_int_equal(chmod("s/f", 0666), 0);
    assert_refused("s/f", "mode 0666");
}

static void what_others_have_in_a_sticky_directory_is_refused(void **state)
{
    NEED_ROOT();
    make_dir("s", 01777);
    make_dir("s/d", 0755);
    put_file("s/d/f", 0644);
    put_file("s/f", 0644);
    change_owner("s/d", STRANGER);
    change_owner("s/f", STRANGER);
    assert_refused("s/d/f", "belongs to user 65534");
    assert_refused("s/f", "belongs to user 65534");
    make_dir("t", 01777); /* its owner may rename everything in it */
    put_file("t/f", 0644);
    change_owner("t", STRANGER);
    assert_refused("t/f", "belongs to user 65534 (mode 1777)");
}

static void a_hard_link_in_a_sticky_directory_is_refused(void **state)
{
    put_file("f", 0644);
    make_dir("s", 01777);
    assert_int_equal(link("f", "s/mpi.ini"), 0);
    assert_refused("s/mpi.ini", "is a mount point or a hard link");
    assert_trusted("f"); /* the name that its owner gave it */
}

/* In a child with mounts of its own. A file system of another user (FUSE) may
 * say that root owns what it contains. */
static void a_mount_point_in_a_sticky_directory_is_refused(void **state)
{
    int status;
    make_dir("s", 01777);
    make_dir("s/d", 0755);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "s/d", "tmpfs", 0, "mode=0755") != 0)
            _exit(77);
        fclose(fopen("s/d/f", "w"));
        int r = wf_trust_open("s/d/f", why, sizeof why);
        _exit(r == WF_TRUST_REFUSED && strstr(why, "is a mount point") ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 77 << 8) {
        print_message("only root can mount\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- links --------------------------------------------------------------- */

static void own_links_in_own_directories_are_followed(void **state)
{
    char path[128];
    make_dir("d", 0755);
    put_file("d/f", 0644);
    assert_int_equal(symlink("d/f", "relative"), 0);
    snprintf(path, sizeof path, "%s/d", (char *)*state);
    assert_int_equal(symlink(path, "absolute"), 0);
    assert_int_equal(symlink("../absolute/../d", "d/up"), 0);
    assert_trusted("relative");
    assert_trusted("absolute/f");
    assert_trusted("d/up/up/up/f");
}

static void a_link_to_what_is_not_trusted_is_refused(void **state)
{
    make_dir("d", 0777);
    put_file("d/f", 0644);
    assert_int_equal(symlink("d/f", "l"), 0);
    assert_refused("l", "mode 0777");
    put_file("g", 0666);
    assert_int_equal(symlink("g", "k"), 0);
    assert_refused("k", "file /tmp/weft-unit-");
}

static void a_link_in_an_untrusted_directory_is_refused(void **state)
{
    put_file("f", 0644);
    make_dir("d", 0777);
    assert_int_equal(symlink("../f", "d/l"), 0);
    assert_refused("d/l", "directory /tmp/weft-unit-");
    assert_int_equal(symlink("d/l", "twice"), 0);
    assert_refused("twice", "directory /tmp/weft-unit-");
}

static void a_link_of_another_user_is_refused(void **state)
{
    NEED_ROOT();
    make_dir("s", 01777);
    assert_int_equal(symlink("/etc/passwd", "s/l"), 0);
    change_owner("s/l", STRANGER);
    assert_refused("s/l", "link /tmp/weft-unit-");
    assert_says("belongs to user 65534");
}

static void links_in_a_circle_and_to_nowhere_are_absent(void **state)
{
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(symlink("gone", "dangling"), 0);
    assert_absent("a", "Too many levels");
    assert_absent("dangling", "No such file");
}

/* ---- what the system lacks ----------------------------------------------- */

/* A file that cannot be looked at for want of something is not absent, or
 * another one would be taken in its place. */
static void a_lack_of_resources_is_told_from_absence(void **state)
{
    static const int lacks[] = {ENOMEM, EMFILE, ENFILE};
    make_dir("d", 0755);
    put_file("d/f", 0644);
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        int n = 0, fd;
        do {
            openat_fails_at = ++n;
            openat_error = lacks[i];
            fd = wf_trust_open("d/f", why, sizeof why);
            if (openat_fails_at > 0)
                break; /* there are no more calls */
            assert_int_equal(fd, WF_TRUST_SHORTAGE);
            assert_int_equal(errno, lacks[i]);
            assert_says(strerror(lacks[i]));
        } while (true);
        openat_fails_at = 0;
        assert_true(fd >= 0 && n > 2);
        close(fd);
    }
}

/* ---- exchanges ----------------------------------------------------------- */

struct swapper {
    const char *a, *b;
    int stop;
    unsigned long swaps;
};

static void *swap_files(void *arg)
{
    struct swapper *s = arg;
    while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
        if (renameat2(AT_FDCWD, s->a, AT_FDCWD, s->b, RENAME_EXCHANGE) == 0)
            s->swaps++;
    return NULL;
}

/* Two names are exchanged all the time; what is opened is always the good one,
 * by its descriptor. */
static void never_the_bad_one(const char *a, const char *b, const char *path,
                              ino_t good)
{
    struct swapper s = {.a = a, .b = b};
    unsigned opened = 0, refused = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, swap_files, &s), 0);
    for (int i = 0; race_goes_on(i, opened && refused); i++) {
        struct stat st;
        int fd = wf_trust_open(path, why, sizeof why);
        refused += fd == WF_TRUST_REFUSED;
        if (fd < 0)
            continue;
        opened++;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_ino, good);
        close(fd);
    }
    __atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    print_message("opened %u, refused %u, exchanged %lu times\n", opened,
                  refused, s.swaps);
    assert_true(opened > 0 && refused > 0 && s.swaps > 0);
}

static void an_exchanged_file_is_never_opened(void **state)
{
    struct stat st;
    put_file("good", 0644);
    put_file("bad", 0666);
    assert_int_equal(stat("good", &st), 0);
    never_the_bad_one("good", "bad", "good", st.st_ino);
}

static void an_exchanged_directory_is_never_entered(void **state)
{
    struct stat st;
    make_dir("good", 0755);
    make_dir("bad", 0777);
    put_file("good/f", 0644);
    put_file("bad/f", 0644);
    assert_int_equal(stat("good/f", &st), 0);
    never_the_bad_one("good", "bad", "good/f", st.st_ino);
}

static void an_exchanged_link_is_never_followed(void **state)
{
    struct stat st;
    put_file("f", 0644);
    make_dir("bad", 0777);
    put_file("bad/f", 0644);
    assert_int_equal(symlink("f", "a"), 0);
    assert_int_equal(symlink("bad/f", "b"), 0);
    assert_int_equal(stat("f", &st), 0);
    never_the_bad_one("a", "b", "a", st.st_ino);
}

int main(void)
{
#define CASE(f)                                                                \
    cmocka_unit_test_setup_teardown(f, enter_directory, leave_directory)
    const struct CMUnitTest tests[] = {
        CASE(an_own_file_in_own_directories_is_trusted),
        CASE(a_file_of_root_is_trusted),
        CASE(a_file_that_others_may_write_is_refused),
        CASE(a_file_of_another_user_is_refused),
        CASE(the_effective_user_counts),
        CASE(a_file_that_cannot_be_reached_from_the_root_is_refused),
        CASE(a_special_file_is_absent_and_does_not_block),
        CASE(long_names_are_absent),
        CASE(a_directory_that_others_may_write_is_refused),
        CASE(every_directory_above_counts),
        CASE(a_directory_of_another_user_is_refused),
        CASE(a_missing_file_is_absent_and_not_refused),
        CASE(a_sticky_directory_may_be_passed_through),
        CASE(what_others_have_in_a_sticky_directory_is_refused),
        CASE(a_hard_link_in_a_sticky_directory_is_refused),
        CASE(a_mount_point_in_a_sticky_directory_is_refused),
        CASE(own_links_in_own_directories_are_followed),
        CASE(a_link_to_what_is_not_trusted_is_refused),
        CASE(a_link_in_an_untrusted_directory_is_refused),
        CASE(a_link_of_another_user_is_refused),
        CASE(links_in_a_circle_and_to_nowhere_are_absent),
        CASE(a_lack_of_resources_is_told_from_absence),
        CASE(an_exchanged_file_is_never_opened),
        CASE(an_exchanged_directory_is_never_entered),
        CASE(an_exchanged_link_is_never_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
