"""The n-th allocation or descriptor of a process fails while two jobs meet.

A cell is a fabric, the side and the rank that lacks something, what, and whether
the shortage passes. In one pair of jobs it happens for every n; where it leaves
two processes that have given up each other, another pair goes on with the next n.

What must hold: no call waits for ever (meetings.c has the limit), both sides
meet when they call again, what they say arrives, and no process dies.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess

import torture

MPIRUN = os.path.abspath(os.environ.get("MPIRUN", "build/bin/mpirun"))
PROGRAM = os.path.abspath(
    os.environ.get("MEETINGS", "build/tests/torture/torture_meetings"))
CUT_OFF = 3
ENOUGH = "1000000"  # more calls than a meeting has: nothing fails
LIMIT = 1000  # seconds, of a pair of jobs; meetings.c has one for each meeting


def start(route, *words):
    return subprocess.Popen(
        [MPIRUN, "-n", "2", "--route", route, PROGRAM, *words], text=True,
        errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def meet(route, plan, first):
    """The last n, and the statuses and errors of two jobs that begin with
    first."""
    server = start(route, "serve", *plan[:3], str(first), plan[3])
    name = server.stdout.readline().strip()
    client = start(route, "call", *plan[:3], str(first), plan[3], name)
    ends = [client.communicate(timeout=LIMIT)]
    if client.returncode == CUT_OFF:  # the server may wait for the next one
        start(route, "call", *plan[:3], ENOUGH, plan[3], name).communicate(
            timeout=LIMIT)
    ends.append(server.communicate(timeout=LIMIT))
    lines = [line.split() for out, _ in ends for line in out.splitlines()]
    return (max([int(line[0]) for line in lines if len(line) == 2] or [first]),
            [client.returncode, server.returncode], "".join(e[1] for e in ends))


def sweep(route, plan):
    n = 1
    while True:
        n, statuses, errors = meet(route, plan, n)
        if statuses == [0, 0]:
            return None if n > 3 or plan[2] == "files" else \
                f"only {n} calls were counted"
        if CUT_OFF not in statuses or "Alarm" in errors or \
                "wrong data" in errors or "Sanitizer" in errors:
            return f"n = {n}: statuses {statuses}:\n{errors}"
        n += 1


def cells():
    for route in ("shm", "tcp"):
        for side in ("serve", "call"):
            for rank in ("0", "1"):
                for kind in ("memory", "files"):
                    for often in ("once", "forever"):
                        plan = (side, rank, kind, often)
                        yield torture.Cell(
                            "_".join((route, *plan)),
                            lambda route=route, plan=plan: sweep(route, plan))


if __name__ == "__main__":
    torture.main(list(cells()))
