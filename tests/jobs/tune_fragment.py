"""weft-info --tune: its fragment is a configuration that works.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["BUILD_OF_WEFT"]) / "bin"


def info(*words, **more):
    return subprocess.run([BIN / "weft-info", *words], capture_output=True,
                          text=True, timeout=240, check=False, **more)


class Fragment(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Measured for a moment, where nothing can be written."""
        with tempfile.TemporaryDirectory() as d:
            os.chmod(d, 0o555)
            cls.done = info("--tune", "--seconds", "0", cwd=d,
                            env={"WEFT_SET": "transport.shm.enable=no"})
            cls.left = os.listdir(d)
        handle, cls.file = tempfile.mkstemp(suffix=".ini")
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(cls.done.stdout)

    @classmethod
    def tearDownClass(cls):
        os.unlink(cls.file)

    def test_nothing_is_left_in_the_directory(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.left, [])

    def test_every_value_is_accepted(self):
        checked = info("--check", self.file)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        # also by the plugins, which know their ranges
        report = info("--json", "--ini", self.file)
        self.assertEqual(report.returncode, 0, report.stderr)
        transports = {t["name"]: t for t in
                      json.loads(report.stdout)["transports"]}
        for key in ("chunk", "eager", "ring"):
            options = {o["key"]: o for o in transports["shm"]["options"]}
            self.assertIn(self.file.rsplit("/", 1)[1], options[key]["set"])

    def test_every_value_stands_under_its_measurement(self):
        lines = self.done.stdout.splitlines()
        keys = [line.split(" = ")[0] for line in lines if " = " in line
                and not line.startswith("#")]
        for key in ("spin", "latency", "bandwidth", "eager", "chunk", "cell",
                    "ring", "frame", "congestion"):
            self.assertIn(key, keys)
        for before, line in zip(lines, lines[1:]):
            if re.match("(spin|eager|chunk|frame|congestion) = ", line):
                self.assertRegex(before, "^# .*us.*[0-9]")

    def test_a_job_runs_with_it(self):
        done = subprocess.run([BIN / "mpirun", "-n", "2", "--ini", self.file,
                               BIN.parent / "examples" / "ring"],
                              capture_output=True, text=True, timeout=240,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Collectives(unittest.TestCase):
    def test_the_fragment_of_one_collective_is_accepted(self):
        done = info("--tune-collectives", "--collective", "scan", "--ranks",
                    "2", "--seconds", "0",
                    env={"WEFT_SET": "collectives.scan=chain"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("auto", "chain", "recursive_doubling"):
            self.assertRegex(done.stdout, f"#   {name} +[0-9.]+ ")
        self.assertRegex(done.stdout, "\nscan = ")
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as f:
            f.write(done.stdout)
            f.flush()
            checked = info("--check", f.name)
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_a_fragment_with_rules_changes_the_choice(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as f:
            f.write("[collectives]\nscan = recursive_doubling 64-511 "
                    "ranks:4\n")
            f.flush()
            drawn = [info("--ini", f.name, "--collective", "scan", "--size",
                          size, "--ranks", "4").stdout.splitlines()[1]
                     for size in ("500", "600")]
        self.assertIn("recursive_doubling", drawn[0])
        self.assertNotIn("recursive_doubling", drawn[1])

    def test_wrong_words_are_explained(self):
        for words in (["--ranks", "1"], ["--collective", "scam"]):
            done = info("--tune-collectives", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("takes --ranks 2..256", done.stderr)


class Without(unittest.TestCase):
    def test_a_launcher_the_remedy_is_named(self):
        with tempfile.TemporaryDirectory() as d:
            alone = Path(d) / "weft-info"
            alone.write_bytes((BIN / "weft-info").read_bytes())
            alone.chmod(0o755)
            done = subprocess.run([alone, "--tune", "--seconds", "0"],
                                  capture_output=True, text=True, timeout=240,
                                  check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("mpirun beside weft-info", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
