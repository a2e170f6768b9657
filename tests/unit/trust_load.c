/* Loading plugins: only what is trusted is executed, whole, and not mixed up.
 *
 * The plugins (plugins/trust_plugin.c) make a file when they are executed:
 * $GOOD_MARK or $BAD_MARK.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "adi/loader.h"
#include "config_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/endpoint.h"
#include "os/trust.h"
#include "race_tries.h"

static char err[4096];

static int enter_trusted(void **state)
{
    setenv("GOOD_MARK", "good.mark", 1);
    setenv("BAD_MARK", "bad.mark", 1);
    unsetenv("WEFT_PLUGIN_PATH");
    unsetenv("WEFT_LAUNCHER_PLUGINS");
    return enter_directory(state);
}

/* Copy the first `size` bytes of a file; -1: all. */
static void copy_data(const char *from, const char *to, long size, mode_t mode)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_true(in != NULL && out != NULL);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    assert_true(n > 0 && n < sizeof bytes);
    assert_int_equal(fwrite(bytes, 1, size < 0 ? n : (size_t)size, out),
                     size < 0 ? n : (size_t)size);
    fclose(in);
    fclose(out);
    assert_int_equal(chmod(to, mode), 0);
}

static bool was_executed(const char *mark)
{
    return access(mark, F_OK) == 0;
}

/* As a section [transport good] path = DIR/file. */
static const weft_plugin *find_item(const char *file, const char *name)
{
    char path[256], here[128];
    const struct wf_transport_config t = {
        .name = name, .plugin = name, .path = path, .where = "mpi.ini:3"};
    struct wf_config *c = parse_good("");
    snprintf(path, sizeof path, "%s/%s", getcwd(here, sizeof here), file);
    if (strncmp(file, "./", 2) == 0)
        snprintf(path, sizeof path, "%s", file);
    const weft_plugin *p = wf_plugin_find(c, &t, err, sizeof err);
    wf_config_free(c);
    return p;
}

static void assert_refused(const char *file, const char *wanted)
{
    assert_null(find_item(file, "good"));
    if (strstr(err, wanted) == NULL)
        print_error("wanted: %s\nfound:  %s\n", wanted, err);
    assert_non_null(strstr(err, wanted));
    assert_non_null(strstr(err, "mpi.ini:3: plugin 'good' of transport 'good' "
                                "cannot be loaded; tried "));
    assert_false(was_executed("good.mark"));
}

static void a_trusted_plugin_is_loaded(void **state)
{
    copy_data(GOOD, "a.so", -1, 0644);
    const weft_plugin *p = find_item("a.so", "good");
    if (p == NULL)
        print_error("%s\n", err);
    assert_non_null(p);
    assert_true(was_executed("good.mark"));
    assert_string_equal(p->name, "good");
}

static void a_plugin_that_others_may_write_is_not_executed(void **state)
{
    copy_data(GOOD, "a.so", -1, 0666);
    assert_refused("a.so", "others may write file");
    assert_int_equal(chmod("a.so", 0664), 0);
    assert_refused("a.so", "mode 0664");
    assert_int_equal(chmod("a.so", 0644), 0);
    assert_int_equal(chmod(".", 0777), 0);
    assert_refused("a.so", "others may write directory");
    assert_int_equal(chmod(".", 0755), 0);
}

static void a_plugin_of_another_user_is_not_executed(void **state)
{
    if (geteuid() != 0) {
        print_message("only root can give files to other users\n");
        skip();
    }
    copy_data(GOOD, "a.so", -1, 0644);
    assert_int_equal(chown("a.so", 65534, 65534), 0);
    assert_refused("a.so", "belongs to user 65534");
}

static void a_relative_path_is_not_executed(void **state)
{
    copy_data(GOOD, "a.so", -1, 0644);
    assert_refused("./a.so", "the path is relative; write an absolute one");
}

static void a_truncated_file_is_refused(void **state)
{
    struct stat st;
    assert_int_equal(stat(GOOD, &st), 0);
    const long sizes[] = {0, 3, 17, 64, 100, 700, 4096, st.st_size / 4};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        copy_data(GOOD, "a.so", sizes[i], 0644);
        assert_refused("a.so", sizes[i] < 64 ? "invalid ELF header"
                                             : "the file is truncated");
    }
}

