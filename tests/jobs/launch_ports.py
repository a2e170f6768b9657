"""Two jobs and more meet by ports: ports_pair.c, started several times.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import unittest

from launch import LIMIT, main, start, wait_until

PROGRAM = os.path.join(os.environ.get("BUILD_OF_WEFT", "build"),
                       "tests/jobs/job_ports_pair")
FABRICS = os.environ.get("FABRICS", "").split()
HELLO, ANSWER, PROOF, HEAD = 76, 68, 32, 36  # bytes: core/meet/link.h


class Server:
    """A job that accepts; .name is that of its port."""

    def __init__(self, ranks, times, what, *options, **kw):
        self.job = start("-n", ranks, *options, PROGRAM, "serve", str(times),
                         what, **kw)
        self.name = self.job.stdout.readline().strip()

    def address(self):
        host, port = re.search(r"(127\.0\.0\.1):(\d+)", self.name).groups()
        return host, int(port)


class Ports(unittest.TestCase):
    def call(self, server, ranks, times, what, *options):
        return start("-n", ranks, *options, PROGRAM, "call", str(times), what,
                     server.name)

    def finish(self, *jobs, status=0):
        for job in jobs:
            try:
                out, err = job.communicate(timeout=LIMIT)
            finally:
                job.kill()
            self.assertEqual(job.returncode, status, out + err)
            self.assertNotIn("not so", err)

    def pair(self, serving, calling, times, what, *options):
        server = Server(serving, times, what, *map(str, options))
        client = self.call(server, calling, times, what, *map(str, options))
        self.finish(client, server.job)

    def test_default_routes(self):
        self.pair(2, 3, 2, "all")

    def test_each_fabric(self):
        for fabric in ["shm", "tcp", *FABRICS]:
            with self.subTest(fabric=fabric):
                self.pair(2, 2, 2, "all", "--route", fabric)

    def test_encrypted(self):
        self.pair(2, 2, 2, "all", "--route", "tcp", "--set",
                  "core.security=encrypt")

    def test_pretended_nodes(self):
        self.pair(3, 2, 2, "all", "--nodes", 2)

    def test_finalize_of_connected_jobs(self):
        self.pair(2, 3, 2, "stay")

    def test_a_route_is_about_other_jobs(self):
        """Messages within a job go by shm, those between jobs by tcp."""
        with tempfile.TemporaryDirectory() as folder:
            ini = os.path.join(folder, "mpi.ini")
            with open(ini, "w", encoding="ascii") as f:
                f.write("[route out]\nto = job:other\nuse = tcp\n"
                        "[route in]\nto = job:own\nuse = shm\n")
            options = ("--ini", ini, "--set", "core.stats=yes")
            server = Server(2, 1, "all", *options)
            client = self.call(server, 1, 1, "all", *options)
            for job, alone in ((client, True), (server.job, False)):
                _, err = job.communicate(timeout=LIMIT)
                self.assertEqual(job.returncode, 0, err)
                came = dict(re.findall(
                    r"rank 0: (\w+) .* received \d+ messages, (\d+) b", err))
                self.assertGreater(int(came["tcp"]), 1000000, err)
                self.assertLess(int(came.get("shm", 0)), 100000, err)
                self.assertEqual("shm" not in came, alone, err)

    def test_what_was_sent_to_processes_that_have_parted_is_counted(self):
        for failover in "no", "yes":
            with tempfile.TemporaryDirectory() as folder:
                ini = os.path.join(folder, "mpi.ini")
                with open(ini, "w", encoding="ascii") as f:
                    f.write("[core]\nstats = yes\n[route all]\nuse = tcp\n"
                            f"failover = {failover}\n")
                server = Server(1, 2, "all", "--ini", ini)
                client = self.call(server, 1, 2, "all", "--ini", ini)
                for job in client, server.job:
                    _, err = job.communicate(timeout=LIMIT)
                    self.assertEqual(job.returncode, 0, err)
                    sent = re.search(r"tcp +sent \d+ messages, (\d+) b", err)
                    self.assertGreater(int(sent[1]), 1000000, err)

    def test_thread_ranks(self):
        self.pair(4, 4, 2, "all", "--ranks-per-process", 2)

    def test_without_launcher(self):
        """A process that no launcher started is a job of its own."""
        server = subprocess.Popen([PROGRAM, "serve", "2", "all"], text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        name = server.stdout.readline().strip()
        client = subprocess.Popen([PROGRAM, "call", "2", "all", name],
                                  text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.finish(client, server)

    def test_jobs_without_launcher_may_have_names(self):
        """Names of jobs differ, and so may the ways in which they start."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            server = self.start_static(folder, "one", "serve", "2", "all")
            name = server.stdout.readline().strip()
            client = self.start_static(folder, "two", "call", "1", "all", name)
            self.finish(client)
            self.finish(start("-n", 2, PROGRAM, "call", "1", "all", name), server)

    def start_static(self, folder, name, *words):
        """A job of one process that mpi.ini describes."""
        ini = os.path.join(folder, name)
        with open(ini, "w", encoding="ascii") as f:
            f.write(f"[core]\nbootstrap = static\njob = {name}\n"
                    f"job_key = {name}-{os.getpid()}\n[rank 0]\nhost = here\n")
        return subprocess.Popen(
            [PROGRAM, *words], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "WEFT_INI": ini, "WEFT_RANK": "0"})

    def test_thousand_cycles(self):
        self.pair(2, 1, 1000, "kept")

    def test_clients_in_turn_and_at_once(self):
        server = Server(2, 20, "none")
        for _ in range(4):
            self.finish(self.call(server, 1, 1, "none"))
        at_once = [self.call(server, 2, 1, "none") for _ in range(16)]
        self.finish(*at_once, server.job)

    def test_closed_port(self):
        server = Server(1, 0, "none")
        self.finish(server.job)
        client = self.call(server, 1, 1, "none")
        out, err = client.communicate(timeout=LIMIT)
        self.assertEqual(client.returncode, 2, out + err)
        self.assertIn("1: ", err)  # its class is MPI_ERR_PORT,
        self.assertIn("127.0.0.1", err)  # and the port is named
        self.assertNotIn(server.name.split(":")[1], out + err)

    def test_open_to_the_network(self):
        """Jobs of one host that are open to the network meet there, too."""
        tcp = ("--route", "tcp")
        network = (*tcp, "--set", "core.meet=network")
        for theirs, ours in (network, network), (network, tcp), (tcp, network):
            with self.subTest(server=theirs, client=ours):
                server = Server(2, 1, "all", *theirs)
                self.finish(self.call(server, 2, 1, "all", *ours), server.job)

    def test_port_of_loopback_elsewhere(self):
        """The message says how jobs of two hosts can meet."""
        server = Server(1, 0, "none")
        self.finish(server.job)
        server.name = re.sub(":[0-9a-f]{16}:", ":0123456789abcdef:", server.name)
        client = self.call(server, 1, 1, "none")
        out, err = client.communicate(timeout=LIMIT)
        self.assertEqual(client.returncode, 2, out + err)
        self.assertIn("1: ", err)
        self.assertIn("core.meet = network", err)
        self.assertNotIn(server.name.split(":")[1], out + err)

    def test_strangers_have_no_effect(self):
        """Nonsense, a wrong token, silence, and a replay: no client."""
        server = Server(1, 2, "all")
        held = [socket.create_connection(server.address()) for _ in range(3)]
        held[0].sendall(b"GET / HTTP/1.0\r\n\r\n" + b"x" * HELLO)
        held[1].sendall(b"weftport" + os.urandom(HELLO - 8))
        self.assertTrue(all(self.is_hung_up_on(s) for s in held[:2]))
        said = self.record_client(server)
        replay = socket.create_connection(server.address())
        held.append(replay)
        replay.sendall(said)
        self.assertTrue(self.is_hung_up_on(replay))
        self.finish(self.call(server, 2, 1, "all"), server.job)
        for s in held:
            s.close()

    def is_hung_up_on(self, s):
        """Whether the server ends the connection, whatever it has said."""
        s.settimeout(LIMIT)
        try:
            while s.recv(4096):
                pass
        except ConnectionResetError:
            pass
        return True

    def record_client(self, server):
        """A client that connects through here; what it says."""
        proxy = socket.create_server(("127.0.0.1", 0))
        port = proxy.getsockname()[1]
        name = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", server.name)
        client = start("-n", 1, PROGRAM, "call", "1", "all", name)
        theirs, _ = proxy.accept()
        ours = socket.create_connection(server.address())
        said, sides = b"", {theirs: ours, ours: theirs}
        while len(sides) == 2:
            for s in select.select(list(sides), [], [])[0]:
                data = s.recv(4096)
                if s is theirs:
                    said += data
                if not data:
                    sides.pop(s)
                else:
                    sides.get(ours if s is theirs else theirs)
                    (ours if s is theirs else theirs).sendall(data)
        theirs.close()
        ours.close()
        proxy.close()
        self.finish(client)
        return said

    def test_killed_peer(self):
        """A dead client is an error on the intercommunicator, and the server
        goes on with the next one."""
        server = Server(2, 2, "dies")
        client = self.call(server, 1, 1, "dies")
        client.wait(timeout=LIMIT)
        self.assertNotEqual(client.returncode, 0)
        client.stdout.close()
        client.stderr.close()
        self.finish(self.call(server, 2, 1, "none"), server.job)

    def test_killed_while_it_waits(self):
        """A client that is killed before it is accepted is skipped."""
        server = Server(1, 1, "late", stdin=subprocess.PIPE)
        client = self.call(server, 1, 1, "none")
        self.assertTrue(wait_until(lambda: self.is_called(server)))
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stdout.close()
        client.stderr.close()
        server.job.stdin.write("go on\n")
        server.job.stdin.flush()
        other = self.call(server, 1, 1, "none")
        self.finish(other, server.job)

    def pass_on(self, server, name_of, frames):
        """Start a client that connects through here, and pass on so many of the
        messages of the roots, in turn. Returns it and both sockets; they are
        silent then."""
        proxy = socket.create_server(("127.0.0.1", 0))
        name = re.sub(r"127\.0\.0\.1:\d+",
                      f"127.0.0.1:{proxy.getsockname()[1]}", server.name)
        client = name_of(name)
        theirs, _ = proxy.accept()
        proxy.close()
        ours = socket.create_connection(server.address())
        for source, sink, size in self.messages(theirs, ours)[:frames]:
            data = self.receive(source, size)
            if not size:
                data += self.receive(source, int.from_bytes(data[:4], "little"))
            sink.sendall(data)
        return client, theirs, ours

    def messages(self, client, server):
        """From, to, and the bytes of each message; 0: it says so itself."""
        return ((client, server, HELLO), (server, client, ANSWER),
                (client, server, PROOF), (client, server, 0),
                (server, client, 0), (client, server, 0), (server, client, 0))

    def receive(self, source, size):
        source.settimeout(LIMIT)
        data = b""
        while len(data) < (size or HEAD):
            more = source.recv((size or HEAD) - len(data))
            self.assertTrue(more)
            data += more
        return data

    def test_clients_are_killed_in_each_phase(self):
        """The server goes on with the next client."""
        server = Server(2, 1, "hardy")
        for frames in range(8):
            client, theirs, ours = self.pass_on(
                server, lambda name: start("-n", 1, PROGRAM, "call", "1",
                                           "mute", name), frames)
            self.kill_ranks(client)
            theirs.close()
            ours.close()
        self.finish(self.call(server, 2, 1, "hardy"), server.job)

    def test_servers_are_killed_in_each_phase(self):
        """The client gets an error."""
        for frames in range(8):
            with self.subTest(messages=frames):
                server = Server(2, 1, "hardy")
                client, theirs, ours = self.pass_on(
                    server, lambda name: start("-n", 2, PROGRAM, "call", "1",
                                               "none", name), frames)
                self.kill_ranks(server.job)
                theirs.close()
                ours.close()
                _, err = client.communicate(timeout=LIMIT)
                self.assertNotEqual(client.returncode, 0, err)

    def kill_ranks(self, job):
        """Kill all ranks of a job by their launcher's end."""
        job.kill()
        job.wait()
        job.stdout.close()
        job.stderr.close()

    def is_called(self, server):
        """Whether a connection to the port exists, accepted or not."""
        port = f":{server.address()[1]:04X}"
        with open("/proc/net/tcp", encoding="ascii") as f:
            return any(line.split()[2].endswith(port) and
                       line.split()[3] == "01" for line in f.readlines()[1:])


if __name__ == "__main__":
    main()
