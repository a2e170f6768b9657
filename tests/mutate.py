#!/usr/bin/env python3
"""Changes one token of the library at a time and runs the quick tests on it.

    tests/mutate.py build --count 200 --seed 1
    tests/mutate.py build --count 20 --seed 1 --files 'core/route/*.c'
    tests/mutate.py build --at core/topo/dist_create.c:135
    tests/mutate.py build --count 200 --seed 1 --list

A mutant that no test notices is code that no test checks. Works on a copy of
the tree in BUILD/mutate, with builds of its own, and leaves the sources alone.
The first run asks gcov there which test runs which line (some minutes).

For each mutant the tests run whose lines it changes, short ones first, then
those that run the file, then all others, until one fails or --limit seconds of
tests are over. A test counts that fails twice with the mutant and then passes
without it; one that does not is left out from then on. Not run: what is
equivalent by mutate_equivalent.txt, and what the compiler makes the same code of.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import fcntl
import fnmatch
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, namedtuple
from pathlib import Path

import mutate_coverage
from mutate_tokens import mutants_of
import repeat

ROOT = Path(__file__).resolve().parent.parent
QUICK = (r"^(unit|conform|abi|sim)_|^core_match$|"
         r"^job_.*_n4_(shm|tcp)$|"
         r"^job_((engines|helper|hinted|pinned|team)_|topo_.*_mixed$)")
FILES = ["core/*.c", "plugins/*.c"]  # fnmatch: * crosses folders
MARK = "MUTANT_TEST"

Test = namedtuple("Test", "name command env limit skip folder")


# ---- the copy of the tree and its builds -----------------------------------

def sources(root):
    """All files below root but those of builds and of git."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__")
                      and not (Path(folder) / f / "CMakeCache.txt").exists()]
        for file in files:
            if not file.endswith(".pyc") and file != ".git":
                yield (Path(folder) / file).relative_to(root)


def copy_changed(tree):
    """The copy becomes the tree; a file that is the same keeps its time."""
    wanted = set(sources(ROOT))
    for file in wanted:
        source, copy = ROOT / file, tree / file
        if source.is_symlink() or not source.is_file():
            continue
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for file in set(sources(tree)) - wanted if tree.exists() else ():
        (tree / file).unlink()


def configure(build, tree, dest, *more):
    """Configure dest as build is, with the options `more` besides."""
    options = []
    if (dest / "build.ninja").exists():
        return
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        m = re.match(r"((?:WEFT_\w+|CMAKE_C(?:XX)?_COMPILER(?:_LAUNCHER)?)"
                     r":(?!INTERNAL|STATIC)\w+)=(.*)$", line)
        if m:
            options.append(f"-D{m[1]}={m[2]}")
    subprocess.run(["cmake", "-S", str(tree), "-B", str(dest), "-G", "Ninja",
                    *options, *more], check=True, stdout=subprocess.DEVNULL)


def ninja(dest, *targets):
    return subprocess.run(["ninja", "-C", str(dest), *targets],
                          capture_output=True, text=True)


def lock(home):
    """The copy serves one run at a time; keep what is returned until its end."""
    home.mkdir(exist_ok=True)
    file = open(home / "lock", "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"{home} is in use by another run of mutate.py; wait for it, "
                 "or name another build")
    return file


def must(done):
    if done.returncode:
        sys.exit(f"the unchanged tree does not build:\n{done.stdout[-3000:]}")


def objects_of(dest, source):
    """What the compiler makes of a file, relative to the build."""
    out = ninja(dest, "-t", "query", str(source)).stdout
    return [o.strip() for o in out.splitlines() if o.strip().endswith(".o")]


def code_of(path):
    """An object without what it says about its source."""
    subprocess.run(["objcopy", "--strip-debug", str(path), f"{path}.code"],
                   check=True)
    return Path(f"{path}.code").read_bytes()


# ---- tests ------------------------------------------------------------------

