/* Published names, as a script tells it by the arguments:
 *
 *   publish NAME PORT   and wait until standard input ends, or forever
 *   once NAME PORT      and end without unpublishing
 *   lookup NAME         print the port, or the error class
 *   fatal NAME          the same, with the usual error handler
 *   ranks               what the ranks of a job see of each other
 *
 * A third word, true or false, is the info key ompi_global_scope.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <unistd.h>

#include "check.h"

static MPI_Info scope_of(const char *text)
{
    MPI_Info info = MPI_INFO_NULL;

    if (!text)
        return info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_global_scope", text);
    return info;
}

static void print_class(int code)
{
    int class = class_of(code);

    puts(class == MPI_SUCCESS       ? "published"
         : class == MPI_ERR_SERVICE ? "MPI_ERR_SERVICE"
         : class == MPI_ERR_NAME    ? "MPI_ERR_NAME"
                                    : "another error");
    fflush(stdout);
}

static void publish_name(char **argv, int stay)
{
    MPI_Info info = scope_of(argv[4]);
    char byte;

    print_class(MPI_Publish_name(argv[2], info, argv[3]));
    while (stay && read(0, &byte, 1) > 0)
        ;
    if (stay)
        print_class(MPI_Unpublish_name(argv[2], info, argv[3]));
}

static void find_name(char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    int code = MPI_Lookup_name(argv[2], scope_of(argv[3]), port);

    if (code == MPI_SUCCESS)
        puts(port);
    else
        print_class(code);
}

/* Names are the user's: each job has names of its own. */
static int job;

static void write_name(char *name, const char *what, int rank)
{
    sprintf(name, "%s %d of job %d", what, rank, job);
}

/* Everybody publishes a name, and finds that of its neighbour. */
static void check_neighbours(int rank, int size)
{
    char name[64], port[MPI_MAX_PORT_NAME], own[64];

    write_name(name, "rank", rank);
    sprintf(own, "port = %d; %%41", rank);
    CHECK(MPI_Publish_name(name, MPI_INFO_NULL, own) == MPI_SUCCESS);
    CHECK(class_of(MPI_Publish_name(name, MPI_INFO_NULL, own)) ==
          MPI_ERR_SERVICE);
    MPI_Barrier(MPI_COMM_WORLD);
    write_name(name, "rank", (rank + 1) % size);
    sprintf(own, "port = %d; %%41", (rank + 1) % size);
    CHECK(MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(strcmp(port, own) == 0);
    CHECK(size == 1 || class_of(MPI_Unpublish_name(name, MPI_INFO_NULL,
                                                   port)) ==
                           MPI_ERR_SERVICE);
    MPI_Barrier(MPI_COMM_WORLD);
    write_name(name, "rank", rank);
    CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, own) == MPI_SUCCESS);
    CHECK(class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, own)) ==
          MPI_ERR_SERVICE);
    MPI_Barrier(MPI_COMM_WORLD);
    write_name(name, "rank", (rank + 1) % size);
    CHECK(class_of(MPI_Lookup_name(name, MPI_INFO_NULL, port)) ==
          MPI_ERR_NAME);
}

/* The longest texts, and longer ones. */
static void check_texts(int rank)
{
    char port[MPI_MAX_PORT_NAME], name[512];
    char longest[MPI_MAX_PORT_NAME], too_long[MPI_MAX_PORT_NAME + 1];

    memset(longest, 'p', sizeof longest);
    longest[MPI_MAX_PORT_NAME - 1] = '\0';
    write_name(name, "longest", rank);
    CHECK(MPI_Publish_name(name, MPI_INFO_NULL, longest) == MPI_SUCCESS);
    CHECK(MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(strcmp(port, longest) == 0);
    CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, longest) == MPI_SUCCESS);
    memset(too_long, 'p', sizeof too_long);
    too_long[MPI_MAX_PORT_NAME] = '\0';
    CHECK(class_of(MPI_Publish_name(name, MPI_INFO_NULL, too_long)) ==
          MPI_ERR_PORT);
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK(class_of(MPI_Publish_name(name, MPI_INFO_NULL, "p")) ==
          MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Publish_name("", MPI_INFO_NULL, "p")) ==
          MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Lookup_name("", MPI_INFO_NULL, port)) ==
          MPI_ERR_SERVICE);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "fatal") == 0)
        find_name(argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 3 && strcmp(argv[1], "publish") == 0) {
        publish_name(argv, 1);
    } else if (argc > 3 && strcmp(argv[1], "once") == 0) {
        publish_name(argv, 0);
    } else if (argc > 2 && strcmp(argv[1], "lookup") == 0) {
        find_name(argv);
    } else {
        job = (int)getpid();
        MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
        check_neighbours(rank, size_of(MPI_COMM_WORLD));
        check_texts(rank);
    }
    MPI_Finalize();
    return job_failures != 0;
}
