"""Published names within a launcher, between launchers, and without one.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import launch

PROGRAM = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"),
                       "tests/jobs/job_names")
HYDRA = shutil.which("mpiexec.hydra")


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o700)
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = dict(os.environ, WEFT_SET=f"core.names={self.folder}")

    def run_words(self, *words):
        done = subprocess.run([str(w) for w in words], env=self.env,
                              capture_output=True, text=True,
                              timeout=launch.LIMIT)
        return done.stdout.split("\n")[0], done

    def lookup(self, name, *launcher):
        return self.run_words(*launcher, PROGRAM, "lookup", name)[0]

    def publish(self, *words):
        """A process that has published a name and waits."""
        p = subprocess.Popen([str(w) for w in words], env=self.env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        self.said = p.stdout.readline().strip()
        return p

    def launchers(self):
        yield ()
        yield (launch.MPIRUN, "-n", "1")
        if HYDRA:
            yield (HYDRA, "-n", "1")

    def test_ranks_find_each_others_names(self):
        for words in ((launch.MPIRUN, "-n", "3"),
                      (launch.MPIRUN, "-n", "4", "--ranks-per-process", "2"),
                      (launch.MPIRUN, "-n", "2", "--nodes", "2",
                       "--launcher-exec", launch.remote_shell(self.folder)),
                      *self.launchers(),
                      *([(HYDRA, "-n", "3")] if HYDRA else [])):
            with self.subTest(words=words):
                done = self.run_words(*words, PROGRAM, "ranks")[1]
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_name_is_found_by_jobs_of_other_launchers(self):
        for server in self.launchers():
            for client in self.launchers():
                with self.subTest(server=server, client=client):
                    p = self.publish(*server, PROGRAM, "publish", "s", "p:1 2")
                    self.assertEqual(self.said, "published")
                    self.assertEqual(self.lookup("s", *client), "p:1 2")
                    out, _ = p.communicate(timeout=launch.LIMIT)
                    self.assertEqual(out, "published\n")  # and unpublished
                    self.assertEqual(self.lookup("s", *client), "MPI_ERR_NAME")

    def test_a_name_ends_with_its_owner(self):
        for server in self.launchers():
            with self.subTest(server=server):
                done = self.run_words(*server, PROGRAM, "once", "s", "p")[1]
                self.assertEqual(done.stdout.strip(), "published", done.stderr)
                self.assertEqual(self.lookup("s"), "MPI_ERR_NAME")
                p = self.publish(*server, PROGRAM, "publish", "s", "p")
                self.assertEqual(self.said, "published")
                p.send_signal(signal.SIGKILL)
                p.communicate(timeout=launch.LIMIT)
                self.assertTrue(launch.wait_until(
                    lambda: self.lookup("s") == "MPI_ERR_NAME"))

    def test_a_launcher_forgets_the_name_of_a_rank_that_has_ended(self):
        shell = (f"{PROGRAM} once s p; exec {PROGRAM} lookup s")
        parts = (launch.MPIRUN, "--continuous", "-n", 1, PROGRAM, "once", "s",
                 "p", "false", ":", "-n", 1, PROGRAM, "lookup", "t")
        out = self.run_words(*parts)[1].stdout.split()
        self.assertEqual(sorted(out), ["MPI_ERR_NAME", "published"])
        self.assertEqual(self.run_words("sh", "-c", shell)[1].stdout.split(),
                         ["published", "MPI_ERR_NAME"])

    def test_two_launchers_may_publish_the_same_name(self):
        first = self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s",
                             "first")
        self.assertEqual(self.said, "published")
        self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "second")
        self.assertEqual(self.said, "published")  # for its own jobs
        self.assertEqual(self.lookup("s"), "first")
        self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "third",
                     "true")
        self.assertEqual(self.said, "MPI_ERR_SERVICE")
        self.publish(PROGRAM, "publish", "s", "fourth")
        self.assertEqual(self.said, "MPI_ERR_SERVICE")
        first.communicate(timeout=launch.LIMIT)
        self.assertEqual(self.lookup("s"), "MPI_ERR_NAME")

    def test_the_message_names_what_is_missing(self):
        for words in ((), (launch.MPIRUN, "-n", 1)):
            done = self.run_words(*words, PROGRAM, "fatal", "no such")[1]
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("'no such' is not published", done.stderr)

    def test_the_scope_can_be_the_launcher(self):
        self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "p",
                     "false")
        self.assertEqual(self.said, "published")
        self.assertEqual(self.lookup("s"), "MPI_ERR_NAME")

    def test_a_folder_that_is_not_private_is_named(self):
        os.chmod(self.folder, 0o755)
        out, done = self.run_words(PROGRAM, "publish", "s", "p")
        self.assertEqual(out, "MPI_ERR_SERVICE")
        out, done = self.run_words(launch.MPIRUN, "-n", 1, PROGRAM, "once", "s",
                                   "p")
        self.assertEqual(out, "published")
        self.assertIn(self.folder, done.stderr)
        self.assertIn("0700", done.stderr)


if __name__ == "__main__":
    launch.main()
