"""Writes docs/conformance.md: function by function, implemented or not.
SPDX-License-Identifier: BSD-3-Clause
"""
import scan
import standard
from chapters import CHAPTERS, chapter

def write(out):
    have = scan.functions()
    functions = standard.functions()
    chapters = {}
    for f in functions.values():
        chapters.setdefault(chapter(f.base.name), []).append(f)
    out.write(
        "# Conformance\n\n"
        "Generated from the sources by `core/api/generate.py conformance`; do "
        "not edit.\n\n"
        "Weft has the application binary interface of MPI 5.0 and no other. "
        "`mpi.h` declares\nall functions of the standard. A function marked "
        "**yes** is implemented in full.\n`weft-info --functions` prints "
        "the same of the version that is installed. Every function\nexists as "
        "`MPI_` and `PMPI_`; the large-count twin has the state of its family. "
        "`mpi.h` also\nhas `MPI_Fint` with the `_c2f` and `_f2c` functions "
        "and the `MPI_X_errhandler_fn` names, which\nC programs use and the "
        "ABI leaves out.\n\n"
        "In one place `mpi.h` differs from the header that the Forum "
        "publishes for the ABI: that has an\n`int count` in `MPI_Psend_init` "
        "and `MPI_Precv_init`, here it is the `MPI_Count` of the standard's\n"
        "text, of MPICH and of Open MPI, so that tools which define these "
        "functions compile. An object that was\ncompiled against the other "
        "header passes the count in half a register: it means the same where "
        "its\ncompiler has cleared the other half, as compilers do nearly "
        "always and the ABI of no processor says;\nits "
        "`MPI_Psend_init_c` and `MPI_Precv_init_c` do not depend on "
        "that.\n\n"
        f"**{len(have)} of {len(functions)} functions are implemented.**\n\n"
        "| chapter | implemented | of |\n| --- | ---: | ---: |\n")
    for title, _ in sorted(CHAPTERS):
        fs = chapters.get(title, [])
        out.write(f"| {title} | {sum(f.name in have for f in fs)} | "
                  f"{len(fs)} |\n")
    for title, _ in sorted(CHAPTERS):
        write_chapter(out, title, chapters.get(title, []), have)


def write_chapter(out, title, functions, have):
    out.write(f"\n## {title}\n\n| function | implemented | note |\n"
              "| --- | --- | --- |\n")
    for f in functions:
        if f.base is not f:
            continue
        twin = any(g.base is f and g is not f for g in functions)
        name = f"{f.name}{', _c' if twin else ''}"
        state = "**yes**" if f.name in have else "no"
        out.write(f"| {name} | {state} | {f.history} |\n")
