#!/usr/bin/env python3
"""libmpi.a and libmpi_abi.so define all functions of the standard, and nothing
else that a program could run into.

  symbols.py NM TABLES libmpi.a libmpi_abi.so
SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import re
import subprocess
import sys

nm, tables, archive, shared = sys.argv[1:5]
problems = []


def lines(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()


def defined(path, *flags):
    """(member, type, symbol) of the defined global symbols."""
    for line in lines(nm, "-A", *flags, "--defined-only", path):
        m = re.match(r"^.*?:(?:([^:]*):)?\s*\S+ (\w) (\S+)$", line)
        if m:
            yield m[1], m[2], m[3].split("@")[0]


def same(what, have, want):
    for name in sorted(want - have):
        problems.append(f"{what}: {name} is missing")
    for name in sorted(have - want):
        problems.append(f"{what}: {name} is not to be there")


def family(name):
    return name.removeprefix("PMPI_").removesuffix("_c")


def check_archive(want):
    strong, weak, members = set(), set(), {}
    for member, kind, name in defined(archive, "-g"):
        if not re.match(r"P?MPIX?_|weft_|wf_", name):
            problems.append(f"libmpi.a: {name} pollutes the name space")
        elif name.startswith("PMPI_"):
            strong.add(name[1:])
            members.setdefault(member, set()).add(name)
            if kind != "T":
                problems.append(f"libmpi.a: {name} is {kind}, not strong")
        elif name.startswith("MPI_"):
            weak.add(name)
            if kind != "W":
                problems.append(f"libmpi.a: {name} is {kind}, not weak")
    same("libmpi.a, PMPI", strong, want)
    same("libmpi.a, MPI", weak, want)
    for member, names in members.items():
        if len({family(n) for n in names}) > 1:
            problems.append(f"libmpi.a: {member} holds several families: "
                            + " ".join(sorted(names)))


def check_shared(want):
    have = set()
    for _, _, name in defined(shared, "-D"):
        if not re.match(r"P?MPIX?_", name):
            problems.append(f"libmpi_abi.so: exports {name}")
        if re.match(r"P?MPI_", name):
            have.add(name)
    same("libmpi_abi.so", have, want | {"P" + n for n in want})


def standard():
    with open(os.path.join(tables, "functions.csv"), newline="") as f:
        names = {row["name"] for row in csv.DictReader(f)}
    if len(names) != 664:
        problems.append(f"the standard has 664 functions, not {len(names)}")
    return names


check_archive(standard())
check_shared(standard())
print("\n".join(problems))
sys.exit(1 if problems else 0)
