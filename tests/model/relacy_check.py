#!/usr/bin/env python3
"""Runs the lock-free code of the core on Relacy's model of C11 memory.

A driver is C++; a line `//@ FILE: NAME NAME{FIELDS} ...` in it stands for the
definitions of these names as they are in FILE. The FIELDS of a structure are
watched for races.

    relacy_check.py              every driver holds
    relacy_check.py --mutants    and not once an order is weaker by a step
    relacy_check.py NAME ...     these drivers; -n RUNS for another number

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))
DRIVERS = os.path.join(HERE, "relacy")
FLAGS = ["-std=gnu++17", "-Og", "-w", "-fpermissive", "-I", DRIVERS]
# of an order of which it is said why nothing is lost
SPARED_RUNS = 2500
ROOT = os.path.dirname(os.path.dirname(HERE))
# what stands in C for an operation that has an order, as it is numbered
SITES = re.compile(
    r"\b(wf_load_acquire|wf_store_release|wf_exchange_acq_rel|wf_add_acq_rel|"
    r"wf_cas_acq_rel|wf_fence_full|wf_membarrier_own|wf_membarrier|membarrier)"
    r"\((\s*\)?)"
    r"|\b(?:memory_order_|__ATOMIC_)(acquire|release|acq_rel|ACQ_REL)\b"
    r"|\batomic_thread_fence\(memory_order_seq_cst\)")


def definition(text, name, where):
    """Of a function, structure, enumeration or macro at the top of a file."""
    word = name.rstrip("()")
    for form in () if name.endswith("()") else (
            rf"^(?:struct|enum) {word} {{[^\n]*}};$",
            rf"^(?:struct|enum)\s(?:\w+\([^)]*\)\s)?{word} {{.*?^}};$",
            rf"^#define {word}\b(?:[^\n]*\\\n)*[^\n]*$",
            rf"^typedef [^\n]*\b{word};$"):
        found = re.search(form, text, re.M | re.S)
        if found:
            return found.group()
    for form in (
            rf"^\w[^\n;#]*?\b{word}\((?:[^;{{]|\n)*?\)[^;{{]*\n{{.*?^}}$",):
        found = re.search(form, text, re.M | re.S)
        if found:
            return found.group()
    raise SystemExit(f"{where}: no definition of {name}")


def watched(structure, fields):
    """The structure with these fields under watch."""
    for field in fields:
        structure, n = re.subn(
            rf"^(\s+)(?:_Alignas\(\w+\) )?"
            rf"((?:const |unsigned )?(?:struct |enum )?\w+) ([*]*){field}"
            rf"((?:\[\w+\])*)(, [^;]+)?;",
            lambda m: f"{m[1]}plain<{m[2]} {m[3]}> {field}{m[4]};" + (
                f"\n{m[1]}{m[2]} {m[5][2:]};" if m[5] else ""),
            structure, flags=re.M)
        if not n:
            raise SystemExit(f"no field {field} in\n{structure}")
    return structure


def compile_(words):
    subprocess.run([os.environ.get("CXX", "g++"), *FLAGS, *words], check=True)


class Driver:
    def __init__(self, name):
        self.name = name
        self.sites = []  # number, step, function, operation, which of them
        self.count = {}
        with open(os.path.join(DRIVERS, name + ".cpp")) as f:
            self.text = f.read()
        self.source = re.sub(r"^//@ (\S+): (.+)$", self.code, self.text,
                             flags=re.M)

    def code(self, line):
        with open(os.path.join(ROOT, line[1])) as f:
            text = f.read()
        out = []
        for name, fields in re.findall(r"(\w+(?:\(\))?)(?:{([^}]*)})?", line[2]):
            body = definition(text, name, line[1])
            body = watched(body, fields.split()) if fields else body
            body = re.sub(r"_Atomic\(([^)]*)\)", r"atom<\1>", body)
            body = re.sub(r"_Atomic (\w+)", r"atom<\1>", body)
            out.append(self.numbered(body, name))
        return "\n".join(out)

    def numbered(self, body, name):
        return SITES.sub(lambda m: self.number(m, name), body)

    def number(self, m, name):
        n = len(self.sites) + 1
        call, rest, order = m[1], m[2], (m[3] or "").lower()
        what = call or (f"memory_order_{order}" if order else "fence")
        steps = ["weaker"]
        self.count[name, what] = self.count.get((name, what), 0) + 1
        if (call or order or "").endswith("acq_rel"):
            steps = ["acquire", "release"]
        for i, step in enumerate(steps):
            self.sites.append((n + i, step, name, what,
                               self.count[name, what]))
        if order:
            return f"order_at({n}, rl::mo_{order})"
        if not call:
            return f"wf_fence_full({n})"
        return f"{call}({n}" + (")" if rest.strip() else ", ")

    def build(self, folder):
        source = os.path.join(folder, self.name + ".cpp")
        self.program = os.path.join(folder, self.name)
        with open(source, "w") as f:
            f.write(self.source)
        compile_(["-o", self.program, source])

    def run(self, runs, mutant=0):
        """True: it holds."""
        words = [self.program, "-m", str(mutant)]
        done = subprocess.run(words + (["-n", str(runs)] if runs else []),
                              capture_output=True, text=True, timeout=280)
        if done.returncode not in (0, 1) or "iteration" not in done.stdout:
            raise SystemExit(f"{self.name}: status {done.returncode}\n"
                             + done.stdout + done.stderr)
        if done.returncode and not mutant:
            print(done.stdout[-4000:])
        return done.returncode == 0


def spared():
    with open(os.path.join(DRIVERS, "spared")) as f:
        return dict(re.findall(r"^(\S+ \w+ \S+ \w+): (.*)$", f.read(), re.M))


def mutate(driver, runs, spared):
    """Prints who survives; the number of surprises."""
    wrong = 0
    for n, step, name, what, which in driver.sites:
        site = f"{name} {what} {which}"
        reason = spared.get(f"{site} {step}") or \
            spared.get(f"{name} {what} * {step}") or \
            spared.get(f"{driver.name}/{site} {step}")
        survives = driver.run(SPARED_RUNS if reason and not runs else runs, n)
        if survives and not reason:
            print(f"  {driver.name}: {site} {step} ({n}) is not noticed")
            wrong += 1
        elif survives:
            print(f"  {driver.name}: {site} {step}: {reason}")
        elif reason:
            print(f"  {driver.name}: {site} {step} ({n}) is noticed, yet "
                  f"marked: {reason}")
            wrong += 1
    print(f"{driver.name}: {len(driver.sites)} weaker orders, "
          f"{wrong} surprises", flush=True)
    return wrong


def check(name, folder, args):
    driver = Driver(name)
    driver.build(folder)
    ok = driver.run(args.n)
    print(f"{name}: {'holds' if ok else 'BROKEN'}, {len(driver.sites)} "
          f"weaker orders known", flush=True)
    return ok and not (args.mutants and mutate(driver, args.n, spared()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("names", nargs="*")
    p.add_argument("--mutants", action="store_true")
    p.add_argument("-n", type=int, default=0, metavar="RUNS")
    args = p.parse_args()
    if subprocess.run(["g++", "-x", "c++", "-fsyntax-only", "-w", "-"],
                      input="#include <relacy/relacy.hpp>\n", text=True,
                      capture_output=True).returncode:
        print("skipped: relacy-dev is not installed")
        return SKIP
    names = args.names or sorted(f[:-4] for f in os.listdir(DRIVERS)
                                 if f.endswith(".cpp"))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # beside the drivers' sources, so that they find it first
        compile_(["-x", "c++-header", os.path.join(DRIVERS, "machine.h"),
                  "-o", os.path.join(folder, "machine.h.gch")])
        ok = list(pool.map(lambda n: check(n, folder, args), names))
    return 0 if all(ok) else 1


if __name__ == "__main__":
    sys.exit(main())
