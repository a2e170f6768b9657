#!/usr/bin/env python3
"""Intel MPI Benchmarks side by side: which cells are behind the better peer.

  bench/imb.py --build build --weft DIR/IMB-MPI1 --mpich DIR/IMB-MPI1
               --openmpi DIR/IMB-MPI1 [--ranks 2] [--fabric shm|tcp]
               [--only Allreduce ...] [--repeat 2] [--csv FILE]

The three programs are the same sources built with the three compilers (make
-C src_c TARGET=MPI1 CC=.../mpicc). They run in turn, --repeat times each; a
cell is the shortest of these times, and a library that is absent or does not
finish a size has none. What is printed: for each benchmark the geometric mean
over its sizes of Weft's time by that of the better peer, and the sizes where
Weft takes longer.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import csv
import math
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the sources may be read-only
import libraries  # noqa: E402

BENCHMARKS = """PingPong PingPing Sendrecv Exchange Bcast Reduce Allreduce
Reduce_scatter Allgather Allgatherv Gather Gatherv Scatter Scatterv Alltoall
Alltoallv Barrier""".split()
# bytes, repetitions, then one time or least, greatest and mean
LINE = re.compile(r"\s*(?:(\d+)\s+)?(\d+)((?:\s+\d+\.\d+)+)\s*$")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, default=Path("build"))
    for name in ("weft", "mpich", "openmpi"):
        p.add_argument(f"--{name}", type=Path, metavar="IMB-MPI1")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--fabric", default="shm", choices=("shm", "tcp"))
    p.add_argument("--only", nargs="+", default=BENCHMARKS,
                   choices=BENCHMARKS, metavar="BENCHMARK")
    p.add_argument("--repeat", type=int, default=2)
    p.add_argument("--sizes", default="0:22", help="log2 of bytes, as -msglog")
    p.add_argument("--time", default="0.05", help="seconds for one size")
    p.add_argument("--limit", type=float, default=60, help="seconds for one "
                   "benchmark of one library")
    p.add_argument("--csv", type=Path, help="append all cells to this file")
    return p.parse_args()


def times(text):
    """{bytes: microseconds} of one benchmark's table; a barrier has no bytes.
    Of least, greatest and mean over the ranks it is the mean."""
    cells = {}
    for line in text.splitlines():
        m = LINE.match(line)
        if m:
            numbers = [float(x) for x in m[3].split()]
            cells[int(m[1] or 0)] = numbers[2 if len(numbers) > 2 else 0]
    return cells


def run_once(args, library, program, benchmark):
    words, env = library.start(args.ranks, args.fabric)
    command = [*words, str(program), "-npmin", str(args.ranks), "-msglog",
               args.sizes, "-time", args.time, benchmark]
    try:
        done = subprocess.run(command, env=env, text=True, check=False,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=args.limit)
    except subprocess.TimeoutExpired as late:
        return times((late.stdout or b"").decode())
    return times(done.stdout)


def measure(args, compared, benchmark):
    """{library: {bytes: shortest time}}"""
    best = {name: {} for name, _, _ in compared}
    for _ in range(args.repeat):
        for name, library, program in compared:
            cells = run_once(args, library, program, benchmark)
            for size, us in cells.items():
                best[name][size] = min(us, best[name].get(size, us))
    return best


def ratios(best):
    """{bytes: Weft's time by the better peer's}"""
    found = {}
    for size, us in best["weft"].items():
        peers = [cells[size] for name, cells in best.items()
                 if name != "weft" and cells.get(size)]
        if us and peers:
            found[size] = us / min(peers)
    return found


def row(benchmark, found):
    if not found:
        return f"| {benchmark} | - | - | |"
    mean = math.exp(sum(map(math.log, found.values())) / len(found))
    behind = {size: r for size, r in found.items() if r > 1}
    cells = ", ".join(f"{size} B {r:.2f}" for size, r in behind.items())
    return (f"| {benchmark} | {mean:.2f} | {len(behind)} of {len(found)} "
            f"| {cells} |")


def write_cells(path, args, benchmark, best):
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        if new:
            out.writerow(("benchmark", "ranks", "fabric", "library", "bytes",
                          "us"))
        for name, cells in best.items():
            for size, us in cells.items():
                out.writerow((benchmark, args.ranks, args.fabric, name, size,
                              us))


def main():
    args = arguments()
    build = args.build.resolve()
    compared = [(library.name, library, getattr(args, library.name))
                for library in libraries.known(build, build)
                if getattr(args, library.name, None) and library.present()]
    if "weft" not in {name for name, _, _ in compared}:
        sys.exit("imb.py: Weft is not among the programs; --weft IMB-MPI1")
    print("| benchmark | weft/peer | cells behind | which |")
    print("|---|---:|---:|---|")
    for benchmark in args.only:
        best = measure(args, compared, benchmark)
        print(row(benchmark, ratios(best)), flush=True)
        if args.csv:
            write_cells(args.csv, args, benchmark, best)


if __name__ == "__main__":
    main()
