"""Writes the bindings: one C file per function family, with the int function,
its large-count twin, their argument checks, and the weak public names.
SPDX-License-Identifier: BSD-3-Clause
"""
import re

import file_access
import forms
import rules
import standard
from arguments import Arguments
from chapters import call_class
from short_way import ShortWay
from standard import wrap


class Binding(Arguments):
    """The arguments, the call of the core function, and what follows."""

    def call(self):
        args = ["wf"] + [self.args.get(p.name, p.name)
                         for p in self.f.parameters]
        core = f"int rc = wf_mpi_{self.family}({', '.join(args)});"
        self.guard(None)
        named_inside = self.family in forms.SHARED
        if self.family in rules.NAMED and not named_inside:
            self.line("wf_call_name = fn;")
        if self.family in rules.FIXED:
            core = core.removeprefix("int rc = ")
            self.line(core if self.after else f"return {core}")
            return
        if self.family in rules.OUTSIDE:
            self.line(core)
            self.failure("wf_current()")
            return
        self.engine()
        enter, leave = self.section()
        mark = self.f.large and not self.shared and \
            (named_inside or self.family in rules.LARGE_CALLS)
        if self.family in rules.ONE_SIDED:
            self.line(core)
            self.failure("wf")
            return
        several = self.family in rules.SEVERAL
        if several:
            self.several(args)
        self.line(enter)
        if mark:
            self.line("wf_call_now.large = true;")
        self.line(core.removeprefix("int ") if several else core)
        if mark:
            self.line("wf_call_now.large = false;")
        if not leave:
            self.line(f"rc = wf_api_end(wf, {self.on}, fn, rc);")
            self.failed("rc", "if (rc)")
            return
        self.line(leave)
        if several:
            self.line("}")
        self.failure("wf")

    def failure(self, instance):
        """What follows a core function that failed."""
        if self.tool:  # MPI-5.0 s15.3.3: no error handlers in the tool chapter
            self.failed("rc", "if (rc)")
        else:
            self.failed(f"wf_raise({instance}, {self.on}, fn, rc)",
                        "if (wf_unlikely(rc))")

    def failed(self, result, condition):
        """Returns result under the condition. There is no request then, and a
        program that looks at it all the same finds the null request."""
        made = [p.name for p in self.f.parameters
                if (p.kind, p.direction) == ("REQUEST", "out")]
        if not made:
            self.line(condition)
            self.out.append(f"        return {result};")
            return
        self.line(condition + " {")
        for name in made:
            self.line(f"    *{name} = MPI_REQUEST_NULL;")
        self.out.append(f"        return {result};")
        self.line("}")

    def section(self):
        """How the section is entered and left; no way to leave it where that
        and raising an error are one call."""
        if self.early:
            return "wf_api_enter_early(wf);", "wf_api_leave_early(wf);"
        if self.family in rules.BRIEF:
            return "wf_enter_call(wf);", "wf_leave_call(wf);"
        if self.family in rules.HOT:
            return "wf_enter_api(wf);", "wf_leave_api(wf);"
        if self.family in rules.APART or self.family in rules.SEVERAL:
            return "wf_api_enter(wf);", "wf_api_leave(wf);"
        return "wf_api_lock(&wf->api);", None

    def engine(self):
        """The engine of what the call is about: core/progress/engines.h."""
        if self.early or self.family in rules.SEVERAL:
            return
        if self.comm != "NULL":
            self.engine_of_comm()
            return
        for p in self.f.parameters:
            if p.kind in ("WINDOW", "FILE") and p.direction != "out":
                what = "win" if p.kind == "WINDOW" else "file"
                engine = f"wf_{what}_engine({p.name}_p)"
                if what == "win" and self.family in rules.APART:
                    engine = f"{p.name}_p->wf"
                if self.family in rules.NULL_NAMED:
                    self.line(f"if ({p.name}_p)")
                self.line(f"    wf = {engine};"
                          if self.family in rules.NULL_NAMED else
                          f"wf = {engine};")
                return
        for p in self.f.parameters:
            if p.kind in ("REQUEST", "MESSAGE") and p.direction != "out" and \
                    "[" not in p.c_type:
                what = p.kind.lower()
                star = "*" if p.c_type.endswith("*") else ""
                self.line(f"wf = wf_api_engine_of_{what}(wf, {star}{p.name});")

    def several(self, args):
        """Requests of several engines take another way."""
        array = next(p for p in self.f.parameters if p.kind == "REQUEST")
        self.line(f"struct wf_engines *engines = wf_api_engines_of(&wf, "
                  f"{self.length(array)}, {array.name});")
        self.line("int rc;")
        self.line("if (wf_unlikely(engines != NULL)) {")
        self.line(f"    rc = engines->ops->{self.family}({', '.join(args)});")
        self.line("} else {")

    def declare(self, p):
        """A parameter of a shared body."""
        if standard.core_type(p) == "struct wf_ints":
            return f"const void *{p.name}"
        return p.declare()

    def shared_head(self):
        args = ", ".join(self.declare(p) for p in self.f.parameters)
        self.out.append(wrap("static WF_SLOW_PATH int "
                             f"either_{self.f.base.name}({args})") + "\n{")

    def text(self):
        if self.family in rules.SHORT:
            self.out = ShortWay(self.f).text()
        elif self.shared:
            self.shared_head()
        elif self.family in rules.ONE_SIDED_SHORT:
            self.short_of_memory()
        elif self.family in rules.QUERIES:
            self.out = Binding(self.f).usual_query()
        else:
            self.out.append(wrap(self.f.prototype("P" + self.f.name)) + "\n{")
        self.timed()
        self.body()
        if self.shared:
            return "\n".join(self.out) + "\n\n" + self.either()
        self.out.append(f"WF_WEAK({self.f.name});")
        text = "\n".join(self.out) + "\n"
        if self.tool and text.count("fn") == 1:
            text = re.sub(r"    static const char fn\[\].*\n", "", text)
        return text

    def body(self):
        """The checks, the call, and what follows."""
        self.prologue()
        self.communicators()
        self.window_or_file()
        self.own_handler()
        # a rank of another communicator: where more is wrong, MPICH and Open
        # MPI name that, and programs look at the class
        for p in sorted(self.f.parameters,
                        key=lambda p: p.name == "remote_leader"):
            self.parameter(p)
        self.call()
        for statement in self.after:
            if isinstance(statement, tuple):
                self.check(*statement)
            else:
                self.line(statement)
        if self.after or self.family not in rules.FIXED:
            self.line("return MPI_SUCCESS;")
        self.out.append("}")

    def usual_query(self):
        """The lines of a function of rules.QUERIES without its errors, and the head of
        the rest: it has nothing to keep across a call."""
        name = self.f.name
        long = wrap("static WF_COLD WF_SLOW_PATH "
                    f"{self.f.prototype('long_' + name)}")
        rest = ", ".join(p.name for p in self.f.parameters)
        self.refuse = f"long_{name}({rest})" # in place of the error
        self.out = [long + ";", wrap(self.f.prototype("P" + name)) + "\n{"]
        self.check("wf_call_is_timed()", "")
        self.body()
        return [line for line in self.out if " fn[] = " not in line] + \
            ["", long + "\n{"]

    def try_short(self):
        """The lines that try the usual one-sided call."""
        family = self.family
        if family not in rules.ONE_SIDED_SHORT:
            return ""
        test = wrap(f"if (wf_likely(wf_rma_fast_{family.removeprefix('win_')}("
                    f"{rules.ONE_SIDED_SHORT[family]})))", 4)
        return test + "\n        return MPI_SUCCESS;\n"

    def short_of_memory(self):
        """A function that tries the usual call, and the head of the rest."""
        name = self.f.name
        long = wrap(f"static WF_SLOW_PATH {self.f.prototype('long_' + name)}")
        rest = ", ".join(p.name for p in self.f.parameters)
        self.out = [long + ";", wrap(self.f.prototype("P" + name)) + "\n{",
                    self.try_short() + f"    return long_{name}({rest});\n}}\n",
                    long + "\n{"]

    def timed(self):
        """A call whose time is measured calls itself once more. One that may
        move nothing is measured behind the question whether it does:
        wf_coll_run_shared."""
        if self.early or self.family in rules.OUTSIDE or \
                self.family in forms.NOTHING:
            return
        names = [p.name for p in self.f.parameters]
        if self.shared:
            again = f"either_{self.f.base.name}"
        elif self.family in rules.QUERIES or self.family in rules.SHORT or \
                self.family in rules.ONE_SIDED_SHORT:
            again = f"long_{self.f.name}"
        else:
            again = f"P{self.f.name}"
        self.line("if (wf_call_is_timed() && wf_call_begin())")
        self.line(f"    return wf_call_end(WF_CALL_{call_class(self.f.name)}, "
                  f"{again}({', '.join(names)}));")

    def either(self):
        """The two functions that share the body. The int function of a short way
        is there already, and takes what an int can hold."""
        base, name = self.f.base, self.f.name
        args = ", ".join(p.name for p in self.f.parameters)
        call = f"either_{base.name}({args})"
        small = ""
        if self.family in rules.SHORT:
            ints = args.replace(" count,", " (int)count,")
            call = ("wf_likely(count == (int)count) ? "
                    f"P{base.name}({ints}) : {call}")
        else:
            jumps = not self.try_short() and self.family not in rules.HOT
            small = (wrap("WF_PASSES_ON " * jumps +
                          base.prototype("P" + base.name)) +
                     "\n{\n" + self.try_short() +
                     wrap(f"return {call};", 4) + "\n}\n")
        return (small + f"WF_WEAK({base.name});\n\n" +
                wrap(self.f.prototype("P" + name)) + "\n{\n" +
                self.try_short() +
                "    wf_call_now.large = true;\n" +
                wrap(f"int rc = {call};", 4) +
                "\n    wf_call_now.large = false;\n    return rc;\n}\n" +
                f"WF_WEAK({name});\n")