static void spoil_file(const char *file, long at, unsigned char byte)
{
    int fd = open(file, O_WRONLY);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void another_machine_or_kind_of_file_is_refused(void **state)
{
    copy_data(GOOD, "a.so", -1, 0644);
    spoil_file("a.so", 18, 0xee); /* e_machine */
    assert_refused("a.so", "built for another kind of machine");
    copy_data(GOOD, "a.so", -1, 0644);
    spoil_file("a.so", 5, 3); /* byte order */
    assert_refused("a.so", "built for another kind of machine");
    copy_data(GOOD, "a.so", -1, 0644);
    spoil_file("a.so", 16, 1); /* an object file */
    assert_refused("a.so", "not a shared library");
}

static void a_plugin_of_another_name_has_no_symbol(void **state)
{
    copy_data(OTHER, "a.so", -1, 0644);
    assert_null(find_item("a.so", "good"));
    assert_non_null(strstr(err, "exports no symbol weft_plugin_2_good"));
}

static void descriptors_that_come_again_confuse_nothing(void **state)
{
    copy_data(GOOD, "a.so", -1, 0644);
    copy_data(OTHER, "b.so", -1, 0644);
    for (int i = 0; i < 3; i++) {
        const weft_plugin *a = find_item("a.so", "good"),
                          *b = find_item("b.so", "other");
        assert_non_null(a);
        assert_non_null(b);
        assert_string_equal(a->name, "good");
        assert_string_equal(b->name, "other");
        assert_ptr_equal(find_item("a.so", "good"), a);
    }
    int before = open("/dev/null", O_RDONLY);
    close(before);
    for (int i = 0; i < 100; i++)
        assert_non_null(
            find_item(i % 2 ? "a.so" : "b.so", i % 2 ? "good" : "other"));
    int after = open("/dev/null", O_RDONLY);
    close(after);
    /* one descriptor for each file, not load */
    assert_int_equal(before, after);
    /* as a program may that becomes a daemon */
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    copy_data(OTHER, "c.so", -1, 0644);
    const weft_plugin *c = find_item("c.so", "other");
    assert_non_null(c);
    assert_ptr_not_equal(c, find_item("b.so", "other"));
    assert_string_equal(find_item("a.so", "good")->name, "good");
}

/* The descriptor that it gets has the name of one that was loaded, and there is
 * no other. */
static void a_lack_of_descriptors_is_reported(void **state)
{
    struct rlimit was, few;
    int next;

    copy_data(GOOD, "a.so", -1, 0644);
    copy_data(OTHER, "b.so", -1, 0644);
    next = open("/dev/null", O_RDONLY);
    close(next); /* the one that is loaded keeps it */
    assert_non_null(find_item("a.so", "good"));
    close(next);
    getrlimit(RLIMIT_NOFILE, &was);
    /* while the file is looked for, and then */
    for (rlim_t n = 1; n < 8; n++) {
        few = was;
        few.rlim_cur = (rlim_t)next + n;
        setrlimit(RLIMIT_NOFILE, &few);
        const weft_plugin *b = find_item("b.so", "other");
        setrlimit(RLIMIT_NOFILE, &was);
        if (b)
            break;
        assert_non_null(strstr(err, strerror(EMFILE)));
    }
    assert_non_null(find_item("b.so", "other"));
}

/* The directories of the environment and of the configuration. */
static void the_first_file_found_counts_even_if_it_is_refused(void **state)
{
    char dirs[256];
    struct wf_config *c = parse_good("");
    const struct wf_transport_config t = {
        .name = "good", .plugin = "good", .where = "mpi.ini:3"};
    assert_int_equal(mkdir("1", 0755) | mkdir("2", 0755), 0);
    copy_data(GOOD, "2/weft_good.so", -1, 0644);
    snprintf(dirs, sizeof dirs, "rel:%s/1:%s/2", (char *)*state,
             (char *)*state);
    setenv("WEFT_PLUGIN_PATH", dirs, 1);
    copy_data(GOOD, "1/weft_good.so", -1, 0666);
    assert_null(wf_plugin_find(c, &t, err, sizeof err));
    assert_non_null(strstr(err, "/1/weft_good.so: others may write file"));
    assert_non_null(strstr(err, "tried rel/weft_good.so: the directory is "
                                "relative; write an absolute one"));
    assert_false(was_executed("good.mark"));
    unlink("1/weft_good.so");
    assert_non_null(wf_plugin_find(c, &t, err, sizeof err));
    wf_config_free(c);
}

static void a_plugin_that_is_only_looked_at_is_named_and_not_executed(
    void **state)
{
    char *left = NULL, path[128];
    struct wf_config *c = parse_good("");
    const struct wf_transport_config t = {
        .name = "good", .plugin = "good", .path = path, .where = "mpi.ini:3"};
    copy_data(GOOD, "a.so", -1, 0644);
    snprintf(path, sizeof path, "%s/a.so", (char *)*state);
    assert_null(wf_plugin_find_or_name(c, &t, err, sizeof err, &left));
    assert_string_equal(left, path);
    assert_false(was_executed("good.mark"));
    free(left);
    left = NULL;
    assert_int_equal(chmod("a.so", 0666), 0);
    assert_null(wf_plugin_find_or_name(c, &t, err, sizeof err, &left));
    assert_null(left);
    assert_non_null(strstr(err, "others may write file"));
    wf_config_free(c);
}

struct swapper {
    int stop;
    unsigned long swaps;
};

static void *swap_files(void *arg)
{
    struct swapper *s = arg;
    while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED))
        if (renameat2(AT_FDCWD, "a.so", AT_FDCWD, "b.so", RENAME_EXCHANGE) == 0)
            s->swaps++;
    return NULL;
}

