#!/usr/bin/env python3
"""Checks the models of protocols with SPIN; skipped where that is not.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))


def violated(model, *defines):
    """Does any run of the model break a claim?"""
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            return subprocess.run(words, cwd=folder, capture_output=True,
                                  text=True, timeout=250)

        made = run("spin", "-a", *defines, os.path.join(HERE, model))
        if not os.path.exists(os.path.join(folder, "pan.c")):
            raise RuntimeError(made.stdout + made.stderr)
        built = run(os.environ.get("CC", "cc"), "-O1", "-w", "-DSAFETY",
                    "-o", "pan", "pan.c")
        if built.returncode:
            raise RuntimeError(built.stderr)
        said = run("./pan", "-m100000").stdout
        if "max search depth too small" in said or "errors:" not in said:
            raise RuntimeError(said)
        return "errors: 0" not in said


class UdpLink(unittest.TestCase):
    def test_it_keeps_its_claims(self):
        self.assertFalse(violated("udp_link.pml"))

    def test_it_comes_to_an_end(self):
        self.assertTrue(violated("udp_link.pml", "-DREACH"))

    def test_the_same_id_again_ends_a_call(self):
        self.assertTrue(violated("udp_link.pml", "-DKEEP_ID"))

    def test_judging_early_loses_the_last_words(self):
        self.assertTrue(violated("udp_link.pml", "-DJUDGE_EARLY"))


if __name__ == "__main__":
    if not shutil.which("spin"):
        print("skipped: spin is not installed")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
