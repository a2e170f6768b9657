#!/usr/bin/env python3
"""Changes one token of the library at a time and runs tests on it.

    tests/mutate.py build --count 200 --seed 1
    tests/mutate.py build --count 20 --seed 1 --files 'core/config/*.c'
    tests/mutate.py build --at core/topo/dist_create.c:135
    tests/mutate.py build --count 200 --seed 1 --again --tests unit_sctp
    tests/mutate.py build --count 200 --seed 1 --list

A mutant that no test notices is code that no test checks. Works on a copy of
the tree in BUILD/mutate, with a build of its own, and leaves the sources alone.
That build has all mutants of the sample in it, and the environment says which
one is on (mutate_switch.py). The few that cannot be switched are built one by
one afterwards. First all tests run once, and say which mutants they come by.

For each mutant the tests run that come by it, short ones first, until one fails
or has used --limit seconds of processor time together with those before it. A
test counts that fails with the mutant, passes without it, and fails with it
again. Not run: what is equivalent by mutate_equivalent.txt. A survivor is
compiled by itself: the compiler may make the same code of it.

What was found is kept in BUILD/mutate, and a run that was interrupted goes on.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import fcntl
import fnmatch
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repeat
from mutate_switch import ROOM, switched
from mutate_tokens import mutants_of

ROOT = Path(__file__).resolve().parent.parent
QUICK = (r"^(unit|conform|abi|sim|fuzz|jobs_bad)_|^core_match$|"
         r"^job_.*_n4_(shm|tcp|udp|sctp)$|^job_coll_.*_plain$|"
         r"^torture_(sweeps|calls|deaths)_sample$|"
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


def copy_changed(tree, but):
    """The copy becomes the tree, but for some files; what is the same keeps its
    time."""
    wanted = set(sources(ROOT))
    for file in wanted:
        if str(file) in but and (tree / file).exists():
            continue
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


def code_of(dest, source, obj, text):
    """The object that the compiler makes of a source with this text, or None."""
    command = shlex.split(ninja(dest, "-t", "commands", obj).stdout
                          .splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / source.name, Path(folder) / "o"
        file.write_text(text)
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(file)
        command += ["-g0", "-MF", os.devnull, "-iquote", str(source.parent)]
        if subprocess.run(command, cwd=dest, capture_output=True,
                          env={**os.environ, "CCACHE_DISABLE": "1"}
                          ).returncode:
            return None
        return out.read_bytes()


# ---- tests ------------------------------------------------------------------

def end_marked(mark):
    """Ends what a test that was stopped has left behind."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(int(pid), 9)
        except OSError:
            pass


def leave(*_):
    """Another run goes on."""
    end_marked(f"{MARK}={os.getpid()}.".encode())
    os._exit(1)


def wait(p, seconds):
    """Its status, None for a hang, and the processor time of its tree."""
    end = time.monotonic() + seconds
    ended = 0
    while not ended and time.monotonic() < end:
        time.sleep(0.02)
        ended, status, used = os.wait4(p.pid, os.WNOHANG)
    if not ended:
        p.send_signal(15)
        for _ in range(100):
            time.sleep(0.03)
            ended, status, used = os.wait4(p.pid, os.WNOHANG)
            if ended:
                break
        else:
            p.send_signal(9)
            _, status, used = os.wait4(p.pid, 0)
        status = None
    p.returncode = -1  # Popen need not wait any more
    return status, used.ru_utime + used.ru_stime


