"""The text of one C function, written line by line.

Body holds what a binding is about (its function, communicator, arguments) and
writes statements and checks; what is checked is in arguments.py.
SPDX-License-Identifier: BSD-3-Clause
"""
import re

import rules
from chapters import chapter
from standard import wrap

# Where a call more does not count, what every binding does is done out of line.
OUT_OF_LINE = {"wf_current()": "wf_api_current()",
               "wf_api_comm(": "wf_api_find_comm(",
               "wf_api_type(": "wf_api_find_type(",
               "wf_api_group(": "wf_group_of(",
               "wf_win_of_handle(": "wf_win_of("}


class Body:
    """The C text of one function, or of the body that two forms share: then
    `wf_call_now.large` says which of them was called, and `fn` is the name of the
    int function (core/report/state.h)."""

    def __init__(self, function, shared=False):
        self.f = function
        self.shared = shared
        self.family = function.base.family
        self.operation = rules.operation(self.family)
        self.out = []
        self.guard_now = None
        self.after = []     # statements once the core function succeeded
        self.args = {}      # parameter name -> argument of the core function
        self.neighborhood = self.operation.removeprefix("i").startswith(
            "neighbor_")
        self.tool = self.family.startswith("t_")
        self.early = self.family in rules.EARLY or self.tool
        self.comm = "NULL"  # expression of the communicator of the call
        # without one: of the session or group; of files that are not known the
        # handler of MPI_FILE_NULL (MPI-5.0 s14.7)
        self.about_files = (chapter(function.base.name) == "I/O" and
                            self.family not in rules.NO_FILE)
        self.object = "wf_file_null(wf)" if self.about_files else "NULL"
        self.refuse = None  # what a wrong argument needs beside its error
        self.engine_known = False   # wf is the communicator's
        self.buffers = []   # (buffer, count) waiting for their datatype

    def guard(self, condition):
        if condition == self.guard_now:
            return
        if self.guard_now:
            self.out.append("    }")
        if condition:
            self.out.append(wrap(f"if ({condition}) {{", 4))
        self.guard_now = condition

    def lessen(self, text):
        """The same with calls where the binding is small rather than fast."""
        if self.family not in rules.APART | rules.FIXED:
            for inline, far in OUT_OF_LINE.items():
                text = text.replace(inline, far)
        return text

    def line(self, text):
        text = self.lessen(text)
        m = re.match(r"(if \(wf\)) (.*)", text)
        if m:
            self.out.append("    " + m[1])
            text = "    " + m[2]
        self.out.append(wrap(text, 8 if self.guard_now else 4))

    def check(self, wrong, failure, guard=None):
        self.guard(guard)
        if self.refuse:
            failure = self.refuse.format(failure)
        self.line(f"if (wf_unlikely({wrong}))")
        self.out.append(wrap(self.lessen(f"return {failure};"),
                             12 if self.guard_now else 8))

    def bad(self, what, *args, comm=None):
        head = f"wf, {comm or self.on}, fn"
        return f"wf_bad_{what}({', '.join([head, *args])})"

    @property
    def on(self):
        """Expression of the object whose error handler is called."""
        if self.about_files or self.comm == "NULL":
            return self.object
        return self.comm
