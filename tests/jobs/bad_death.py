"""A process that dies is told apart from a connection that breaks: with failover,
too, its peers learn of it through their error handlers, soon.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import tempfile
import unittest

import launch

ENGINES = os.path.join(os.environ.get("JOBS", "."), "job_bad_engines")
DEATH = os.path.join(os.environ.get("JOBS", "."), "job_bad_death")
RMA = os.path.join(os.environ.get("JOBS", "."), "job_bad_rma_death")
GROUPS = os.path.join(os.environ.get("JOBS", "."), "job_bad_rma_groups")
IO = os.path.join(os.environ.get("JOBS", "."), "job_bad_io_death")
SHORTAGE = os.path.join(os.environ.get("JOBS", "."), "job_bad_io_shortage")
BUILT = os.environ.get("FABRICS", "shm tcp udp-reliable sctp").split()
SOON = 20000  # ms; milliseconds on a quiet machine


class Death(unittest.TestCase):
    def die(self, use, what):
        with tempfile.TemporaryDirectory(prefix="death") as folder:
            path = os.path.join(folder, "mpi.ini")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"[route all]\nuse = {use}\nfailover = yes\n")
            r = launch.run("--continuous", "-n", 3, "--ini", path, DEATH, what)
        words = r.stdout.split()
        self.assertEqual(words[0::2], ["aborted"] * 2, r.stdout + r.stderr)
        self.assertLess(max(map(int, words[1::2])), SOON)

    def test_with_every_fabric_alone_and_in_pairs(self):
        for use in ("tcp", "udp-reliable", "sctp", "tcp, udp-reliable",
                    "tcp, sctp", "shm, tcp"):
            if set(use.split(", ")) - set(BUILT):
                continue
            for what in ("receive", "send"):
                with self.subTest(use=use, what=what):
                    self.die(use, what)

    def test_every_engine_of_a_rank_learns_of_it(self):
        for use in ("shm", "tcp"):
            for what in ("receive", "send"):
                for engines, progress in ((2, "auto"), (4, "auto"),
                                          (4, "thread")):
                    with self.subTest(use=use, what=what, engines=engines,
                                      progress=progress):
                        self.die_with_engines(use, what, engines, progress)

    def die_with_engines(self, use, what, engines, progress):
        threads = 4
        r = launch.run("--continuous", "-n", 3, "--route", use, "--set",
                       f"core.engines={engines}; core.progress={progress}",
                       ENGINES, what)
        words = r.stdout.split()
        self.assertEqual(words[0::2], ["aborted"] * 2 * threads,
                         r.stdout + r.stderr)
        self.assertLess(max(map(int, words[1::2])), SOON)

    def test_lock_of_a_window_whose_holder_dies(self):
        for use in ("shm", "tcp", "udp-reliable", "sctp"):
            for how in ("allocated", "created") if use in BUILT else ():
                with self.subTest(use=use, how=how):
                    r = launch.run("--continuous", "-n", 3, "--route", use, RMA,
                                   how)
                    self.assertEqual(r.stdout.split(), ["ended"] * 2,
                                     r.stdout + r.stderr)

    def test_member_of_a_group_that_dies(self):
        for use in ("shm", "tcp"):
            for how in ([], ["operation"]):
                with self.subTest(use=use, how=how):
                    r = launch.run("--continuous", "-n", 3, "--route", use,
                                   GROUPS, *how)
                    self.assertEqual(r.stdout.split(), ["ended"] * 2,
                                     r.stdout + r.stderr)

    def test_file_that_is_written_together(self):
        for use in ("shm", "tcp"):
            for how in ("blocking", "nonblocking", "shared"):
                with self.subTest(use=use, how=how):
                    r = launch.run("--continuous", "-n", 3, "--route", use, IO,
                                   how)
                    self.assertEqual(r.stdout.split(), ["ended"] * 2,
                                     r.stdout + r.stderr)

    def test_keeper_of_a_shared_pointer_that_cannot_answer(self):
        r = launch.run("--continuous", "-n", 2, "--route", "shm", "--set",
                       "core.eager=0", SHORTAGE)
        self.assertEqual(r.stdout.split(), ["ended"], r.stdout + r.stderr)

    def test_with_nothing_under_way(self):
        for use in ("tcp", "udp-reliable", "sctp"):
            if use in BUILT:
                with self.subTest(use=use):
                    self.die(use, "idle")


if __name__ == "__main__":
    unittest.main()
