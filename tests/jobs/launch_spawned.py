"""MPI_Comm_spawn under mpirun, on several hosts, under Hydra, and alone.

BUILD_OF_WEFT names the build directory; what is not installed is skipped.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import launch

PROGRAM = os.path.abspath(os.path.join(os.environ.get("BUILD_OF_WEFT", "build"),
                                       "tests/jobs/job_spawning"))
MARK = "SPAWN_TEST_MARK"
HYDRA = shutil.which("mpiexec.hydra")


class Spawned(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.mark = f"{MARK}={self.folder}"
        self.env = dict(os.environ, **{MARK: self.folder})
        self.alone = dict(self.env,
                          WEFT_SET=f"core.launcher={launch.MPIRUN}")

    def assert_nothing_left(self):
        self.assertTrue(launch.wait_until(
            lambda: not launch.processes_with(self.mark)),
            launch.processes_with(self.mark))

    def check(self, words, status=0, **variables):
        env = self.env if words[0] != PROGRAM else self.alone
        env = dict(env, **variables)
        done = subprocess.run([str(w) for w in words], env=env, text=True,
                              capture_output=True, timeout=launch.LIMIT)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        self.assert_nothing_left()
        return done

    def launchers(self):
        yield [launch.MPIRUN, "-n", 1]
        yield [launch.MPIRUN, "-n", 3]
        yield [launch.MPIRUN, "-n", 2, "--set", "core.engines=2"]
        yield []

    def test_parents_and_children_talk(self):
        for words in self.launchers():
            for what in (["basic", 1], ["basic", 4], ["self"], ["multiple"],
                         ["soft"], ["nested"]):
                with self.subTest(words=words, what=what):
                    self.check([*words, PROGRAM, *what])

    def test_routes(self):
        for route in ("shm", "tcp"):
            with self.subTest(route=route):
                self.check([launch.MPIRUN, "--route", route, "-n", 2, PROGRAM,
                            "basic", 3])

    def test_several_hosts(self):
        shell = launch.remote_shell(self.folder)
        self.check([launch.MPIRUN, "--nodes", 2, "-n", 2, PROGRAM, "basic", 4])
        self.check([launch.MPIRUN, "--launcher-exec", shell, "--host",
                    "a:1,b:1", "-n", 2, PROGRAM, "basic", 4])

    def test_groups_meet_by_their_leaders(self):
        for words in self.launchers():
            for n in (1, 3):
                with self.subTest(words=words, n=n):
                    self.check([*words, PROGRAM, "relayed", n])
        self.check([launch.MPIRUN, "--nodes", 2, "-n", 3, PROGRAM, "relayed", 3])

    @unittest.skipUnless(HYDRA, "Hydra is not installed")
    def test_under_hydra(self):
        for n in (1, 3):
            for what in (["basic", 4], ["self"], ["multiple"], ["soft"]):
                with self.subTest(n=n, what=what):
                    self.check([HYDRA, "-n", n, PROGRAM, *what])

    def test_what_cannot_be_spawned(self):
        for words in self.launchers():
            with self.subTest(words=words):
                done = self.check([*words, PROGRAM, "refused"])
                self.assertEqual(done.stderr, "")

    def test_programs_without_mpi(self):
        for words in self.launchers():
            with self.subTest(words=words):
                self.check([*words, PROGRAM, "no_mpi"])
        self.check([launch.MPIRUN, "-n", 2, PROGRAM, "early"], 137)

    def test_info_keys(self):
        for words in ([launch.MPIRUN, "-n", 1], []):
            folder = os.path.realpath(tempfile.mkdtemp(dir=self.folder))
            self.check([*words, PROGRAM, "wdir", folder])

    def test_the_end_of_a_child_is_an_error_of_its_parents(self):
        for what, status in (("dies", 137), ("aborts", 3)):
            with self.subTest(what=what):
                done = self.check([launch.MPIRUN, "-n", 2, PROGRAM, what],
                                  status)
                self.assertEqual(done.stdout, "parents go on\n")
                self.assertIn("mpirun: job 1: rank ", done.stderr)

    def test_connected_at_the_end(self):
        """Neither side frees the communicator, which is the program's leak."""
        for words in self.launchers():
            with self.subTest(words=words):
                self.check([*words, PROGRAM, "stays"],
                           ASAN_OPTIONS="detect_leaks=0")

    def test_a_freed_parent_is_none(self):
        self.check([launch.MPIRUN, "-n", 2, PROGRAM, "frees"])

    def test_cycles_lose_no_descriptors(self):
        for words in ([launch.MPIRUN, "-n", 2], []):
            self.check([*words, PROGRAM, "cycles", 20])

    def run_fatal(self, words, env):
        done = subprocess.run([str(w) for w in words], env=env, text=True,
                              capture_output=True, timeout=launch.LIMIT)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("MPI_ERR_SPAWN: ", done.stderr)
        self.assert_nothing_left()
        return done.stderr

    def test_the_message_names_the_program_and_the_remedy(self):
        words = [PROGRAM, "fatal", "no-such-program"]
        self.assertIn("no-such-program: no such program", self.run_fatal(
            [launch.MPIRUN, "-n", 1, *words], self.env))
        self.assertIn("no-such-program: no such program", self.run_fatal(
            words, self.alone))
        env = dict(self.env, WEFT_SET="core.launcher=/no/mpirun")
        self.assertIn("core.launcher: /no/mpirun", self.run_fatal(words, env))

    def test_parents_are_killed(self):
        for words in ([launch.MPIRUN, "-n", 2], []):
            env = self.env if words else self.alone
            p = subprocess.Popen([str(w) for w in (*words, PROGRAM, "cycles",
                                                   100000)], env=env,
                                 stderr=subprocess.DEVNULL)
            with self.assertRaises(subprocess.TimeoutExpired):
                p.wait(0.5)
            p.send_signal(signal.SIGKILL)
            p.wait(launch.LIMIT)
            self.assert_nothing_left()


if __name__ == "__main__":
    launch.main()
