"""Finds what the sources implement: definitions at the start of a line.

  int wf_mpi_<family>(     a core function; its bindings are generated
  ... PMPI_X(              a binding written by hand
SPDX-License-Identifier: BSD-3-Clause
"""
import glob
import os
import re

import rules
import standard

CORE = os.path.dirname(standard.HERE)
FAMILY = re.compile(r"^int wf_mpi_(\w+)\(", re.M)
BY_HAND = re.compile(r"^\w[\w ]*?\bP(MPI_\w+)\(", re.M)
DECLARATION = re.compile(r"[^{;]*;")


def implemented():
    """(families to generate, functions written by hand)"""
    families, by_hand = set(), set()
    known = {f.base.family for f in standard.functions().values()}
    for path in sorted(glob.glob(os.path.join(CORE, "*", "*.c"))):
        with open(path) as f:
            text = f.read()
        for m in FAMILY.finditer(text):
            if m[1] not in known:
                raise SystemExit(f"{path}: wf_mpi_{m[1]} serves no function "
                                 "of the standard")
            if not DECLARATION.match(text, m.end()):
                families.add(m[1])
        for m in BY_HAND.finditer(text):
            if not DECLARATION.match(text, m.end()):
                by_hand.add(m[1])
    return families | integer_families(), by_hand


def integer_families():
    return {f"{kind}_{way}int" for kind in rules.INTEGER_HANDLES
            for way in ("to", "from")}


def functions():
    """Names of all implemented functions."""
    families, by_hand = implemented()
    return by_hand | {f.name for f in standard.functions().values()
                      if f.base.family in families}
