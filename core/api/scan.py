"""Finds what the sources implement: definitions at the start of a line.

  int wf_mpi_<family>(     a core function; its bindings are generated
  int wf_build_<op>(       a collective; its three core functions are generated
  (file_access.py)         accesses to files, which share their functions
  ... PMPI_X(              a binding written by hand
SPDX-License-Identifier: BSD-3-Clause
"""
import glob
import os
import re

import file_access
import forms
import rules
import standard

CORE = os.path.dirname(standard.HERE)
FAMILY = re.compile(r"^int wf_mpi_(\w+)\(", re.M)
BUILDER = re.compile(r"^int wf_build_(\w+)\(", re.M)
BY_HAND = re.compile(r"^\w[\w ]*?\bP(MPI_\w+)\(", re.M)
DECLARATION = re.compile(r"[^{;]*;")


def sources():
    for path in sorted(glob.glob(os.path.join(CORE, "*", "*.c"))):
        with open(path) as f:
            yield path, f.read()


def defined(pattern, text):
    """Names that the pattern finds in definitions, not declarations."""
    return {m[1] for m in pattern.finditer(text)
            if not DECLARATION.match(text, m.end())}


def collectives():
    """(operations that have a builder, families of core functions that a
    source defines)"""
    operations, families = set(), set()
    for path, text in sources():
        operations |= defined(BUILDER, text)
        families |= defined(FAMILY, text)
    return operations, families


def implemented():
    """(families to generate, functions written by hand)"""
    families, by_hand = set(), set()
    known = {f.base.family for f in standard.functions().values()}
    for path, text in sources():
        here = set(FAMILY.findall(text))
        for operation in defined(BUILDER, text):
            here |= set(forms.families(operation))
            families |= set(forms.families(operation))
        if here - known:
            raise SystemExit(f"{path}: {sorted(here - known)} serves no "
                             "function of the standard")
        families |= defined(FAMILY, text)
        by_hand |= defined(BY_HAND, text)
    return families | integer_families() | file_access.FAMILIES, by_hand


def integer_families():
    return {f"{kind}_{way}int" for kind in rules.INTEGER_HANDLES
            for way in ("to", "from")}


def functions():
    """Names of all implemented functions."""
    families, by_hand = implemented()
    return by_hand | {f.name for f in standard.functions().values()
                      if f.base.family in families}
