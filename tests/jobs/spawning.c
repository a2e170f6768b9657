/* Processes that spawn copies of this program: launch_spawned.py says how.
 *
 *   parent: basic N | multiple | refused | no_mpi | soft | wdir | self | early
 *           dies | aborts | nested | stays | frees | fatal | cycles K | time N
 *           | relayed N
 *   child:  what its parent gives it as arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char *self;

/* Checks that processes were spawned; launch_pmix.py asks why not. */
static void check_spawn(int rc)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    CHECK(rc == MPI_SUCCESS);
    if (rc) {
        MPI_Error_string(rc, text, &length);
        fprintf(stderr, "%s\n", text);
    }
}

static MPI_Comm spawn_copies(MPI_Comm comm, int n, const char *what,
                             MPI_Info info)
{
    char *argv[] = {(char *)what, NULL};
    int codes[64];
    MPI_Comm inter = MPI_COMM_NULL;

    memset(codes, 0x55, sizeof codes);
    check_spawn(MPI_Comm_spawn(self, argv, n, info, 0, comm, &inter, codes));
    for (int i = 0; i < n; i++)
        CHECK(codes[i] == MPI_SUCCESS);
    return inter;
}

static int remote_size(MPI_Comm inter)
{
    int n = -1;

    if (inter != MPI_COMM_NULL)
        MPI_Comm_remote_size(inter, &n);
    return n;
}

/* Both sides: messages with everybody, collectives, a merge. */
static void check_contact(MPI_Comm inter, int is_child)
{
    int me = rank_in(inter), peers = remote_size(inter), got, sum = -1, all;
    MPI_Comm merged;

    for (int p = 0; p < peers; p++) {
        int out = 100 * me + p;
        MPI_Sendrecv(&out, 1, MPI_INT, p, 5, &got, 1, MPI_INT, p, 5, inter,
                     MPI_STATUS_IGNORE);
        CHECK(got == 100 * p + me);
    }
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == peers * (peers - 1) / 2);
    MPI_Intercomm_merge(inter, is_child, &merged);
    CHECK(size_of(merged) == peers + size_of(inter));
    me = rank_in(merged);
    MPI_Allreduce(&me, &all, 1, MPI_INT, MPI_SUM, merged);
    CHECK(all == size_of(merged) * (size_of(merged) - 1) / 2);
    MPI_Comm_free(&merged);
}

/* ---- parents ------------------------------------------------------------- */

static void spawn_basic(MPI_Comm comm, int n)
{
    MPI_Comm inter = spawn_copies(comm, n, "talk", MPI_INFO_NULL);

    CHECK(remote_size(inter) == n);
    check_contact(inter, 0);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
}

static void spawn_multiple(void)
{
    char *commands[] = {self, self};
    char *one[] = {(char *)"appnum", (char *)"a b", NULL};
    char *two[] = {(char *)"appnum", NULL};
    char **argvs[] = {one, two};
    int most[] = {1, 2}, codes[3] = {9, 9, 9}, got;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    int root = size_of(MPI_COMM_WORLD) - 1;
    int mine = rank_in(MPI_COMM_WORLD) == root;

    check_spawn(MPI_Comm_spawn_multiple(mine ? 2 : -1, mine ? commands : NULL,
                                        mine ? argvs : NULL, mine ? most : NULL,
                                        mine ? infos : NULL, root,
                                        MPI_COMM_WORLD, &inter, codes));
    CHECK(remote_size(inter) == 3);
    for (int i = 0; i < 3; i++)
        CHECK(codes[i] == MPI_SUCCESS);
    for (int i = 0; i < 3 && mine; i++) {
        MPI_Recv(&got, 1, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE);
        CHECK(got == (i == 0 ? 302 : 311)); /* size, appnum, argc - 1 */
    }
    MPI_Comm_disconnect(&inter);
    check_spawn(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most,
                                        infos, root, MPI_COMM_WORLD, &inter,
                                        MPI_ERRCODES_IGNORE));
    CHECK(remote_size(inter) == 3);
    MPI_Comm_disconnect(&inter);
}

static void refuse_one(const char *program, char *argv[], int class)
{
    int codes[2] = {0, 0};
    MPI_Comm inter = MPI_COMM_WORLD;

    CHECK(class_of(MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0,
                                  MPI_COMM_WORLD, &inter, codes)) == class);
    CHECK(inter == MPI_COMM_NULL);
    if (class == MPI_ERR_SPAWN && !argv)
        for (int i = 0; i < 2; i++)
            CHECK(class_of(codes[i]) == MPI_ERR_SPAWN);
    CHECK(class_of(MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0,
                                  MPI_COMM_WORLD, &inter,
                                  MPI_ERRCODES_IGNORE)) == class);
}

