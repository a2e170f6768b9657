#!/usr/bin/env python3
"""A generated file that is checked in says what the generator says today.

  up_to_date.py GENERATOR COMMAND FILE
SPDX-License-Identifier: BSD-3-Clause
"""
import difflib
import subprocess
import sys

generator, command, path = sys.argv[1:4]
want = subprocess.run([sys.executable, "-B", generator, command], check=True,
                      stdout=subprocess.PIPE, text=True).stdout
with open(path) as f:
    have = f.read()
if want != have:
    sys.stdout.writelines(list(difflib.unified_diff(
        have.splitlines(True), want.splitlines(True), path, "generated"))[:60])
    sys.exit(f"out of date; run: python3 core/api/generate.py {command} "
             f"{path}")
