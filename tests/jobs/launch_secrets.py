"""The job key is in no memory that a core dump would show, in no argument and in
no environment: not of mpirun, of its guard, or of a rank.

Rank 0 is this script. It asks mpirun for the key as a rank does, so what is
looked for is known; the other ranks talk to each other meanwhile. Looked for is
every eight bytes of the key, of the text in which it travels, and of what a rank
makes of it (core/boot/auth.c), in all mappings whose VmFlags do not say that dumps
leave them out.

SPDX-License-Identifier: BSD-3-Clause
"""
import base64
import hashlib
import hmac
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

import launch

MPICC = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"), "bin", "mpicc")
WINDOW = 8
SHADOW = 1 << 32  # bytes: the shadow memory of a sanitizer holds no data
SKIP = 77
TALK = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* FOLDER FIRST SECOND: these two ranks talk until FOLDER/stop exists. */
int main(int argc, char **argv)
{
    char path[4096];
    int rank, pair[2], go = 1, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pair[0] = atoi(argv[2]);
    pair[1] = atoi(argv[3]);
    for (long n = 0; go; n++) {
        if (rank == pair[0]) {
            snprintf(path, sizeof path, "%s/stop", argv[1]);
            go = access(path, F_OK) != 0;
        }
        in = go;
        MPI_Sendrecv(&go, 1, MPI_INT, pair[rank == pair[0]], 0, &in, 1, MPI_INT,
                     pair[rank == pair[0]], 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        go = go && in;
        if (n == 9) {
            snprintf(path, sizeof path, "%s/pid%d", argv[1], rank);
            FILE *f = fopen(path, "w");
            fprintf(f, "%d\n", (int)getpid());
            fclose(f);
        }
        if (n > 9)
            usleep(10000);
    }
    MPI_Finalize();
    return 0;
}
"""


# ---- rank 0 -------------------------------------------------------------------

def ask(pmi, line):
    """One request of PMI-1, and its answer."""
    pmi.write(line + "\n")
    pmi.flush()
    return pmi.readline()


def put(folder, name, text):
    """A file that is there with its content or not at all."""
    with open(os.path.join(folder, name + ".new"), "w", encoding="ascii") as f:
        f.write(text)
    os.rename(os.path.join(folder, name + ".new"), os.path.join(folder, name))


def rank_0(folder):
    s = socket.socket(fileno=int(os.environ["PMI_FD"]))
    pmi = s.makefile("rw", encoding="ascii", newline="\n")
    ask(pmi, "cmd=init pmi_version=1 pmi_subversion=1")
    answer = ask(pmi, "cmd=get kvsname=any key=weft.key")
    put(folder, "key", re.search(r"value=(\S+)", answer).group(1))
    launch.wait_until(lambda: os.path.exists(os.path.join(folder, "stop")))
    ask(pmi, "cmd=barrier_in")
    ask(pmi, "cmd=finalize")


# ---- what is looked for, and where --------------------------------------------

def made_of(key):
    """The secrets of a rank: wf_auth_key_create, derive_datagram."""
    secret = hmac.digest(b"weft job key 1".ljust(32, b"\0"), key, hashlib.sha256)
    return [secret,
            hmac.digest(secret, b"weft datagram key 1\0", hashlib.sha256)[:16]]


def windows(secrets):
    return {s[i:i + WINDOW] for s in secrets for i in range(len(s) - WINDOW + 1)}


def mappings(pid):
    """(first, end, name, dumped) of each that has pages in memory."""
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        parts = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", f.read(), flags=re.M)
    for part in filter(None, parts):
        first, end = (int(x, 16) for x in re.match(r"(\w+)-(\w+)", part).groups())
        pages = sum(map(int, re.findall(r"^(?:Rss|Swap): +(\d+)", part, re.M)))
        flags = re.search(r"^VmFlags: (.*)$", part, re.M).group(1).split()
        if pages:
            yield first, end, part.splitlines()[0], "dd" not in flags


def found_in(pid, wanted):
    """(mapping, dumped) for each mapping that holds one of them."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for first, end, name, dumped in mappings(pid):
            if end - first >= SHADOW:
                continue
            try:
                mem.seek(first)
                data = mem.read(end - first)
            except (OSError, ValueError, OverflowError):
                continue  # of the kernel: [vvar], [vsyscall]
            if any(w in data for w in wanted):
                found.append((name, dumped))
    for what in ("cmdline", "environ"):
        with open(f"/proc/{pid}/{what}", "rb") as f:
            data = f.read()
        if any(w in data for w in wanted):
            found.append((what, True))
    return found


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as f:
        return f.read().strip()


def words_of(pid):
    with open(f"/proc/{pid}/cmdline", encoding="ascii") as f:
        return f.read().split("\0")


class Secrets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = tempfile.TemporaryDirectory()
        source = os.path.join(cls.tools.name, "talk.c")
        cls.talk = os.path.join(cls.tools.name, "talk")
        with open(source, "w", encoding="ascii") as f:
            f.write(TALK)
        subprocess.run([MPICC, source, "-o", cls.talk], check=True,
                       timeout=launch.LIMIT * 2)

    @classmethod
    def tearDownClass(cls):
        cls.tools.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="secrets")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def file(self, name):
        path = os.path.join(self.dir, name)
        self.assertTrue(launch.wait_until(  # it is there before it has content
            lambda: os.path.exists(path) and os.path.getsize(path)), name)
        with open(path, encoding="ascii") as f:
            return f.read().strip()

    def assert_not_dumped(self, pid, wanted, who):
        shown = [name for name, dumped in found_in(pid, wanted) if dumped]
        self.assertEqual(shown, [], who)

    def assert_wiped(self, pid, wanted, who):
        """A rank may have the answer before who sent it goes on to wipe it."""
        launch.wait_until(lambda: not found_in(pid, wanted))
        self.assertEqual(found_in(pid, wanted), [], who)

    def stop(self, *jobs):
        put(self.dir, "stop", "")
        for job in jobs:
            text = job.communicate(timeout=launch.LIMIT)
            self.assertEqual(job.returncode, 0, text)

    def under_mpirun(self, *options):
        job = launch.start(*options, "--set", "core.check=no", "-n", 1,
                           sys.executable, "-B", __file__, "rank0", self.dir, ":",
                           "-n", 2, self.talk, self.dir, 1, 2)
        self.addCleanup(job.kill)
        text = self.file("key")
        key = base64.b64decode(text + "=" * (-len(text) % 4))
        self.assertEqual(len(key), 32)
        ranks = [int(self.file(f"pid{r}")) for r in (1, 2)]
        secrets = [key, text.encode()]
        guards = [p for p in children_of(job.pid) if name_of(p) == "mpirun-guard"]
        self.assertEqual(len(guards), 1)
        self.assert_not_dumped(guards[0], windows(secrets), "guard")
        # all have asked for it: it is nowhere, in no page of its own either
        self.assert_wiped(job.pid, windows(secrets), "mpirun")
        agents = [p for p in children_of(job.pid) if "--agent" in words_of(p)]
        self.assertEqual(len(agents), 1 if "--host" in options else 0)
        for pid in agents:
            self.assert_wiped(pid, windows(secrets), "agent")
        for pid in ranks:
            self.assertEqual(found_in(pid, windows(secrets)), [], "rank")
            made = found_in(pid, windows(made_of(key)))
            self.assertEqual([d for _, d in made], [False],
                             "in one mapping, which is not dumped")
        self.stop(job)

    def test_nor_do_mpirun_and_an_agent_through_which_it_went(self):
        with tempfile.TemporaryDirectory() as d:
            self.under_mpirun("--host", "localhost,a:2", "--launcher-exec",
                              launch.remote_shell(d))

    def test_under_mpirun_nobody_shows_the_key(self):
        for route in os.environ.get("FABRICS", "shm tcp udp-reliable").split():
            with self.subTest(route=route):
                self.setUp()
                self.under_mpirun("--route", route)

    def test_encryption_shows_it_no_more(self):
        self.under_mpirun("--route", "tcp", "--set", "core.security=encrypt")

    def test_mpirun_keeps_it_from_dumps_until_all_have_it(self):
        held = os.path.join(self.dir, "stop")
        job = launch.start("--set", "core.check=no", "-n", 1, sys.executable, "-B",
                           __file__, "rank0", self.dir, ":", "-n", 1, "sh", "-c",
                           f"until [ -e {held} ]; do sleep 0.1; done")
        self.addCleanup(job.kill)
        text = self.file("key")
        key = base64.b64decode(text + "=" * (-len(text) % 4))
        found = found_in(job.pid, windows([key, text.encode()]))
        self.assertEqual([d for _, d in found], [False])
        put(self.dir, "stop", "")
        job.communicate(timeout=launch.LIMIT)

    def test_a_key_from_a_file_is_in_no_dump(self):
        key = os.urandom(32)
        path = os.path.join(self.dir, "key")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
            f.write(key)
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        ini = os.path.join(self.dir, "mpi.ini")
        with open(os.open(ini, os.O_CREAT | os.O_WRONLY, 0o600), "w",
                  encoding="ascii") as f:
            f.write(f"[core]\nbootstrap = static\njob = secrets\n"
                    f"job_key_file = {path}\n[transport tcp]\nport = {port}\n"
                    "[host localhost]\naddress = 127.0.0.1\n"
                    "[rank 0-1]\nhost = localhost\n[route all]\nuse = tcp\n")
        jobs = [subprocess.Popen([self.talk, self.dir, "0", "1"],
                                 env=dict(os.environ, WEFT_INI=ini,
                                          WEFT_RANK=str(rank)),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True) for rank in range(2)]
        for job in jobs:
            self.addCleanup(job.kill)
        for rank in range(2):
            pid = int(self.file(f"pid{rank}"))
            self.assertEqual(found_in(pid, windows([key])), [])
            made = found_in(pid, windows(made_of(key)))
            self.assertEqual([d for _, d in made], [False])
        self.stop(*jobs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank0"]:
        rank_0(sys.argv[2])
    elif not os.path.exists("/proc/self/smaps"):
        print("skipped: this system has no /proc/PID/smaps")
        sys.exit(SKIP)
    else:
        launch.main()
