"""How results are shown: a table, a CSV file and a plot for each figure.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import platform
import re
import statistics
import subprocess
import sys
import textwrap
import time

import placement

PEERS = ("mpich", "openmpi")
SIGN = {"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}


def head(libs, args):
    absent = [n for n in args.libs.split(",") if n not in libs]
    print(f"{time.strftime('%Y-%m-%d')}, {processor()}, {os.cpu_count()} CPUs,"
          f" Linux {platform.release()}; {args.repeat} repetitions"
          + (f"; absent: {', '.join(absent)}" if absent else ""))
    print("A cell is the median of the repetitions' medians, half their spread"
          "\nin percent, and in brackets the best of all batches. line: half a"
          "\nround trip of a cache line, ns, in the runs of this row, and how"
          "\nmany of all runs found the CPUs placed so; others do not count.")


def works(of):
    """Print the works that a figure is about, and what they say."""
    for work, says in of:
        print(textwrap.fill(f"{work}: {says}", 79, initial_indent="  ",
                            subsequent_indent="  "))


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.split(":")[1].strip() for line in f
                 if line.startswith("model name")]
    return names[0] if names else platform.machine()


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def cell(got, limit):
    if got is None:
        return "-"
    middle, spread, best, repetitions = got
    if not repetitions:
        return f"over {limit:g} s"
    return f"{number(middle)} ±{spread:.0f}% ({number(best)})"


def quotient(mine, other):
    if not mine or not other or not mine[3] or not other[3] or not other[0]:
        return None
    return mine[0] / other[0]


def better_peer(result, row):
    got = [result.summary(row, name) for name in PEERS]
    got = [g for g in got if g and g[3]]
    pick = max if result.figure.more else min
    return pick(got, key=lambda g: g[0]) if got else None


def reference(result, row, words):
    """What a target compares with: the quotient, difference or plain value."""
    mine = result.summary(row, "weft")
    other = {"peer": lambda: better_peer(result, row),
             "raw": lambda: result.summary(row, "raw"),
             "row": lambda: other_row(result, row, " ".join(words[3:]))}
    if len(words) < 3:
        return mine[0]
    against = other[words[2]]()
    if words[1].startswith("+"):
        return mine[0] - against[0] if against and against[3] else None
    return quotient(mine, against)


def other_row(result, row, name):
    """Seen in the placement of this row, where there are such runs."""
    name = int(name) if name.isdigit() else name
    return (result.summary(name, "weft", result.place(row)) or
            result.summary(name, "weft"))


def verdict(result, row):
    """Each part of a target and whether it is met."""
    target = (result.figure.targets or {}).get(row)
    mine = result.summary(row, "weft")
    if not target or not mine or not mine[3]:
        return target or ""
    parts = []
    for part in target.split(", "):
        words = part.split()
        value = reference(result, row, words)
        met = "" if value is None else \
            " met" if SIGN[words[0]](value, float(words[1])) else " MISSED"
        parts.append(part + met)
    return ", ".join(parts)


def comparison(result, row):
    """Weft divided by the raw limit, by the better peer, and the target."""
    mine = result.summary(row, "weft")
    ratios = [quotient(mine, result.summary(row, "raw")),
              quotient(mine, better_peer(result, row))]
    return [*("-" if r is None else f"{r:.2f}" for r in ratios),
            verdict(result, row)]


def placed(result, row):
    """(line in ns, runs that saw such a one, all runs) of a row, or None."""
    place = result.place(row)
    if place is None:
        return None
    lines = [line for (r, _), got in result.values.items() if r == row
             for _, _, line in got]
    here = [line for line in lines if placement.within(line, place)]
    return statistics.median(here) * 1e3, len(here), len(lines)


def line_cell(seen):
    return f"{seen[0]:.0f} ({seen[1]}/{seen[2]})" if seen else "-"


def in_order(rows):
    """Bytes and depths by size; cases as they are listed."""
    return sorted(rows) if all(isinstance(r, int) for r in rows) else rows


def table(result, libs, args):
    """In the form of Markdown, so that it can stand in a document."""
    figure = result.figure
    names = [n for n in args.libs.split(",")
             if (figure.raw if n == "raw" else figure.mpi)]
    known = any(result.place(row) for row in result.rows)
    rows = [["", *(("line",) if known else ()),
             *(n if n in libs else f"{n} (absent)" for n in names),
             *(("weft/raw", "weft/peer", "to reach") if figure.mpi else ())]]
    for row in in_order(result.rows):
        rows.append([str(row), *((line_cell(placed(result, row)),) if known else ()),
                     *(cell(result.summary(row, n), result.limit)
                       for n in names),
                     *(comparison(result, row) if figure.mpi else ())])
    width = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * w for w in width])
    print(f"\n**{figure.name}**: {figure.title}, {figure.unit}, "
          f"{'more' if figure.more else 'less'} is better\n")
    for row in rows:
        print("| " + " | ".join(c.rjust(w) for c, w in zip(row, width)) + " |")
    sys.stdout.flush()


def pairs(result):
    """(factor by which weft takes longer than before, name) of each row"""
    for row in result.rows:
        factor = quotient(result.summary(row, "weft"),
                          result.summary(row, "before"))
        if factor and factor > 0:
            yield (1 / factor if result.figure.more else factor,
                   f"{result.figure.name} {row}")


def compare(found):
    """Weft beside the build "before": the mean, and the rows far from it."""
    if not found:
        return
    mean = statistics.geometric_mean(factor for factor, _ in found)
    print(f"\nweft takes {mean:.3f} times as long as before: the geometric "
          f"mean of {len(found)} rows. More than 5 % apart:")
    for factor, name in sorted(found, reverse=True):
        if not 0.95 < factor < 1.05:
            print(f"  {factor:.2f}  {name}")


def write_csv(result, out):
    figure = result.figure
    with open(out / f"{figure.name}.csv", "w", newline="",
              encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(["figure", "unit", "row", "library", "median",
                         "half_spread_percent", "best", "repetitions",
                         "line_ns"])
        for row, lib in result.values:
            got = result.summary(row, lib) or [None] * 4
            writer.writerow([figure.name, figure.unit, row, lib,
                             *("" if v is None else f"{v:.6g}" for v in
                               (*got, (placed(result, row) or [None])[0]))])


def plot(result, libs, out):
    """For figures over numbers: bytes, ranks, messages."""
    rows = [r for r in in_order(result.rows)
            if re.fullmatch("[1-9][0-9]*", str(r))]
    if len(rows) < 3:
        return
    figure = result.figure
    data = out / f"{figure.name}.dat"
    with open(data, "w", encoding="utf-8") as f:
        for row in rows:
            got = [result.summary(row, name) for name in libs]
            f.write(" ".join([str(row)] + [f"{g[0]:.6g}" if g and g[3] else "?"
                                           for g in got]) + "\n")
    lines = ", ".join(f"'{data}' using 1:{i + 2} with linespoints lw 2 "
                      f"title '{name}'" for i, name in enumerate(libs))
    script = (f"set terminal pngcairo size 900,600; set output "
              f"'{out / figure.name}.png'; set datafile missing '?'; "
              f"set logscale xy; set grid; set key left top; "
              f"set ylabel '{figure.unit}'; set title '{figure.title}'; "
              f"plot {lines}")
    subprocess.run(["gnuplot", "-e", script], check=False,
                   stderr=subprocess.DEVNULL)
