#!/usr/bin/env python3
"""Measures Weft beside the machine's raw limits and the MPI libraries that are
installed, and says how they compare.

All runs of a row are repeated in turn (raw, weft, mpich, openmpi, raw, ...),
so that whatever else the machine does hits all of them alike; and of figures of
two ranks only runs are compared that found the CPUs in the same places
(placement.py), with more repetitions where these are few. A run that takes
longer than --limit seconds is cut off, and that library is not asked for the
rows after it; a library that has used up as much in a row is not repeated.

Output: tables on standard output; FIGURE.csv and, with gnuplot, FIGURE.png in
the output directory (default: BUILD/bench). README.md explains the figures,
figures.py defines them, report.py prints them.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the sources may be read-only
import figures  # noqa: E402
import libraries  # noqa: E402
import papers  # noqa: E402
import placement  # noqa: E402
import report  # noqa: E402

HERE = Path(__file__).resolve().parent
ENOUGH = 2  # runs of each library in one placement of the CPUs
MOST = 3    # times --repeat, to have them


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--quick", action="store_true",
                   help="few repetitions, rows and bytes: under three minutes")
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   help="figures whose name begins with NAME; may be repeated")
    p.add_argument("--papers", "--seeds", action="store_true",
                   help="the figures about the works that Weft follows, beside "
                        "what these say")
    p.add_argument("--libs", metavar="LIST", default="raw,weft,mpich,openmpi",
                   help="libraries to run (default: %(default)s)")
    p.add_argument("--repeat", type=int, metavar="N",
                   help="repetitions (default: 5, quick: 2)")
    p.add_argument("--limit", type=float, metavar="S",
                   help="seconds of one library in one row (10, quick: 3)")
    p.add_argument("--list", action="store_true", help="list the figures")
    p.add_argument("--build", type=Path, metavar="DIR",
                   default=os.environ.get("BUILD_OF_WEFT", HERE.parent / "build"),
                   help="where Weft was built (default: build/)")
    p.add_argument("--before", type=Path, metavar="DIR",
                   help="another build of Weft, the library \"before\"; at "
                   "the end weft and before are compared over all rows")
    p.add_argument("--also", metavar="NAME=DIR", action="append", default=[],
                   help="another build of Weft, as the library NAME, such as one "
                   "of another granularity; may be repeated")
    p.add_argument("--out", type=Path, metavar="DIR",
                   help="results (default: DIR of --build, /bench)")
    args = p.parse_args()
    if args.papers:
        args.only += papers.beginnings()
    args.build = Path(args.build).resolve()
    args.also = dict(pair.split("=", 1) for pair in args.also)
    if args.before:
        args.also["before"] = args.before
    for name, folder in args.also.items():
        args.also[name] = Path(folder).resolve()
        args.libs += f",{name}"
    args.out = (args.out or args.build / "bench").resolve()
    args.repeat = args.repeat or (2 if args.quick else 5)
    args.limit = args.limit or (3 if args.quick else 10)
    return args


def programs(chosen):
    """Names of the programs that the figures need."""
    words = [command.split()[0] for f in chosen
             for command in (f.mpi, f.raw) if command]
    return {"hello" if w == "size" else w for w in words} | {"shm"}


def chosen_figures(only):
    chosen = [f for f in figures.FIGURES
              if not only or any(f.name.startswith(o) for o in only)]
    if not chosen:
        sys.exit(f"bench: no figure's name begins with {' or '.join(only)}; "
                 "--list shows them")
    return chosen


# ---- running one program ----------------------------------------------------

def run(words, env, limit):
    """(output, seconds, cut off) of one run, with all its descendants."""
    began = time.perf_counter()
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        end_group(process)
        out, _ = process.communicate()
        return out, time.perf_counter() - began, True
    if process.returncode:
        print(f"bench: status {process.returncode}: {' '.join(words)}\n"
              f"{err[-600:]}", file=sys.stderr)
        out = ""
    return out, time.perf_counter() - began, False


def end_group(process):
    """A launcher that is asked first takes its ranks with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=2)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def samples(text, metric):
    """row, (best, median) of each line of a program about this metric"""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == metric:
            yield int(words[1]), (float(words[2]), float(words[3]))


# ---- one figure -------------------------------------------------------------

def ranks_of(figure, case):
    if isinstance(figure.ranks, dict):
        return figure.ranks[case]
    return int(case) if figure.ranks == "case" else figure.ranks


