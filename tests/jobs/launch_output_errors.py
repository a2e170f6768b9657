"""Output that cannot be written: a full device, a limit, a reader that is gone.
It is said once, the status says it, and nothing hangs.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import resource
import subprocess
import tempfile
import unittest

import launch

BUILD = os.path.abspath(os.environ.get("BUILD_OF_WEFT", "build"))
INFO = os.path.join(BUILD, "bin", "weft-info")
LIMIT = 1000  # bytes of a file
SAID = "cannot write to standard output: "
SPACE, LARGE, PIPE = ("No space left on device", "File too large",
                      "Broken pipe")
LINES = "i=0; while [ $i -lt 200 ]; do echo 12345678901234567890; " \
        "i=$((i+1)); done"


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def run(*words, stdout, stderr=subprocess.PIPE, limit=False):
    return subprocess.run(list(words), stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=stderr, text=True, timeout=launch.LIMIT,
                          preexec_fn=limited if limit else None)


def full():
    return open("/dev/full", "wb", buffering=0)


def no_reader():
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "wb")


class OfMpirun(unittest.TestCase):
    """mpirun writes itself, and says once what it cannot write."""

    def lost(self, done, why):
        self.assertEqual(done.stderr.count("mpirun: " + SAID), 1, done.stderr)
        self.assertIn(SAID + why, done.stderr)
        self.assertNotEqual(done.returncode, 0)


class Tagged(OfMpirun):
    """mpirun -l writes itself."""
    COMMAND = (launch.MPIRUN, "-l", "-n", "2")

    def test_a_full_device(self):
        with full() as out:
            self.lost(run(*self.COMMAND, "echo", "x", stdout=out), SPACE)

    def test_ranks_that_end_well_have_a_status_of_their_own(self):
        with full() as out:
            done = run(launch.MPIRUN, "-l", "-n", "1", "echo", "x", stdout=out)
        self.assertEqual(done.returncode, os.EX_IOERR, done.stderr)

    def test_a_limit_on_the_size_of_files(self):
        with tempfile.NamedTemporaryFile() as out:
            self.lost(run(*self.COMMAND, "sh", "-c", LINES, stdout=out,
                          limit=True), LARGE)
            self.assertEqual(os.path.getsize(out.name), LIMIT)

    def test_a_reader_that_is_gone(self):
        with no_reader() as out:
            self.lost(run(*self.COMMAND, "echo", "x", stdout=out), PIPE)

    def test_ranks_that_write_for_ever_end(self):
        for make in (full, no_reader):
            with make() as out:
                done = run(*self.COMMAND, "yes", stdout=out)
                self.assertIn(SAID, done.stderr)
                self.assertNotEqual(done.returncode, 0)

    def test_errors_that_nobody_can_be_told(self):
        with full() as err:
            done = run(*self.COMMAND, "sh", "-c", "echo x >&2",
                       stdout=subprocess.PIPE, stderr=err)
        self.assertNotEqual(done.returncode, 0)


class Direct(unittest.TestCase):
    """Without tags the ranks write themselves."""

    def test_a_limit_on_the_size_of_files(self):
        with tempfile.NamedTemporaryFile() as out:
            done = run(launch.MPIRUN, "-n", "1", "sh", "-c", LINES, stdout=out,
                       limit=True)
            self.assertEqual(os.path.getsize(out.name), LIMIT)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "File size limit|File too large|status")

    def test_a_message_of_mpirun_that_cannot_be_written(self):
        with full() as err:
            done = run(launch.MPIRUN, "-n", "1", "-v", "true",
                       stdout=subprocess.PIPE, stderr=err)
        self.assertEqual(done.returncode, os.EX_IOERR)

    def test_help_that_cannot_be_written(self):
        for option in ("--help", "--version"):
            with full() as out:
                done = run(launch.MPIRUN, option, stdout=out)
            self.assertEqual(done.returncode, os.EX_IOERR)
            self.assertIn("mpirun: " + SAID + SPACE, done.stderr)


class Remote(OfMpirun):
    """mpirun writes what the ranks of another host wrote."""

    def run_far(self, out, *program, limit=False):
        with tempfile.TemporaryDirectory() as d:
            return run(launch.MPIRUN, "--host", "a.example", "--launcher-exec",
                       launch.remote_shell(d), *program, stdout=out,
                       limit=limit)

    def test_a_full_device(self):
        with full() as out:
            done = self.run_far(out, "echo", "x")
            self.lost(done, SPACE)
            self.assertEqual(done.returncode, os.EX_IOERR)

    def test_a_reader_that_is_gone(self):
        with no_reader() as out:
            self.lost(self.run_far(out, "echo", "x"), PIPE)

    def test_a_limit_on_the_size_of_files(self):
        with tempfile.NamedTemporaryFile() as out:
            self.lost(self.run_far(out, "sh", "-c", LINES, limit=True), LARGE)
            self.assertEqual(os.path.getsize(out.name), LIMIT)

    def test_a_rank_that_writes_for_ever_ends(self):
        with full() as out:
            self.lost(self.run_far(out, "yes"), SPACE)


class Info(unittest.TestCase):
    def lost(self, done, why):
        self.assertEqual(done.returncode, os.EX_IOERR)
        self.assertIn("weft-info: " + SAID + why, done.stderr)

    def test_a_full_device(self):
        for words in ([], ["--help"], ["--version"], ["--json"]):
            with full() as out:
                self.lost(run(INFO, *words, stdout=out), SPACE)

    def test_a_reader_that_is_gone(self):
        with no_reader() as out:
            self.lost(run(INFO, stdout=out), PIPE)

    def test_a_limit_on_the_size_of_files(self):
        with tempfile.NamedTemporaryFile() as out:
            self.lost(run(INFO, stdout=out, limit=True), LARGE)


launch.main()
