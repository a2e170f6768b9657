"""What MPI_Init costs: system calls, memory per process, and nobody to wait for.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import base64
import collections
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
STRACE = shutil.which("strace")
# Recorded 2026-11: 105 with shm and tcp over loopback under mpirun. What makes
# it more should be worth it.
CALLS_MAX = 125
PEER_BYTES_MAX = 64
ENV = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}

BETWEEN_MARKS = r"""
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    access("/before-init", F_OK);
    MPI_Init(&argc, &argv);
    access("/after-init", F_OK);
    return MPI_Finalize();
}
"""
# Rank 1 enters MPI_Init when rank 0 has left it.
ONE_AFTER_THE_OTHER = r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int first = atoi(getenv("PMI_RANK")) == 0, sum;
    char byte = 0;
    if (!first && read(open(argv[1], O_RDONLY), &byte, 1) != 1)
        return 1;
    MPI_Init(&argc, &argv);
    if (first && write(open(argv[1], O_WRONLY), &byte, 1) != 1)
        return 1;
    MPI_Allreduce(&first, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (first)
        printf("%d\n", sum);
    return MPI_Finalize();
}
"""
HEAP = r"""
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct mallinfo2 m;
    MPI_Init(&argc, &argv);
    m = mallinfo2();
    printf("%zu\n", m.uordblks + m.hblkhd);
    fflush(stdout);
    _exit(0);
}
"""


def compiled(folder, text):
    source = os.path.join(folder, "program.c")
    with open(source, "w") as f:
        f.write(text)
    out = subprocess.run([os.path.join(BUILD, "bin", "mpicc"), source, "-o",
                          source[:-2]], capture_output=True, text=True)
    if out.returncode:
        raise AssertionError(out.stderr)
    return source[:-2]


class Launcher(threading.Thread):
    """One rank of a job of so many, the others of which are never started."""

    def __init__(self, size):
        super().__init__(daemon=True)
        self.size = size
        self.ours, self.theirs = socket.socketpair()
        key = base64.b64encode(b"k" * 32).decode()
        self.keys = {"PMI_process_mapping": f"(vector,(0,1,{size}))",
                     "weft.hosts": "1,await", "weft.key": key}

    def answer(self, line):
        fields = dict(f.split("=", 1) for f in line.split() if "=" in f)
        if fields["cmd"] == "get":
            value = self.keys.get(fields["key"])
            return f"get_result rc={0 if value else -1} value={value}"
        return {"init": "response_to_init pmi_version=1 pmi_subversion=1 rc=0",
                "get_maxes": "maxes kvsname_max=256 keylen_max=64 "
                             "vallen_max=1024",
                "get_my_kvsname": "my_kvsname kvsname=memory",
                "get_appnum": "appnum appnum=0",
                "get_universe_size": f"universe_size size={self.size}",
                "put": "put_result rc=0"}[fields["cmd"]]

    def run(self):
        for line in self.ours.makefile():
            self.ours.sendall(f"cmd={self.answer(line)}\n".encode())


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="start")
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    @unittest.skipUnless(STRACE, "strace is not installed")
    def test_system_calls_of_init_stay_within_their_budget(self):
        program = compiled(self.dir, BETWEEN_MARKS)
        trace = os.path.join(self.dir, "trace")
        traced = subprocess.run(
            [STRACE, "-f", "-qq", "-o", trace, launch.MPIRUN, "-n", "2",
             program], capture_output=True, text=True, env=ENV)
        if "ptrace" in traced.stderr:
            self.skipTest("processes may not be traced here")
        self.assertEqual(traced.returncode, 0, traced.stderr)
        calls, inside = collections.defaultdict(list), set()
        with open(trace) as f:
            for line in f:
                pid, call = line.split(None, 1)
                if "/before-init" in call:
                    inside.add(pid)
                elif "/after-init" in call:
                    inside.discard(pid)
                elif pid in inside and re.match(r"\w+\(", call):
                    calls[pid].append(call.split("(")[0])
        self.assertEqual(len(calls), 2)
        for names in calls.values():
            count = collections.Counter(names).most_common()
            print(f"MPI_Init: {len(names)} system calls:", *(
                f"{n} {name}" for name, n in count))
            self.assertLessEqual(len(names), CALLS_MAX)

    def test_init_waits_for_nobody(self):
        program = compiled(self.dir, ONE_AFTER_THE_OTHER)
        fifo = os.path.join(self.dir, "fifo")
        os.mkfifo(fifo)
        r = launch.run("-n", 2, "--timeout", 50, program, fifo, env=ENV)
        self.assertEqual((r.returncode, r.stdout), (0, "1\n"), r.stderr)

    def heap(self, program, size):
        launcher = Launcher(size)
        launcher.start()
        fd = launcher.theirs.fileno()
        r = subprocess.run([program], capture_output=True, text=True,
                           pass_fds=[fd], timeout=launch.LIMIT,
                           env=dict(ENV, PMI_FD=str(fd), PMI_RANK="0",
                                    PMI_SIZE=str(size)))
        self.assertEqual(r.returncode, 0, r.stderr)
        launcher.theirs.close()
        return int(r.stdout)

    def test_a_process_never_talked_to_costs_at_most_64_bytes(self):
        more = 100000
        program = compiled(self.dir, HEAP)
        each = (self.heap(program, 2 + more) - self.heap(program, 2)) / more
        print(f"a process never talked to: {each:.1f} bytes")
        self.assertLessEqual(each, PEER_BYTES_MAX)


if __name__ == "__main__":
    launch.main()
