"""bench/: how results become tables, and that a measurement runs at all.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import figures  # noqa: E402
import imb  # noqa: E402
import papers  # noqa: E402
import placement  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402


def result(more=False, targets=None):
    figure = figures.Figure("name", "title", "us", "us", "x", "y", more=more,
                            targets=targets)
    return run.Result(figure, 10)


class Summary(unittest.TestCase):
    def test_is_the_median_of_medians_and_the_best_batch(self):
        r = result()
        for best, median in ((3, 4), (1, 8), (2, 6)):
            r.add(1, "weft", (best, median, None))
        middle, spread, best, repetitions = r.summary(1, "weft")
        self.assertEqual((middle, best, repetitions), (6, 1, 3))
        self.assertAlmostEqual(spread, 100 * 2 / 6)

    def test_best_is_the_largest_rate(self):
        r = result(more=True)
        r.add(1, "weft", (3, 2, None))
        r.add(1, "weft", (5, 1, None))
        self.assertEqual(r.summary(1, "weft")[2], 5)

    def test_rows_after_a_cut_off_say_so(self):
        r = result()
        r.add(1, "weft", (1, 1, None))
        r.add(2, "weft", (1, 1, None))
        r.add(1, "mpich", (1, 1, None))
        r.cut("", "mpich")
        self.assertEqual(report.cell(r.summary(2, "mpich"), 10), "over 10 s")
        self.assertNotIn("over", report.cell(r.summary(1, "mpich"), 10))
        self.assertEqual(report.cell(r.summary(2, "openmpi"), 10), "-")


class Papers(unittest.TestCase):
    def test_each_beginning_names_figures(self):
        names = [f.name for f in figures.FIGURES]
        for begin in papers.beginnings():
            with self.subTest(begin=begin):
                self.assertTrue(any(n.startswith(begin) for n in names))

    def test_they_are_listed_beside_their_figures(self):
        done = subprocess.run([sys.executable, "-B", str(BENCH / "run.py"),
                               "--papers", "--list"], capture_output=True,
                              text=True, check=True)
        for work, _, _ in papers.PAPERS:
            self.assertIn(f"  {work}", done.stdout)
        self.assertIn("\nblocked ", done.stdout)
        self.assertNotIn("\nbarrier ", done.stdout)


class Placement(unittest.TestCase):
    """The host moves the CPUs: near each other a line takes 0.05 us, far
    apart 0.2."""

    def test_only_runs_in_one_placement_are_compared(self):
        r = result(targets={1: "<= 0.8 peer"})
        for lib, near, far in (("weft", 1, 4), ("mpich", 2, 8)):
            r.add(1, lib, (near, near, 0.050))
            r.add(1, lib, (near, near, 0.056))
            r.add(1, lib, (far, far, 0.210))
        r.add(1, "weft", (9, 9, None))  # moved meanwhile
        self.assertEqual(r.summary(1, "weft"), (1, 0, 1, 2))
        self.assertTrue(report.verdict(r, 1).endswith(" met"))
        self.assertEqual(report.comparison(r, 1)[1], "0.50")
        self.assertEqual(report.line_cell(report.placed(r, 1)), "53 (4/7)")

    def test_the_one_is_taken_that_most_libraries_saw(self):
        r = result()
        for _ in range(5):
            r.add(1, "weft", (1, 1, 0.05))
        r.add(1, "weft", (4, 4, 0.2))
        r.add(1, "mpich", (8, 8, 0.2))
        self.assertEqual(r.summary(1, "weft")[0], 4)
        self.assertFalse(r.comparable("", 2))
        r.add(1, "weft", (4, 4, 0.2))
        r.add(1, "mpich", (8, 8, 0.2))
        self.assertTrue(r.comparable("", 2))

    def test_who_was_elsewhere_has_no_value(self):
        r = result()
        r.add(1, "weft", (1, 1, 0.05))
        r.add(1, "raw", (1, 1, 0.05))
        r.add(1, "mpich", (8, 8, 0.2))
        self.assertIsNone(r.summary(1, "mpich"))
        with tempfile.TemporaryDirectory() as out:
            report.write_csv(r, Path(out))

    def test_another_row_is_seen_from_this_ones_placement(self):
        r = result(targets={1: "<= 1.05 row 0"})
        for value, line in ((1, 0.05), (1, 0.05), (4, 0.2)):
            r.add(0, "weft", (value, value, line))
        r.add(1, "weft", (4, 4, 0.2))
        self.assertTrue(report.verdict(r, 1).endswith(" met"))

    def test_a_run_during_which_it_changed_belongs_to_none(self):
        probe = placement.Probe("none")
        lines = iter((0.05, 0.06, 0.05, 0.2))
        probe.now = lambda: next(lines)
        self.assertEqual(probe.around(lambda: "a")[0], "a")
        self.assertIsNone(probe.around(lambda: "b")[1])


class Targets(unittest.TestCase):
    def verdict(self, target, weft=10, **others):
        r = result(targets={1: target})
        r.add(1, "weft", (weft, weft, None))
        r.add(0, "weft", (8, 8, None))
        for lib, value in others.items():
            r.add(1, lib, (value, value, None))
        return report.verdict(r, 1)

    def test_compare_with_the_better_peer(self):
        self.assertTrue(self.verdict("<= 0.8 peer", mpich=13, openmpi=14)
                        .endswith("met"))
        self.assertTrue(self.verdict("<= 0.8 peer", mpich=12, openmpi=14)
                        .endswith("MISSED"))

    def test_compare_with_raw_a_number_or_another_row(self):
        self.assertEqual(self.verdict("<= 1.3 raw, <= 9", raw=9),
                         "<= 1.3 raw met, <= 9 MISSED")
        self.assertTrue(self.verdict("<= +2 row 0").endswith("met"))
        self.assertTrue(self.verdict("<= +1 row 0").endswith("MISSED"))
        self.assertTrue(self.verdict("<= 1.2 row 0").endswith("MISSED"))

    def test_say_nothing_without_the_other_side(self):
        self.assertEqual(self.verdict("<= 0.8 peer"), "<= 0.8 peer")


class Running(unittest.TestCase):
    def test_a_figure_without_peers_leaves_a_table_and_values(self):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [sys.executable, "-B", BENCH / "run.py", "--quick", "--repeat",
                 "1", "--libs", "raw,weft", "--only", "idle", "--only",
                 "raw-wake", "--limit", "60", "--build",
                 os.environ["BUILD_OF_WEFT"], "--out", out],
                capture_output=True, text=True, timeout=240, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("**idle**", done.stdout)
            with open(Path(out) / "idle.csv", encoding="utf-8") as f:
                rows = [line["row"] for line in csv.DictReader(f)]
            self.assertEqual(rows, ["shm", "shm+tcp", "tcp", "tcp+shm"])

    def test_what_hangs_is_cut_off(self):
        _, took, cut = run.run(["/bin/sh", "-c", "sleep 60 & wait"],
                               dict(os.environ), 0.2)
        self.assertTrue(cut)
        self.assertLess(took, 50)

    def test_cells_of_imb_are_compared_with_the_better_peer(self):
        single = imb.times("#bytes #repetitions t[usec] Mbytes/sec\n"
                           "   0  1000  0.50  0.00\n   8  1000  1.00  8.0\n")
        self.assertEqual(single, {0: 0.5, 8: 1.0})
        several = imb.times("  8  100  1.0  3.0  2.0  4.0\n")
        self.assertEqual(several, {8: 2.0}, "the mean over the ranks")
        self.assertEqual(imb.times("  100  1.0  3.0  2.0\n"), {0: 2.0})
        found = imb.ratios({"weft": {0: 1.0, 8: 3.0, 16: 5.0},
                            "a": {0: 2.0, 8: 2.0}, "b": {0: 4.0, 8: 1.5}})
        self.assertEqual(found, {0: 0.5, 8: 2.0})
        self.assertIn("| 1 of 2 | 8 B 2.00 |", imb.row("Bcast", found))

    def test_a_target_may_name_a_row_of_several_words(self):
        r = result(targets={"multiple 1": "<= 1.05 row single 1"})
        r.add("single 1", "weft", (1, 1, None))
        r.add("multiple 1", "weft", (2, 2, None))
        self.assertIn("MISSED", report.verdict(r, "multiple 1"))
        r.add("single 1", "weft", (2, 2, None))
        r.add("single 1", "weft", (2, 2, None))
        self.assertIn("met", report.verdict(r, "multiple 1"))

    def test_every_command_names_a_program(self):
        for figure in figures.FIGURES:
            for kind, command in (("mpi", figure.mpi), ("raw", figure.raw)):
                name = (command.split() or ["hello"])[0].replace("size",
                                                                 "hello")
                self.assertTrue((BENCH / f"{kind}_{name}.c").exists(),
                                f"{figure.name}: {command}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
