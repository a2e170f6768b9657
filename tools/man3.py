"""Writes a manual page for each MPI function that the sources implement.

    man3.py OUTDIR VERSION [SUFFIX]

Synopsis and arguments come from the tables of the standard
(core/api/standard), error classes from what the bindings check and from the
core function itself, summaries from man3/summaries.txt, the meaning of an
argument from man3/kinds.txt, notes on single functions from man3/notes.txt. A
large-count twin has the page of the int function. SUFFIX is that of the
installed names of programs that every MPI has; then the section is 3 and the
suffix.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True  # nothing is left behind in the sources
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "core", "api"))

import arguments
import rules
import scan
import standard
from chapters import chapter

# Numbers of the chapters of the MPI 5.0 standard.
NUMBERS = {
    "Point-to-point communication": 3, "Partitioned communication": 4,
    "Datatypes": 5, "Collective communication": 6,
    "Groups, contexts, communicators, and caching": 7,
    "Process topologies": 8, "Environmental management": 9,
    "The info object": 10,
    "Process initialization, creation, and management": 11,
    "One-sided communication": 12, "External interfaces": 13, "I/O": 14,
    "Tool support": 15, "Deprecated interfaces": 16,
    "Application binary interface": 20,
}
BEHAVIOUR = {
    "MPI_ERR_OTHER": "MPI is not initialised, or has ended",
    "MPI_ERR_PROC_ABORTED": "a process that takes part has been lost",
    "MPI_ERR_TRUNCATE": "a message is longer than its receive",
    "MPI_ERR_IN_STATUS": "the statuses tell which operations failed, and how",
}
MODES = {"in": "in", "out": "out", "inout": "in and out"}


def table(name):
    """Lines "KEY: text" of a file beside this one; # begins a comment."""
    found = {}
    with open(os.path.join(HERE, "man3", name), encoding="utf-8") as f:
        for text in f:
            if text.strip() and not text.startswith("#"):
                key, _, value = text.partition(":")
                found[key] = value.strip()
    return found


def notes():
    """Paragraphs by function, from man3/notes.txt."""
    found = {}
    with open(os.path.join(HERE, "man3", "notes.txt"), encoding="utf-8") as f:
        for text in f:
            if text.strip() and not text.startswith("#"):
                key, _, value = text.partition(":")
                found.setdefault("MPI_" + key, []).append(value.strip())
    return found


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def summary(name, texts):
    """The one line that says what a function does."""
    short = name.removeprefix("MPI_").removesuffix("_c")
    if short in texts:
        return texts[short]
    way = re.fullmatch(r"(\w+)_(toint|fromint)", short)
    if way:
        kind = {"Comm": "communicator", "Type": "datatype", "Win": "window",
                "Op": "operation", "Errhandler": "error handler"}.get(
                    way[1], way[1].lower())
        return (f"get the integer of a {kind} handle" if way[2] == "toint"
                else f"get the {kind} handle of an integer").replace(
                    " a op", " an op").replace(" a err", " an err").replace(
                    " a info", " an info")
    if short.endswith("_init"):
        return texts[short.removesuffix("_init")] + " (persistent)"
    if short.startswith("I"):
        return texts[short[1:].capitalize()] + " (nonblocking)"
    raise SystemExit(f"man3.py: summaries.txt has nothing about {name}")


def core_bodies():
    """The text of each core function, by its family."""
    found = {}
    for _, text in scan.sources():
        for m in re.finditer(r"^int wf_(?:mpi|build)_(\w+)\([^;]*?\)\n\{.*?^\}",
                             text, re.M | re.S):
            found[m[1]] = m[0]
    return found


def argument_class(p, classes):
    """The error class of a wrong argument, or None if none is checked."""
    pointer = p.direction == "out" and p.kind not in arguments.FREE_POINTERS
    if pointer:
        return None if p.kind == "STATUS" else "MPI_ERR_ARG"
    if p.kind == "RANK" and p.name == "root":
        return "MPI_ERR_ROOT"
    numbers = arguments.COUNT_KINDS | arguments.SIZE_KINDS
    if p.kind in numbers and "[" not in p.c_type and "count" in p.name \
            and "block" not in p.name:
        return "MPI_ERR_COUNT"
    return classes.get(p.kind)


