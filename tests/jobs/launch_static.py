"""Static start over shared memory: ranks that mpi.ini puts on one host, and that
nobody launched together.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
MPICC = os.path.join(BUILD, "bin", "mpicc")
INFO = os.path.join(BUILD, "bin", "weft-info")
# names of sockets are made of it: another run of this test has another one
KEY = f"job_key = 4ac0f1e2d3-{os.getpid()}\n"
OTHER_KEY = f"job_key = other-{os.getpid()}\n"
NOBODY = 65534
SKIP = 77

# Everybody talks to everybody; argument "die": rank 1 then ends at once;
# "hold": rank 0 says so and waits for the end of its input before the last round.
TALK = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int exchange(void)
{
    enum { MOST = 16 };
    static char out[200000], in[MOST][200000];
    MPI_Request r[2 * MOST];
    int rank, size, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(out, rank, sizeof out);
    for (int i = 0; i < size; i++) {
        MPI_Irecv(in[i], sizeof in[i], MPI_CHAR, i, 0, MPI_COMM_WORLD, &r[i]);
        MPI_Isend(out, sizeof out, MPI_CHAR, i, 0, MPI_COMM_WORLD, &r[size + i]);
    }
    MPI_Waitall(2 * size, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++)
        wrong += in[i][0] != i || in[i][sizeof in[i] - 1] != i;
    return wrong;
}
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, wrong, sum;
    char c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = exchange();
    if (!strcmp(how, "die") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(how, "hold") && rank == 0) {
        printf("held\n");
        fflush(stdout);
        while (read(0, &c, 1) > 0)
            ;
    }
    wrong += exchange();
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d: %d\n", rank, size, sum);
    MPI_Finalize();
    return sum != 0;
}
"""
# Says how many local sockets it listens with once it has derived communicators.
ENGINES = r"""
#include <mpi.h>
#include <stdio.h>
#include <sys/socket.h>
int main(void)
{
    int provided, rank, listening = 0, sum;
    MPI_Comm c[6];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 6; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &c[i]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c[i]);
        MPI_Barrier(c[i]);
    }
    for (int fd = 0; fd < 200; fd++) {
        int on = 0, domain = 0;
        socklen_t n = sizeof on;
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n);
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n);
        listening += on && domain == AF_UNIX;
    }
    for (int i = 0; i < 6; i++)
        MPI_Comm_free(&c[i]);
    printf("%d %d\n", listening, sum);
    MPI_Finalize();
    return 0;
}
"""


def clean_env(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("WEFT_", "PMI"))}
    env.update(more)
    return env


