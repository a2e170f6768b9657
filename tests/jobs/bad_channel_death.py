"""A process that dies ends the starts of its peers on a real-time channel, and
the calls that make one.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import unittest

import launch

PROGRAM = os.path.join(os.environ.get("JOBS", "."), "job_bad_channel_death")


class ChannelDeath(unittest.TestCase):
    def die(self, use, *what):
        with self.subTest(use=use, what=what):
            r = launch.run("--continuous", "-n", 3, "--route", use, PROGRAM,
                           *what)
            self.assertEqual(r.stdout.split(), ["channel", "aborted"] * 2,
                             r.stdout + r.stderr)

    def test_a_start_ends_with_an_error(self):
        for use in ("shm", "tcp"):
            for what in ("receive", "send"):
                self.die(use, what)

    def test_making_one_ends_with_an_error_at_any_moment(self):
        for use in ("shm", "tcp"):
            for us in (0, 100, 300, 1000, 2000, 3000, 5000, 10000, 20000):
                self.die(use, "make", us)


if __name__ == "__main__":
    unittest.main()