static void spawn_refused(void)
{
    MPI_Comm inter;
    MPI_Info info;

    refuse_one("/no/such/program", MPI_ARGV_NULL, MPI_ERR_SPAWN);
    refuse_one("/", MPI_ARGV_NULL, MPI_ERR_SPAWN);
    refuse_one("", MPI_ARGV_NULL, MPI_ERR_ARG);
    CHECK(class_of(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0,
                                  MPI_COMM_WORLD, &inter,
                                  MPI_ERRCODES_IGNORE)) == MPI_ERR_SPAWN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "soft", "1:x");
    CHECK(class_of(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, info, 0,
                                  MPI_COMM_WORLD, &inter,
                                  MPI_ERRCODES_IGNORE)) == MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "soft", "1");
    MPI_Info_set(info, "file", "/no/such/file");
    CHECK(class_of(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, info, 0,
                                  MPI_COMM_WORLD, &inter,
                                  MPI_ERRCODES_IGNORE)) == MPI_ERR_INFO_VALUE);
    MPI_Info_free(&info);
    spawn_basic(MPI_COMM_WORLD, 2);
}

/* A program that is none of MPI's ends; the parents are told. */
static void spawn_no_mpi(void)
{
    char *argv[] = {(char *)"-c", (char *)"exit 0", NULL};

    refuse_one("/bin/sh", argv, MPI_ERR_SPAWN);
    spawn_basic(MPI_COMM_WORLD, 1);
}

static void spawn_soft(void)
{
    int codes[5] = {9, 9, 9, 9, 9};
    char *argv[] = {(char *)"talk", NULL};
    MPI_Comm inter;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "soft", "0,7:9,1:4:2");
    check_spawn(
        MPI_Comm_spawn(self, argv, 5, info, 0, MPI_COMM_WORLD, &inter, codes));
    MPI_Info_free(&info);
    CHECK(remote_size(inter) == 3);
    for (int i = 0; i < 5; i++)
        CHECK(class_of(codes[i]) == (i < 3 ? MPI_SUCCESS : MPI_ERR_SPAWN));
    check_contact(inter, 0);
    MPI_Comm_disconnect(&inter);
}

/* The child sends where it is and what A is. */
static void spawn_with(const char *key, const char *value, const char *expected)
{
    char got[512] = "";
    MPI_Comm inter;
    MPI_Info info = MPI_INFO_NULL;

    if (key) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, value);
    }
    inter = spawn_copies(MPI_COMM_SELF, 1, "where", info);
    MPI_Recv(got, sizeof got, MPI_CHAR, 0, 3, inter, MPI_STATUS_IGNORE);
    if (strcmp(got, expected) != 0)
        fprintf(stderr, "'%s' is not '%s'\n", got, expected);
    CHECK(strcmp(got, expected) == 0);
    MPI_Comm_disconnect(&inter);
    if (key)
        MPI_Info_free(&info);
}

static void spawn_wdir(const char *folder)
{
    char path[512], expected[600];
    FILE *f;

    CHECK(chdir(folder) == 0);
    CHECK(mkdir("below", 0700) == 0);
    snprintf(expected, sizeof expected, "%s -", folder);
    spawn_with(NULL, NULL, expected);
    snprintf(expected, sizeof expected, "%s/below -", folder);
    spawn_with("wdir", "below", expected);
    spawn_with("wdir", "/", "/ -");
    snprintf(expected, sizeof expected, "%s x y", folder);
    spawn_with("env", "A=x y\nB=z", expected);
    snprintf(path, sizeof path, "%s/keys", folder);
    f = fopen(path, "w");
    CHECK(f != NULL);
    fputs("# a comment\nwdir = /\nenv=A=file\n", f);
    fclose(f);
    spawn_with("file", path, "/ file");
}

/* The children end before they have called MPI_Init. */
static void spawn_early(void)
{
    char *argv[] = {(char *)"-c", (char *)"kill -9 $$", NULL};

    refuse_one("/bin/sh", argv, MPI_ERR_SPAWN);
}

/* A child ends without MPI_Finalize, or aborts: its parents go on. */
static void spawn_victims(const char *how)
{
    MPI_Comm inter = spawn_copies(MPI_COMM_WORLD, 2, how, MPI_INFO_NULL);
    int got, class;

    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter); /* before the end, all have met */
    class = class_of(MPI_Recv(&got, 1, MPI_INT, 0, 9, inter,
                              MPI_STATUS_IGNORE));
    CHECK(class == MPI_ERR_PROC_ABORTED);
    MPI_Comm_free(&inter);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0)
        puts("parents go on");
    fflush(stdout);
}

static void spawn_cycles(int k)
{
    int before = 0, found;

    for (int i = 0; i < k; i++) {
        MPI_Comm inter = spawn_copies(MPI_COMM_WORLD, 2, "meet", MPI_INFO_NULL);
        MPI_Comm_disconnect(&inter);
        if (i == 2)
            before = job_descriptors();
    }
    while (job_descriptors() > before) /* the last link may not be closed yet */
        MPI_Iprobe(0, 9, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

/* Both sides free the communicator, and MPI_Finalize ends the connection. */
static void spawn_freed(int n)
{
    MPI_Comm inter = spawn_copies(MPI_COMM_WORLD, n, "frees", MPI_INFO_NULL);

    check_contact(inter, 0);
    MPI_Comm_free(&inter);
}

/* Rank 0 alone has met the children, and all ranks meet them by it. */
static void check_relayed(MPI_Comm met, int is_child)
{
    MPI_Comm all;

    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, met, 0, 7, &all) ==
          MPI_SUCCESS);
    if (met != MPI_COMM_NULL)
        MPI_Comm_free(&met);
    check_contact(all, is_child);
    MPI_Comm_disconnect(&all);
}

