/* Ports within one job: its halves, and its processes, meet by name; errors of
 * the calls on ports; MPI_Comm_join.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static _Thread_local int me, n;

/* ---- errors -------------------------------------------------------------- */

static int try_to_connect(const char *name, const char *key, const char *limit)
{
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, limit);
    rc = MPI_Comm_connect(name, info, 0, MPI_COMM_SELF, &c);
    CHECK(rc == MPI_SUCCESS || c == MPI_COMM_NULL);
    MPI_Info_free(&info);
    if (rc == MPI_SUCCESS)
        MPI_Comm_disconnect(&c);
    return class_of(rc);
}

static void check_errors(void)
{
    char name[MPI_MAX_PORT_NAME], old[MPI_MAX_PORT_NAME];
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm c;
    int rc, length;

    CHECK(try_to_connect("", "connect_timeout", "5") == MPI_ERR_PORT);
    CHECK(try_to_connect("nonsense", "connect_timeout", "5") == MPI_ERR_PORT);
    CHECK(try_to_connect("weft1:AAAA:0:127.0.0.1:1", "connect_timeout", "5") ==
          MPI_ERR_PORT);
    CHECK(try_to_connect("nonsense", "connect_timeout", "soon") ==
          MPI_ERR_INFO_VALUE);
    CHECK(try_to_connect("nonsense", "connect_timeout", "-1") ==
          MPI_ERR_INFO_VALUE);
    CHECK(try_to_connect("nonsense", "timeout", "-1") == MPI_ERR_INFO_VALUE);
    CHECK(class_of(MPI_Close_port("nonsense")) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_accept("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                   &c)) == MPI_ERR_PORT);
    CHECK(MPI_Open_port(MPI_INFO_NULL, name) == MPI_SUCCESS);
    strcpy(old, name);
    CHECK(MPI_Close_port(name) == MPI_SUCCESS);
    CHECK(class_of(MPI_Close_port(name)) == MPI_ERR_PORT);
    rc = MPI_Comm_connect(old, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    CHECK(class_of(rc) == MPI_ERR_PORT);
    MPI_Error_string(rc, text, &length);
    CHECK(strstr(text, strrchr(old, ':')) != NULL);    /* the port is named, */
    CHECK(strstr(text, strchr(old, ':') + 1) == NULL); /* its secret is not */
}

/* ---- meeting ------------------------------------------------------------- */

static void check_intercomm(MPI_Comm c, int mine, int theirs)
{
    int peers, sum = -1, r = rank_in(c);

    MPI_Comm_remote_size(c, &peers);
    CHECK(size_of(c) == mine && peers == theirs);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == theirs * (theirs - 1) / 2);
}

/* The even ranks accept, the odd ones connect; the last of each is root. */
static void check_halves(void)
{
    char name[MPI_MAX_PORT_NAME] = "";
    int odd = me % 2, evens = (n + 1) / 2, odds = n / 2;
    int root = (odd ? odds : evens) - 1;
    MPI_Comm half, both;

    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    if (me == 2 * (evens - 1)) {
        MPI_Open_port(MPI_INFO_NULL, name);
        MPI_Send(name, MPI_MAX_PORT_NAME, MPI_CHAR, 2 * odds - 1, 1,
                 MPI_COMM_WORLD);
    }
    if (me == 2 * odds - 1)
        MPI_Recv(name, MPI_MAX_PORT_NAME, MPI_CHAR, 2 * (evens - 1), 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK((odd ? MPI_Comm_connect : MPI_Comm_accept)(
              name, MPI_INFO_NULL, root, half, &both) == MPI_SUCCESS);
    check_intercomm(both, odd ? odds : evens, odd ? evens : odds);
    CHECK(MPI_Comm_disconnect(&both) == MPI_SUCCESS);
    CHECK(both == MPI_COMM_NULL);
    if (me == 2 * (evens - 1))
        CHECK(MPI_Close_port(name) == MPI_SUCCESS);
    MPI_Comm_disconnect(&half);
}

/* All connect to rank 0 at once, which accepts them one after the other. */
static void check_clients(void)
{
    char name[MPI_MAX_PORT_NAME];
    MPI_Comm c;
    int seen = 0;

    if (me == 0)
        MPI_Open_port(MPI_INFO_NULL, name);
    MPI_Bcast(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 1; me == 0 && i < n; i++) {
        int who = -1;
        CHECK(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c) ==
              MPI_SUCCESS);
        MPI_Recv(&who, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE);
        seen += who;
        MPI_Comm_disconnect(&c);
    }
    if (me == 0) {
        CHECK(seen == n * (n - 1) / 2);
    } else {
        CHECK(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c) ==
              MPI_SUCCESS);
        MPI_Send(&me, 1, MPI_INT, 0, 0, c);
        MPI_Comm_disconnect(&c);
    }
    if (me == 0)
        MPI_Close_port(name);
}

/* A client that has given up does not trouble the next one. */
static void check_limit(void)
{
    char name[MPI_MAX_PORT_NAME];
    MPI_Comm c;

    if (me == 0)
        MPI_Open_port(MPI_INFO_NULL, name);
    MPI_Bcast(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (me == 1)
        CHECK(try_to_connect(name, "connect_timeout", "0.05") == MPI_ERR_PORT);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        CHECK(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c) ==
              MPI_SUCCESS);
    if (me == 1)
        CHECK(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c) ==
              MPI_SUCCESS);
    if (me < 2) {
        check_intercomm(c, 1, 1);
        MPI_Comm_disconnect(&c);
    }
    if (me == 0)
        MPI_Close_port(name);
}

/* ---- join ---------------------------------------------------------------- */

/* Connected sockets of ranks 0 and 1. */
static int connect_pair(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), taken;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (me == 1) {
        MPI_Recv(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 0, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
        return fd;
    }
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
          listen(fd, 1) == 0 &&
          getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    MPI_Send(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    taken = accept(fd, NULL, NULL);
    close(fd);
    return taken;
}

static void check_join(void)
{
    int fds[2], fd = connect_pair();
    char before = 'b', after = 'a', got[2] = "";
    MPI_Comm c;

    CHECK(write(fd, &before, 1) == 1 && read(fd, got, 1) == 1);
    CHECK(MPI_Comm_join(fd, &c) == MPI_SUCCESS);
    CHECK(write(fd, &after, 1) == 1 && read(fd, got + 1, 1) == 1);
    CHECK(got[0] == 'b' && got[1] == 'a'); /* the socket is untouched */
    check_intercomm(c, 1, 1);
    MPI_Comm_disconnect(&c);
    close(fd);
    CHECK(class_of(MPI_Comm_join(fd, &c)) == MPI_ERR_OTHER);
    CHECK(c == MPI_COMM_NULL);
    CHECK(pipe(fds) == 0 && MPI_Comm_join(fds[0], &c) != MPI_SUCCESS);
    close(fds[0]);
    close(fds[1]);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    n = size_of(MPI_COMM_WORLD);
    check_errors();
    if (n > 1) {
        check_halves();
        check_clients();
        check_limit();
    }
    if (n > 1 && me < 2)
        check_join();
    return job_end();
}
