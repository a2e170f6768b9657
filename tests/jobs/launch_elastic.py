"""The example of a service whose workers come, go and die.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import signal
import unittest

from launch import LIMIT, main, processes_with, start

PROGRAM = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"),
                       "examples/elastic")
MARK = "WORKER_OF_ELASTIC=yes"


class Elastic(unittest.TestCase):
    def worker(self, port, *most, env=None):
        job = start("-n", 1, PROGRAM, port, *most, env=env)
        self.addCleanup(job.kill)
        self.assertRegex(job.stdout.readline(), "^task ")
        return job

    def processes(self, marked):
        for pid in processes_with(marked):
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                if f.read().strip() == "elastic":
                    yield pid

    def test_work_goes_on(self):
        server = start("-n", 1, PROGRAM)
        self.addCleanup(server.kill)
        port = server.stdout.readline().strip()
        victim = self.worker(port, env=dict([MARK.split("=")], **os.environ))
        victims = list(self.processes(MARK))
        for pid in victims:
            os.kill(pid, signal.SIGSTOP)  # with a task, so work is left
        leaves = self.worker(port, 3)
        out, err = leaves.communicate(timeout=LIMIT)
        self.assertEqual(leaves.returncode, 0, out + err)
        self.assertEqual(out.count("task "), 2)  # and the one that was read
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        victim.communicate(timeout=LIMIT)
        self.assertNotEqual(victim.returncode, 0)
        last = self.worker(port)
        out, err = last.communicate(timeout=LIMIT)
        self.assertEqual(last.returncode, 0, out + err)
        out, err = server.communicate(timeout=LIMIT)
        self.assertEqual(server.returncode, 0, out + err)
        self.assertIn("worker 0 is gone", out)
        self.assertIn("worker 1 leaves", out)
        self.assertIn("230209 primes below 3200000", out)


if __name__ == "__main__":
    main()