static void spawn_relayed(int n)
{
    MPI_Comm inter = MPI_COMM_NULL;

    if (rank_in(MPI_COMM_WORLD) == 0)
        inter = spawn_copies(MPI_COMM_SELF, n, "relayed", MPI_INFO_NULL);
    check_relayed(inter, 0);
}

static void spawn_timed(int n)
{
    for (int i = 0; i < 7; i++) {
        double t = MPI_Wtime();
        MPI_Comm inter = spawn_copies(MPI_COMM_WORLD, n, "meet", MPI_INFO_NULL);
        if (rank_in(MPI_COMM_WORLD) == 0)
            printf("%.1f ms\n", (MPI_Wtime() - t) * 1e3);
        MPI_Comm_disconnect(&inter);
    }
}

static int parent_main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "basic";
    int n = argc > 2 ? atoi(argv[2]) : 2;

    if (strcmp(what, "fatal") == 0)
        (void)spawn_copies(MPI_COMM_WORLD, 1, "meet", MPI_INFO_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(what, "basic") == 0)
        spawn_basic(MPI_COMM_WORLD, n);
    else if (strcmp(what, "self") == 0)
        spawn_basic(MPI_COMM_SELF, n);
    else if (strcmp(what, "multiple") == 0)
        spawn_multiple();
    else if (strcmp(what, "refused") == 0)
        spawn_refused();
    else if (strcmp(what, "no_mpi") == 0)
        spawn_no_mpi();
    else if (strcmp(what, "soft") == 0)
        spawn_soft();
    else if (strcmp(what, "wdir") == 0)
        spawn_wdir(argv[2]);
    else if (strcmp(what, "early") == 0)
        spawn_early();
    else if (strcmp(what, "dies") == 0 || strcmp(what, "aborts") == 0)
        spawn_victims(what);
    else if (strcmp(what, "nested") == 0) {
        MPI_Comm inter = spawn_copies(MPI_COMM_WORLD, 2, what, MPI_INFO_NULL);
        check_contact(inter, 0);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(what, "stays") == 0)
        (void)spawn_copies(MPI_COMM_WORLD, n, "stays", MPI_INFO_NULL);
    else if (strcmp(what, "frees") == 0)
        spawn_freed(n);
    else if (strcmp(what, "cycles") == 0)
        spawn_cycles(n);
    else if (strcmp(what, "relayed") == 0)
        spawn_relayed(n);
    else
        spawn_timed(n);
    return job_failures != 0;
}

/* ---- children ------------------------------------------------------------ */

static int get_appnum(void)
{
    int *value, found;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &found);
    return found ? *value : -1;
}

static int child_main(MPI_Comm parent, int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "meet";
    char text[512], here[400] = "";
    int n = 100 * size_of(MPI_COMM_WORLD) + 10 * get_appnum() + argc - 1;
    const char *a = getenv("A");
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    MPI_Comm_get_name(parent, name, &length);
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    if (strcmp(what, "talk") == 0)
        check_contact(parent, 1);
    if (strcmp(what, "appnum") == 0)
        MPI_Send(&n, 1, MPI_INT, remote_size(parent) - 1, 1, parent);
    if (strcmp(what, "where") == 0) {
        CHECK(getcwd(here, sizeof here) != NULL);
        snprintf(text, sizeof text, "%s %s", here, a ? a : "-");
        MPI_Send(text, (int)strlen(text) + 1, MPI_CHAR, 0, 3, parent);
    }
    if (strcmp(what, "dies") == 0 || strcmp(what, "aborts") == 0)
        MPI_Barrier(parent);
    if (strcmp(what, "dies") == 0)
        raise(SIGKILL);
    if (strcmp(what, "aborts") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(what, "nested") == 0) {
        spawn_basic(MPI_COMM_WORLD, 2);
        check_contact(parent, 1);
    }
    if (strcmp(what, "stays") == 0)
        return 0;
    if (strcmp(what, "frees") == 0) {
        check_contact(parent, 1);
        MPI_Comm_free(&parent);
    } else if (strcmp(what, "relayed") == 0) {
        check_relayed(parent, 1);
    } else {
        MPI_Comm_disconnect(&parent);
    }
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS);
    CHECK(parent == MPI_COMM_NULL);
    return job_failures != 0;
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int failed;

    self = argc > 2 && strcmp(argv[1], "fatal") == 0 ? argv[2] : argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    failed = parent == MPI_COMM_NULL ? parent_main(argc, argv)
                                     : child_main(parent, argc, argv);
    MPI_Finalize();
    return failed;
}
