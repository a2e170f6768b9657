#!/usr/bin/env python3
"""Compares every collective of Weft and of the MPI libraries that are installed,
by size and number of ranks: one cell is Weft's time divided by that of the
better peer, the best batch of all repetitions.

    bench/coll.py [--only scatter,bcast] [--ranks 2,16] [--csv FILE] [--from FILE]
                  [--again]

Repetitions go through the libraries in turn. --csv adds the times to a file;
--from only reads such a file and prints the table. A library that is cut off
(--limit seconds for all sizes of one collective) has no cell there. --again
measures cells that are behind a second time, each by itself, and lists those
that are so both times: of hundreds of cells some are behind by chance.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import csv
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import libraries  # noqa: E402
import run  # noqa: E402

NAMES = ("allgather allgatherv allreduce alltoall alltoallv barrier bcast "
         "exscan gather gatherv iallreduce ialltoall ibarrier ibcast reduce "
         "reduce_scatter reduce_scatter_block scan scatter scatterv").split()
KEEP_TWICE = 64 << 10  # bytes from which Weft is to take half of the time


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--only", default=",".join(NAMES))
    p.add_argument("--ranks", default="2,4,8,16")
    p.add_argument("--libs", default="weft,mpich,openmpi")
    p.add_argument("--sizes", default="4,4194304,4",
                   help="least, most, factor (default: %(default)s)")
    p.add_argument("--ms", default="10", help="of one size (10)")
    p.add_argument("--repeat", type=int, default=2)
    p.add_argument("--limit", type=float, default=3)
    p.add_argument("--again", action="store_true")
    p.add_argument("--csv", type=Path)
    p.add_argument("--from", dest="source", type=Path)
    p.add_argument("--build", type=Path,
                   default=os.environ.get("BUILD_OF_WEFT", run.HERE.parent / "build"))
    p.add_argument("--out", type=Path)
    args = p.parse_args()
    args.build = Path(args.build).resolve()
    args.out = (args.out or args.build / "bench").resolve()
    return args


def measure(args, libs, name, ranks, sizes):
    """(bytes, library) -> best us"""
    best, cut = {}, set()
    for _ in range(args.repeat):
        for lib in libs.values():
            if lib.name in cut:
                continue
            command, env = lib.start(ranks, "shm")
            text, _, late = run.run(
                [*command, str(args.out / f"{lib.name}_sizes"), name,
                 *sizes.split(","), args.ms], env, args.limit)
            if late:
                cut.add(lib.name)
            for size, (us, _) in run.samples(text, "us"):
                key = size, lib.name
                best[key] = min(us, best.get(key, us))
    return best


def built(args):
    """The libraries, each with the program."""
    args.out.mkdir(parents=True, exist_ok=True)
    libs = libraries.present(args)
    libraries.build(libs, args.out, {"sizes"})
    return libs


def rows_of(args, libs, name, ranks, sizes):
    return [(name, ranks, size, lib, us) for (size, lib), us
            in sorted(measure(args, libs, name, ranks, sizes).items())]


def measure_all(args, libs):
    rows = []
    for name in args.only.split(","):
        sizes = "0,0,2" if name.endswith("barrier") else args.sizes
        for ranks in map(int, args.ranks.split(",")):
            rows += rows_of(args, libs, name, ranks, sizes)
    if args.csv:
        with args.csv.open("a", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(rows)
    return rows


def read(path):
    with path.open(newline="", encoding="utf-8") as f:
        return [(r[0], int(r[1]), int(r[2]), r[3], float(r[4]))
                for r in csv.reader(f)]


def cells(rows):
    """(collective, ranks) -> {bytes: (ratio, Weft's us)}"""
    us, table = {}, {}
    for name, ranks, size, lib, t in rows:
        here = us.setdefault((name, ranks, size), {})
        here[lib] = min(t, here.get(lib, t))
    for (name, ranks, size), t in us.items():
        peers = [v for lib, v in t.items() if lib != "weft"]
        if "weft" in t and peers:
            table.setdefault((name, ranks), {})[size] = (
                t["weft"] / min(peers), t["weft"])
    return table


def short(size):
    for unit, n in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= n and size % n == 0:
            return f"{size // n}{unit}"
    return str(size)


def show(table):
    sizes = sorted({s for row in table.values() for s in row})
    print("| collective, ranks | " + " | ".join(map(short, sizes)) + " |")
    print("|---|" + "---:|" * len(sizes))
    for (name, ranks), row in sorted(table.items()):
        print(f"| {name}, {ranks} | " + " | ".join(
            f"{row[s][0]:.2f}" if s in row else "" for s in sizes) + " |")
    small = [v for row in table.values() for s, v in row.items()
             if s < KEEP_TWICE]
    large = [v for row in table.values() for s, v in row.items()
             if s >= KEEP_TWICE]
    print(f"\nbelow 64 KB: {sum(r > 1 for r, _ in small)} of {len(small)} "
          f"cells behind; from there on {sum(r > 1 for r, _ in large)} of "
          f"{len(large)} behind, {sum(r > 0.5 for r, _ in large)} not twice "
          "as fast")


def behind(table):
    return [(name, ranks, size, ratio, us)
            for (name, ranks), row in sorted(table.items())
            for size, (ratio, us) in sorted(row.items()) if ratio > 1]


def show_behind_again(args, libs, table):
    first = behind(table)
    again = behind(cells([
        row for name, ranks, size, *_ in first
        for row in rows_of(args, libs, name, ranks, f"{size},{size},2")]))
    print(f"\nbehind: {len(first)}; and again: {len(again)}")
    for name, ranks, size, ratio, us in again:
        print(f"{name}, {ranks} ranks, {short(size)}: "
              f"{table[name, ranks][size][0]:.2f}, "
              f"then {ratio:.2f} ({us:.4g} us)")


def main():
    args = arguments()
    libs = built(args) if args.again or not args.source else None
    table = cells(read(args.source) if args.source
                  else measure_all(args, libs))
    show(table)
    if args.again:
        show_behind_again(args, libs, table)


if __name__ == "__main__":
    main()