def run(test, env, seconds, processor):
    """Whether it passes, and its processor time. `processor`: what one of its
    processes may use of that."""
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    env = {**os.environ, **test.env, MARK: mark, **env}
    p = subprocess.Popen(["prlimit", f"--cpu={int(processor) + 1}", "choom",
                          "-n", "900", "--", *test.command], env=env,
                         cwd=test.folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    try:
        status, used = wait(p, seconds)
    finally:
        end_marked(f"{MARK}={mark}".encode())
    passed = status is not None and \
        os.waitstatus_to_exitcode(status) in (0, test.skip)
    return passed, used


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
    """The tests of a build; and of each how long it takes, and which mutants it
    comes by, in a file."""

    def __init__(self, dest, path, regex):
        self.dest, self.path = dest, path
        self.tests = [Test(*t) for t in repeat.tests_of(str(dest), regex)]
        self.found = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            entry = json.loads(line)
            self.found[entry["name"]] = entry

    def look(self, t):
        """Runs a test with no mutant on."""
        with tempfile.NamedTemporaryFile() as seen:
            seen.truncate(ROOM)
            start = time.monotonic()
            for _ in range(2):
                passed, used = run(t, {"MUTANT_SEEN": seen.name}, 600, 600)
                if passed:
                    break
            entry = {"name": t.name, "passed": passed, "processor": used,
                     "seconds": time.monotonic() - start,
                     "mutants": [k for k, byte in enumerate(seen.read())
                                 if byte]}
        if not passed:
            print(f"left out, for it fails unchanged: {t.name}", flush=True)
        self.found[t.name] = entry
        with open(self.path, "a") as f:
            print(json.dumps(entry), file=f)

    def order(self, k, m):
        """The tests that come by a mutant, those named like its file first."""
        stem = re.sub(r"\W", "_", Path(m.file).stem)
        tests = [t for t in self.tests if self.found[t.name]["passed"]
                 and k in self.found[t.name]["mutants"]]
        return sorted(tests, key=lambda t: (
            stem not in t.name, self.found[t.name]["processor"]))

    def run(self, t, env):
        found = self.found[t.name]
        return run(t, env, 20 + 10 * found["seconds"],
                   10 + 10 * found["processor"])


# ---- mutants ------------------------------------------------------------------

def equivalents():
    """(place, before, after) -> why, of mutate_equivalent.txt."""
    found = {}
    for block in (ROOT / "tests/mutate_equivalent.txt").read_text().split(
            "\n\n"):
        lines = [n for n in block.splitlines() if not n.startswith("#")]
        if len(lines) >= 4:
            found[lines[0], lines[1][2:], lines[2][2:]] = " ".join(lines[3:])
    return found


def choose(args, built):
    every = []
    for file in sorted(map(str, sources(ROOT))):
        if any(fnmatch.fnmatch(file, g) for g in args.files or FILES) and \
           built(file):
            every += mutants_of(file, (ROOT / file).read_text())
    if args.at:
        file, _, line = args.at.partition(":")
        return [m for m in every if m.file == file and m.line == int(line)]
    return random.Random(args.seed).sample(every, min(args.count, len(every)))


def key_of(m):
    return m.place, m.before, m.after


class Sample:
    """Numbered mutants, and the sources that have them."""

    def __init__(self, mutants, tree, dest, alone):
        self.mutants, self.tree, self.dest = mutants, tree, dest
        self.texts = {m.file: (ROOT / m.file).read_text() for m in mutants}
        self.alone = {k for k, m in enumerate(mutants)
                      if not m.outer or list(key_of(m)) in alone}

    def of(self, file):
        return [(k, m) for k, m in enumerate(self.mutants) if m.file == file]

    def source(self, file):
        """With all its mutants."""
        mutants = self.of(file)
        return switched(self.texts[file],
                        [km for km in mutants if km[0] not in self.alone],
                        [km for km in mutants if km[0] in self.alone])

    def write(self, file, text):
        copy = self.tree / file
        if copy.read_text() != text:
            copy.write_text(text)

    def builds(self, file):
        self.write(file, self.source(file))
        objects = objects_of(self.dest, self.tree / file)
        return ninja(self.dest, *objects).returncode == 0

    def build(self):
        """Builds all; finds out which mutants cannot be switched."""
        for file in self.texts:
            self.write(file, self.source(file))
        said = ninja(self.dest, "-k", "0").stdout
        for file in self.texts:
            if re.search(rf"FAILED: .*/{re.escape(file)}\.o", said):
                self.sort_out(file)
        must(ninja(self.dest))

    def sort_out(self, file):
        """Which mutants of a file cannot be switched."""
        mine = {k for k, _ in self.of(file)} - self.alone
        self.alone |= mine
        for k in mine:
            self.alone -= {k}
            if not self.builds(file):
                self.alone |= {k}
        self.write(file, self.source(file))

    def digest(self):
        text = "".join(map(self.source, self.texts))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_same_code(self, m):
        """Whether the compiler makes the same of it as of the file unchanged."""
        text, source = self.texts[m.file], self.tree / m.file
        return all(code_of(self.dest, source, o, text) ==
                   code_of(self.dest, source, o, m.applied(text))
                   for o in objects_of(self.dest, source))

    def passes(self, floors, k, t, changed):
        """Whether a test passes with or without a mutant, and its seconds; None
        if the mutant does not build."""
        m = self.mutants[k]
        if k not in self.alone:
            return floors.run(t, {"MUTANT_ON": str(k)} if changed else {})
        text = self.texts[m.file]
        self.write(m.file, m.applied(text) if changed else text)
        done = ninja(self.dest, *targets_of([t], self.dest))
        if done.returncode:
            print(done.stdout[-2000:], file=sys.stderr)
            return None, 0
        return floors.run(t, {})


class Results:
    """The outcome for each mutant, in a file that grows."""

    def __init__(self, path):
        self.path, self.found = path, {}
        for line in path.read_text().splitlines() if path.exists() else ():
            entry = json.loads(line)
            self.found[tuple(entry["mutant"])] = entry

    def of(self, m):
        return self.found.get(key_of(m), {})

    def add(self, m, result, **more):
        entry = {"mutant": key_of(m), "result": result, **more}
        self.found[key_of(m)] = entry
        with open(self.path, "a") as f:
            print(json.dumps(entry), file=f)


def judge(sample, floors, results, args, k):
    """Runs tests on a mutant, and adds what became of it to the results."""
    m = sample.mutants[k]
    before = results.of(m)
    used, passed = before.get("processor", 0), before.get("passed", [])
    result, by = "survived", None
    for t in floors.order(k, m):
        if t.name in passed and not args.tests:
            continue
        if used >= args.limit:
            break
        ok, took = sample.passes(floors, k, t, True)
        used += took
        if ok is None:
            result = "did not build"
            break
        if ok:
            passed = sorted({*passed, t.name})
        elif sample.passes(floors, k, t, False)[0] and \
                not sample.passes(floors, k, t, True)[0]:
            result, by = "noticed", t.name
            break
    if k in sample.alone:
        sample.write(m.file, sample.source(m.file))
    results.add(m, result, by=by, processor=round(used, 1), passed=passed)
    say(m, result, f"{by or len(passed)}, {used:.1f} s")


def say(m, result, why):
    print(f"{m.file}:{m.line}\n- {m.before}\n+ {m.after}\n"
          f"{result}: {why}\n", flush=True)


def judge_all(sample, floors, results, args):
    """Those that are switched at the same time; then the others."""
    known = equivalents()
    todo = []
    for k, m in enumerate(sample.mutants):
        result = results.of(m).get("result")
        if key_of(m) in known:
            results.add(m, "equivalent", by=known[key_of(m)])
        elif not result or result == "equivalent" or (
                args.again and result == "survived"):
            todo.append(k)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda k: judge(sample, floors, results, args, k),
                      [k for k in todo if k not in sample.alone]))
    for k in todo:
        m = sample.mutants[k]
        if k in sample.alone:
            judge(sample, floors, results, args, k)
        if results.of(m)["result"] == "survived" and sample.is_same_code(m):
            results.add(m, "the same code")
            say(m, "the same code", "nobody can notice it")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("build", type=Path, help="a build; its options are taken")
    p.add_argument("--count", type=int, default=50)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--files", action="append", metavar="GLOB",
                   help="default: " + " ".join(FILES))
    p.add_argument("--at", metavar="FILE:LINE", help="all mutants of a line")
    p.add_argument("--limit", type=float, default=180, metavar="SECONDS",
                   help="processor time of tests for a mutant (default 180)")
    p.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    p.add_argument("--again", action="store_true", help="judge survivors again")
    p.add_argument("--tests", metavar="REGEX",
                   help="only these, also if they have changed or passed")
    p.add_argument("--list", action="store_true", help="only name the mutants")
    return p.parse_args()


