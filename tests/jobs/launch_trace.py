"""core.trace and weft-info --trace; core.log = debug about collectives; shared
memory of collectives under valgrind.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import launch

BUILD = Path(os.environ["BUILD_OF_WEFT"])
PAIR = BUILD / "tests/jobs/job_trace_pair"
HAS_TRACES = os.environ.get("HAS_TRACES", "1") == "1"
SANITIZED = os.environ.get("SANITIZED", "")

EVENT = re.compile(r"\s*(\d+\.\d+) \[(\d+)\] (.*)")


def info(*words):
    return subprocess.run([BUILD / "bin/weft-info", *map(str, words)],
                          capture_output=True, text=True, timeout=launch.LIMIT)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def job(self, *words, ranks=2, options=(), program=PAIR):
        return launch.run("-n", ranks, *options, program, *words)

    def traced(self, *words, ranks=2, options=(), name="of.%r"):
        return self.job(*words, ranks=ranks, options=(
            "--set", f"core.trace={self.folder}/{name}", *options))

    def events(self, *names):
        """The (rank, text) of all events, in order of time."""
        done = info("--trace", *(self.folder / n for n in names))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [EVENT.match(line) for line in done.stdout.splitlines()
                 if not line.startswith("#")]
        self.assertTrue(all(found), done.stdout)
        times = [float(m[1]) for m in found]
        self.assertEqual(times, sorted(times))
        return [(int(m[2]), m[3]) for m in found]

    def assert_in_order(self, events, *wanted):
        """These stand in the list, one after the other, others between."""
        at = iter(events)
        for rank, text in wanted:
            self.assertTrue(any(r == rank and re.fullmatch(text, t)
                                for r, t in at),
                            f"{rank}: {text} not found in order in\n" +
                            "\n".join(f"{r} {t}" for r, t in events))


@unittest.skipUnless(HAS_TRACES, "built without traces")
class Trace(Folder):
    def test_two_ranks_give_the_expected_sequence(self):
        for route in "shm", "tcp":
            with self.subTest(route):
                done = self.traced(options=("--route", route))
                self.assertEqual(done.returncode, 0, done.stderr)
                events = self.events("of.0", "of.1")
                self.check_messages(events, route)

    def check_messages(self, events, route):
        of = [[t for r, t in events if r == rank] for rank in (0, 1)]
        m = "context 0 {} bytes"
        self.assert_in_order(
            [(0, t) for t in of[0]],
            (0, f"connect process 1 by '{route}'"),
            (0, "match from 1 tag 1 " + m.format(0)),
            (0, "send eager to 1 tag 5 " + m.format(8)),
            (0, "send eager to 1 tag 6 " + m.format(16)),
            (0, "send eager to 1 tag 7 " + m.format(0)),
            (0, "send rendezvous to 1 tag 8 " + m.format(1 << 20)),
            (0, "collective allreduce context 0 4 bytes: \\w+ by "
                "built-in rule \\d+"))
        self.assert_in_order(
            [(1, t) for t in of[1]],
            (1, "receive posted from 0 tag 5 " + m.format(8)),
            (1, "send eager to 0 tag 1 " + m.format(0)),
            (1, "match from 0 tag 5 " + m.format(8)),
            (1, "unexpected from 0 tag 6 " + m.format(16)),
            (1, "match from 0 tag 7 " + m.format(0)),
            (1, "receive posted from 0 tag 6 " + m.format(16)),
            (1, "match from 0 tag 6 " + m.format(16)),
            (1, "match from 0 tag 8 " + m.format(1 << 20)))
        self.assert_in_order(events, (0, "send eager to 1 tag 5 .*"),
                             (1, "match from 0 tag 5 .*"))
        if route == "tcp":
            self.assert_in_order(
                events, (0, "send rendezvous .*"),
                (1, "rendezvous approve process 0 1048576 bytes"),
                (0, "rendezvous approved process 1 1048576 bytes"),
                (0, "rendezvous data sent process 1 \\d+ bytes"),
                (1, "rendezvous data received process 0 \\d+ bytes"))
        else:
            self.assert_in_order(
                [(1, t) for t in of[1]],
                (1, "collective MPI_Allreduce context 0: shared_memory by "
                    "all ranks map one segment"),
                (1, "collective MPI_Barrier context 0: shared_memory .*"))
        for rank in of:
            self.assertEqual(sum(t == "sleep" for t in rank),
                             sum(t.startswith("wake ") for t in rank))

    def test_the_rank_is_appended_where_the_name_lacks_it(self):
        done = self.traced(name="job")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["job.0", "job.1"])

    def test_threads_that_are_ranks_have_a_trace_each(self):
        done = self.traced(ranks=3, options=("--ranks-per-process", "3"))
        if done.returncode and "thread-ranks" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events("of.0", "of.1", "of.2")
        self.assertEqual({r for r, _ in events}, {0, 1, 2})

    def test_a_pair_with_failover_has_the_same_messages(self):
        done = self.traced(options=("--route", "tcp shm"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_in_order(self.events("of.0", "of.1"),
                             (0, "send eager to 1 tag 5 .*"),
                             (1, "match from 0 tag 5 .*"))

    def test_the_trace_of_a_killed_rank_is_read(self):
        done = self.traced("killed")
        self.assertNotEqual(done.returncode, 0)
        said = info("--trace", self.folder / "of.0")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("not ended by MPI_Finalize", said.stdout)
        self.assert_in_order(self.events("of.0"),
                             (0, "send rendezvous to 1 tag 8 .*"),
                             (0, "collective MPI_Barrier .*"))

    def test_the_oldest_events_are_overwritten(self):
        done = self.traced("measure", options=(
            "--set", "core.trace_size=64K"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "of.0").stat().st_size, 4096 + 32768)
        said = info("--trace", self.folder / "of.0")
        self.assertRegex(said.stdout, "of which the last 1024 are here")
        self.assertEqual(len(self.events("of.0")), 1024)

    def test_foreign_and_cut_files_are_refused_and_left(self):
        foreign = self.folder / "letter"
        foreign.write_text("dear reader")
        done = self.job(options=("--set", f"core.trace={foreign}"), ranks=1)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"'{foreign}': there is a file that is no trace; "
                      "remove it, or name another", done.stderr)
        self.assertEqual(foreign.read_text(), "dear reader")
        self.assertEqual(self.traced().returncode, 0)
        whole = (self.folder / "of.0").read_bytes()
        cut = self.folder / "cut"
        for size, why in ((0, "it is not a trace of Weft"),
                          (100, "it is cut off"), (5000, "it is cut off")):
            cut.write_bytes(whole[:size])
            said = info("--trace", cut, self.folder / "of.1")
            self.assertEqual(said.returncode, 1)
            self.assertIn(f"'{cut}': {why}", said.stderr)
            self.assertIn("[1] send eager to 0", said.stdout)
        said = info("--trace", foreign)
        self.assertIn("it is not a trace of Weft", said.stderr)
        said = info("--trace", self.folder / "missing")
        self.assertIn("cannot read", said.stderr)
        self.assertEqual(info("--trace").returncode, 2)

    def test_wrong_names_are_refused(self):
        for name, why in (("%x", "after % there may be r"),
                          ("", "it is empty")):
            done = self.job(options=("--set", f"core.trace={name}"), ranks=1)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)
        done = self.job(options=("--set", "core.trace=/nowhere/at/all"),
                        ranks=1)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("core.trace: cannot write '/nowhere/at/all'",
                      done.stderr)


@unittest.skipIf(HAS_TRACES, "built with traces")
class NoTrace(Folder):
    def test_a_trace_is_refused(self):
        done = self.traced()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("built without traces (WEFT_TRACE=OFF)", done.stderr)


class Counts(Folder):
    """How messages came, with core.stats."""

    def test_messages_are_told_apart(self):
        done = self.job(options=("--set", "core.stats=yes", "--route", "shm"))
        self.assertEqual(done.returncode, 0, done.stderr)
        said = {int(rank): [float(n) for n in numbers] for rank, *numbers in
                re.findall(r"rank (\d): engine 0 messages came direct (\d+), "
                           r"stored first (\d+), by rendezvous (\d+); "
                           r"unexpected at most (\d+), mean ([\d.]+), "
                           r"of at most (\d+) bytes, mean ([\d.]+); "
                           r"searches (\d+) of (\d+) entries", done.stderr)}
        self.assertEqual(set(said), {0, 1}, done.stderr)
        (direct, stored, rendezvous, most, mean, bytes_, bytes_mean, searches,
         searched) = said[1]
        self.assertGreaterEqual(direct, 1)  # of tag 5
        self.assertGreaterEqual(stored, 1)  # of tag 6
        self.assertEqual(rendezvous, 1)     # of tag 8
        self.assertTrue(1 <= mean <= most, done.stderr)
        self.assertTrue(0 < bytes_mean <= bytes_, done.stderr)
        self.assertTrue(searches or not searched, done.stderr)
        self.assertEqual(said[0][2], 0)
        self.assertRegex(done.stderr, r"rank 1: shm +sent .* bytes; woken \d+ "
                         "times\n")

    def test_times_are_told_by_class(self):
        done = self.job(options=("--set", "core.stats=yes", "--route", "shm"))
        said = re.findall(r"rank \d: in MPI ([\d.]+) s: point-to-point "
                          r"([\d.]+), wait and test ([\d.]+), probe "
                          r"([\d.]+), collective ([\d.]+), other ([\d.]+)\n",
                          done.stderr)
        self.assertEqual(len(said), 2, done.stderr)
        for rank in said:
            total, *parts = [float(n) for n in rank]
            self.assertAlmostEqual(total, sum(parts), delta=1e-5)
            self.assertGreater(parts[0], 0)
        self.assertNotIn("in MPI", self.job(options=("--route", "shm")).stderr)


class Path_(Folder):
    """Which path collectives take, with core.log = debug."""

    def lines(self, *options, ranks=2, words=()):
        done = self.job(*words, ranks=ranks, options=(
            "--set", "core.log=debug", *options))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines()
                if "communicator 'MPI_COMM_WORLD'" in line]

    def assert_path(self, text, *options, ranks=2):
        lines = self.lines(*options, ranks=ranks)
        self.assertEqual(len(lines), ranks, lines)
        for line in lines:
            self.assertRegex(line, text)

    def test_shared_memory(self):
        self.assert_path("of 2 ranks: blocking collectives through shared "
                         "memory, which all ranks map", "--route", "shm")

    def test_messages_and_the_reason(self):
        self.assert_path("by messages between all ranks; not through shared "
                         "memory: (rank 1 is reached by 'tcp', which shares "
                         "no memory with it|rank 0 offers no memory)",
                         "--route", "tcp")
        self.assert_path("not through shared memory: core.share_after = 0",
                         "--set", "core.share_after=0")

    def test_the_first_alltoall_of_many(self):
        """It would connect all pairs, but not of a few, nor of threads."""
        for ranks, threads, lines in ((16, 1, 16), (16, 8, 16), (15, 1, 0),
                                      (16, 16, 0)):
            said = self.lines("--ranks-per-process", str(threads), ranks=ranks,
                              words=("alltoall",))
            self.assertEqual([line for line in said
                              if "through shared memory, which" in line], said)
            self.assertEqual(len(said), lines)

    def test_rules_of_the_user(self):
        ini = self.folder / "mpi.ini"
        ini.write_text("[collectives]\nbcast = binomial\n")
        self.assert_path("not through shared memory: \\[collectives\\] in "
                         "mpi.ini names algorithms", "--ini", str(ini))

    def test_two_levels(self):
        self.assert_path("in two levels, inside each of 2 nodes and between "
                         "one rank of each", "--nodes", "2", ranks=4)


@unittest.skipIf(SANITIZED, "valgrind runs no program with sanitizers")
class Valgrind(Folder):
    def setUp(self):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed (package valgrind)")
        if "WEFT_STATIC:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text():
            self.skipTest("memcheck knows no malloc of a static program")
        super().setUp()

    def check(self, ranks, *options):
        log = self.folder / "memcheck.%p"
        done = launch.run("-n", ranks, *options, "--set", "core.log=debug",
                          "valgrind", "-q", "--error-exitcode=9",
                          f"--log-file={log}", PAIR)
        said = "".join(p.read_text() for p in self.folder.glob("memcheck.*"))
        self.assertEqual(done.returncode, 0, done.stderr + said)
        self.assertEqual(said, "")
        self.assertEqual(done.stderr.count(
            "blocking collectives through shared memory"), ranks, done.stderr)

    def test_collectives_share_memory_without_an_error(self):
        self.check(2, "--route", "shm")
        self.check(3, "--route", "shm")


if __name__ == "__main__":
    launch.main()
