"""Where what ranks write goes: prefixes, the time, one stream, files.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile
import unittest

import launch

SAY = ["sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2"]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def good(self, *args, **kw):
        done = launch.run(*args, cwd=self.folder, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def read(self, *path):
        with open(os.path.join(self.folder, *path), "rb") as f:
            return f.read().decode("latin1")

    def test_the_time_is_in_front(self):
        done = self.good("-n", 1, "--timestamp-output", "echo", "x")
        self.assertRegex(done.stdout,
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} x\n$")
        for how in (["--timestamp-output", "-l"], ["--output", "tag,timestamp"]):
            done = self.good("-n", 1, *how, "echo", "x")
            self.assertRegex(done.stdout, r"^\[0\] \d{4}-\S+ x\n$")

    def test_a_prefix_of_ones_own(self):
        done = self.good("-n", 2, "--nodes", 2, "-prepend-pattern", "<%r@%p%%> ",
                         "echo", "x")
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["<0@0%> x", "<1@1%> x"])
        done = launch.run("-prepend-pattern", "%z", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("%z", done.stderr)

    def test_both_streams_in_one(self):
        for how in (["--merge-stderr-to-stdout"], ["--output=merge"],
                    ["--merge-stderr-to-stdout", "-l"]):
            done = self.good("-n", 1, *how, "sh", "-c",
                             "for i in 1 2 3; do echo o$i; echo e$i >&2; done")
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout.replace("[0] ", "").split(),
                             "o1 e1 o2 e2 o3 e3".split())

    def test_a_folder_for_the_job(self):
        for option in ("--output-filename", "--output-directory"):
            done = self.good("-n", 11, option, "a/b", *SAY)
            self.assertEqual(sorted(done.stdout.split())[:11],
                             sorted(map(str, range(11))))
            self.assertEqual(done.stderr.count("err"), 11)
            self.assertEqual(self.read("a/b/1/rank.03/stdout"), "out 3\n")
            self.assertEqual(self.read("a/b/1/rank.10/stderr"), "err 10\n")

    def test_a_folder_only(self):
        for how in (["--output-filename", "d:nocopy,nojobid"],
                    ["--output", "dir=d,nocopy,nojobid"]):
            done = self.good("-n", 2, *how, *SAY)
            self.assertEqual((done.stdout, done.stderr), ("", ""))
            self.assertEqual(self.read("d/rank.1/stdout"), "out 1\n")

    def test_one_stream_in_files(self):
        self.good("-n", 2, "--merge-stderr-to-stdout", "--output-filename",
                  "d:nocopy", *SAY)
        self.assertEqual(self.read("d/1/rank.1/stdout"), "out 1\nerr 1\n")
        self.assertFalse(os.path.exists(f"{self.folder}/d/1/rank.1/stderr"))

    def test_files_by_pattern(self):
        done = self.good("-n", 2, "-outfile-pattern", "o.%r", *SAY)
        self.assertEqual((done.stdout, sorted(done.stderr.splitlines())),
                         ("", ["err 0", "err 1"]))
        done = self.good("-n", 2, "-outfile-pattern", "o.%r", "-errfile-pattern",
                         "e.%r", *SAY)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertEqual((self.read("o.1"), self.read("e.0")),
                         ("out 1\n", "err 0\n"))

    def test_one_file_for_all(self):
        self.good("-n", 3, "-l", "-outfile-pattern", "all", "-errfile-pattern",
                  "all", *SAY)
        self.assertEqual(sorted(self.read("all").splitlines()),
                         sorted(f"[{r}] {s} {r}" for r in range(3)
                                for s in ("out", "err")))

    def test_files_are_byte_exact(self):
        self.good("-n", 2, "-outfile-pattern", "o.%r", "sh", "-c",
                  "head -c 3000000 /dev/urandom | tee raw.$PMI_RANK; printf x "
                  "| tee -a raw.$PMI_RANK")
        for rank in "01":
            self.assertEqual(self.read("o." + rank), self.read("raw." + rank))

    def test_what_a_rank_says_before_it_ends_is_in_its_file(self):
        done = launch.run("-n", 1, "-errfile-pattern", "e", "sh", "-c",
                          "echo last >&2; exit 3", cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(self.read("e"), "last\n")
        self.assertIn("exited with status 3", done.stderr)

    def test_ranks_of_other_hosts_have_their_files_here(self):
        self.good("-H", "nodea,nodeb", "--launcher-exec",
                  launch.remote_shell(self.folder), "-outfile-pattern",
                  "o.%h.%r", "--merge-stderr-to-stdout", *SAY)
        self.assertEqual(self.read("o.nodea.0"), "out 0\nerr 0\n")
        self.assertEqual(self.read("o.nodeb.1"), "out 1\nerr 1\n")

    def test_a_file_that_cannot_be_created_is_named_before_the_start(self):
        done = launch.run("-n", 2, "-outfile-pattern", "/proc/no/o.%r", "touch",
                          "started", cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot create /proc/no/o.0: ", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_full_device_is_named(self):
        done = launch.run("-n", 2, "-outfile-pattern", "/dev/full", "echo", "x")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("cannot write to /dev/full: No space"),
                         1, done.stderr)
        done = launch.run("-n", 1, "-q", "-outfile-pattern", "/dev/full", "yes")
        self.assertNotEqual(done.returncode, 0)

    def test_a_reader_of_a_pipe_that_is_slow_gets_all(self):
        os.mkfifo(f"{self.folder}/pipe")
        end = os.open(f"{self.folder}/pipe", os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(end, True)
        with subprocess.Popen(["sh", "-c", "sleep 0.2; wc -c"], stdin=end,
                              stdout=subprocess.PIPE) as reader:
            os.close(end)
            self.good("-n", 1, "-outfile-pattern", "pipe", "head", "-c",
                      4000000, "/dev/zero")
            self.assertEqual(reader.stdout.read().split(), [b"4000000"])

    def test_a_pipe_that_nobody_reads_is_refused(self):
        os.mkfifo(f"{self.folder}/pipe")
        done = launch.run("-n", 1, "-outfile-pattern", "pipe", "true",
                          cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot create pipe: ", done.stderr)

    def test_what_is_not_there_is_refused(self):
        for how, said in ((["--xml"], "--tag-output"),
                          (["--output", "xml"], "timestamp"),
                          (["--output", "file=x"], "--outfile-pattern"),
                          (["--output-filename", "d:x"], "nocopy"),
                          (["--output-filename", ":nocopy"], "folder"),
                          (["-outfile-pattern", "x.%d"], "%d")):
            done = launch.run(*how, "true")
            self.assertEqual((done.returncode, done.stdout), (2, ""), how)
            self.assertIn(said, done.stderr)


launch.main()
