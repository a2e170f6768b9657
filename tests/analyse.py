#!/usr/bin/env python3
"""Has clang look at the locks of the core: sections left with their lock held,
functions called without theirs.

    analyse.py BUILD [GRANULARITY ...]

Nothing is compiled: what clang says is all that comes out. Every file is looked at
in the first granularity, otherwise `global`; in the three others those that ask
which one it is, for what clang knows of a function elsewhere is the same in all.
The headers that most files include are read once, and so are all generated bindings.

SPDX-License-Identifier: BSD-3-Clause
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALL = ["global", "brief-global", "per-object", "lock-free"]
ASKS = re.compile(r"\bWF_(BRIEF|OBJECTS|LENDS_ALWAYS|GRANULARITY)\b")
COMMON = ["progress/engines.h", "progress/wait.h", "group/comm.h", "coll/coll.h",
          "coll/vertex.h", "datatype/type.h"]
GROUP = 25  # files in a call of clang


def sources(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder)
                  for name in names if name.endswith(".c"))


def asks(path):
    with open(path) as f:
        return ASKS.search(f.read())


def include(names):
    return "".join(f"#include \"{name}\"\n" for name in names)


class Look:
    """At one granularity."""

    def __init__(self, build, granularity, folder):
        self.build, self.name, self.folder = build, granularity, folder
        self.options = [
            "-std=gnu11", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "core"),
            "-I" + os.path.join(ROOT, "include"),
            "-I" + os.path.join(build, "generated"),
            "-DWF_GRANULARITY=WF_" + granularity.upper().replace("-", "_"),
            "-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta",
            "-Werror"]

    def write(self, name, names):
        path = os.path.join(self.folder, self.name + name)
        with open(path, "w") as f:
            f.write(include(names))
        return path

    def clang(self, words):
        done = subprocess.run(["clang", *self.options, *words],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{self.name}:\n{done.stderr}", end="")
        return done.returncode == 0

    def calls(self, every):
        """What clang is called with: lists of words."""
        common = os.path.join(self.folder, self.name + ".pch")
        if not self.clang(["-x", "c-header", "-o", common,
                           self.write(".h", COMMON)]):
            sys.exit(1)
        core = [path for path in sources(os.path.join(ROOT, "core"))
                if every or asks(path)]
        for i in range(0, len(core), GROUP):
            yield ["-fsyntax-only", "-include-pch", common,
                   *core[i:i + GROUP]]
        for part in ("api", "coll") if every else ():
            names = sources(os.path.join(self.build, "generated", part))
            yield ["-fsyntax-only", self.write(f".{part}.c", names)]


def main():
    build = os.path.abspath(sys.argv[1])
    if not shutil.which("clang"):
        print("skipped: clang is not installed")
        return SKIP
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ok = [pool.submit(look.clang, words)
              for i, look in enumerate(Look(build, g, folder)
                                       for g in sys.argv[2:] or ALL)
              for words in look.calls(i == 0)]
        ok = all([f.result() for f in ok])
    if ok:
        print("Nothing to say about the locks")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
