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
WIRE = os.environ.get("WIRE", "netns_wire")
TRAFFIC = os.environ.get("CUTS", "./netns_cuts")
ELSEWHERE = os.environ.get("ELSEWHERE", "./netns_elsewhere")
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
LIMIT = 200
HOSTS = ("10.90.0.1", "10.90.0.2")
NAMES = ("alpha", "beta")
# A login runs the user's own files, which may print: each host sees them empty.
# ip netns exec has given the host a mount namespace of its own.
WITHOUT_LOGIN_FILES = ("for file in ~/.bashrc ~/.cshrc ~/.tcshrc ~/.zshenv; do "
                       "test ! -f $file || mount --bind /dev/null $file; done; ")


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
            f.write("".join(f"Host {n}\n HostName {a}\n"
                            for n, a in zip(NAMES, HOSTS)))
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
        name = NAMES[HOSTS.index(address)]
        daemon = subprocess.Popen(
            ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c",
             f"echo {name} >/proc/sys/kernel/hostname; "
             f"{WITHOUT_LOGIN_FILES}exec {SSHD} -D -f {config}"],
            stderr=subprocess.PIPE)
        end = time.monotonic() + LIMIT
        while address + ":2222" not in faultnet.run(
                "ip", "netns", "exec", host, "ss", "-ltnH"):
            if daemon.poll() is not None or time.monotonic() > end:
                raise faultnet.Trouble(daemon.stderr.read().decode())
            time.sleep(0.01)
        return daemon

    def command(self, *words, hosts="alpha,beta", options=()):
        return ["ip", "netns", "exec", self.net.hosts[0], MPIRUN, "--host", hosts,
                "--launcher-exec", f"ssh -F {self.keys}/client %h", *options,
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
                 "alpha,beta", "--route", "tcp", TRAFFIC, "pingpong", "0.5"],
                capture_output=True, text=True, timeout=LIMIT, cwd=self.dir,
                env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"),
                check=False)
        self.assertEqual((r.returncode, r.stdout[:9]), (0, "messages "),
                         r.stderr)

    def test_words_and_directory_arrive_as_they_are(self):
        words = ["a b", "it's", '"$HOME"', "`id`", "*", "", "\\"]
        r = self.run_job("sh", "-c", 'pwd; printf "<%s>\\n" "$@"', "sh", *words,
                         hosts="beta")
        self.assertEqual(r.stdout, self.dir + "\n" +
                         "".join(f"<{w}>\n" for w in words), r.stderr)

    def test_variables_travel(self):
        for name, value in (("OMP_NUM_THREADS", "3"), ("TRAVELLER", "two words"),
                            ("DISPLAY", "here:0")):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
        show = ["/bin/sh", "-c", "echo $OMP_NUM_THREADS $TRAVELLER "
                "${DISPLAY-none} ${NEW-none} ${HOME+home}"]
        for options, want in (
                ((), "3 two words none none home"),
                (("-x", "NEW=1 2"), "3 two words none 1 2 home"),
                (("-genv", "NEW", "v"), "3 two words none v home"),
                (("-env", "NEW", "w"), "3 two words none w home"),
                (("-genvlist", "TRAVELLER"), "two words none none"),
                (("-genvall",), "3 two words here:0 none home"),
                (("-genvnone", "-x", "DISPLAY"), "here:0 none")):
            with self.subTest(options=options):
                r = self.run_job(*show, hosts="beta", options=options)
                self.assertEqual(r.stdout.split(), want.split(), r.stderr)

    def test_a_directory_for_the_ranks(self):
        r = self.run_job("pwd", hosts="beta", options=("-wdir", "/usr"))
        self.assertEqual(r.stdout, "/usr\n", r.stderr)
        r = self.run_job("pwd", hosts="beta", options=("-wdir", "/nowhere"))
        self.assertEqual((r.returncode, r.stderr), (
            1, "mpirun: host beta: /nowhere: no such directory there; --wdir names "
            "another\n"))

    def test_hosts_have_their_own_names(self):
        r = self.run_job(ELSEWHERE, "name")
        self.assertEqual(sorted(r.stdout.split()), list(NAMES), r.stderr)
        with open(f"{self.keys}/mpi.ini", "w", encoding="ascii") as f:
            f.write("[route there]\nfrom = host:alpha\nto = host:beta\n"
                    "use = tcp\n[route back]\nfrom = host:beta\n"
                    "to = host:alpha\nuse = tcp\n[route rest]\nuse = self\n")
        os.chmod(f"{self.keys}/mpi.ini", 0o600)
        r = self.run_job(TRAFFIC, "pingpong", "0.1", options=(
            "--ini", f"{self.keys}/mpi.ini"))
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_addresses_of_this_host_need_no_ssh(self):
        with open("/etc/hosts", encoding="utf-8") as f:
            known = f.read()
        for name in (HOSTS[0], "127.0.0.1", "localhost"):
            r = subprocess.run(
                ["ip", "netns", "exec", self.net.hosts[0], MPIRUN, "--host",
                 f"{name}:2", "--launcher-exec", "false", "echo", "here"],
                capture_output=True, text=True, timeout=LIMIT, check=False)
            self.assertEqual((r.returncode, r.stdout), (0, "here\n" * 2),
                             r.stderr + known)

    def test_input_goes_there_and_output_comes_back(self):
        text = "".join(f"line {i}\n" for i in range(100000))
        r = self.run_job("sh", "-c", "cat; echo done >&2", hosts="beta",
                         input=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(r.stdout == text)
        self.assertIn("done\n", r.stderr)

    def test_the_end_of_a_rank_comes_back(self):
        self.assertEqual(self.run_job("sh", "-c", "exit 3").returncode, 3)
        r = self.run_job("sh", "-c", "kill -SEGV $$")
        self.assertEqual(r.returncode, 128 + signal.SIGSEGV)
        self.assertIn("Segmentation fault", r.stderr)

    def test_a_rank_that_is_killed_elsewhere_is_named(self):
        """Others lose it, too, and may say so before ssh does."""
        for _ in range(5):
            r = self.run_job(ELSEWHERE, "die", options=("--route", "tcp"))
            self.assertEqual(r.returncode, 128 + signal.SIGKILL, r.stderr)
            self.assertRegex(
                r.stderr, r"mpirun: rank 1 \(\S+, pid \d+, host beta\) was "
                r"killed by signal 9 \(Killed\)")
            self.assertNotIn("aborted the job", r.stderr)

    def test_the_code_of_an_abort_elsewhere_is_the_status(self):
        """And not that of those who lose the rank by it."""
        for _ in range(5):
            r = self.run_job(ELSEWHERE, "abort", options=("--route", "tcp"))
            self.assertEqual(r.returncode, 7, r.stderr)
            self.assertRegex(r.stderr, r"mpirun: rank 1 \(\S+, pid \d+, host beta\) "
                             "aborted the job with code 7")

    def test_a_name_that_nobody_knows_ends_the_job(self):
        r = self.run_job("true", hosts="alpha,nowhere.invalid")
        self.assertEqual(r.returncode, 255)
        self.assertRegex(r.stderr, "mpirun: host nowhere.invalid: no agent could "
                         "be started: 'ssh .*' exited with status 255")

    def test_hosts_that_cannot_talk_are_shown_before_anything_runs(self):
        r = self.run_job(options=("--check-net",))
        self.assertEqual((r.returncode, r.stdout), (
            0, "2 hosts: all 2 pairs reach each other\n"), r.stderr)
        nft = ["ip", "netns", "exec", self.net.hosts[1], "nft"]
        if not shutil.which("nft"):
            self.skipTest("no nft here (nftables)")
        faultnet.run(*nft, "add table inet t; add chain inet t c { type filter "
                     "hook input priority 0; }; add rule inet t c tcp dport "
                     "6001 drop; add rule inet t c tcp dport 6002 reject with "
                     "tcp reset")
        self.addCleanup(faultnet.run, *nft, "flush ruleset")
        r = self.run_job(options=("--check-ports", "6000-6002"))
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, r" beta +10\.90\.0\.2 +6001  no answer: .*\n.* "
                         r"beta +10\.90\.0\.2 +6002  refused: ")
        self.assertNotIn("6000", r.stdout.replace("6000-", ""))
        self.assertIn("1 of 2 pairs of hosts are blocked", r.stdout)

    def test_many_ranks_on_each_host_start_at_once(self):
        """More than sshd would take connections (MaxStartups)."""
        for words in (["true"], [ELSEWHERE, "name"]):
            load, begin = os.getloadavg()[0], time.monotonic()
            r = self.run_job(*words, hosts="alpha:64,beta:64")
            took = time.monotonic() - begin
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            print(f"64 ranks on each of two hosts, {words[-1]}: {took:.2f} s "
                  f"(load {load:.1f})", file=sys.stderr)

    def test_a_host_that_drops_packets_is_named_in_time(self):
        silent = "10.90.0.77"
        # frames to a card that is not there: nobody answers, ever
        faultnet.run("ip", "-n", self.net.hosts[0], "neigh", "replace", silent,
                     "lladdr", "02:00:00:00:77:77", "nud", "permanent", "dev",
                     "net0")
        begin = time.monotonic()
        r = self.run_job("true", hosts=f"alpha,{silent}")
        self.assertIn(f"host {silent}: no answer within 10 s", r.stderr)
        self.assertEqual(r.returncode, 255)
        self.assertLess(time.monotonic() - begin, 30)

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

    def wait_for(self, mark, count, limit=LIMIT):
        end = time.monotonic() + limit
        while len(self.far(mark)) != count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def sleepers(self, mark, stderr=subprocess.DEVNULL):
        job = subprocess.Popen(self.command("sleep", mark),
                               stdin=subprocess.DEVNULL, stderr=stderr)
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

    def test_a_network_that_breaks_ends_the_job_on_both_sides(self):
        """Silently: no end of a connection tells of it."""
        begin = time.monotonic()
        job = self.sleepers("7774", stderr=subprocess.PIPE)
        self.net.fault("all:cut")
        self.addCleanup(self.net.fault, "all:heal")
        err = job.communicate(timeout=2 * LIMIT)[1].decode()
        print(f"a network that breaks: {time.monotonic() - begin:.0f} s",
              file=sys.stderr)
        self.assertEqual((job.returncode, err), (255, "mpirun: host beta is lost: "
                         "its agent has not answered for 15 s\n"))
        # the kernels learn of it when packets go through again
        self.net.fault("all:heal")
        self.wait_for("7774", 0, 4 * LIMIT)

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
                if b"--agent" in line.split(b"\0"):
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
