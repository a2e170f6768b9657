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
WINDOWS = "[route windows]\nkind = rma\n"
FILES = "[route files]\nkind = io\n"
POINT = "[route messages]\nkind = pt2pt\n"
REST = "[route rest]\nuse = {}\n"
ROUNDS = 20  # of operations
SMALL_SUMS = 40  # more containers if the short sums are messages, too
FEW = 8  # acknowledgements and the like


class Routes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ini = Path(folder.name) / "mpi.ini"

    def counts(self, text, *options):
        """By what was sent, the containers of each transport."""
        self.ini.write_text(TRANSPORTS + text)
        done = launch.run("-n", "2", "--ini", self.ini, *options, PROGRAM,
                          self.ini.with_name("data"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for line in done.stdout.splitlines():
            _, what, transport, n = line.split()
            found.setdefault(what, {})[transport] = int(n)
        self.assertEqual(len(found), 8, done.stdout)
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

    def test_collectives_share_memory_if_their_transport_does(self):
        for own, rest in (("tcp", "shm"), ("shm", "tcp")):
            counts = self.counts(COLLECTIVE + f"use = {own}\n" +
                                 REST.format(rest),
                                 "--set", "core.share_after=1")
            self.assert_sent(counts, "world", rest)
            sent = counts["world_sum"][own]
            if own == "tcp":
                self.assertGreater(sent, SMALL_SUMS, counts)
            else:
                self.assertLessEqual(sent, SMALL_SUMS, counts)

    def test_windows_take_the_transport_of_their_kind(self):
        counts = self.counts(WINDOWS + "use = second\n" + REST.format("tcp"))
        for what in ("world", "world_sum", "world_file"):
            self.assert_sent(counts, what, "tcp")
        for what in ("world_window", "solver_window"):
            self.assert_sent(counts, what, "second")

    def test_windows_share_memory_if_their_transport_does(self):
        counts = self.counts(WINDOWS + "use = tcp\n" + REST.format("shm"))
        self.assert_sent(counts, "world_window", "tcp")
        self.assertGreater(counts["world_window"]["tcp"], ROUNDS, counts)
        counts = self.counts(WINDOWS + "use = shm\n" + REST.format("tcp"))
        self.assertLess(sum(counts["world_window"].values()), ROUNDS, counts)

    def test_a_window_is_known_by_the_name_of_its_communicator(self):
        counts = self.counts("[route w]\ncomm = solver*\nkind = rma\n"
                             "use = second\n" + REST.format("tcp"))
        self.assert_sent(counts, "solver", "tcp")
        self.assert_sent(counts, "world_window", "tcp")
        self.assert_sent(counts, "solver_window", "second")

    def test_files_take_the_transport_of_their_kind(self):
        counts = self.counts(FILES + "use = second\n" + REST.format("tcp"))
        for what in ("world", "world_sum", "world_window"):
            self.assert_sent(counts, what, "tcp")
        for what in ("world_file", "solver_file"):
            self.assert_sent(counts, what, "second")

    def test_what_no_route_reaches_fails_everywhere(self):
        for kind in ("pt2pt", "collective", "rma", "io"):
            with self.subTest(kind=kind):
                self.ini.write_text(
                    TRANSPORTS + f"[route own]\nkind = {kind}\nuse = shm\n" +
                    REST.format("tcp"))
                done = launch.run("-n", "2", "--nodes", "2", "--ini", self.ini,
                                  PROGRAM, self.ini.with_name("data"))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("route 'own'", done.stderr)

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

    def test_explain_knows_the_route_of_windows_and_files(self):
        self.ini.write_text(TRANSPORTS + WINDOWS + "use = tcp\n" + FILES +
                            "use = second\n" + REST.format("shm"))
        self.assertIn("  windows: messages: 'tcp'", self.explain())
        self.assertIn("route 'windows'", self.explain("--kind", "rma"))
        self.assertIn("route 'files'", self.explain("--kind", "io"))


if __name__ == "__main__":
    launch.main()
