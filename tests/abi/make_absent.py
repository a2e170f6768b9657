#!/usr/bin/env python3
"""Writes a table of calls of every function that is not implemented, for
absent_test.c.

  make_absent.py API_FOLDER > absent_calls.c
SPDX-License-Identifier: BSD-3-Clause
"""
import sys

sys.path.insert(0, sys.argv[1])
import absent  # noqa: E402

# Arguments that are read before the function can say that it is missing; all
# others are 0.
SELF = {"MPI_Comm": "MPI_COMM_SELF"}


def argument(p):
    c_type = p.c_type.replace("const ", "")
    if c_type in SELF:
        return SELF[c_type]
    return "NULL" if "*" in c_type or "[" in c_type else f"({c_type})0"


def call(f, name):
    return f"{name}({', '.join(argument(p) for p in f.parameters)})"


def main():
    calls, table = [], []
    for title, functions in absent.functions().items():
        for f in functions:
            for name in (f.name, "P" + f.name):
                calls.append(f"static int call_{name}(void)\n{{\n"
                             f"    return {call(f, name)};\n}}\n")
                table.append(f'    {{"{f.name}", "{title}", '
                             f"call_{name}}},\n")
    sys.stdout.write('#include "absent_test.h"\n\n' + "".join(calls) +
                     "const struct absent_call absent_calls[] = {\n" +
                     "".join(table) + "    {NULL, NULL, NULL}\n};\n")


main()
