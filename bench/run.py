#!/usr/bin/env python3
"""Measures Weft beside the machine's raw limits and the MPI libraries that are
installed, and says how they compare.

Each figure is a list of runs, one per library. All runs of a figure are
repeated in turn (raw, weft, mpich, openmpi, raw, ...), so that whatever else
the machine does hits all of them alike. What is printed is the best of all
repetitions and the median of their medians; ratios compare best with best.

Output: a table on standard output, results.csv and, with gnuplot, plots in
the output directory (default: BUILD/bench). README.md explains the figures.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import csv
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

HERE = Path(__file__).resolve().parent
LIMIT_S = 120  # of one run; a library that needs longer has no result


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--quick", action="store_true",
                   help="few repetitions and sizes: about two minutes")
    p.add_argument("--only", metavar="NAME", action="append", default=[],
                   help="figures whose name begins with NAME; may be repeated")
    p.add_argument("--libs", metavar="LIST", default="raw,weft,mpich,openmpi",
                   help="libraries to run (default: %(default)s)")
    p.add_argument("--repeat", type=int, metavar="N",
                   help="repetitions (default: 5, quick: 2)")
    p.add_argument("--list", action="store_true", help="list the figures")
    p.add_argument("--build", type=Path, metavar="DIR",
                   default=os.environ.get("WEFT_BUILD", HERE.parent / "build"),
                   help="where Weft was built (default: build/)")
    p.add_argument("--out", type=Path, metavar="DIR",
                   help="results (default: DIR of --build, /bench)")
    args = p.parse_args()
    args.build = Path(args.build).resolve()
    args.out = (args.out or args.build / "bench").resolve()
    args.repeat = args.repeat or (2 if args.quick else 5)
    return args


class Library:
    """How programs of one library are compiled and started."""

    def __init__(self, name, compiler, launcher, fabrics, environment=None):
        self.name = name
        self.compiler = compiler
        self.launcher = launcher  # list of words, before -n
        self.fabrics = fabrics    # name -> (words after -n N, environment)
        self.environment = environment or {}

    def present(self):
        return bool(shutil.which(self.compiler) and
                    (not self.launcher or shutil.which(self.launcher[0])))

    def command(self, n, fabric, program):
        words, extra = self.fabrics[fabric]
        env = {**os.environ, **self.environment, **extra}
        if not self.launcher:
            return program, env
        return self.launcher + ["-n", str(n)] + words + program, env


def libraries(args):
    """Every library's own way to say "this fabric only, any user, any CPU"."""
    bin_dir = args.build / "bin"
    ompi = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
            "--mca", "pml", "ob1", "--mca", "btl"]
    known = [
        Library("raw", "cc", None, dict.fromkeys(("any", "shm", "tcp"),
                                                 ([], {}))),
        Library("weft", str(bin_dir / "mpicc"), [str(bin_dir / "mpirun")],
                {"any": ([], {}), "shm": (["--route", "shm"], {}),
                 "tcp": (["--route", "tcp"], {})}),
        Library("mpich", "mpicc.mpich", ["mpiexec.mpich"],
                {"any": ([], {}), "shm": ([], {}),
                 "tcp": ([], {"MPIR_CVAR_NOLOCAL": "1",
                              "UCX_TLS": "tcp,self",
                              "FI_PROVIDER": "tcp"})}),
        Library("openmpi", "mpicc.openmpi", ["mpirun.openmpi"],
                {"any": (ompi + ["vader,self,tcp"], {}),
                 "shm": (ompi + ["vader,self"], {}),
                 "tcp": (ompi + ["tcp,self"], {})}),
    ]
    chosen = args.libs.split(",")
    unknown = set(chosen) - {lib.name for lib in known}
    if unknown:
        sys.exit(f"bench: unknown library {', '.join(sorted(unknown))}; "
                 "known: raw, weft, mpich, openmpi")
    return {lib.name: lib for lib in known
            if lib.name in chosen and lib.present()}


# ---- building -----------------------------------------------------------

def build(libs, out):
    """One executable per program and library: OUT/mpich_pingpong, ..."""
    for lib in libs.values():
        kind = "raw" if lib.name == "raw" else "mpi"
        for source in sorted(HERE.glob(f"{kind}_*.c")):
            target = out / f"{lib.name}_{source.stem[4:]}"
            if (target.exists() and target.stat().st_mtime >
                    newest(source, libs, lib)):
                continue
            words = [lib.compiler, "-O2", str(source), "-o", str(target)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"bench: {' '.join(words)}\n{done.stderr}")


def newest(source, libs, lib):
    files = [source, HERE / "clock.h"]
    if lib.name == "weft":
        files += [Path(lib.compiler),
                  *(Path(lib.compiler).parent.parent / "lib").glob("libmpi*")]
    return max(f.stat().st_mtime for f in files)


# ---- running --------------------------------------------------------------

def run(words, env):
    """Output of one run, or None. The whole process group ends with it."""
    process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        print(f"bench: no end after {LIMIT_S} s: {' '.join(words)}",
              file=sys.stderr)
        return None
    if process.returncode:
        print(f"bench: status {process.returncode}: {' '.join(words)}\n"
              f"{err[-600:]}", file=sys.stderr)
        return None
    return out


