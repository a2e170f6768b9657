#!/usr/bin/env python3
"""Writes a program that holds mpi.h against the tables of the standard.

  make_checks.py TABLES c|c++ > checks

Reads the tables by itself, not through core/api/standard.py, so that a fault
there is seen here. Prototypes are compared as types, which needs no library.
SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import re
import sys

VARIADIC = {"MPI_Pcontrol"}  # the tables have no "..."
HANDLES = ("Comm Datatype Errhandler File Group Info Message Op Request "
           "Session Win T_cvar_handle T_enum T_event_instance "
           "T_event_registration T_pvar_handle T_pvar_session").split()
INTEGER_TYPES = {"MPI_Aint": "intptr_t", "MPI_Offset": "int64_t",
                 "MPI_Count": "int64_t"}

C_TOP = """\
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "mpi.h"
#define SAME(expression, type) \\
    _Static_assert(_Generic((expression), type: 1, default: 0), #expression)
#define SAME_TYPE(a, b) SAME(*(a *)0, b)
#define HOLDS(condition) _Static_assert(condition, #condition)
"""
CXX_TOP = """\
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include "mpi.h"
#define SAME(expression, wanted) \\
    static_assert(std::is_same<std::decay<decltype(expression)>::type, \\
                               wanted>::value, #expression)
#define SAME_TYPE(a, b) static_assert(std::is_same<a, b>::value, #a)
#define HOLDS(condition) static_assert(condition, #condition)
"""


def rows(folder, name):
    with open(os.path.join(folder, name), newline="") as f:
        return list(csv.DictReader(f))


def argument(c_type):
    """The type a parameter has once arrays have become pointers."""
    m = re.match(r"^(.*?)((?:\[\d*\])+)$", c_type)
    if not m:
        return c_type
    more = m[2][m[2].index("]") + 1:]
    return f"{m[1]} (*){more}" if more else f"{m[1]} *"


def integers(out, constants):
    for c in constants:
        if c["c_type"] not in ("enum int", "int"):
            continue
        name, value = c["name"], c["value"]
        out.write(f"HOLDS((int){name} == {value});\n")
        if c["c_type"] == "int":
            out.write(f"SAME({name}, int);\n"
                      f"#if {name} != {value}\n#error {name}\n#endif\n")


def pointers(out, constants):
    """Types, values, and use in the initialiser of a static object."""
    out.write("static const struct {\n    const char *name;\n"
              "    uintptr_t is, must;\n} values[] = {\n")
    held = [c for c in constants
            if c["c_type"] not in ("enum int", "int", "alias")]
    value_of = {c["name"]: c["value"] for c in constants}
    for c in constants:
        if c in held or c["c_type"] == "alias":
            must = value_of.get(c["value"], c["value"])
            out.write(f'    {{"{c["name"]}", (uintptr_t){c["name"]}, '
                      f"(uintptr_t)({must})}},\n")
    out.write("};\n")
    for c in held:
        c_type = c["c_type"]
        out.write(f"SAME({c['name']}, {c_type});\n"
                  f"static {c_type} object_{c['name']} = {c['name']};\n")
    out.write("int main(void)\n{\n    int bad = 0;\n")
    for c in held:
        out.write(f"    (void)object_{c['name']};\n")
    out.write("    for (size_t i = 0; i < sizeof(values) / sizeof(*values); "
              "i++)\n        if (values[i].is != values[i].must) {\n"
              '            printf("%s is %#lx, not %#lx\\n", values[i].name,\n'
              "                   (unsigned long)values[i].is,\n"
              "                   (unsigned long)values[i].must);\n"
              "            bad = 1;\n        }\n    return bad;\n}\n")


def prototypes(out, folder):
    parameters = {}
    for p in rows(folder, "parameters.csv"):
        parameters.setdefault(p["function"], []).append(argument(p["c_type"]))
    functions = rows(folder, "functions.csv")
    for f in functions:
        types = list(parameters.get(f["name"], ["void"]))
        if f["name"] in VARIADIC:
            types.append("...")
        for name in (f["name"], "P" + f["name"]):
            out.write(f"typedef {f['returns']} (*type_{name})"
                      f"({', '.join(types)});\n"
                      f"SAME(&{name}, type_{name});\n")
    return len(functions)


def types(out, folder):
    for c in rows(folder, "callbacks.csv"):
        out.write(f"typedef {c['returns']} (*type_{c['name']})"
                  f"({c['parameters']});\n"
                  f"SAME(({c['name']} *)0, type_{c['name']});\n")
    for h in HANDLES:
        out.write(f"SAME_TYPE(MPI_{h}, struct MPI_ABI_{h} *);\n")
    for name, is_type in INTEGER_TYPES.items():
        out.write(f"SAME_TYPE({name}, {is_type});\n")
    out.write("HOLDS(sizeof(MPI_Status) == 8 * sizeof(int));\n")
    for i, field in enumerate("MPI_SOURCE MPI_TAG MPI_ERROR MPI_internal"
                              .split()):
        out.write(f"HOLDS(offsetof(MPI_Status, {field}) == {i} * "
                  "sizeof(int));\n")
    # C++ takes an enumerator only for its own type
    out.write("MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE;\n"
              "MPI_T_source_order order = MPI_T_SOURCE_ORDERED;\n"
              "HOLDS(sizeof(MPI_T_cb_safety) == sizeof(int));\n"
              "HOLDS(sizeof(MPI_T_source_order) == sizeof(int));\n")


def main():
    folder, cxx, out = sys.argv[1], sys.argv[2] == "c++", sys.stdout
    constants = rows(folder, "constants.csv")
    out.write(CXX_TOP if cxx else C_TOP)
    integers(out, constants)
    types(out, folder)
    if prototypes(out, folder) != 664:
        sys.exit("the standard has 664 functions")
    pointers(out, constants)


main()
