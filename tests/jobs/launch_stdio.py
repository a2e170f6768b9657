"""Input is byte-exact, output lines stay whole.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import os
import pty
import random
import subprocess
import tempfile
import unittest

import launch

SIZES = (0, 1, 63 << 10, 64 << 10, 65 << 10, 1 << 20, 20 << 20)


def noise(n):
    return random.Random(n).randbytes(n)


def digests(done):
    return sorted(line.split()[-2] for line in done.stdout.decode().splitlines())


class Stdio(unittest.TestCase):
    def test_input_reaches_the_chosen_rank_unchanged_from_a_pipe(self):
        for n in SIZES:
            for who in ("0", "1"):
                done = launch.run("-n", 2, "--stdin", who, "sh", "-c",
                                  f"[ $PMI_RANK = {who} ] && exec sha256sum; "
                                  "exit 0", input=noise(n))
                self.assertEqual(digests(done),
                                 [hashlib.sha256(noise(n)).hexdigest()])

    def test_input_reaches_every_rank_from_pipe_and_file(self):
        for n in SIZES:
            want = [hashlib.sha256(noise(n)).hexdigest()] * 3
            done = launch.run("-n", 3, "--stdin", "all", "sha256sum",
                              input=noise(n))
            self.assertEqual(digests(done), want)
            with tempfile.TemporaryFile() as f:
                f.write(noise(n))
                f.seek(0)
                done = subprocess.run([launch.MPIRUN, "-n", "3", "--stdin=all",
                                       "sha256sum"], stdin=f,
                                      capture_output=True, timeout=launch.LIMIT)
            self.assertEqual(digests(done), want)

    def test_a_rank_that_does_not_read_does_not_hold_up_the_others(self):
        done = launch.run("-l", "-n", 2, "--stdin", "all", "sh", "-c",
                          "[ $PMI_RANK = 0 ] && exit 0; exec sha256sum",
                          input=noise(1 << 20))
        self.assertIn(hashlib.sha256(noise(1 << 20)).hexdigest(),
                      done.stdout.decode())

    def test_the_others_read_nothing(self):
        done = launch.run("-n", 3, "-l", "cat", input="a\nb\n")
        self.assertEqual(done.stdout, "[0] a\n[0] b\n")
        done = launch.run("-n", 3, "--stdin", "none", "cat", input="a\n")
        self.assertEqual(done.stdout, "")

    def test_unread_input_stays_for_the_next_program(self):
        done = subprocess.run(
            ["sh", "-c", f"'{launch.MPIRUN}' -n 2 true; cat"], input="later\n",
            capture_output=True, text=True, timeout=launch.LIMIT)
        self.assertEqual(done.stdout, "later\n")

    def test_tagged_lines_are_whole_and_keep_their_order(self):
        done = launch.run("-n", 4, "--tag-output", "sh", "-c",
                          "i=0; while [ $i -lt 500 ]; do "
                          "printf 'one '; echo $i; i=$((i + 1)); done")
        seen = {}
        for line in done.stdout.splitlines():
            tag, one, i = line.split()
            self.assertEqual(one, "one")
            self.assertEqual(int(i), seen.get(tag, 0))
            seen[tag] = int(i) + 1
        self.assertEqual(sorted(seen.values()), [500] * 4)

    def test_lines_of_several_ranks_do_not_cut_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            done = launch.run("-n", 4, "--output-filename", folder,
                              "seq", 100000, 140000)
        self.assertEqual(sorted(map(int, done.stdout.splitlines())),
                         [n for n in range(100000, 140001) for _ in range(4)])

    def test_a_line_that_is_never_finished_does_not_hold_up_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "mark")
            script = ('if [ "$PMI_RANK" = 0 ]; then printf prompt; mkfifo '
                      f"{mark}.0 && mv {mark}.0 {mark} && read x < {mark}; "
                      "else "
                      f"while ! [ -e {mark} ]; do :; done; echo other; fi")
            with subprocess.Popen(
                    [launch.MPIRUN, "-n", "2", "--output-filename",
                     os.path.join(folder, "out"), "sh", "-c", script],
                    stdout=subprocess.PIPE, text=True) as job:
                self.assertEqual(job.stdout.readline(), "promptother\n")
                with open(mark, "w", encoding="utf-8") as f:
                    f.write("\n")
                self.assertEqual(job.wait(launch.LIMIT), 0)

    def test_an_unfinished_last_line_is_ended_only_with_tags(self):
        self.assertEqual(launch.run("-n", 1, "printf", "x").stdout, "x")
        self.assertEqual(launch.run("-n", 1, "-l", "printf", "x").stdout,
                         "[0] x\n")

    def test_a_long_line_and_much_output_arrive_whole(self):
        done = launch.run("-n", 2, "-l", "sh", "-c",
                          "head -c 3000000 /dev/zero | tr '\\0' a; echo")
        self.assertEqual([len(s) for s in done.stdout.splitlines()],
                         [3000004] * 2)

    def test_errors_stay_apart_from_output(self):
        done = launch.run("-n", 1, "-l", "sh", "-c", "echo o; echo e >&2")
        self.assertEqual((done.stdout, done.stderr), ("[0] o\n", "[0] e\n"))

    def test_when_the_reader_leaves_the_job_ends(self):
        for tag in ("", "-l"):
            done = subprocess.run(
                ["sh", "-c", f"'{launch.MPIRUN}' -q {tag} -n 2 yes | head -1"],
                capture_output=True, text=True, timeout=launch.LIMIT)
            self.assertIn(done.stdout, ("y\n", "[0] y\n", "[1] y\n"))

    def test_closed_standard_descriptors_do_no_harm(self):
        done = subprocess.run(
            ["sh", "-c", f"'{launch.MPIRUN}' -n 2 -l echo x <&- 2>&-"],
            capture_output=True, text=True, timeout=launch.LIMIT)
        self.assertEqual(sorted(done.stdout.split()),
                         ["[0]", "[1]", "x", "x"])

    def test_rank_0_reads_the_terminal(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(launch.MPIRUN, [launch.MPIRUN, "-n", "2", "sh", "-c",
                                     "read x && echo got $x; exit 0"])
        os.write(fd, b"typed\n")
        seen = b""
        while b"got typed" not in seen:
            seen += os.read(fd, 1000)
        os.close(fd)
        os.waitpid(pid, 0)


launch.main()