def shares(functions):
    """Whether these twins differ in the width of what is passed at most."""
    if len(functions) != 2:
        return False
    small, large = sorted(functions, key=lambda f: f.large)
    return large.base is small and all(
        p.c_type == q.c_type or
        ("*" not in p.c_type and p.kind != "POLYFUNCTION")
        for p, q in zip(small.parameters, large.parameters))


def bodies(functions):
    """The text of each binding of a family."""
    if shares(functions):
        return [Binding(next(f for f in functions if f.large), True).text()]
    return [Binding(f).text() for f in functions]


def integer_handle(function):
    """MPI_X_toint or MPI_X_fromint (MPI-5.0 s2.5.8)."""
    p = function.parameters[0]
    name = function.name
    if name.endswith("_toint"):
        body = f'return wf_handle_toint("{name}", {p.name});'
    else:
        body = (f'return ({function.returns})wf_handle_fromint("{name}", '
                f'{p.name});')
    return (f"{function.prototype('P' + name)}\n{{\n    {body}\n}}\n"
            f"WF_WEAK({name});\n")


def files(families):
    """{file name: text} of the bindings of these families."""
    out = {}
    by_family = {}
    for f in standard.functions().values():
        by_family.setdefault(f.base.family, []).append(f)
    for family in sorted(families):
        functions = by_family[family]
        names = ", ".join(f.name for f in functions)
        head = (f"/* {names}. Generated by core/api. */\n"
                '#include "api/check.h"\n')
        if family.endswith(("_toint", "_fromint")):
            head += '#include "api/handle_int.h"\n'
            body = [integer_handle(f) for f in functions]
        elif family in file_access.FAMILIES:
            head = head.replace("check.h", "file_access.h")
            body = [file_access.texts(functions)]
        else:
            head += '#include "core_api.h"\n'
            if family in rules.SHORT:
                head += '#include "protocol/fastpath.h"\n'
            if family in rules.ONE_SIDED_SHORT:
                head += '#include "rma/fastpath.h"\n'
            if family in rules.APART and any(p.kind == "WINDOW" for f in functions
                                             for p in f.parameters):
                head += '#include "rma/win.h"\n'
            if family in rules.FILE_AGREED:
                head += '#include "io/file.h"\n#include "io/vote.h"\n'
            body = bodies(functions)
        out[f"mpi_{family}.c"] = head + "\n" + "\n".join(body)
    return out