def end_marked(mark):
    """Ends what a test that was stopped has left behind."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(int(pid), 9)
        except OSError:
            pass


def run(test, env, limit):
    """Whether it passes, and its seconds."""
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    env = {**test.env, MARK: mark, **env}
    start = time.monotonic()
    p = subprocess.Popen(test.command, env={**os.environ, **env},
                         cwd=test.folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    try:
        status = p.wait(limit)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        if p.poll() is None:
            p.terminate()
            try:
                p.wait(3)
            except subprocess.TimeoutExpired:
                pass
        end_marked(f"{MARK}={mark}".encode())
        p.wait()
    passed = status is not None and status in (0, test.skip)
    return passed, time.monotonic() - start


def targets_of(tests, dest):
    """The programs of the tests; `all` where that cannot be told."""
    found = set()
    for t in tests:
        if any(w.endswith(".py") and not w.endswith("/run_job.py")
               for w in t.command):
            return ["all"]
        found |= {os.path.relpath(w, dest) for w in t.command
                  if w.startswith(f"{dest}/")}
    return sorted(found)


class Floors:
    """The quick tests of a build, what they cover, and how long they take."""

    def __init__(self, dest, coverage):
        self.dest, self.coverage = dest, coverage
        self.tests = [Test(*t) for t in repeat.tests_of(str(dest), QUICK)]

    def seconds(self, t):
        """Of the build that counts lines: more than usual."""
        return self.coverage.seconds.get(t.name, 1)

    def order(self, m, changed):
        """Three lists: run the lines, run the file, and the others. A file
        that is not what was covered is asked for as a whole."""
        lists = [], [], []
        stem = re.sub(r"\W", "_", Path(m.file).stem)
        for t in sorted(self.tests, key=lambda t: (
                stem not in t.name, self.seconds(t))):
            if not self.coverage.runs_file(t.name, m.file):
                lists[2].append(t)
            elif changed or not self.coverage.runs_lines(
                    t.name, m.file, m.first, m.last):
                lists[1].append(t)
            else:
                lists[0].append(t)
        return lists

    def notice(self, tests, left):
        """The test that fails twice (or None), and the seconds left."""
        for t in tests:
            if left <= 0:
                break
            passed, took = run(t, {}, self.limit(t))
            left -= took
            if not passed and not run(t, {}, self.limit(t))[0]:
                return t, left
        return None, left

    def limit(self, t):
        return 20 + 10 * self.seconds(t)

    def passes_unchanged(self, t):
        """Else it is left out from now on."""
        must(ninja(self.dest, *targets_of([t], self.dest)))
        if run(t, {}, self.limit(t))[0]:
            return True
        print(f"left out, for it fails unchanged: {t.name}")
        self.tests.remove(t)
        return False


# ---- mutants ------------------------------------------------------------------

def equivalents():
    """(file, before, after) -> why, of mutate_equivalent.txt."""
    found = {}
    for block in (ROOT / "tests/mutate_equivalent.txt").read_text().split(
            "\n\n"):
        lines = [n for n in block.splitlines() if not n.startswith("#")]
        if len(lines) >= 4:
            found[lines[0], lines[1][2:], lines[2][2:]] = " ".join(lines[3:])
    return found


def choose(args, tree, built):
    every = []
    for file in sorted(map(str, sources(tree))):
        if any(fnmatch.fnmatch(file, g) for g in args.files or FILES) and \
           built(file):
            every += mutants_of(file, (tree / file).read_text())
    if args.at:
        file, _, line = args.at.partition(":")
        return [m for m in every if m.file == file and m.line == int(line)]
    return random.Random(args.seed).sample(every, min(args.count, len(every)))


def noticed_by(m, dest, digest, floors, args):
    """The test that notices the mutant, which is in the copy; or None. The
    word of what became of it otherwise."""
    changed = floors.coverage.digests.get(m.file) != digest
    line, file, others = floors.order(m, changed)
    left = args.limit
    for tests in [line[:8], line[8:]] + (
            [] if args.covering and line else [file, others]):
        if not tests or left <= 0:
            continue
        if ninja(dest, *targets_of(tests, dest)).returncode:
            return "did not build", None
        by, left = floors.notice(tests, left)
        if by:
            return "noticed", by
    return "survived", None


def judge(m, dest, tree, floors, args):
    """What became of a mutant, and the test that noticed it."""
    copy, objects = tree / m.file, objects_of(dest, tree / m.file)
    text, digest = copy.read_text(), mutate_coverage.digest(copy)
    was = [code_of(dest / o) for o in objects]
    try:
        copy.write_text(m.applied(text))
        if ninja(dest, *objects).returncode:
            return "did not build", None
        if was == [code_of(dest / o) for o in objects]:
            return "the same code", None
        result, by = noticed_by(m, dest, digest, floors, args)
    finally:
        copy.write_text(text)
        must(ninja(dest, *objects))
    if by and not floors.passes_unchanged(by):
        return judge(m, dest, tree, floors, args)
    return result, by and by.name


def prepare(build, args):
    """The copy, its optimised build, and its floors with their coverage."""
    home = build / "mutate"
    tree = home / "tree"
    dest, cover = tree / "build", tree / "gcov"  # as usual, for ccache
    copy_changed(tree)
    configure(build, tree, dest)
    must(ninja(dest))
    coverage = mutate_coverage.Coverage(home / "coverage.json.gz")
    floors = Floors(dest, coverage)
    if args.list:
        return tree, dest, floors
    if args.cover or not coverage.digests:
        configure(build, tree, cover, "-DCMAKE_BUILD_TYPE=Debug",
                  "-DCMAKE_C_FLAGS=--coverage")
        must(ninja(cover))
        with_counts = [Test(*t) for t in repeat.tests_of(str(cover), QUICK)]
        mutate_coverage.measure(coverage, with_counts, cover,
                                home / "counts", tree,
                                lambda t, env: run(t, env, t.limit)[1])
    return tree, dest, floors


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("build", type=Path, help="a build; its options are taken")
    p.add_argument("--count", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--skip", type=int, default=0, metavar="N",
                   help="leave out the first N, which another run has judged")
    p.add_argument("--files", action="append", metavar="GLOB",
                   help="default: " + " ".join(FILES))
    p.add_argument("--at", metavar="FILE:LINE", help="all mutants of a line")
    p.add_argument("--limit", type=float, default=180, metavar="SECONDS",
                   help="of tests for a mutant (default 180)")
    p.add_argument("--covering", action="store_true",
                   help="only tests that run the line, if there are any")
    p.add_argument("--cover", action="store_true",
                   help="ask gcov for tests that are new, too")
    p.add_argument("--list", action="store_true", help="only name the mutants")
    return p.parse_args()


def main():
    args = arguments()
    build = args.build.resolve()
    held = lock(build / "mutate")
    tree, dest, floors = prepare(build, args)
    known, counts = equivalents(), Counter()
    built = ninja(dest, "-t", "targets", "all").stdout
    mutants = choose(args, tree, lambda file: f"/{file}.o:" in built)
    for m in mutants[args.skip:]:
        change = f"{m.file}:{m.line}\n- {m.before}\n+ {m.after}"
        why = known.get((m.file, m.before, m.after))
        if args.list:
            print(change)
            continue
        if why:
            result, by = "equivalent", why
        else:
            result, by = judge(m, dest, tree, floors, args)
        counts[result] += 1
        print(f"{change}\n{result}{': ' + by if by else ''}\n", flush=True)
    if not args.list:
        print(f"{counts['noticed']} noticed, {counts['survived']} survived, "
              f"{counts['equivalent']} equivalent (listed), "
              f"{counts['the same code']} compiled to the same code, "
              f"{counts['did not build']} did not build")
    held.close()
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
