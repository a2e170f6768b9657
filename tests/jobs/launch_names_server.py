"""Names that one mpirun keeps for jobs of other launchers: mpirun --names.

BUILD_OF_WEFT names the build directory.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import launch

PROGRAM = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"),
                       "tests/jobs/job_names")


class Server:
    """mpirun --names on a port of the system's choice."""

    def __init__(self, env, *words, port=0):
        self.process = subprocess.Popen(
            [launch.MPIRUN, "--names", f"127.0.0.1:{port}", *words], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = self.process.stderr.readline().strip()
        self.address = self.said.rpartition(" ")[2]

    def end(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        self.process.communicate(timeout=launch.LIMIT)


class NamesServer(unittest.TestCase):
    def setUp(self):
        self.home = self.make_home()
        self.env = {k: v for k, v in os.environ.items() if k != "WEFT_NAMES_KEY"}
        self.env["HOME"] = self.home
        self.server = Server(self.env)
        self.addCleanup(self.server.end)
        self.env["WEFT_SET"] = self.setting(self.server.address)

    def setting(self, address):
        return f"core.names={address};core.launcher={launch.MPIRUN}"

    def make_home(self):
        home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, home)
        return home

    def key_of(self, home):
        return os.path.join(home, ".config/weft/names.key")

    def run_words(self, *words, env=None):
        done = subprocess.run([str(w) for w in words], env=env or self.env,
                              capture_output=True, text=True, timeout=launch.LIMIT)
        return done.stdout.split("\n")[0], done

    def lookup(self, name, *launcher, env=None):
        return self.run_words(*launcher, PROGRAM, "lookup", name, env=env)[0]

    def publish(self, *words, env=None):
        """A process that has published a name and waits."""
        p = subprocess.Popen([str(w) for w in words], env=env or self.env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        self.said = p.stdout.readline().strip()
        return p

    def launchers(self):
        yield ()
        yield (launch.MPIRUN, "-n", "1")

    def test_the_key_is_made_for_the_user_alone(self):
        self.assertEqual(os.stat(self.key_of(self.home)).st_mode & 0o7777, 0o600)
        self.assertIn("names are served at 127.0.0.1:", self.server.said)

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

    def test_ranks_find_each_others_names(self):
        for words in ((launch.MPIRUN, "-n", "3"),
                      (launch.MPIRUN, "-n", "4", "--ranks-per-process", "2"),
                      (launch.MPIRUN, "-n", "2", "--nodes", "2",
                       "--launcher-exec", launch.remote_shell(self.home)), ()):
            with self.subTest(words=words):
                done = self.run_words(*words, PROGRAM, "ranks")[1]
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_name_ends_with_its_owner(self):
        for server in self.launchers():
            with self.subTest(server=server):
                done = self.run_words(*server, PROGRAM, "once", "s", "p")[1]
                self.assertEqual(done.stdout.strip(), "published", done.stderr)
                self.assertTrue(launch.wait_until(
                    lambda: self.lookup("s") == "MPI_ERR_NAME"))
                p = self.publish(*server, PROGRAM, "publish", "s", "p")
                self.assertEqual(self.said, "published")
                p.send_signal(signal.SIGKILL)
                p.communicate(timeout=launch.LIMIT)
                self.assertTrue(launch.wait_until(
                    lambda: self.lookup("s") == "MPI_ERR_NAME"))

    def test_a_rank_that_has_ended_has_no_names(self):
        """Its launcher goes on."""
        mark = f"{os.getpid()}-{self.server.address}"
        p = self.publish(launch.MPIRUN, "--continuous", "-n", "1", PROGRAM, "publish",
                         "s", "p", ":", "-n", "1", "sleep", "1000",
                         env=dict(self.env, WEFT_TEST_MARK=mark))
        self.assertEqual(self.said, "published")
        self.assertEqual(self.lookup("s"), "p")
        ranks = set(launch.processes_with("PMI_RANK=0"))
        for pid in ranks & set(launch.processes_with(f"WEFT_TEST_MARK={mark}")):
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(launch.wait_until(
            lambda: self.lookup("s") == "MPI_ERR_NAME"))
        self.assertIsNone(p.poll())

    def test_the_serving_mpirun_may_run_a_program(self):
        server = Server(self.env, "-n", "1", "cat")
        self.addCleanup(server.end)
        env = dict(self.env, WEFT_SET=self.setting(server.address))
        self.publish(PROGRAM, "publish", "s", "p", env=env)
        self.assertEqual(self.lookup("s", env=env), "p")
        self.assertEqual(self.lookup("s"), "MPI_ERR_NAME")  # of the other server
        server.process.communicate(timeout=launch.LIMIT)  # cat ends
        self.assertEqual(server.process.returncode, 0)

    def test_two_launchers_may_not_publish_the_same_name_for_all(self):
        self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "first")
        self.assertEqual(self.said, "published")
        self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "second", "true")
        self.assertEqual(self.said, "MPI_ERR_SERVICE")
        self.publish(PROGRAM, "publish", "s", "third")
        self.assertEqual(self.said, "MPI_ERR_SERVICE")
        self.assertEqual(self.lookup("s"), "first")

    def check_refused(self, env, text):
        for launcher in self.launchers():
            with self.subTest(launcher=launcher):
                self.publish(*launcher, PROGRAM, "publish", "s", "p", "true", env=env)
                self.assertEqual(self.said, "MPI_ERR_SERVICE")
                done = self.run_words(*launcher, PROGRAM, "fatal", "s", env=env)[1]
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)

    def test_another_key_is_refused(self):
        self.publish(PROGRAM, "publish", "t", "p")
        other = self.make_home()
        self.addCleanup(Server(dict(self.env, HOME=other)).end)  # it makes a key
        env = dict(self.env, HOME=other)
        self.check_refused(env, "it has another key")
        self.assertEqual(self.lookup("t", env=env), "MPI_ERR_NAME")
        self.assertEqual(self.lookup("t"), "p")

    def test_a_process_without_a_key_is_told_where_it_should_be(self):
        other = self.make_home()
        self.check_refused(dict(self.env, HOME=other), self.key_of(other))

    def test_a_key_that_others_may_read_is_refused(self):
        os.chmod(self.key_of(self.home), 0o640)
        self.check_refused(self.env, "chmod 600")
        done = self.run_words(launch.MPIRUN, "--names", "127.0.0.1:0")[1]
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("chmod 600", done.stderr)

    def test_the_names_end_with_the_server(self):
        p = self.publish(launch.MPIRUN, "-n", 1, PROGRAM, "publish", "s", "p")
        self.server.end()
        self.assertIn("are gone", p.stderr.readline())
        self.check_refused(self.env, "name server")
        port = int(self.server.address.rpartition(":")[2])
        server = Server(self.env, port=port)
        self.addCleanup(server.end)
        self.assertEqual(self.lookup("s"), "MPI_ERR_NAME")
        self.publish(PROGRAM, "publish", "s", "again")
        self.assertEqual(self.lookup("s"), "again")

    def test_a_silent_server_ends_the_wait(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            env = dict(self.env, WEFT_SET=self.setting(address))
            done = self.run_words(PROGRAM, "fatal", "s", env=env)[1]
            self.assertIn(f"{address} gives no answer", done.stderr)

    def test_strangers_do_not_disturb(self):
        host, _, port = self.server.address.rpartition(":")
        self.publish(PROGRAM, "publish", "s", "p")
        for said in (b"", b"GET / HTTP/1.0\r\n\r\n" * 5, b"WFTN\1\0\0\0" + bytes(200),
                     b"WFTN\1\0\0\0" + bytes(32) + b"\xff" * 4):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.sendall(said)
                if said:  # it is hung up on
                    while stranger.recv(4096):
                        pass
                self.assertEqual(self.lookup("s"), "p")

    def test_an_address_that_is_none_is_named(self):
        env = dict(self.env, WEFT_SET=self.setting("nowhere.invalid:77"))
        self.check_refused(env, "nowhere.invalid:77")
        done = self.run_words(launch.MPIRUN, "--names", "nowhere.invalid:77")[1]
        self.assertIn("nowhere.invalid:77", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    launch.main()
