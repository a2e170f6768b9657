"""Signals to mpirun, and that nothing of a job outlives it.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import launch

CATCH = """
import os, signal, sys, time
def say(text): os.write(1, (text + "\\n").encode()) # a line in one write
def note(sig, frame):
    say(os.environ["PMI_RANK"] + " " + signal.Signals(sig).name)
    if sig != signal.SIGCONT: sys.exit(0)
news, tell = os.pipe() # a signal before the read makes it return, too
os.set_blocking(tell, False)
signal.set_wakeup_fd(tell)
for s in (sys.argv[1:]): signal.signal(getattr(signal, s), note)
say("ready")
while True: os.read(news, 1)
"""
INTERRUPT = """
import os, time
try:
    os.write(1, b"ready\\n")
    time.sleep(100)
except KeyboardInterrupt:
    time.sleep(0.3)
    os.write(1, b"clean\\n")
"""


def larger_stack():
    """A quarter of it is for arguments and environment."""
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))


def read_lines(job, word, n):
    for _ in range(n):
        line = job.stdout.readline()
        assert word in line, line


class Signals(unittest.TestCase):
    def caught(self, sig):
        job = launch.start("-n", 2, sys.executable, "-c", CATCH, sig)
        read_lines(job, "ready", 2)
        job.send_signal(getattr(signal, sig))
        out, err = job.communicate(timeout=launch.LIMIT)
        self.assertEqual(sorted(out.splitlines()), [f"0 {sig}", f"1 {sig}"])
        self.assertEqual(job.returncode, 0, err)

    def test_signals_reach_every_rank(self):
        for sig in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2",
                    "SIGALRM", "SIGQUIT"):
            with self.subTest(sig):
                self.caught(sig)

    def test_python_may_clean_up_after_an_interrupt(self):
        job = launch.start("-n", 2, sys.executable, "-c", INTERRUPT)
        read_lines(job, "ready", 2)
        job.send_signal(signal.SIGINT)
        out, _ = job.communicate(timeout=launch.LIMIT)
        self.assertEqual(out, "clean\nclean\n")
        self.assertEqual(job.returncode, 0)

    def test_control_c_in_a_terminal_is_one_interrupt_for_each_rank(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(launch.MPIRUN, [launch.MPIRUN, "-n", "2", sys.executable,
                                     "-c", INTERRUPT])
        seen = b""
        while seen.count(b"ready") < 2:
            seen += os.read(fd, 1000)
        os.write(fd, b"\x03")
        while seen.count(b"clean") < 2:
            seen += os.read(fd, 1000)
        self.assertNotIn(b"Traceback", seen)
        os.close(fd)
        os.waitpid(pid, 0)

    def test_two_interrupts_end_what_ignores_them(self):
        job = launch.start("-n", 2, "sh", "-c", "trap '' INT TERM; "
                           "echo ready; while :; do sleep 0.05; done")
        read_lines(job, "ready", 2)
        job.send_signal(signal.SIGINT)
        time.sleep(0.1)  # two at once would be one
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=launch.LIMIT)
        self.assertNotEqual(job.returncode, 0)

    def test_an_interrupted_job_returns_130(self):
        job = launch.start("-n", 2, "sh", "-c", "echo ready; exec sleep 100")
        read_lines(job, "ready", 2)
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=launch.LIMIT)
        self.assertEqual((job.returncode, err), (130, ""))

    def test_stop_and_continue(self):
        job = launch.start("-n", 2, sys.executable, "-c", CATCH, "SIGCONT",
                           "SIGUSR1")
        read_lines(job, "ready", 2)
        job.send_signal(signal.SIGTSTP)
        stopped = lambda: " T " in open(f"/proc/{job.pid}/stat").read()
        self.assertTrue(launch.wait_until(stopped))
        job.send_signal(signal.SIGCONT)
        read_lines(job, "SIGCONT", 2)
        job.send_signal(signal.SIGUSR1)
        job.communicate(timeout=launch.LIMIT)
        self.assertEqual(job.returncode, 0)


class Orphans(unittest.TestCase):
    """Grandchildren, wrappers and daemons end with the job."""
    TREE = ("sleep 1000 & setsid sleep 1000 & (sleep 1000 & sleep 1000) & "
            "echo ready; ")

    def setUp(self):
        self.mark = "WEFT_TEST_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.env = dict(os.environ, **{name: value})
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def left(self):
        return launch.processes_with(self.mark)

    def gone(self, seconds=2):
        # the margin is for a machine that is busy with other things
        return launch.wait_until(lambda: not self.left(), seconds * 5)

    def test_after_a_normal_end(self):
        # the background sleeps hold our pipes, so wait for mpirun only
        with open(os.devnull, "w") as null:
            rc = subprocess.call([launch.MPIRUN, "-n", "2", "sh", "-c",
                                  self.TREE + "exit 0"], env=self.env,
                                 stdout=null, timeout=launch.LIMIT)
        self.assertEqual(rc, 0)
        self.assertEqual(self.left(), [])

    def test_after_a_failure(self):
        job = launch.start("-q", "-n", 2, "sh", "-c", self.TREE +
                           "[ $PMI_RANK = 1 ] && exit 9; wait", env=self.env)
        job.communicate(timeout=launch.LIMIT)
        self.assertEqual(job.returncode, 9)
        self.assertTrue(self.gone())

    def guard_of(self, job):
        """The process that cleans up after mpirun, or None."""
        with open(f"/proc/{job.pid}/task/{job.pid}/children",
                  encoding="ascii") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                    if name.read().strip() == "mpirun-guard":
                        return int(pid)
            except OSError:
                pass  # this one has ended, and others need not have
        return None

    def test_after_kill_9_of_mpirun_and_of_its_guard_before(self):
        job = launch.start("-n", 2, "sh", "-c", self.TREE + "wait",
                           env=self.env)
        read_lines(job, "ready", 2)
        # the ranks may be ready before the guard has its name
        self.assertTrue(launch.wait_until(lambda: self.guard_of(job)))
        first = self.guard_of(job)
        os.kill(first, signal.SIGKILL)
        self.assertTrue(launch.wait_until(
            lambda: self.guard_of(job) not in (None, first)))
        job.kill()
        job.wait()
        self.assertTrue(self.gone(), self.left())
        job.communicate()

    def test_after_kill_9_of_mpirun_that_ends_what_is_left(self):
        told, ready = (os.path.join(self.folder, n) for n in ("told", "ready"))
        left = (f"trap 'touch {told}' TERM; touch {ready}; "
                "while :; do sleep 0.05; done")
        job = launch.start("-n", 1, "sh", "-c",
                           'setsid sh -c "$1" & while ! [ -e "$2" ]; do '
                           "sleep 0.05; done", "sh", left, ready,
                           env=self.env)
        self.assertTrue(launch.wait_until(lambda: os.path.exists(told)))
        job.kill()
        job.wait()
        self.assertTrue(self.gone(), self.left())
        job.communicate()

    def kill_mpirun(self, *opts):
        job = launch.start(*opts, "-n", 2, "sh", "-c", self.TREE + "wait",
                           env=self.env)
        read_lines(job, "ready", 2)
        self.assertGreater(len(self.left()), 8)
        job.kill()
        job.wait()
        self.assertTrue(self.gone(), self.left())
        job.communicate()

    def test_after_kill_9_of_mpirun(self):
        self.kill_mpirun()
        self.kill_mpirun("-l")

    def test_after_kill_9_of_mpirun_with_environments_of_any_length(self):
        """What names the job stands behind a megabyte, and across the border
        of two reads."""
        for size in (1, 3 << 20, 65536 - 150, 65536 - 100):
            env = dict(self.env)
            for i in range(0, size, 100000):  # one may not have more than 128K
                env[f"A{i:08}"] = "x" * min(100000, size - i)
            job = launch.start("-n", 1, "sh", "-c", "setsid sh -c 'setsid "
                               "sleep 1000 & echo ready'; exec sleep 1000",
                               env=env, preexec_fn=larger_stack)
            read_lines(job, "ready", 1)
            job.kill()
            job.wait()
            self.assertTrue(self.gone(), self.left())
            job.communicate()

    def test_after_kill_9_of_a_rank(self):
        job = launch.start("-v", "-n", 2, "sh", "-c", self.TREE + "wait",
                           env=self.env)
        read_lines(job, "ready", 2)
        line = job.stderr.readline()
        os.kill(int(re.search(r"pid (\d+)", line).group(1)), signal.SIGKILL)
        job.communicate(timeout=launch.LIMIT)
        self.assertEqual(job.returncode, 137)
        self.assertTrue(self.gone())

    def test_nothing_is_left_in_tmp_or_dev_shm(self):
        # a directory of our own: others may write to the real ones
        with tempfile.TemporaryDirectory() as d:
            env = dict(self.env, TMPDIR=d)
            self.assertEqual(launch.run("-n", 4, "true", env=env).returncode, 0)
            self.assertEqual(os.listdir(d), [])


launch.main()