def main():
    args = arguments()
    build = args.build.resolve()
    home = build / "mutate"
    tree, dest = home / "tree", home / "tree/build"  # as usual, for ccache
    built = ninja(build, "-t", "targets", "all").stdout
    alone = home / "alone.json"
    sample = Sample(choose(args, lambda file: f"/{file}.o:" in built), tree,
                    dest, json.loads(alone.read_text()) if alone.exists() else
                    [])
    if args.list:
        for m in sample.mutants:
            print(f"{m.file}:{m.line}\n- {m.before}\n+ {m.after}")
        return 0
    held = lock(home)
    signal.signal(signal.SIGTERM, leave)
    copy_changed(tree, sample.texts)
    configure(build, tree, dest)
    sample.build()
    alone.write_text(json.dumps([key_of(sample.mutants[k])
                                 for k in sample.alone]))
    floors = Floors(dest, home / f"seen-{sample.digest()}.jsonl",
                    args.tests or QUICK)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(floors.look, [t for t in floors.tests if args.tests
                                    or t.name not in floors.found]))
    results = Results(home / "results.jsonl")
    judge_all(sample, floors, results, args)
    counts = Counter(results.of(m)["result"] for m in sample.mutants)
    print(", ".join(f"{n} {result}" for result, n in counts.items()))
    held.close()
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
