"""The exit status and the few lines that mpirun says when a rank fails.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import tempfile
import unittest

import launch

END_AFTER = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"), "tests",
                         "jobs", "job_end_after_finalize")


class Status(unittest.TestCase):
    def check(self, status, *args):
        done = launch.run(*args)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_zero_only_if_every_rank_returns_zero(self):
        done = self.check(0, "-n", 4, "true")
        self.assertEqual(done.stderr, "")

    def test_status_of_the_lowest_failing_rank(self):
        self.check(3, "-n", 1, "sh", "-c", "exit 3")
        # all have failed before anyone is told to end
        with tempfile.TemporaryDirectory() as d:
            script = (f": > {d}/$PMI_RANK; while [ $(ls {d} | wc -l) -lt 3 ]; "
                      "do sleep 0.01; done; exit $((PMI_RANK + 5))")
            done = launch.run("-n", 3, "--continuous", "sh", "-c", script)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_a_signal_is_128_more(self):
        done = self.check(139, "-n", 1, "sh", "-c", "kill -SEGV $$")
        self.assertIn("rank 0", done.stderr)
        self.assertIn("signal 11", done.stderr)
        self.check(137, "-n", 1, "sh", "-c", "kill -KILL $$")

    def test_the_first_failure_ends_the_others_at_once(self):
        done = self.check(7, "-n", 3, "sh", "-c",
                          "[ $PMI_RANK = 2 ] && exit 7; exec sleep 1000")
        self.assertIn("rank 2", done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 3)

    def test_after_finalize_a_rank_ends_alone(self):
        for how, status in ((["exit", 3], 3), (["signal", 9], 137)):
            done = self.check(status, "-n", 3, END_AFTER, *how)
            self.assertEqual(sorted(done.stdout.splitlines()),
                             ["rank 0 says this at its end",
                              "rank 2 says this at its end"])
            self.assertIn("rank 1", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_before_finalize_it_ends_the_others(self):
        done = self.check(3, "-n", 3, END_AFTER, "early", 3)
        self.assertEqual(done.stdout, "")
        self.assertIn("rank 1", done.stderr)

    def test_of_all_that_fail_after_finalize_one_is_said(self):
        done = self.check(4, "-n", 1, END_AFTER, ":", "-n", 3, "sh", "-c",
                          f"{END_AFTER} && exit 4")
        self.assertLessEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 4, done.stdout)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.check(1, "-q", "-n", 2, "false").stderr, "")

    def test_continuous_lets_the_others_finish(self):
        done = self.check(4, "--continuous", "-n", 2, "sh", "-c",
                          "[ $PMI_RANK = 0 ] && exit 4; sleep 0.2; echo done")
        self.assertEqual(done.stdout, "done\n")

    def test_timeout_is_124(self):
        done = self.check(124, "--timeout", "0.2", "-n", 2, "sleep", 100)
        self.assertIn("--timeout", done.stderr)
        env = dict(os.environ, MPIEXEC_TIMEOUT="0.2")
        self.assertEqual(
            launch.run("-n", 2, "sleep", 100, env=env).returncode, 124)

    def test_a_rank_that_ignores_sigterm_is_killed_after_the_grace_time(self):
        self.check(124, "--timeout", "0.2", "-n", 1, "sh", "-c",
                   "trap '' TERM; while :; do sleep 0.1; done")

    def test_not_found_and_not_executable(self):
        self.assertIn("no-such-program",
                      self.check(127, "no-such-program").stderr)
        self.check(127, "./no-such-program")
        with tempfile.NamedTemporaryFile() as f:
            self.assertIn("not an executable",
                          self.check(126, f.name).stderr)
        self.check(126, "/tmp")

    def test_a_program_in_this_directory_gets_a_hint(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "weft_hello")
            with open(path, "w") as f:
                f.write("echo plain script $1\n")
            os.chmod(path, 0o755)
            done = launch.run("weft_hello", cwd=d)
            self.assertEqual(done.returncode, 127)
            self.assertIn("./weft_hello", done.stderr)
            # without "#!" it is a shell script, as everywhere
            done = launch.run("-n", 1, "./weft_hello", "x", cwd=d)
            self.assertEqual(done.stdout, "plain script x\n")
            done = launch.run("-n", 1, "--wdir", d, "./weft_hello", "y")
            self.assertEqual(done.stdout, "plain script y\n")

    def test_no_status_is_lost_in_many_runs(self):
        for i in range(200):
            self.check(i % 3 + 1, "-q", "-n", 2, "sh", "-c",
                       f"exit {i % 3 + 1}")

    def test_all_exit_codes(self):
        done = self.check(2, "--continuous", "--print-all-exitcodes", "-q",
                          "-n", 2, "sh", "-c", "exit $((PMI_RANK * 2))")
        self.assertEqual(done.stderr, "[0] 0\n[1] 2\n")


launch.main()
