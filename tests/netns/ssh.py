"""Jobs over ssh: two hosts that are network namespaces, each with an sshd.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import faultnet

MPIRUN = os.environ.get("MPIRUN", "mpirun")
REMOTE = os.environ.get("REMOTE", "weft-remote")
WIRE = os.environ.get("WIRE", "netns_wire")
TRAFFIC = os.environ.get("CUTS", "./netns_cuts")
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
LIMIT = 60
HOSTS = ("10.90.0.1", "10.90.0.2")


class Ssh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft ssh's")
        cls.dir = cls.folder.name
        cls.keys = tempfile.mkdtemp(prefix="weftssh")  # without blanks
        cls.net = faultnet.Net(WIRE, hosts=2, cables=1)
        cls.daemons = []
        try:
            cls.net.__enter__()
            cls.net.wait_for_carrier()
            cls.write_keys()
            for host, address in zip(cls.net.hosts, HOSTS):
                cls.daemons.append(cls.daemon(host, address))
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        for daemon in cls.daemons:
            daemon.kill()
            daemon.wait()
        cls.net.remove()
        cls.folder.cleanup()
        shutil.rmtree(cls.keys)

    @classmethod
    def write_keys(cls):
        os.makedirs("/run/sshd", exist_ok=True)  # sshd insists
        for name in ("host", "user"):
            faultnet.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                         f"{cls.keys}/{name}")
        with open(f"{cls.keys}/client", "w", encoding="ascii") as f:
            f.write("".join(f"Host host{i}\n HostName {a}\n"
                            for i, a in enumerate(HOSTS)))
            f.write(f"Host *\n Port 2222\n IdentityFile {cls.keys}/user\n"
                    " IdentitiesOnly yes\n StrictHostKeyChecking no\n"
                    f" UserKnownHostsFile /dev/null\n LogLevel ERROR\n")

    @classmethod
    def daemon(cls, host, address):
        config = f"{cls.keys}/{host}"
        with open(config, "w", encoding="ascii") as f:
            f.write(f"Port 2222\nListenAddress {address}\n"
                    f"HostKey {cls.keys}/host\nPidFile none\nUsePAM no\n"
                    f"AuthorizedKeysFile {cls.keys}/user.pub\nStrictModes no\n"
                    "PermitRootLogin yes\n")
        daemon = subprocess.Popen(["ip", "netns", "exec", host, SSHD, "-D", "-f",
                                   config], stderr=subprocess.PIPE)
        end = time.monotonic() + LIMIT
        while address + ":2222" not in faultnet.run(
                "ip", "netns", "exec", host, "ss", "-ltnH"):
            if daemon.poll() is not None or time.monotonic() > end:
                raise faultnet.Trouble(daemon.stderr.read().decode())
            time.sleep(0.01)
        return daemon

    def command(self, *words, ranks=2, export=""):
        launcher = f"{REMOTE}{export} ssh -F {self.keys}/client host%n --"
        return ["ip", "netns", "exec", self.net.hosts[0], MPIRUN, "-n",
                str(ranks), "--nodes", str(ranks), "--launcher-exec", launcher,
                *words]

    def run_job(self, *words, **options):
        stdin = options.pop("input", None)
        return subprocess.run(self.command(*words, **options), input=stdin,
                              capture_output=True, text=True, timeout=LIMIT,
                              cwd=self.dir, check=False)

    def test_a_job_of_two_hosts(self):
        r = self.run_job("--route", "tcp", TRAFFIC, "pingpong", "0.5")
        self.assertEqual((r.returncode, r.stdout[:9]), (0, "messages "),
                         r.stderr)

    def test_each_rank_is_on_its_host(self):
        r = self.run_job("ip", "-o", "-4", "addr", "show", "dev", "net0")
        self.assertEqual(sorted(set(re.findall(r"10\.90\.0\.\d", r.stdout))),
                         list(HOSTS), r.stdout + r.stderr)

    def test_a_list_of_hosts_is_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            ssh = os.path.join(folder, "ssh")
            with open(ssh, "w", encoding="ascii") as f:
                f.write(f'#!/bin/sh\nexec {shutil.which("ssh")} '
                        f'-F {self.keys}/client "$@"\n')
            os.chmod(ssh, 0o755)
            r = subprocess.run(
                ["ip", "netns", "exec", self.net.hosts[0], MPIRUN, "--host",
                 "host0,host1", "--route", "tcp", TRAFFIC, "pingpong", "0.5"],
                capture_output=True, text=True, timeout=LIMIT, cwd=self.dir,
                env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"),
                check=False)
        self.assertEqual((r.returncode, r.stdout[:9]), (0, "messages "),
                         r.stderr)

    def test_words_and_directory_arrive_as_they_are(self):
        words = ["a b", "it's", '"$HOME"', "`id`", "*", "", "\\"]
        r = self.run_job("sh", "-c", 'pwd; printf "<%s>\\n" "$@"', "sh", *words,
                         ranks=1)
        self.assertEqual(r.stdout, self.dir + "\n" +
                         "".join(f"<{w}>\n" for w in words), r.stderr)

    def test_variables_travel_when_they_are_named(self):
        os.environ["TRAVELLER"] = "two words"
        self.addCleanup(os.environ.pop, "TRAVELLER")
        show = ["sh", "-c", "echo $WEFT_NODE $TRAVELLER"]
        r = self.run_job(*show, ranks=1, export=" -x TRAVELLER")
        self.assertEqual(r.stdout, "node0 two words\n", r.stderr)
        r = self.run_job(*show, ranks=1)
        self.assertEqual(r.stdout, "node0\n", r.stderr)

    def test_input_goes_there_and_output_comes_back(self):
        text = "".join(f"line {i}\n" for i in range(100000))
        r = self.run_job("sh", "-c", "sleep 0.2; cat; echo done >&2", ranks=1,
                         input=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(r.stdout == text)
        self.assertIn("done\n", r.stderr)

    def test_the_end_of_a_rank_comes_back(self):
        self.assertEqual(self.run_job("sh", "-c", "exit 3").returncode, 3)
        r = self.run_job("sh", "-c", "kill -SEGV $$")
        self.assertEqual(r.returncode, 128 + signal.SIGSEGV)
        self.assertIn("Segmentation fault", r.stderr)

    def test_a_host_that_does_not_answer_ends_the_job(self):
        bad = self.command("true")
        bad = [w.replace("host%n", "host7%n") for w in bad]
        r = subprocess.run(bad, capture_output=True, text=True, timeout=LIMIT,
                           check=False)
        self.assertEqual(r.returncode, 255)
        self.assertRegex(r.stderr, r"weft-remote: host7\d ended")

    def far(self, mark):
        """Pids of the program on the hosts."""
        found = []
        for host in self.net.hosts:
            for pid in faultnet.run("ip", "netns", "pids", host).split():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        words = f.read().split(b"\0")
                except OSError:
                    continue
                if words[0].endswith(b"sleep") and mark.encode() in words:
                    found.append(int(pid))
        return found

    def wait_for(self, mark, count):
        end = time.monotonic() + LIMIT
        while len(self.far(mark)) != count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def sleepers(self, mark):
        job = subprocess.Popen(self.command("sleep", mark),
                               stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.wait_for(mark, 2)
        return job

    def test_signals_reach_the_ranks(self):
        job = self.sleepers("7771")
        job.send_signal(signal.SIGINT)
        self.wait_for("7771", 0)
        self.assertNotEqual(job.wait(LIMIT), 0)

    def test_nothing_is_left_when_mpirun_is_killed(self):
        job = self.sleepers("7772")
        job.kill()
        self.wait_for("7772", 0)

    def test_processes_between_show_neither_words_nor_variables(self):
        self.sleepers("7773")
        for host in self.net.hosts:
            for pid in faultnet.run("ip", "netns", "pids", host).split():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        line = f.read()
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        variables = f.read()
                except OSError:
                    continue
                name = os.path.basename(line.split(b"\0")[0])
                if name in (b"ssh", b"sshd"):
                    self.assertNotIn(b"7773", line)
                if b"--far" in line.split(b"\0"):
                    self.assertNotIn(b"PMI_", variables)


def why_not():
    if not SSHD or not shutil.which("ssh"):
        return "no ssh and sshd here (openssh-client, openssh-server)"
    return ""


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(faultnet.SKIP)
    faultnet.test_main(WIRE, verbosity=1)
