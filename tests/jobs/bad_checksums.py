"""Two processes that do not agree about checksums say so, and nobody waits.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import tempfile
import unittest

import launch

PROGRAM = os.path.join(os.environ.get("JOBS", "."), "job_bad_checksums")


class Checksums(unittest.TestCase):
    def run_with(self, *crc):
        """Two ranks on two nodes, each with a configuration of its own."""
        with tempfile.TemporaryDirectory(prefix="checksums") as folder:
            words = []
            for rank, value in enumerate(crc):
                path = os.path.join(folder, f"{rank}.ini")
                with open(path, "w", encoding="ascii") as f:
                    f.write("[core]\ncheck = no\n"
                            f"[route all]\nuse = tcp\ncrc = {value}\n")
                os.chmod(path, 0o600)
                words += [":"] * rank + ["-n", 1, "env", f"WEFT_INI={path}",
                                         PROGRAM]
            return launch.run("--continuous", "--nodes", 2, "--timeout", 30,
                              *words)

    def test_a_side_that_asks_for_them_takes_nothing_without(self):
        r = self.run_with("auto", "no")
        self.assertRegex(r.stdout, r"rank 0: .*process 1 on \S+ is gone: it sends "
                         r"without checksums by transport 'tcp'.*give both the "
                         r"same crc")
        self.assertNotIn("exchanged", r.stdout)
        self.assertNotEqual(r.returncode, 124, r.stderr)

    def test_who_agrees_works(self):
        for value in ("auto", "no", "yes"):
            with self.subTest(crc=value):
                r = self.run_with(value, value)
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertEqual(r.stdout.count("exchanged"), 2)


if __name__ == "__main__":
    launch.main()
