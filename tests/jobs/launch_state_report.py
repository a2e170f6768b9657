"""kill -USR1 of mpirun, and --timeout: where every rank is.

The ranks wait in calls for ever (state_report_ranks.c), and mpirun is asked until its
answer is the one expected: that is all the synchronisation there is.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
PROGRAM = os.path.join(BUILD, "tests", "jobs", "job_state_report_ranks")
THREAD_RANKS = os.path.join(BUILD, "bin", "mpicc")
SECONDS = r"waits? for \d+\.\d s"


class Job:
    """A job under mpirun that is asked where it is."""

    def __init__(self, *args, program=PROGRAM, env=None):
        self.process = subprocess.Popen(
            [launch.MPIRUN, *map(str, args[:-1]), program, args[-1]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=env)
        self.text = ""
        launch.wait_until(self.takes_signals)

    def takes_signals(self):
        """mpirun reads its signals: before that one would end it."""
        folder = f"/proc/{self.process.pid}/fd"
        try:
            return any("signalfd" in os.readlink(os.path.join(folder, fd))
                       for fd in os.listdir(folder))
        except FileNotFoundError:
            return False  # closed meanwhile

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=launch.LIMIT)

    def ask(self):
        self.process.send_signal(signal.SIGUSR1)
        if select.select([self.process.stderr], [], [], 0.2)[0]:
            self.text = os.read(self.process.stderr.fileno(), 1 << 20).decode()

    def wait_ready(self, ranks):
        for _ in range(ranks):
            line = self.process.stdout.readline()
            assert line.strip() == b"ready", line

    def shows(self, *patterns):
        """Asked again and again it says all this at last; the answer."""
        lines = [re.compile(f"^mpirun: {p}$", re.M) for p in patterns]
        end = time.monotonic() + launch.LIMIT
        while not all(line.search(self.text) for line in lines):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"{patterns} not in:\n{self.text}")
            self.ask()
        return self.text


def rank(n):
    return rf"rank {n} \(pid \d+\): "


# What rank 0 of two does, and what is to be said of it.
CALLS = {
    "recv": "MPI_Recv on 'MPI_COMM_WORLD' from rank 1, tag 7, 4096 bytes",
    "recv_c": "MPI_Recv_c on 'MPI_COMM_WORLD' from any rank, any tag, 4096 "
              "bytes",
    "ocean": "MPI_Recv on 'ocean' from rank 0 (rank 1 of the job), tag 3, 8 "
             "bytes",
    "ssend": "MPI_Ssend on 'MPI_COMM_WORLD' to rank 1, tag 8, 16 bytes",
    "send": "MPI_Send on 'MPI_COMM_WORLD' to rank 1, tag 9, 67108864 bytes",
    "sendrecv": "MPI_Sendrecv for a receive on 'MPI_COMM_WORLD' from rank 1, "
                "tag 31, 2 bytes",
    "wait": "MPI_Wait for a receive on 'MPI_COMM_WORLD' from rank 1, tag 20, "
            "100 bytes",
    "waitall": "MPI_Waitall for 3 of 4 requests, the first a receive on "
               "'MPI_COMM_WORLD' from rank 1, tag 20, 100 bytes",
    "waitany": "MPI_Waitany for any of 2 requests on 'MPI_COMM_WORLD'",
    "waitsome": "MPI_Waitsome for any of 2 requests on 'MPI_COMM_WORLD'",
    "ibarrier": "MPI_Wait for an operation of several messages on "
                "'MPI_COMM_WORLD'",
    "probe": "MPI_Probe on 'MPI_COMM_WORLD' for a message from any rank, tag 5",
    "mprobe": "MPI_Mprobe on 'MPI_COMM_WORLD' for a message from rank 1, any "
              "tag",
    "finalize": "MPI_Finalize until every rank has called it",
}
COLLECTIVE = {
    "barrier": "MPI_Barrier on 'MPI_COMM_WORLD'",
    "bcast": "MPI_Bcast on 'ocean'",
    "allreduce_c": "MPI_Allreduce_c on 'MPI_COMM_WORLD'",
}
POLLS = {
    "test": "asks again and again: MPI_Test for a receive on 'MPI_COMM_WORLD' "
            "from rank 1, tag 20, 100 bytes",
    "testall": "asks again and again: MPI_Testall for 2 of 2 requests, the "
               "first a receive on 'MPI_COMM_WORLD' from rank 1, tag 20, 100 "
               "bytes",
    "iprobe": "asks again and again: MPI_Iprobe on 'MPI_COMM_WORLD' for a "
              "message from rank 1, tag 6",
}
COMPUTES = r"computes \(no MPI call waits\); the process is (asleep|running)"


class Where(unittest.TestCase):
    def one(self, what, text, *options):
        with self.subTest(what, options=options):
            with Job("-n", 2, *options, what) as job:
                return job.shows(rank(0) + text, rank(1) + COMPUTES)

    def test_the_call_its_communicator_peer_tag_and_since_when(self):
        for what, text in CALLS.items():
            self.one(what, re.escape(text) + "; " + SECONDS)

    def test_the_same_over_tcp(self):
        for what in ("recv", "ssend", "send", "waitall", "probe"):
            self.one(what, re.escape(CALLS[what]) + "; " + SECONDS, "--route",
                     "tcp")

    def test_collectives_and_whom_they_need(self):
        for what, text in COLLECTIVE.items():
            peer = "rank 0 \\(rank 1 of the job\\)" if what == "bcast" else \
                   "rank 1"
            self.one(what, re.escape(text) + rf", collective \d+, needs {peer}; "
                     + SECONDS)

    def test_a_communicator_being_made(self):
        for what in ("comm_dup", "dup_attribute"):
            self.one(what, r"MPI_Comm_dup on 'MPI_COMM_WORLD'; " + SECONDS)

    def test_calls_that_ask_and_do_not_wait(self):
        for what, text in POLLS.items():
            self.one(what, re.escape(text) + r"; in vain for \d+\.\d s")

    def test_ports_without_their_secrets(self):
        port = r"port 'weft1:\.\.\.:127\.0\.0\.1:\d+'"
        with Job("-n", 2, "--set", "core.connect_timeout=1000s",
                 "connect,accept") as job:
            job.shows(rank(0) + f"MPI_Comm_connect until the server of {port} "
                      "accepts; " + SECONDS,
                      rank(1) + f"MPI_Comm_accept until a client connects to "
                      f"{port}; " + SECONDS)

    def test_a_rank_that_computes(self):
        with Job("-n", 2, "sleep") as job:
            job.shows(r"ranks 0-1: computes \(no MPI call waits\); the process "
                      "is asleep")
        self.one("busy", r"computes \(no MPI call waits\); the process is "
                 "running")

    def test_before_and_after_mpi(self):
        with Job("-n", 2, "before") as job:
            job.shows(rank(0) + "has not called MPI_Init; the process is asleep",
                      rank(1) + r"MPI_(Recv on 'MPI_COMM_WORLD'|Init|Recv until "
                      r"rank 0 has entered MPI_Init|Init until rank 0 has "
                      r"entered it)[^;]*; " + SECONDS)
        with Job("-n", 1, "finalized") as job:
            job.shows(rank(0) + "has called MPI_Finalize; the process is asleep")

    def test_a_stopped_process(self):
        with Job("-n", 2, "recv") as job:
            said = job.shows(rank(0) + "MPI_Recv.*", rank(1) + COMPUTES)
            pids = [int(re.search(rf"rank {i} \(pid (\d+)\)", said)[1])
                    for i in range(2)]
            try:
                for pid in pids:
                    os.kill(pid, signal.SIGSTOP)
                job.shows(rank(0) + "MPI_Recv.*; the process is stopped by a "
                          "signal; " + SECONDS,
                          rank(1) + r"computes \(no MPI call waits\); the "
                          "process is stopped by a signal")
            finally:
                for pid in pids:
                    os.kill(pid, signal.SIGCONT)

    def test_two_threads_in_mpi(self):
        self.two_threads()

    def test_two_threads_in_engines_of_their_own(self):
        self.two_threads("--set", "core.engines=2")

    def two_threads(self, *options):
        with Job("-n", 2, *options, "threads") as job:
            job.shows(r"rank 0 \(pid \d+, thread \d+\): MPI_Recv on "
                      "'MPI_COMM_WORLD' from rank 1, tag 41, 1 bytes; " +
                      SECONDS, r"rank 0 \(pid \d+, thread \d+\): MPI_Recv on "
                      r"'ocean' from rank 1 \(rank 0 of the job\), tag 42, 1 "
                      "bytes; " + SECONDS)

    def test_equal_lines_are_one(self):
        with Job("-n", 6, "sleep,recv,recv,recv,sleep,recv") as job:
            job.shows("ranks 1-3, 5: MPI_Recv on 'MPI_COMM_WORLD' from rank 1, "
                      "tag 7, 4096 bytes; waits? for .* s",
                      r"ranks 0, 4: computes \(no MPI call waits\); the process "
                      "is asleep")

    def test_pretended_nodes(self):
        with Job("-n", 2, "--nodes", 2, "recv") as job:
            job.shows(r"rank 0 \(node0, pid \d+\): MPI_Recv on .*; " + SECONDS,
                      r"rank 1 \(node1, pid \d+\): computes .*")

    def test_ranks_that_are_threads(self):
        with tempfile.TemporaryDirectory() as d:
            program = os.path.join(d, "ranks")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                  "state_report_thread_ranks.c")
            subprocess.run([THREAD_RANKS, "-fthread-ranks", source, "-o",
                            program], check=True)
            with Job("-n", 3, "--ranks-per-process", 2, "x",
                     program=program) as job:
                job.shows(rank(0) + "MPI_Recv on 'MPI_COMM_WORLD' from rank 1, "
                          "tag 10, 1 bytes; " + SECONDS,
                          rank(1) + "MPI_Recv on 'MPI_COMM_WORLD' from rank 2, "
                          "tag 11, 1 bytes; " + SECONDS,
                          rank(2) + r"computes .*")

    def test_other_hosts(self):
        with tempfile.TemporaryDirectory() as d, \
                Job("--host", "a.example,b.example", "--launcher-exec",
                    launch.remote_shell(d), "recv") as job:
            said = job.shows(
                r"rank 0 \(host a\.example, pid \d+\): MPI_Recv on "
                "'MPI_COMM_WORLD' from rank 1, tag 7, 4096 bytes; " + SECONDS,
                r"rank 1 \(host b\.example, pid \d+\): computes .*; the process "
                "is asleep")
            pid = int(re.search(r"b\.example, pid (\d+)", said)[1])
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                self.assertIn(b"job_state_report_ranks", f.read())

    def test_a_host_that_does_not_answer(self):
        with tempfile.TemporaryDirectory() as d, \
                Job("--host", "a.example,b.example", "--launcher-exec",
                    launch.remote_shell(d), "recv") as job:
            said = job.shows(r"rank 0 .*: MPI_Recv .*", r"rank 1 .*: computes .*")
            pid = int(re.search(r"b\.example, pid (\d+)", said)[1])
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                far = int(f.read().rsplit(")")[1].split()[1])
            os.kill(far, signal.SIGSTOP)
            try:
                job.shows(r"rank 1 .*: the other host does not answer; last "
                          "known: computes .*", "rank 0 .*: MPI_Recv .*")
            finally:
                os.kill(far, signal.SIGCONT)

    def test_timeout_says_it_and_ends_the_job(self):
        done = launch.run("-n", 2, "--timeout", 2, PROGRAM, "recv")
        self.assertEqual(done.returncode, 124)
        lines = done.stderr.splitlines()
        self.assertIn("--timeout: 2 s are over, 2 of 2 ranks still run", lines[0])
        self.assertRegex(done.stderr, "mpirun: " + rank(0) + "MPI_Recv on "
                         "'MPI_COMM_WORLD' from rank 1, tag 7, 4096 bytes; " +
                         SECONDS)

    def test_user_signals_end_nobody(self):
        with Job("-n", 2, "recv") as job:
            job.wait_ready(2)
            for _ in range(3):
                job.process.send_signal(signal.SIGUSR2)
            job.shows(rank(0) + "MPI_Recv .*", rank(1) + "computes .*")
            self.assertIsNone(job.process.poll())

    def test_nor_one_that_blocks_them_for_a_moment(self):
        with Job("-n", 2, "start_threads,start_threads") as job:
            job.wait_ready(2)
            for _ in range(100):
                job.process.send_signal(signal.SIGUSR2)
                job.ask()
            self.assertIsNone(job.process.poll())
            self.assertIn("computes", job.text)

    def test_what_is_no_mpi_program(self):
        with Job("-n", 1, "100", program="/bin/sleep") as job:
            job.shows(rank(0) + "has not called MPI_Init; the process is asleep")


launch.main()
