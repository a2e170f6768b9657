"""short_path.py MPIRUN PROGRAM BUDGET [alone|multiple|engines|window|between] [failover|tcp]:
count the instructions of short messages, at that level of threads or on such a route.

Valgrind's callgrind counts, in rank 0, every instruction from the call of an
MPI function to its return, so the store that publishes a message is included.
The shortest round must not exceed the numbers of the budget file. Lower them
when the path gets shorter; raising one needs a reason in the commit. A round is
the average of a few calls in a row. How far the peer has come decides what a call
does beside its path: it polls again, or looks how much of the ring is free. A
busy machine adds such rounds, up to nearly all of a run, but makes none shorter.
Therefore the shortest counts, not the median, and of several runs where one is
not enough. The peer does not sleep: to wake it is not part of the path.

Between two jobs a message may take 3 % more than on a communicator inside one job that
is not MPI_COMM_WORLD, as counted just before. There is no file for that: BUDGET is "-".

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RANK = ('if [ "$PMI_RANK" = 0 ]; then exec valgrind -q --tool=callgrind '
        "--toggle-collect='counted_*' --callgrind-out-file=\"$0\" \"$@\"; "
        'fi; exec "$@"')


RUNS = 10  # at most
MEASURED = 3  # where there is no budget
BETWEEN = 1.03  # of the instructions inside a job
INSIDE_ONLY = {"bcast_none", "allreduce_none"}  # of an intracommunicator


def inside(mpirun, program, route):
    """What a message between jobs may take, from what one inside a job takes."""
    counts = least(mpirun, [program, "derived"], {}, route)
    return {name: cost * BETWEEN for name, cost in counts.items()
            if name not in INSIDE_ONLY}


FAILOVER = """[transport shm]
[route all]
use = shm
failover = yes
"""


def count(mpirun, command, route):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        ini = Path(folder) / "mpi.ini"
        ini.write_text(FAILOVER)
        chosen = (["--ini", str(ini)] if route == "failover" else
                  ["--route", route])
        ranks = "1" if "between" in command else "2"
        subprocess.run([mpirun, "-n", ranks, *chosen, "--set", "core.spin=1s",
                        "--timeout", "200", "sh", "-c", RANK, str(out),
                        *command], check=True)
        return shortest(averages(out))


def averages(out):
    """counted_NAME -> instructions of the one call it makes."""
    names, found, caller, called = {}, {}, None, None
    for line in out.read_text().splitlines():
        m = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
        if m:
            names.setdefault(m[2], m[3])
            if m[1] == "fn":
                caller = names[m[2]]
        elif called and caller.startswith("counted_"):
            name = caller.removeprefix("counted_").split("'")[0]
            calls, cost = found.get(name, (0, 0))
            found[name] = calls + called, cost + int(line.split()[1])
            called = None
        else:
            m = re.match(r"calls=(\d+)", line)
            called = int(m[1]) if m else None
    return {name: cost / calls for name, (calls, cost) in found.items()}


def shortest(rounds):
    """NAME_ROUND -> cost becomes NAME -> the least."""
    found = {}
    for name, cost in rounds.items():
        found.setdefault(name.rpartition("_")[0], []).append(cost)
    return {name: min(costs) for name, costs in found.items()}


def budget(path):
    """A line: NAME, and one, two or three numbers."""
    level = {"global": 1, "lock-free": 3}.get(
        os.environ.get("PATH_GRANULARITY", "global"), 2)
    lines = (line.split("#")[0].split() for line in open(path))
    return {words[0]: int(words[min(level, len(words) - 1)])
            for words in lines if words}


def least(mpirun, command, allowed, route):
    counts = {}
    for _ in range(RUNS if allowed else MEASURED):
        for name, cost in count(mpirun, command, route).items():
            counts[name] = min(cost, counts.get(name, cost))
        if allowed and all(cost <= allowed.get(name, cost)
                           for name, cost in counts.items()):
            break
    return counts


def main():
    mpirun, program, path, *level = sys.argv[1:]
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed (package valgrind)")
        return 77
    bad = 0
    route = level.pop() if level and level[-1] in ("failover", "tcp") else "shm"
    allowed = inside(mpirun, program, route) if path == "-" else budget(path)
    counts = least(mpirun, [program, *level], allowed, route)
    for name in sorted(set(counts) & set(allowed)):
        most = allowed[name]
        print(f"{name:16} {counts[name]:7.1f} instructions, at most {most:.0f}")
        bad += counts[name] > most
    missing = set(counts) ^ set(allowed)
    if missing:
        print("only in one of count and budget:", *sorted(missing))
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