def free_ports(n):
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def ranks_of(n, host="here"):
    return f"[rank 0-{n - 1}]\nhost = {host}\n"


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-static")
        cls.addClassCleanup(folder.cleanup)
        cls.dir = folder.name
        os.chmod(cls.dir, 0o755)
        cls.talk = cls.build("talk", TALK)

    @classmethod
    def build(cls, name, text, *options):
        source = os.path.join(cls.dir, name + ".c")
        with open(source, "w", encoding="ascii") as f:
            f.write(text)
        program = os.path.join(cls.dir, name)
        subprocess.run([MPICC, source, *options, "-o", program], check=True)
        return program

    def ini(self, ranks, *more, core=KEY, job="cell", name="mpi.ini"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(f"[core]\nbootstrap = static\njob = {job}\n{core}"
                    f"{ranks}{''.join(more)}")
        os.chmod(path, 0o644)
        return path

    def start(self, rank, ini, *words, program=None, env=None, **kw):
        job = subprocess.Popen(
            [program or self.talk, *words], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_env(WEFT_RANK=str(rank), WEFT_INI=ini, **(env or {})), **kw)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.kill()
            job.communicate()

    def ends(self, jobs):
        """(status, output, errors) of each"""
        said = [job.communicate(timeout=launch.LIMIT) for job in jobs]
        return [(job.returncode, *s) for job, s in zip(jobs, said)]

    def succeed(self, jobs, size):
        all_ends = self.ends(jobs)
        lines = sorted(line for end in all_ends for line in end[1].splitlines()
                       if " of " in line)
        self.assertEqual(lines, [f"{r} of {size}: 0" for r in range(size)],
                         all_ends)
        self.assertEqual([e[0] for e in all_ends], [0] * len(jobs), all_ends)
        return all_ends

    def test_ranks_share_memory_in_any_order_of_start(self):
        for order in ((0, 1), (1, 0), (2, 0, 1), (3, 2, 1, 0), (1, 3, 0, 2)):
            with self.subTest(order=order):
                ini = self.ini(ranks_of(len(order)), core=KEY + "stats = yes\n")
                ends = self.succeed([self.start(r, ini) for r in order],
                                    len(order))
                for _, _, errors in ends:
                    self.assertIn(": shm ", errors)
                    self.assertNotIn(": tcp ", errors)

    def test_a_rank_that_starts_late_is_found(self):
        ini = self.ini(ranks_of(2))
        first = self.start(0, ini)
        self.assertIn("process 1 is not there yet", first.stderr.readline())
        self.succeed([first, self.start(1, ini)], 2)

    def test_the_same_job_can_run_again_and_again(self):
        ini = self.ini(ranks_of(2))
        for _ in range(10):
            self.succeed([self.start(r, ini) for r in (0, 1)], 2)

    def fail_all(self, jobs, *texts):
        """All fail, and one of them says each of the texts."""
        ends = self.ends(jobs)
        for end in ends:
            self.assertNotEqual(end[0], 0, ends)
        for text in texts:
            self.assertIn(text, "".join(e[2] for e in ends))
        return ends

    def test_a_rank_that_never_comes_is_named(self):
        ini = self.ini(ranks_of(2), core=KEY + "start_timeout = 1s\n")
        self.fail_all([self.start(0, ini)],
                  "process 1 has not come within 1 s")

    def test_with_another_key_or_name_ranks_do_not_meet(self):
        soon = "start_timeout = 1s\n"
        mine = self.ini(ranks_of(2), core=KEY + soon)
        for other in (self.ini(ranks_of(2), core=OTHER_KEY + soon,
                               name="key.ini"),
                      self.ini(ranks_of(2), core=KEY + soon, job="llec",
                               name="job.ini")):
            self.fail_all([self.start(0, mine), self.start(1, other)],
                      "process 1 has not come", "process 0 has not come",
                      "with the same job, job key")

    def test_without_a_key_the_start_is_refused(self):
        ini = self.ini(ranks_of(2), core="")
        self.fail_all([self.start(0, ini)], "mpi.ini: a static start of several "
                      "ranks needs core.job_key_file")

    def hold(self, ini):
        """The two ranks of a job that runs until its input ends."""
        pair = [self.start(0, ini, "hold", stdin=subprocess.PIPE),
                self.start(1, ini, "hold", stdin=subprocess.DEVNULL)]
        self.assertEqual(pair[0].stdout.readline(), "held\n")
        return pair

    def test_jobs_of_two_names_do_not_meet(self):
        one = self.hold(self.ini(ranks_of(2), name="one.ini"))
        two = self.hold(self.ini(ranks_of(2), job="cell2", name="two.ini"))
        self.succeed(two, 2)
        self.succeed(one, 2)

    def test_a_rank_cannot_be_started_twice(self):
        ini = self.ini(ranks_of(2))
        pair = self.hold(ini)
        self.fail_all([self.start(1, ini)], "the socket of process 1 is taken: was it "
                  "started twice")
        self.succeed(pair, 2)

    def test_the_death_of_a_rank_ends_the_wait_of_the_others(self):
        ini = self.ini(ranks_of(3))
        ends = self.fail_all([self.start(r, ini, "die") for r in range(3)])
        self.assertEqual(ends[1][0], -signal.SIGKILL)
        for r in (0, 2):
            self.assertRegex(ends[r][2],
                             r"process 1\b.*(ended without a goodbye|gone)")

    def listening(self, *more):
        program = self.build("engines", ENGINES)
        ini = self.ini(ranks_of(3), *more, core=KEY + "engines = 3\n")
        ends = self.ends([self.start(r, ini, program=program) for r in range(3)])
        self.assertEqual([e[0] for e in ends], [0] * 3, ends)
        return {e[1] for e in ends}

    def test_several_engines_where_no_transport_needs_an_address(self):
        self.assertEqual(self.listening("[transport shm]\n"), {"3 3\n"})

    def test_one_engine_where_mpi_ini_has_an_address_for_one(self):
        self.assertEqual(self.listening("[transport shm]\n[transport tcp]\n"),
                         {"1 3\n"})

    def test_ranks_that_are_threads(self):
        program = self.build("threads", TALK.replace(
            "static char out[200000], in[MOST]",
            "static _Thread_local char out[200000], in[MOST]"),
            "-fthread-ranks")
        ini = self.ini(ranks_of(5), core=KEY + "stats = yes\n")
        several = {"WEFT_PROCESS_RANKS": "2"}
        ends = self.succeed(
            [self.start(3, ini, program=program, env=several),
             self.start(0, ini, program=program, env=several),
             self.start(2, ini, program=program)], 5)
        for end in ends:
            self.assertIn(": shm ", end[2])
        self.assertIn(": thread ", ends[0][2])
        self.fail_all([self.start(4, ini, program=program, env=several)],
                  "ranks is 2, but the job has 1 from rank 4 on")

    def test_an_address_for_shared_memory_is_refused(self):
        for where in ("[host here]\nshm = no\n", "[rank 2]\nshm = yes\n"):
            ini = self.ini("[host here]\n" * (where[1] != "h") + ranks_of(2),
                           where)
            self.fail_all([self.start(0, ini)], "shm: this transport takes no "
                          "address: ranks of one host find each other")

    def info(self, *words):
        return subprocess.run([INFO, *words], text=True, env=clean_env(),
                              capture_output=True, timeout=launch.LIMIT)

    def test_check_and_explain_speak_of_the_bootstrap(self):
        hosts = "[rank 0-1]\nhost = a\n[rank 2]\nhost = b\n"
        good = self.ini(ranks_of(2), "[route all]\nuse = shm\n")
        self.assertEqual(self.info("--check", good).stdout,
                         f"{good}: good (static start: 2 ranks)\n")
        done = self.info("--ini", good, "--explain", "0->1")
        self.assertIn("bootstrap: static", done.stdout)
        self.assertRegex(done.stdout, r"uses +shm ")
        bad = self.ini(hosts, "[route all]\nuse = shm\n", name="bad.ini")
        done = self.info("--check", bad)
        self.assertEqual(done.returncode, 78)
        self.assertIn("no transport reaches rank 2 (b) from rank 0 (a): shm: "
                      "other host", done.stderr)
        self.assertIn("nor have 3 other pairs", done.stderr)
        done = self.info("--ini", bad, "--explain", "0->2")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"rejected +shm +other node")
        tcp = self.ini(hosts, "[transport tcp]\nport = 7000\n[host a]\n"
                       "address = 10.0.0.1\n[host b]\naddress = 10.0.0.2\n",
                       core="", name="tcp.ini")
        done = self.info("--check", tcp)
        self.assertIn("tcp.ini: 1 problem\n", done.stderr)
        self.assertIn("core.job_key_file or core.job_key, and neither is set",
                      done.stderr)
        done = self.info("--explain", "0->1")
        self.assertIn("bootstrap: pmi", done.stdout)

    def test_check_compares_nets_with_addresses_of_both_protocols(self):
        ini = self.ini("".join(
            f"[rank {r}]\nhost = h{r}\ntcp = [fd00::{r + 1}]:7000\n"
            for r in range(2)), "[route near]\nto = net:fd00::/16\n"
            "use = tcp\n[route other]\nuse = shm\n", name="v6.ini")
        self.assertEqual(self.info("--check", ini).stdout,
                         f"{ini}: good (static start: 2 ranks)\n")
        done = self.info("--ini", ini, "--explain", "0->1")
        self.assertRegex(done.stdout, r"uses +tcp ")

    def two_users(self, ini):
        return [self.start(0, ini),
                self.start(1, ini, user=NOBODY, group=NOBODY, extra_groups=[])]

    def test_ranks_of_two_users_are_told_to_use_tcp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can start the ranks of two users")
        addresses = "".join(f"tcp = 127.0.0.1:{p}\n" for p in free_ports(2))
        ranks = "".join(f"[rank {r}]\nhost = here\n{a}\n"
                        for r, a in enumerate(addresses.splitlines()))
        self.succeed(self.two_users(self.ini(ranks, "[route all]\nuse = tcp\n")),
                     2)
        ini = self.ini(ranks, core=KEY + "start_timeout = 5s\n")
        for end in self.fail_all(self.two_users(ini)):
            self.assertRegex(end[2], r"MPI_\w+ .*failed.* user \d+.*let the "
                             r"\[route\] of this pair say use = tcp")

    def test_a_static_program_in_an_empty_root(self):
        """No /proc, /dev, /tmp, /etc, and no rights."""
        if "-fsanitize" in subprocess.run([MPICC, "-show"], text=True,
                                          capture_output=True).stdout:
            self.skipTest("sanitizers cannot be linked statically")
        ini = self.ini(ranks_of(3), core=KEY + "stats = yes\n")
        text = os.path.join(self.dir, "config.c")
        with open(text, "w", encoding="ascii") as f:
            subprocess.run([INFO, "--embed", ini], stdout=f, check=True)
        root = os.path.join(self.dir, "root")
        os.mkdir(root)
        self.addCleanup(shutil.rmtree, root)
        os.rename(self.build("alone", TALK, "-static", text),
                  os.path.join(root, "alone"))
        os.chmod(root, 0o555)
        done = subprocess.run([sys.executable, "-B", __file__, "root", root, "3"],
                              text=True, capture_output=True,
                              timeout=launch.LIMIT)
        if done.returncode == SKIP:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"{r} of 3: 0" for r in range(3)])
        self.assertEqual(len(re.findall(": shm ", done.stderr)), 3, done.stderr)


def enter_root(root):
    """Change the root, and give up all rights. An ordinary user needs a user
    namespace for it."""
    CLONE_NEWUSER = 0x10000000
    uid = os.getuid()
    if uid != 0:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
            print("this system gives an ordinary user no root to change:",
                  os.strerror(ctypes.get_errno()))
            sys.stdout.flush()
            os._exit(SKIP)
        with open("/proc/self/uid_map", "w", encoding="ascii") as f:
            f.write(f"{uid} {uid} 1\n")
    os.chroot(root)
    os.chdir("/")
    if uid == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def run_in_root(root, ranks):
    """Start the ranks there, the highest first; 0 if all succeed."""
    enter_root(root)
    children = []
    for rank in reversed(range(ranks)):
        pid = os.fork()
        if pid == 0:
            os.execve("/alone", ["alone"], {"WEFT_RANK": str(rank)})
        children.append(pid)
    return max(os.waitpid(pid, 0)[1] != 0 for pid in children)


if __name__ == "__main__":
    if sys.argv[1:2] == ["root"]:
        sys.exit(run_in_root(sys.argv[2], int(sys.argv[3])))
    launch.main()
