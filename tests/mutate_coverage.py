"""Which quick test runs which line: asked of gcov once, kept in a file.

A line that a test runs in a process that is killed, or that leaves by _exit, is
not seen; mutate.py therefore runs the other tests, too, where there is time.

SPDX-License-Identifier: BSD-3-Clause
"""
import gzip
import hashlib
import json
import os
import subprocess
import sys


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Coverage:
    """test -> file -> a number whose bit n says that line n runs."""

    def __init__(self, path):
        self.path = path
        self.tests, self.digests, self.seconds = {}, {}, {}
        if path.exists():
            with gzip.open(path, "rt") as f:
                self.tests, self.digests, self.seconds = json.load(f)

    def save(self):
        with gzip.open(self.path, "wt") as f:
            json.dump([self.tests, self.digests, self.seconds], f)

    def runs_file(self, test, file):
        return file in self.tests.get(test, {})

    def runs_lines(self, test, file, first, last):
        lines = int(self.tests.get(test, {}).get(file, "0"), 16)
        return lines >> first & (1 << last - first + 1) - 1 != 0


def prepare(prefix, build):
    """gcov looks for what the compiler wrote (.gcno) beside the counts."""
    for note in build.rglob("*.gcno"):
        link = prefix / note.relative_to("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(note)


def clear(prefix):
    for counts in prefix.rglob("*.gcda"):
        counts.unlink()


def lines_of(prefix, build, tree):
    """file -> number of bits, of all counts that lie in the prefix."""
    found = {}
    under = prefix / build.relative_to("/")
    counts = [str(c) for c in under.rglob("*.gcda")
              if "/core/" in str(c) or "/plugins/" in str(c)
              or "/tools/" in str(c)]
    if not counts:
        return found
    out = subprocess.run(["gcov", "--json-format", "--stdout", *counts],
                         capture_output=True, text=True, cwd=build).stdout
    for text in out.splitlines():
        report = json.loads(text)
        for file in report["files"]:
            path = os.path.join(report["current_working_directory"],
                                file["file"])
            path = os.path.relpath(os.path.realpath(path), tree)
            bits = sum({1 << n["line_number"] for n in file["lines"]
                        if n["count"]})
            if not path.startswith("..") and bits:
                found[path] = found.get(path, 0) | bits
    return {file: f"{bits:x}" for file, bits in found.items()}


def measure(coverage, tests, build, prefix, tree, run):
    """`run` runs one test with the environment and says how long it took.
    The counts are written below prefix."""
    prepare(prefix, build)
    for n, test in enumerate(tests):
        if test.name in coverage.tests:
            continue
        clear(prefix)
        coverage.seconds[test.name] = run(test, {"GCOV_PREFIX": str(prefix)})
        coverage.tests[test.name] = lines_of(prefix, build, tree)
        if n % 20 == 0:
            coverage.save()
            print(f"coverage: {n} of {len(tests)} tests", file=sys.stderr)
    coverage.digests = {file: digest(tree / file) for file in
                        {f for t in coverage.tests.values() for f in t}}
    coverage.save()