class Pages:
    def __init__(self, version, suffix):
        self.version = version
        self.section = "3" + suffix.lstrip(".")
        self.functions = standard.functions()
        self.have = scan.functions()
        self.summaries = table("summaries.txt")
        kinds = {key: [part.strip() for part in text.split("|")]
                 for key, text in table("kinds.txt").items()}
        self.meaning = {key: parts[0] for key, parts in kinds.items()}
        self.classes = {key: parts[1] for key, parts in kinds.items()
                        if len(parts) > 1}
        self.bodies = core_bodies()
        self.notes = notes()

    def behaviour(self, f):
        """Error classes that follow from what the function does."""
        family = f.base.family
        if family not in rules.EARLY | rules.INITIAL and \
                not family.startswith("t_"):
            yield "MPI_ERR_OTHER"
        ends = ("init", "init_thread", "session_init")
        if family in rules.NAMED and family not in ends:
            yield "MPI_ERR_PROC_ABORTED"
        if re.search(r"recv(?!_init)|^wait|^test(?!_)", family):
            yield "MPI_ERR_TRUNCATE"
        if family in ("waitall", "waitsome", "testall", "testsome"):
            yield "MPI_ERR_IN_STATUS"

    def errors(self, f):
        """(class, why) of each error that is known of the function."""
        found = {}
        for p in f.parameters:
            error = argument_class(p, self.classes)
            if error and not f.name.startswith("MPI_T_"):
                found.setdefault(error, []).append(p.name)
        lines = {error: ", ".join(f"\\fI{escape(n)}\\fR" for n in names)
                 + (" is wrong" if len(names) == 1 else ": one is wrong")
                 for error, names in found.items()}
        for error in self.behaviour(f):
            lines.setdefault(error, BEHAVIOUR[error])
        body = self.bodies.get(f.base.family, "")
        for error in re.findall(r"\bMPI_(?:T_)?ERR_\w+", body):
            lines.setdefault(error, "a check of the function itself failed")
        return sorted(lines.items())

    def arguments(self, f):
        for p in f.parameters:
            meaning = self.meaning.get(p.kind) or (
                "handle" if p.c_type.startswith("MPI_") else "value")
            if "[" in p.c_type and not meaning.endswith("s"):
                meaning += " (array)"
            if p.root_only:
                meaning += "; significant at the root only"
            mode = MODES.get(p.direction, "")
            yield (f".TP\n\\fI{escape(p.name)}\\fR ({mode})\n"
                   f"{escape(meaning)}\n" if mode else
                   f".TP\n\\fI{escape(p.name)}\\fR\n{escape(meaning)}\n")

    def synopsis(self, f, twin):
        out = ".SH SYNOPSIS\n.nf\n#include <mpi.h>\n"
        for g in (f, twin):
            if g is not None:
                text = standard.wrap(g.prototype() + ";")
                out += "\n" + escape(text).replace("\n.", "\n\\&.") + "\n"
        return out + ".fi\n"

    def description(self, f, twin):
        title = chapter(f.name)
        text = summary(f.name, self.summaries)
        out = f".SH DESCRIPTION\n\\fB{escape(f.name)}\\fR: {escape(text)}.\n"
        if twin is not None:
            out += (f"\\fB{escape(twin.name)}\\fR is the same with large "
                    "counts.\n")
        if f.history:
            out += (".PP\nThe function is " + escape(f.history).replace(
                "deprecated ", "deprecated since ") + ".\n")
        return out + (".PP\nMPI 5.0, chapter "
                      f"{NUMBERS[title]}, \"{escape(title)}\".\n")

    def result(self, f):
        if f.returns != "int" or f.name.endswith("_toint"):
            return f".SH \"RETURN VALUE\"\nA value of type {f.returns}.\n"
        out = (".SH \"RETURN VALUE\"\n\\fBMPI_SUCCESS\\fR, or an error code. "
               + ("The function calls no error handler.\n"
                  if f.name.startswith("MPI_T_") else "The default error "
                  "handler ends the job instead of returning.\n"))
        rows = self.errors(f)
        if rows:
            out += (".SH ERRORS\nClasses that are known of this function; "
                    "others may follow from the transport.\n")
        for error, why in rows:
            out += f".TP\n\\fB{error}\\fR\n{why}.\n"
        return out

    def remarks(self, f):
        text = "\n.PP\n".join(escape(t) for t in self.notes.get(f.name, []))
        return f".SH NOTES\n{text}\n" if text else ""

    def page(self, f, twin):
        names = [f.name] + ([twin.name] if twin is not None else [])
        arguments_ = "".join(self.arguments(f))
        return (f".TH {f.name} {self.section} \"\" \"Weft {self.version}\" "
                "MPI\n.SH NAME\n"
                f"{escape(', '.join(names))} \\- "
                f"{escape(summary(f.name, self.summaries))}\n"
                + self.synopsis(f, twin)
                + (".SH ARGUMENTS\n" + arguments_ if arguments_ else "")
                + self.description(f, twin) + self.result(f)
                + self.remarks(f)
                + ".SH \"SEE ALSO\"\n\\fBmpicc\\fR(1), \\fBmpirun\\fR(1), "
                  "\\fBmpi.ini\\fR(5)\n")

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)  # what is not any more
        os.makedirs(folder)
        for name in sorted(self.have):
            f = self.functions[name]
            twin = self.functions.get(name + "_c")
            if twin is not None and (twin.base is not f or
                                     twin.name not in self.have):
                twin = None
            text = (f".so man3/{f.base.name}.{self.section}\n"
                    if f.base is not f else self.page(f, twin))
            with open(os.path.join(folder, f"{name}.{self.section}"), "w",
                      encoding="utf-8") as out:
                out.write(text)


if __name__ == "__main__":
    Pages(*(sys.argv[2:] + [""])[:2]).write(os.path.join(sys.argv[1], "man3"))
