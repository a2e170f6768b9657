"""A process that dies ends the starts of its peers on a real-time channel.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import unittest

import launch

PROGRAM = os.path.join(os.environ.get("JOBS", "."), "job_bad_channel_death")


class ChannelDeath(unittest.TestCase):
    def test_a_start_ends_with_an_error(self):
        for use in ("shm", "tcp"):
            for what in ("receive", "send"):
                with self.subTest(use=use, what=what):
                    r = launch.run("--continuous", "-n", 3, "--route", use,
                                   PROGRAM, what)
                    self.assertEqual(r.stdout.split(),
                                     ["channel", "aborted"] * 2,
                                     r.stdout + r.stderr)


if __name__ == "__main__":
    unittest.main()