/* Both are `good` by name; the constructor of the one that others may write
 * never runs, however often its file takes the place of the other. */
static void an_exchanged_plugin_is_never_executed(void **state)
{
    struct swapper s = {0, 0};
    unsigned loaded = 0, refused = 0;
    pthread_t thread;
    copy_data(GOOD, "a.so", -1, 0644);
    copy_data(BAD, "b.so", -1, 0666);
    assert_int_equal(pthread_create(&thread, NULL, swap_files, &s), 0);
    for (int i = 0; race_goes_on(i, loaded && refused); i++) {
        bool good = find_item("a.so", "good") != NULL;
        loaded += good;
        refused += !good;
    }
    __atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    print_message("loaded %u, refused %u, exchanged %lu times\n", loaded,
                  refused, s.swaps);
    assert_true(loaded > 0 && refused > 0 && s.swaps > 0);
    assert_true(was_executed("good.mark"));
    assert_false(was_executed("bad.mark"));
}

/* In a child with mounts of its own, whose /proc is empty. */
static void without_proc_the_path_is_loaded(void **state)
{
    int status;
    copy_data(GOOD, "a.so", -1, 0644);
    copy_data(GOOD, "b.so", -1, 0666);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) != 0)
            _exit(77);
        bool refused =
            find_item("b.so", "good") == NULL && !was_executed("good.mark");
        bool loaded =
            find_item("a.so", "good") != NULL && was_executed("good.mark");
        _exit(refused && loaded ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 77 << 8) {
        print_message("only root can hide /proc\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
#define CASE(f)                                                                \
    cmocka_unit_test_setup_teardown(f, enter_trusted, leave_directory)
    const struct CMUnitTest tests[] = {
        CASE(a_trusted_plugin_is_loaded),
        CASE(a_plugin_that_others_may_write_is_not_executed),
        CASE(a_plugin_of_another_user_is_not_executed),
        CASE(a_relative_path_is_not_executed),
        CASE(a_truncated_file_is_refused),
        CASE(another_machine_or_kind_of_file_is_refused),
        CASE(a_plugin_of_another_name_has_no_symbol),
        CASE(descriptors_that_come_again_confuse_nothing),
        CASE(a_lack_of_descriptors_is_reported),
        CASE(the_first_file_found_counts_even_if_it_is_refused),
        CASE(a_plugin_that_is_only_looked_at_is_named_and_not_executed),
        CASE(an_exchanged_plugin_is_never_executed),
        CASE(without_proc_the_path_is_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
