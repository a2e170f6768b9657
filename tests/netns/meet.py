"""Jobs of two hosts meet by a port, each started on one of them.

    host a  net0 10.90.0.1 ---- wire ---- net0 10.90.0.2  host b

The jobs (ports_pair.c of tests/jobs) listen on their own host, unless core.meet
says network.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import subprocess
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
WIRE = os.environ.get("WIRE", "netns_wire")
PORTS = os.environ.get("PORTS", "job_ports_pair")
TRANSPORTS = os.environ.get("TRANSPORTS", "tcp").split()
LIMIT = 200  # seconds; only a hang takes so long


class Meet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = faultnet.Net(WIRE, hosts=2, cables=1)
        cls.net.__enter__()
        try:
            cls.net.wait_for_carrier()
        except BaseException:
            cls.net.remove()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.net.remove()

    def start(self, host, *words, meet="network", transport="tcp"):
        job = subprocess.Popen(
            ["ip", "netns", "exec", self.net.hosts[host], MPIRUN, "-n", "2",
             "--set", f"core.meet={meet}", "--route", f"shm {transport}", PORTS,
             *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        job.kill()
        job.wait()
        job.stdout.close()
        job.stderr.close()

    def serve(self, what, **options):
        job = self.start(0, "serve", "1", what, **options)
        return job, job.stdout.readline().strip()

    def finish(self, job, status=0):
        out, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, status, out + err)
        self.assertNotIn("not so", err)
        return err

    def test_open_to_the_network(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                server, name = self.serve("all", transport=transport)
                self.assertIn("10.90.0.1:", name)
                client = self.start(1, "call", "1", "all", name,
                                    transport=transport)
                self.finish(client)
                self.finish(server)

    def test_a_server_on_its_host_only(self):
        _, name = self.serve("none", meet="host")
        self.assertNotIn("10.90.0.1", name)
        err = self.finish(self.start(1, "call", "1", "none", name), 2)
        self.assertIn("1: ", err)  # MPI_ERR_PORT
        self.assertIn("core.meet = network in the job that opens it", err)

    def test_a_client_on_its_host_only(self):
        """It is refused, and the server goes on to the next one."""
        server, name = self.serve("none")
        err = self.finish(self.start(1, "call", "1", "none", name, meet="host"),
                          2)
        self.assertIn("1: ", err)
        self.assertIn("core.meet = network in this job", err)
        self.finish(self.start(1, "call", "1", "none", name))
        self.finish(server)


if __name__ == "__main__":
    faultnet.test_main(WIRE, verbosity=1)
