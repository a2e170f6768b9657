#!/usr/bin/env python3
"""Writes all bindings of the standard as one C file, and core functions that
only note how they were called (bindings_test.h).

  make_fakes.py API_FOLDER > bindings_all.c
SPDX-License-Identifier: BSD-3-Clause
"""
import sys

sys.path.insert(0, sys.argv[1])
import bindings  # noqa: E402
import rules  # noqa: E402
import standard  # noqa: E402

BY_HAND = {"initialized", "finalized", "get_version", "get_library_version",
           "abi_get_version"}


def note(p):
    """The statement that notes one argument of the core function."""
    core = standard.core_type(p)
    if core == "struct wf_ints":
        return f'fake_ints("{p.name}", {p.name});'
    if core == "struct wf_polyfn":
        return f'fake_arg("{p.name}", {p.name}.large);'
    if core == "MPI_Count *":
        return f'fake_count("{p.name}", {p.name});'
    return f'fake_arg("{p.name}", (intptr_t){p.name});'


def main():
    out = sys.stdout
    families = {}
    for f in standard.functions().values():
        if f.returns == "int" and "_toint" not in f.name:
            families.setdefault(f.base.family, f.base)
    out.write('#include "api/check.h"\n#include "api/handle_int.h"\n'
              '#include "core_api.h"\n#include "bindings_test.h"\n')
    for family, f in families.items():
        out.write(f"\n{standard.core_prototype(f)}\n{{\n"
                  f'    fake_begin("{family}", wf);\n')
        for p in f.parameters:
            out.write(f"    {note(p)}\n")
        out.write("    return fake_end();\n}\n")
    integers = {f"{k}_{w}int" for k in rules.INTEGER_HANDLES
                for w in ("to", "from")}
    for text in bindings.files((set(families) - BY_HAND) | integers).values():
        out.write("\n" + text)


main()