class Row:
    """One case of a figure for one library: how to run it, how often it may."""

    def __init__(self, figure, case, lib, args):
        self.figure, self.case, self.lib = figure, case, lib
        self.limit, self.used = args.limit, 0
        self.probe = args.probe if figure.ranks == 2 else None
        self.job = None
        command = figure.raw if lib.name == "raw" else figure.mpi
        fill = {"case": case, "out": args.out, "ms": 60 if args.quick else 150,
                "last": (4 if args.quick else 16) * figures.MB,
                "starts": 100000 if args.quick else 1000000,
                "limit_ms": int(args.limit * 700)}
        if command:
            self.job = lib.job(command.format(**fill).split(),
                               ranks_of(figure, case),
                               figure.fabric.format(**fill), args.out)

    def measure(self, result):
        """One repetition; True: cut off."""
        if self.job is None or self.used >= self.limit:
            return False
        (text, took, cut), line = self.run()
        self.used += took
        if self.figure.metric == "wall":
            text = f"wall 0 {took * 1e3} {took * 1e3}" if not cut else ""
        for row, value in samples(text, self.figure.metric):
            result.add(self.case or row, self.lib.name, (*value, line))
        if cut:
            result.cut(self.case, self.lib.name)
        return cut

    def run(self):
        def once():
            return run(*self.job, self.limit)

        return self.probe.around(once) if self.probe else (once(), None)


class Result:
    """row, library -> (best, median, line) of each repetition; the line is
    None where the placement is unknown or changed"""

    def __init__(self, figure, limit):
        self.figure, self.limit = figure, limit
        self.values, self.rows, self.cut_off = {}, [], set()

    def add(self, row, lib, value):
        if row not in self.rows:
            self.rows.append(row)
        self.values.setdefault((row, lib), []).append(value)

    def cut(self, case, lib):
        """The rows that the library did not reach are known as too slow."""
        self.cut_off.add((case, lib))
        if case and case not in self.rows:
            self.rows.append(case)

    def place(self, row):
        """The placement of the CPUs that the row is about; None: any"""
        return placement.common([[line for _, _, line in got] for (r, _), got
                                 in self.values.items() if r == row])

    def runs(self, row, lib, place):
        return [v for v in self.values.get((row, lib), [])
                if placement.within(v[2], place)]

    def comparable(self, case, wanted):
        """Every library has as many runs in the placement of its rows."""
        rows = [row for row in self.rows if not case or row == case]
        return all(len(self.runs(row, lib, self.place(row))) >= wanted
                   for row, lib in self.values if row in rows)

    def summary(self, row, lib, place=None):
        """(median, half the spread in percent, best, repetitions) of the runs
        in one placement, that of the row; only repetitions = 0 where the
        library was cut off; None: not measured"""
        got = self.runs(row, lib, place or self.place(row))
        if not got:
            cut = {(row, lib), ("", lib)} & self.cut_off
            return (None, None, None, 0) if cut else None
        medians = [m for _, m, _ in got]
        middle = statistics.median(medians)
        spread = (max(medians) - min(medians)) / 2
        pick = max if self.figure.more else min
        return (middle, 100 * spread / abs(middle) if middle else 0,
                pick(b for b, _, _ in got), len(got))


def measure(figure, libs, args):
    result = Result(figure, args.limit)
    slow = set()
    for case in (args.quick and figure.quick) or figure.cases:
        rows = [Row(figure, case, lib, args) for lib in libs.values()
                if lib.name not in slow]
        for n in range(MOST * args.repeat):
            if n >= args.repeat and result.comparable(case, ENOUGH):
                break
            slow |= {row.lib.name for row in rows if row.measure(result)}
    return result


def main():
    args = arguments()
    chosen = chosen_figures(args.only)
    if args.list:
        for f in chosen:
            print(f"{f.name:25} {f.title}, {f.unit}")
            if args.papers:
                report.works(papers.works_of(f.name))
        return 0
    libs = libraries.present(args)
    args.out.mkdir(parents=True, exist_ok=True)
    libraries.build(libs, args.out, programs(chosen))
    args.probe = (placement.Probe(args.out / "raw_shm")
                  if "raw" in libs and os.cpu_count() > 1 else None)
    report.head(libs, args)
    began = time.perf_counter()
    pairs = []
    for figure in chosen:
        result = measure(figure, libs, args)
        report.table(result, libs, args)
        if args.papers:
            report.works(papers.works_of(figure.name))
        report.write_csv(result, args.out)
        pairs += report.pairs(result)
        if shutil.which("gnuplot"):
            report.plot(result, libs, args.out)
    if args.before:
        report.compare(pairs)
    print(f"\n{(time.perf_counter() - began) / 60:.1f} minutes; "
          f"values and plots in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
