"""Where the host has placed the CPUs of a virtual machine.

A host may move them between neighbours and places far apart, for seconds or
minutes, which changes what passes between two processes by up to 5 times, raw
limits and all libraries alike. So a cache line is sent back and forth before
and after each run, and only runs are compared in which it took as long.

SPDX-License-Identifier: BSD-3-Clause
"""
import subprocess
import time

STEADY = 1.4    # times at most by which lines of one placement differ
FRESH = 0.05    # seconds after which a line is measured anew


class Probe:
    """Half a round trip of a cache line, in us."""

    def __init__(self, program):
        self.command = [str(program), "line", "2"]
        self.line, self.when = None, 0

    def now(self):
        got = subprocess.run(self.command, capture_output=True, text=True,
                             check=True).stdout.split()
        self.line, self.when = float(got[3]), time.perf_counter()
        return self.line

    def around(self, action):
        """(what action returns, the line, or None where it changed)"""
        fresh = time.perf_counter() - self.when < FRESH
        before = self.line if fresh else self.now()
        result = action()
        after = self.now()
        low, high = sorted((before, after))
        return result, (before + after) / 2 if high <= STEADY * low else None


def groups(lines):
    """The placements that these lines show: (shortest, longest), ..."""
    found = []
    for line in sorted(line for line in lines if line is not None):
        if found and line <= STEADY * found[-1][-1]:
            found[-1].append(line)
        else:
            found.append([line])
    return [(g[0], g[-1]) for g in found]


def within(line, place):
    return place is None or (line is not None and
                             place[0] <= line <= place[1])


def common(runs):
    """The placement that most libraries have seen, then most of their runs;
    runs: the lines of each library. None: where no library has seen one."""
    def seen(place):
        counts = [sum(within(line, place) for line in lines) for lines in runs]
        return sum(c > 0 for c in counts), sum(counts)

    found = groups(line for lines in runs for line in lines)
    return max(found, key=seen) if found else None