def samples(text):
    """(name, size) -> (best, median) from the programs' lines."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4:
            found[words[0], int(words[1])] = (float(words[2]),
                                              float(words[3]))
    return found


class Results:
    """figure, metric, size, library -> the repetitions' (best, median)."""

    def __init__(self):
        self.values = {}

    def add(self, figure, lib, found):
        for (metric, size), value in found.items():
            if metric in figure.metrics:
                key = (figure.name, metric, size, lib)
                self.values.setdefault(key, []).append(value)

    def summary(self, figure, metric, size, lib):
        """(best, median, spread in percent of the median) or None"""
        got = self.values.get((figure.name, metric, size, lib))
        if not got:
            return None
        pick = max if figure.more_is_better else min
        medians = [m for _, m in got]
        middle = statistics.median(medians)
        spread = (max(medians) - min(medians)) / middle * 100 if middle else 0
        return pick(b for b, _ in got), middle, spread

    def sizes(self, figure, metric):
        return sorted({key[2] for key in self.values
                       if key[:2] == (figure.name, metric)})


def measure(figure, libs, args, results):
    for _ in range(args.repeat * figure.times):
        for lib in libs.values():
            job = figure.job(lib, args)
            if job is None:
                continue
            started = time.perf_counter()
            text = run(*job)
            took = (time.perf_counter() - started) * 1e3
            if text is None:
                continue
            found = samples(text)
            if figure.wall and not found:
                found[figure.metrics[0], figure.ranks] = (took, took)
            results.add(figure, lib.name, found)


# ---- reporting ------------------------------------------------------------

def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def cell(summary):
    if summary is None:
        return "-"
    best, middle, spread = summary
    return f"{number(best)} ({number(middle)} ±{spread / 2:.0f}%)"


def ratio(figure, mine, other):
    """Above 1: Weft is better."""
    if not mine or not other or not mine[0] or not other[0]:
        return "-"
    better = mine[0] / other[0] if figure.more_is_better \
        else other[0] / mine[0]
    return f"{better:.2f}"


def better_peer(figure, got):
    peers = [got[name] for name in ("mpich", "openmpi") if got.get(name)]
    pick = max if figure.more_is_better else min
    return pick(peers, key=lambda s: s[0]) if peers else None


def print_figure(figure, results, libs, args, load):
    names = args.libs.split(",")
    print(f"\n{figure.name}: {figure.title}   [load {load:.1f}]")
    head = ["size" if not figure.ranks_are_size else "ranks"]
    head += [n if n in libs else f"{n} absent" for n in names]
    head += ["weft/raw", "weft/peer", "target"]
    rows = [head]
    metric = figure.metrics[0]
    for size in results.sizes(figure, metric):
        got = dict.fromkeys(("raw", "weft"))
        got |= {n: results.summary(figure, metric, size, n) for n in names}
        target = figure.targets.get(size)
        rows.append([str(size)] + [cell(got[n]) for n in names] +
                    [ratio(figure, got["weft"], got["raw"]),
                     ratio(figure, got["weft"], better_peer(figure, got)),
                     verdict(figure, got["weft"], target)])
    width = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for row in rows:
        print("  " + "  ".join(c.rjust(w) for c, w in zip(row, width)))
    sys.stdout.flush()


def verdict(figure, mine, target):
    if target is None:
        return ""
    sign = ">=" if figure.more_is_better else "<="
    if not mine:
        return f"{sign} {target}"
    met = mine[0] >= target if figure.more_is_better else mine[0] <= target
    return f"{sign} {target} {'met' if met else 'MISSED'}"


def write_csv(path, results, chosen):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(["figure", "metric", "size", "library", "best", "median",
                      "spread_percent", "repetitions"])
        for figure in chosen:
            for key, got in sorted(results.values.items()):
                if key[0] == figure.name:
                    best, middle, spread = results.summary(figure, *key[1:])
                    out.writerow([*key, f"{best:.6g}", f"{middle:.6g}",
                                  f"{spread:.1f}", len(got)])


def plot(figure, results, libs, out):
    """One PNG per figure that goes over sizes."""
    metric = figure.metrics[0]
    sizes = [s for s in results.sizes(figure, metric) if s > 0]
    if len(sizes) < 3 or not shutil.which("gnuplot"):
        return
    data = out / f"{figure.name}.dat"
    with open(data, "w", encoding="utf-8") as f:
        for size in sizes:
            got = [results.summary(figure, metric, size, n) for n in libs]
            f.write(" ".join([str(size)] + [str(g[0]) if g else "?"
                                            for g in got]) + "\n")
    lines = ", ".join(f"'{data}' using 1:{i + 2} with linespoints lw 2 "
                      f"title '{n}'" for i, n in enumerate(libs))
    script = (f"set terminal pngcairo size 900,600; set output "
              f"'{out / figure.name}.png'; set datafile missing '?'; "
              f"set logscale x 2; set format x '%.0b%B'; set grid; "
              f"set logscale y; set xlabel 'bytes'; "
              f"set ylabel '{metric.replace('_', ' ')}'; "
              f"set title '{figure.title}'; set key left top; plot {lines}")
    subprocess.run(["gnuplot", "-e", script], check=False,
                   stderr=subprocess.DEVNULL)


def main():
    args = arguments()
    chosen = [f for f in figures.FIGURES
              if not args.only or any(f.name.startswith(o) for o in args.only)]
    if not chosen:
        sys.exit(f"bench: no figure's name begins with "
                 f"{' or '.join(args.only)}; --list shows them")
    if args.list:
        for f in chosen:
            print(f"{f.name:16} {f.title}")
        return 0
    libs = libraries(args)
    args.out.mkdir(parents=True, exist_ok=True)
    build(libs, args.out)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
          f"{args.repeat} repetitions; best (median ± half the spread); "
          "ratios above 1: Weft is better")
    results = Results()
    for figure in chosen:
        load = os.getloadavg()[0]
        measure(figure, libs, args, results)
        print_figure(figure, results, libs, args, load)
        plot(figure, results, libs, args.out)
    write_csv(args.out / "results.csv", results, chosen)
    print(f"\nload {os.getloadavg()[0]:.1f}; {args.out}/results.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
