"""Bad input gets a clear message or has no effect: never a hang or a crash.

MPIRUN is the launcher, JOBS the folder of the job programs.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import launch

JOBS = os.environ.get("JOBS", ".")
JOB = os.path.join(JOBS, "job_bad_job")
PEER = os.path.join(JOBS, "job_bad_peer")
TEAM = os.path.join(JOBS, "job_bad_shmcoll_death")
CONFIG = 78  # EX_CONFIG
KEY = "job_key = of-this-test"


def shell(command, **kw):
    return subprocess.run(["sh", "-c", command], capture_output=True,
                          text=True, timeout=launch.LIMIT, **kw)


def clean_env(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    return dict(env, **more)


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bad")
        self.dir = self.folder.name
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def fine(self, r):
        self.assertEqual((r.returncode, r.stdout), (0, "fine\n"), r.stderr)


class Configuration(Folder):
    def test_every_mistake_of_mpi_ini_is_reported_with_its_line(self):
        ini = self.write("mpi.ini", "[core]\neagre = 4K\nlog = loud\n"
                         "[rout x]\n")
        r = launch.run("-n", 2, "--ini", ini, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        for line in (2, 3, 4):
            self.assertIn(f"mpi.ini:{line}", r.stderr)
        self.assertIn("did you mean 'eager'", r.stderr)

    def test_a_wrong_option_of_a_transport_is_reported_with_its_line(self):
        ini = self.write("mpi.ini", "[transport tcp]\nport = many\n")
        r = launch.run("-n", 2, "--ini", ini, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertIn("mpi.ini:2", r.stderr)

    def test_a_thread_that_could_wait_for_nothing_is_refused(self):
        r = launch.run("-n", 2, "--set", "transport.self.progress=thread", JOB)
        self.assertEqual(r.returncode, CONFIG)
        self.assertIn("self has nothing that a thread could wait for",
                      r.stderr)

    def test_options_of_transports_are_checked_beside_other_mistakes(self):
        ini = self.write("mpi.ini", "[core]\neagr = 1\n[transport tcp]\n"
                         "conections = 1\n[transport none]\n")
        r = launch.run("-n", 2, "--ini", ini, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        for text in ("eagr", "conections", "plugin 'none'"):
            self.assertIn(text, r.stderr)

    def test_what_all_ranks_say_is_printed_once(self):
        ini = self.write("mpi.ini", "[core]\neagre = 4K\n")
        r = launch.run("-n", 4, "--ini", ini, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertEqual(r.stderr.count("did you mean 'eager'"), 1, r.stderr)
        # some may have been ended before they could say it
        self.assertLessEqual(r.stderr.count("ended with the same message"), 1)

    def test_a_rank_with_its_own_standard_error_writes_there(self):
        ini = self.write("mpi.ini", "[core]\neagre = 4K\n")
        own = os.path.join(self.dir, "own")
        r = launch.run("-n", 1, "--ini", ini, "sh", "-c", f"{JOB} 2>{own}")
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertNotIn("eagre", r.stderr)
        with open(own) as f:
            self.assertIn("did you mean 'eager'", f.read())

    def differ(self, first, second):
        return launch.run("-n", 2, "--env", "WEFT_SET", first, JOB, ":",
                          "-n", 1, "--env", "WEFT_SET", second, JOB)

    def test_ranks_whose_settings_differ_do_not_start(self):
        r = self.differ("core.eager=4K", "core.eager=8K")
        self.assertNotEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr,  # whoever looks first
                         r"rank 1 on \S+ has another configuration than rank 2 "
                         r"on \S+: core.eager is '4K' there and '8K' here|"
                         r"rank 2 on \S+ has another configuration than rank 1 "
                         r"on \S+: core.eager is '8K' there and '4K' here")

    def test_a_setting_of_one_rank_only_is_named(self):
        for first, second in (("core.rndv=push", ""), ("", "core.rndv=push")):
            r = self.differ(first, second)
            self.assertRegex(r.stderr, "core.rndv is 'push' (there and not set "
                             r"here|here and not set there) \(default 'auto'\)")

    def test_what_a_sender_may_leave_at_a_receiver_is_one_for_all(self):
        r = self.differ("core.unexpected_max=64K;core.rndv=auto", "")
        self.assertNotEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr, r"rank \d on \S+ has another configuration "
                         r"than rank \d on \S+: core.unexpected_max is '64K' "
                         r"(there and not set here|here and not set there) "
                         r"\(default '512M'\)")

    def test_settings_that_may_differ_do_and_check_can_be_off(self):
        self.fine(self.differ("core.spin=0", "core.spin=1us"))
        self.fine(self.differ("core.check=no;core.rndv=push", "core.check=no"))

    def test_a_file_that_is_not_there_is_named(self):
        r = launch.run("-n", 2, "--ini", "/nowhere/mpi.ini", JOB)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("/nowhere/mpi.ini", r.stderr)

    def test_bytes_that_are_no_text_are_refused(self):
        path = os.path.join(self.dir, "mpi.ini")
        with open(path, "wb") as f:
            f.write(bytes(range(256)) * 40)
        r = launch.run("-n", 2, "--ini", path, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertIn("mpi.ini:1", r.stderr)

    def test_a_missing_interface_is_named_with_those_there_are(self):
        ini = self.write("mpi.ini", "[transport tcp]\ninterface = eth77\n"
                         "enable = yes\n")
        r = launch.run("-n", 2, "--ini", ini, JOB)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("eth77", r.stderr)
        self.assertIn("lo", r.stderr)

    def test_a_transport_that_is_not_open_is_named_where_it_is_missed(self):
        r = launch.run("-n", 2, "--route", "tcp", "--set",
                       "transport.tcp.interface=eth77", JOB)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("tcp: is not open", r.stderr)

    def test_a_setting_without_its_kind_is_written_out(self):
        r = launch.run("-n", 2, "--set", "tcp.port=7000", JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertIn("write transport.tcp.port=7000", r.stderr)

    def test_a_route_that_allows_nothing_says_so(self):
        r = launch.run("-n", 2, "--route", "none", JOB)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("rank 1", r.stderr)

    def test_a_plugin_file_that_is_none(self):
        path = self.write("weft_odd.so", "this is no shared object")
        ini = self.write("mpi.ini", f"[transport odd]\npath = {path}\n")
        r = launch.run("-n", 2, "--ini", ini, JOB)
        self.assertEqual(r.returncode, CONFIG, r.stderr)
        self.assertIn("weft_odd.so", r.stderr)


class Surroundings(Folder):
    def test_unset_home_user_and_tmpdir(self):
        env = clean_env()
        for name in ("HOME", "USER", "LOGNAME", "TMPDIR"):
            env.pop(name, None)
        for route in ("shm", "tcp"):
            self.fine(launch.run("-n", 2, "--route", route, JOB, env=env))

    def test_a_tmpdir_that_cannot_be_used(self):
        for tmp in ("/nowhere", "/proc", "/" + "x" * 3000):
            self.fine(launch.run("-n", 2, JOB, env=clean_env(TMPDIR=tmp)))

    def test_a_read_only_working_directory(self):
        for cwd in ("/proc", "/sys"):
            self.fine(launch.run("-n", 2, JOB, cwd=cwd))

    def test_closed_standard_input(self):
        r = shell(f"{launch.MPIRUN} -n 2 {JOB} <&-")
        self.fine(r)

    def test_few_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        r = subprocess.run([launch.MPIRUN, "-n", "2", JOB], timeout=launch.LIMIT,
                           preexec_fn=limit, capture_output=True, text=True)
        self.fine(r)

    def test_too_few_descriptors_give_a_message_and_an_end(self):
        for n in (6, 8, 10):
            r = shell(f"{launch.MPIRUN} -n 2 sh -c 'ulimit -n {n}; exec {JOB}'")
            if r.returncode:
                self.assertTrue(r.stderr.strip())
                self.assertLess(r.returncode, 128, r.stderr)

    def test_each_number_of_descriptors_is_enough_or_a_reason(self):
        for n in range(5, 13):
            with self.subTest(descriptors=n):
                job = subprocess.Popen(
                    [launch.MPIRUN, "-n", "2", "--route", "tcp", "sh", "-c",
                     f"ulimit -n {n}; exec {JOB}"], text=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE)
                # ranks that have a descriptor for a call and none for a
                # caller say so and wait
                said = []
                for line in job.stderr:
                    said.append(line)
                    if "ulimit -n" in line:
                        job.terminate()
                job.stderr.close()
                said = "".join(said)
                self.assertNotIn("signal 11", said)
                if job.wait():
                    self.assertIn("ulimit -n", said)

    def test_too_few_descriptors_name_the_limit(self):
        for what, command in (
                ("ulimit -Hn", f"ulimit -n 14; {launch.MPIRUN} -n 8 {JOB}"),
                ("ulimit -n", f"{launch.MPIRUN} -n 4 --route tcp "
                 f"sh -c 'ulimit -n 10; exec {JOB}'")):
            with self.subTest(command=command):
                r = shell(command)
                self.assertNotEqual(r.returncode, 0)
                self.assertIn(what, r.stderr)

    def test_a_second_program_of_a_rank_is_refused(self):
        r = shell(f"{launch.MPIRUN} -n 2 sh -c '{JOB} && {JOB}'")
        self.assertEqual((r.returncode, r.stdout), (16, "fine\n"), r.stderr)
        self.assertIn("gave the job key of rank", r.stderr)
        self.assertIn("one program that uses MPI", r.stderr)
        r = shell(f"{launch.MPIRUN} -n 1 sh -c '{JOB} && {JOB}'")
        self.assertEqual((r.returncode, r.stdout), (0, "fine\nfine\n"), r.stderr)

    def test_a_full_dev_shm_has_no_effect(self):
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        r = shell("unshare -m sh -c 'mount -t tmpfs -o size=4k none /dev/shm && "
                  "(dd if=/dev/zero of=/dev/shm/full bs=4k count=4 || :) "
                  f"2>/dev/null; exec {launch.MPIRUN} -n 2 --route shm {JOB}'")
        if "permission denied" in r.stderr.lower():
            self.skipTest(r.stderr.strip())
        self.fine(r)

    def test_without_memfd_the_job_runs_or_says_why(self):
        if shell("strace -V").returncode != 0:
            self.skipTest("strace is not installed")
        r = shell("strace -f -o /dev/null -e inject=memfd_create:error=ENOSYS "
                  f"{launch.MPIRUN} -n 2 {JOB}")
        if "ptrace" in r.stderr.lower():
            self.skipTest(r.stderr.strip())
        if r.returncode:
            self.assertIn("shm", r.stderr)
        else:
            self.assertEqual(r.stdout, "fine\n", r.stderr)


class Peers(Folder):
    def survive(self, route, rounds, size):
        r = launch.run("--continuous", "-n", 3, "--route", route, PEER, rounds,
                       size)
        self.assertEqual(r.returncode, 128 + signal.SIGKILL, r.stderr)
        self.assertEqual(sorted(r.stdout.split("\n")),
                         ["", "survivor 0", "survivor 1"], r.stderr)

    def test_survivors_of_a_killed_peer_go_on(self):
        chance = random.Random(7)
        for route in ("shm", "tcp"):
            for size in (0, 1000, 300000):
                with self.subTest(route=route, size=size):
                    self.survive(route, chance.randrange(40), size)

    def test_a_peer_that_dies_silently_is_noticed(self):
        for route in ("shm", "tcp"):
            with self.subTest(route=route):
                self.survive(route, -1, 0)

    def test_who_waits_on_shared_words_for_a_killed_peer_is_told(self):
        for what in ("barrier", "allreduce", "from_dead", "from_living"):
            with self.subTest(what=what):
                r = launch.run("--continuous", "-n", 3, "--route", "shm", TEAM,
                               what)
                self.assertEqual(r.returncode, 128 + signal.SIGKILL, r.stderr)
                self.assertEqual(sorted(r.stdout.split("\n")),
                                 ["", "survivor 0", "survivor 1"], r.stderr)

    def test_the_job_ends_when_a_rank_is_killed(self):
        r = launch.run("-n", 3, PEER, 5, 100)
        self.assertEqual(r.returncode, 128 + signal.SIGKILL)

    def listening(self, mark):
        """Ports on which processes with this mark listen."""
        inodes, ports = set(), set()
        for pid in launch.processes_with(mark):
            try:
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
            except OSError:
                pass
        with open("/proc/net/tcp", encoding="ascii") as f:
            for line in list(f)[1:]:
                w = line.split()
                if w[3] == "0A" and w[9] in inodes:
                    ports.add(int(w[1].split(":")[1], 16))
        return ports

    def test_strangers_on_the_listening_ports_disturb_nobody(self):
        mark = f"JOB_MARK={os.urandom(8).hex()}"
        name, value = mark.split("=")
        job = launch.start("-n", 2, "--route", "tcp", JOB, 60000,
                           env=clean_env(**{name: value}))
        self.assertTrue(launch.wait_until(
            lambda: len(self.listening(mark)) >= 2 or job.poll() is not None))
        ports = self.listening(mark)
        chance = random.Random(3)
        open_socks = []
        for i in range(300):
            for port in ports:
                try:
                    s = socket.create_connection(("127.0.0.1", port), 5)
                    if i % 3:
                        s.sendall(chance.randbytes(chance.randrange(1, 300)))
                    open_socks.append(s)
                    if i % 2:
                        open_socks.pop(0).close()
                except OSError:
                    pass
        out, err = job.communicate(timeout=launch.LIMIT)
        for s in open_socks:
            s.close()
        self.assertEqual((job.returncode, out), (0, "fine\n"), err)


class Static(Folder):
    def ini(self, n, ports, key=KEY, timeout="20s"):
        ranks = "".join(f"[rank {i}]\nhost = localhost\n"
                        f"tcp = 127.0.0.1:{ports[i]}\n" for i in range(n))
        return (f"[core]\nbootstrap = static\nstart_timeout = {timeout}\n"
                f"{key}\n[transport tcp]\ninterface = lo\n{ranks}")

    def start(self, rank, n, ini):
        return subprocess.Popen([JOB], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                env=clean_env(WEFT_RANK=str(rank), WEFT_INI=ini,
                                              WEFT_SIZE=str(n)))

    def test_ranks_started_by_hand_find_each_other_in_any_order(self):
        for order in ((0, 1), (1, 0), (3, 2, 1, 0), (0, 1, 2, 3)):
            with self.subTest(order=order):
                n = len(order)
                ini = self.write("mpi.ini", self.ini(n, free_ports(n)))
                jobs = []
                for rank in order:
                    jobs.append(self.start(rank, n, ini))
                    time.sleep(0.3)  # that is how people start them
                for rank, job in zip(order, jobs):
                    out, err = job.communicate(timeout=launch.LIMIT)
                    self.assertEqual((job.returncode, out),
                                     (0, "" if rank else "fine\n"), err)

    def test_a_rank_that_never_comes_is_named(self):
        ini = self.write("mpi.ini", self.ini(2, free_ports(2), timeout="1s"))
        for rank in (0, 1):
            out, err = self.start(rank, 2, ini).communicate(timeout=launch.LIMIT)
            self.assertIn("Connection refused", err)
            self.assertIn(f"process {1 - rank}", err)

    def test_a_wrong_job_key_is_said_and_ends_the_wait(self):
        ports = free_ports(2)
        jobs = []
        for rank in (0, 1):
            key = self.write(f"key{rank}", f"secret number {rank}\n", 0o600)
            ini = self.write(f"{rank}.ini",
                             self.ini(2, ports, f"job_key_file = {key}", "5s"))
            jobs.append(self.start(rank, 2, ini))
        text = ""
        for job in jobs:
            text += job.communicate(timeout=launch.LIMIT)[1]
            self.assertNotEqual(job.returncode, 0)
        self.assertIn("wrong job key: is core.job_key", text)

    def refused(self, ini, *texts, rank=0):
        job = self.start(rank, 2, self.write("mpi.ini", ini))
        _, err = job.communicate(timeout=launch.LIMIT)
        self.assertNotEqual(job.returncode, 0)
        for text in texts:
            self.assertIn(text, err)

    def test_a_key_file_that_is_not_there_is_named_with_its_line(self):
        self.refused(self.ini(2, free_ports(2), "job_key_file = nowhere.key"),
                     "mpi.ini:4: job_key_file: nowhere.key: No such file")

    def test_a_rank_outside_the_job_is_no_fault_of_the_library(self):
        self.refused(self.ini(2, free_ports(2)), "MPI_ERR_OTHER",
                     "WEFT_RANK=2 is not in 0..1", rank=2)

    def test_an_address_that_is_none_is_named_with_its_line(self):
        ini = self.ini(2, free_ports(2))
        self.refused(ini.replace("tcp = 127.0.0.1", "tcp = no.such.host"),
                     "self: another process", "mpi.ini:12: 'no.such.host:",
                     "no name of /etc/hosts")

    def test_a_key_file_that_others_may_read_is_refused(self):
        key = self.write("key", "secret\n", 0o644)
        ini = self.write("mpi.ini",
                         self.ini(2, free_ports(2), f"job_key_file = {key}"))
        job = self.start(0, 2, ini)
        _, err = job.communicate(timeout=launch.LIMIT)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("chmod 600", err)


if __name__ == "__main__":
    launch.main()
