"""Programs of other MPI libraries: one sentence, and only where it is true.

A library that has the name of another MPI's stands for it.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import sys
import tempfile
import unittest

import launch

SENTENCE = ("uses libmpi.so.40 of Open MPI and has not joined this job, so each of "
            "its {} ranks finds itself rank 0 of 1")
LIBRARY = "int MPI_Init(int *argc, char ***argv) { return 0; }\n"
PROGRAM = ("int MPI_Init(int *, char ***);\n"
           "int main(int c, char **v) { return MPI_Init(&c, &v); }\n")


class Foreign(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="foreign")
        cls.library = cls.compiled("libmpi.so.40", LIBRARY, "-shared", "-fPIC",
                                   "-Wl,-soname,libmpi.so.40")
        cls.program = cls.compiled("program", PROGRAM, cls.library,
                                   f"-Wl,-rpath,{cls.folder.name}")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compiled(cls, name, text, *options):
        path = os.path.join(cls.folder.name, name)
        subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-o", path,
                        *options], input=text, text=True, check=True)
        return path

    def test_a_program_that_is_linked_with_one(self):
        done = launch.run("-n", 3, self.program)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(done.stderr.count(SENTENCE.format(3)), 1, done.stderr)

    def test_on_another_host(self):
        with tempfile.TemporaryDirectory() as d:
            done = launch.run("--host", "a:2,b:2", "--launcher-exec",
                              launch.remote_shell(d), self.program)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(done.stderr.count(SENTENCE.format(4)), 1, done.stderr)

    def test_a_program_that_loads_one_and_runs_on(self):
        job = launch.start("-n", 2, sys.executable, "-S", "-c", "import ctypes, "
                           f"time; ctypes.CDLL({self.library!r}); "
                           "time.sleep(1000)")
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        self.assertIn(SENTENCE.format(2), job.stderr.readline())

    def test_nothing_is_said_of_one_process_or_of_other_programs(self):
        for words in (("-n", 1, self.program), ("-n", 3, "true"),
                      ("-n", 2, "sh", "-c", self.program)):
            done = launch.run(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_files_that_are_no_programs_are_read_with_care(self):
        with open(self.program, "rb") as f:
            whole = f.read()
        path = os.path.join(self.folder.name, "damaged")
        for size in (0, 1, 16, 63, 64, 100, 1000, len(whole) // 2):
            with open(path, "wb") as f:
                f.write(whole[:size])
            os.chmod(path, 0o755)
            done = launch.run("-n", 2, path)
            self.assertNotIn("Sanitizer", done.stderr)
            self.assertGreaterEqual(done.returncode, 0)


launch.main()
