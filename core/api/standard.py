"""The MPI 5.0 standard as tables, read from core/api/standard/*.csv.

Function  one C function: name, return type, parameters
Parameter one parameter: name, C type, the standard's kind, direction

A *family* is the pair of an int function and its large-count `_c` twin; both
are served by one core function wf_mpi_<family>, whose parameter types are
given by core_type() below.
SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import re
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, "standard")


def rows(name):
    with open(os.path.join(TABLES, name), newline="") as f:
        return list(csv.DictReader(f))


class Parameter:
    def __init__(self, row):
        self.name = row["name"]
        self.c_type = row["c_type"]
        self.kind = row["kind"]
        self.direction = row["direction"]
        self.root_only = bool(row["root_only"])

    def declare(self, c_type=None):
        """C declaration: arrays and pointers as a programmer writes them.
        Weights are the arrays that may be a constant like MPI_UNWEIGHTED: as
        pointers, or compilers warn that no array is there."""
        t = c_type or self.c_type
        if self.kind == "WEIGHT":
            t = t.replace("[]", " *")
        m = re.match(r"^(.*?)\s*((?:\[\d*\])+)$", t)
        if m:
            base = m.group(1)
            sep = "" if base.endswith("*") else " "
            return base + sep + self.name + m.group(2)
        return t + ("" if t.endswith("*") else " ") + self.name

    @property
    def poly(self):
        return self.kind.startswith("POLY") or (
            self.kind == "XFER_NUM_ELEM_NNI")  # the partitioned twins


class Function:
    def __init__(self, row):
        self.name = row["name"]
        self.returns = row["returns"]
        self.variant = row["variant"]
        self.history = row["history"]
        self.parameters = []

    def prototype(self, name=None):
        args = ", ".join(p.declare() for p in self.parameters) or "void"
        if self.name == "MPI_Pcontrol":  # the one variadic function
            args += ", ..."
        sep = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{sep}{name or self.name}({args})"

    @property
    def large(self):
        return self.variant.startswith("large count of ")

    @property
    def family(self):
        """Name of the core function's family; a twin whose parameter list
        differs from the int function's is a family of its own."""
        return self.name.lower().removeprefix("mpi_")


def wrap(text, indent=0, extra=4):
    """C text within 80 columns, broken between arguments or, failing that,
    between words; never inside a string."""
    def fill(t):
        return textwrap.wrap(
            t, 80, initial_indent=" " * indent,
            subsequent_indent=" " * (indent + extra),
            break_long_words=False, break_on_hyphens=False)

    text = re.sub(r'"[^"]*"', lambda m: m[0].replace(" ", "\0"), text)
    lines = fill(re.sub(r"(?<![,&|?:]) ", "\0", text))
    if any(len(line) > 80 for line in lines):
        lines = fill(text)
    return "\n".join(lines).replace("\0", " ")


def functions():
    out = {r["name"]: Function(r) for r in rows("functions.csv")}
    for r in rows("parameters.csv"):
        f = out[r["function"]]
        assert len(f.parameters) == int(r["index"])
        f.parameters.append(Parameter(r))
    for f in out.values():
        f.base = f
        if f.large:
            twin = out[f.variant.removeprefix("large count of ")]
            same = [p.name for p in twin.parameters] == [
                p.name for p in f.parameters]
            if same:
                f.base = twin
    return out


HANDLES = {
    "COMMUNICATOR": ("MPI_Comm", "struct wf_comm *"),
    "DATATYPE": ("MPI_Datatype", "struct wf_type *"),
    "GROUP": ("MPI_Group", "struct wf_group *"),
    "INFO": ("MPI_Info", "struct wf_info *"),
    "ERRHANDLER": ("MPI_Errhandler", "struct wf_errhandler *"),
    "OPERATION": ("MPI_Op", "struct wf_op *"),
    "REQUEST": ("MPI_Request", "struct wf_req *"),
    "SESSION": ("MPI_Session", "struct wf_session *"),
    "WINDOW": ("MPI_Win", "struct wf_win *"),
    "FILE": ("MPI_File", "struct wf_file *"),
}


def core_type(p):
    """The C type by which the core function takes parameter p.

    Handles passed by value arrive resolved; counts, displacements and sizes
    arrive as MPI_Count; arrays of them as a struct wf_ints view; function
    pointers that exist in two widths as a struct wf_polyfn."""
    if p.kind in HANDLES and p.c_type == HANDLES[p.kind][0]:
        return HANDLES[p.kind][1]
    if p.kind == "POLYFUNCTION":
        return "struct wf_polyfn"
    if p.poly:
        if "[" in p.c_type:
            return "struct wf_ints"
        return "MPI_Count *" if p.c_type.endswith("*") else "MPI_Count"
    return p.c_type


def core_prototype(f):
    """Prototype of the core function that serves function f and its twin."""
    args = ["struct wf_instance *wf"]
    args += [p.declare(core_type(p)) for p in f.base.parameters]
    return f"int wf_mpi_{f.base.family}({', '.join(args)})"
