"""What the torture tests share: a set of named cells, run all or as a sample.

A script builds a list of Cell and calls main(cells). A cell is one experiment:
its run() returns None when what must hold holds, and otherwise a sentence that
says what was seen. Options of every script:

    --sample N     N cells, chosen by --seed; without it all of them
    --seed S       which cells a sample holds (default 1)
    --only REGEX   the cells whose name matches
    --jobs N       so many cells at a time (default 1); a run() that shares
                   something with others, such as a name, makes it its own
    --list         print the names and stop

Every failed cell is printed with the command that runs it alone. The last line
is "N passed, N failed"; the status is 1 if a cell failed, and 77 if the script
calls skip() because the machine lacks something.
SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import collections
import concurrent.futures
import random
import re
import sys
import time

Cell = collections.namedtuple("Cell", "name run")

SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def choose(cells, args):
    if args.only:
        cells = [c for c in cells if re.search(args.only, c.name)]
    if args.sample and args.sample < len(cells):
        chosen = random.Random(args.seed).sample(range(len(cells)),
                                                 args.sample)
        cells = [cells[i] for i in sorted(chosen)]
    return cells


def run_cell(cell):
    """What went wrong, or None; and how long it took."""
    begun = time.monotonic()
    try:
        wrong = cell.run()
    except Exception as e:  # a broken experiment is a failed one
        wrong = f"{type(e).__name__}: {e}"
    return wrong, time.monotonic() - begun


def report(cell, wrong, spent):
    if wrong is None:
        print(f"passed {cell.name} ({spent:.1f} s)", flush=True)
    else:
        print(f"FAILED {cell.name} ({spent:.1f} s): {wrong}\n"
              f"    again: {sys.argv[0]} --only '^{re.escape(cell.name)}$'",
              flush=True)


def main(cells):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    cells = choose(cells, args)
    if args.list:
        print("\n".join(c.name for c in cells))
        return
    if not cells:
        sys.exit("no cell has such a name; --list prints them")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for cell, (wrong, spent) in zip(cells, pool.map(run_cell, cells)):
            report(cell, wrong, spent)
            failed += wrong is not None
    print(f"{len(cells) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
