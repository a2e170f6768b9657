"""Routes that speak of communicators and kinds of operations.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import launch

BUILD = Path(os.environ["BUILD_OF_WEFT"])
PROGRAM = BUILD / "tests/jobs/job_routed_comms"
TRANSPORTS = ("[transport shm]\n[transport tcp]\n[transport second]\n"
              "plugin = tcp\n")
SOLVER = "[route solver]\ncomm = solver*\n"
COLLECTIVE = "[route sums]\nkind = collective\n"
POINT = "[route messages]\nkind = pt2pt\n"
REST = "[route rest]\nuse = {}\n"
FEW = 8  # acknowledgements and the like


class Routes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ini = Path(folder.name) / "mpi.ini"

    def counts(self, text, *options):
        """By what was sent, the containers of each transport."""
        self.ini.write_text(TRANSPORTS + text)
        done = launch.run("-n", "2", "--ini", self.ini, *options, PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for line in done.stdout.splitlines():
            _, what, transport, n = line.split()
            found.setdefault(what, {})[transport] = int(n)
        self.assertEqual(len(found), 4, done.stdout)
        return found

    def assert_sent(self, counts, what, transport):
        """Nearly all of it went that way."""
        way = counts[what]
        self.assertGreater(way[transport], 0, (what, counts))
        for other, n in way.items():
            if other != transport:
                self.assertLessEqual(n, FEW, (what, counts))

    def test_a_communicator_takes_the_transport_of_its_name(self):
        for own, rest in (("tcp", "shm"), ("shm", "tcp"), ("second", "tcp")):
            with self.subTest(own=own, rest=rest):
                counts = self.counts(SOLVER + f"use = {own}\n" +
                                     REST.format(rest))
                self.assert_sent(counts, "world", rest)
                self.assert_sent(counts, "solver", own)

    def test_without_such_a_rule_all_go_one_way(self):
        counts = self.counts(REST.format("tcp"))
        for what in counts:
            self.assert_sent(counts, what, "tcp")

    def test_collectives_take_the_transport_of_their_kind(self):
        counts = self.counts(COLLECTIVE + "use = second\n" +
                             REST.format("tcp"))
        for what in ("world", "solver"):
            self.assert_sent(counts, what, "tcp")
        for what in ("world_sum", "solver_sum"):
            self.assert_sent(counts, what, "second")

    def test_collectives_with_a_route_share_no_memory(self):
        counts = self.counts(COLLECTIVE + "use = tcp\n" + REST.format("shm"),
                             "--set", "core.share_after=1")
        self.assert_sent(counts, "world", "shm")
        self.assertGreater(counts["world_sum"]["tcp"], 40, counts)

    def test_name_and_kind_together(self):
        counts = self.counts(
            "[route both]\ncomm = MPI_COMM_WORLD\nkind = pt2pt\n"
            "use = second\n" + REST.format("tcp"))
        self.assert_sent(counts, "world", "second")
        for what in ("solver", "world_sum", "solver_sum"):
            self.assert_sent(counts, what, "tcp")

    def test_with_sizes_only_the_payload_of_long_ones_moves(self):
        counts = self.counts(SOLVER + "size = 256K-\nuse = second\n" +
                             REST.format("tcp"))
        way = counts["solver"]
        self.assertGreater(way["tcp"], 50, counts)
        self.assertGreater(way["second"], 0, counts)
        self.assert_sent(counts, "world", "tcp")

    def test_a_transport_that_does_not_reach_is_named(self):
        self.ini.write_text(TRANSPORTS + SOLVER + "use = shm\n" +
                            REST.format("tcp"))
        done = launch.run("-n", "2", "--nodes", "2", "--ini", self.ini,
                          PROGRAM)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("route 'solver'", done.stderr)
        self.assertRegex(done.stderr, "; shm: [a-z]")

    def test_other_operations_are_refused(self):
        for kind, reason in (
                ("rma", "operations on windows take the way of the pair's other "
                        "messages"),
                ("io", "accesses to files take the way of the pair's other "
                       "messages")):
            self.ini.write_text(TRANSPORTS + f"[route a]\nkind = {kind}\n")
            done = launch.run("-n", "1", "--ini", self.ini, PROGRAM)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"kind = {kind}: {reason}", done.stderr)

    def explain(self, *words):
        done = subprocess.run([BUILD / "bin/weft-info", "--ini", self.ini,
                               "--explain", "0->1", *words],
                              capture_output=True, text=True,
                              timeout=launch.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_explain_knows_both(self):
        self.ini.write_text(TRANSPORTS + SOLVER + "use = tcp\n" + COLLECTIVE +
                            "use = second\n" + REST.format("shm"))
        self.assertIn("route 'rest'", self.explain())
        self.assertIn("route 'solver'", self.explain("--comm", "solver 1"))
        self.assertIn("route 'sums'", self.explain("--kind", "collective"))
        self.assertIn("route 'rest'", self.explain("--comm", "x", "--kind",
                                                   "pt2pt"))

    def test_explain_says_how_windows_are_reached(self):
        for route, how in (("use = shm", "mapped: 'shm'"),
                           ("use = tcp", "messages: 'tcp' shares no memory"),
                           ("use = shm, tcp\nfailover = yes",
                            "messages: the route has failover")):
            self.ini.write_text(TRANSPORTS + f"[route a]\n{route}\n")
            self.assertIn(f"  windows: {how}", self.explain())
            self.assertIn(f'"windows": "{how}', self.explain("--json"))


if __name__ == "__main__":
    launch.main()
