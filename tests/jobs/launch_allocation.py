"""Hosts and numbers of ranks come from the batch system, unless the command
line says them. Real Slurm: launch_slurm.py.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import socket
import tempfile
import unittest

import launch

BATCH = re.compile(r"^(SLURM|PBS|LSB|LSF|PE)_")
CLEAN = {k: v for k, v in os.environ.items() if not BATCH.match(k)}
HERE = socket.gethostname()


class Allocation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def file(self, text):
        path = os.path.join(self.dir, "hosts")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def ranks(self, *options, **variables):
        job = launch.run(*options, "echo", "x", env=dict(CLEAN, **variables))
        self.assertEqual(job.returncode, 0, job.stderr)
        return job.stdout.count("x")

    def refused(self, *texts, **variables):
        job = launch.run("echo", "x", env=dict(CLEAN, **variables))
        self.assertEqual((job.returncode, job.stdout), (2, ""))
        for text in (*texts, "--host or --hostfile says where ranks run"):
            self.assertIn(text, job.stderr)

    def test_pbs_has_a_line_for_each_slot(self):
        path = self.file(f"{HERE}\nlocalhost\n{HERE}\n")
        self.assertEqual(self.ranks(PBS_NODEFILE=path), 3)

    def test_lsf_has_a_file_or_words(self):
        path = self.file(f"{HERE}\n{HERE}\n\n{HERE}\n")
        self.assertEqual(self.ranks(LSB_DJOB_HOSTFILE=path,
                                    LSB_MCPU_HOSTS="other 7"), 3)
        self.assertEqual(self.ranks(LSB_MCPU_HOSTS=f"{HERE} 3 localhost 2 "),
                         5)
        self.assertEqual(self.ranks(LSB_HOSTS=f"{HERE} {HERE}"), 2)

    def test_sge_has_a_line_for_each_host(self):
        path = self.file(f"{HERE} 4 all.q@{HERE} UNDEFINED\n"
                         "localhost 1 all.q UNDEFINED\n")
        self.assertEqual(self.ranks(PE_HOSTFILE=path), 5)

    def test_slurm_repeats_numbers(self):
        for hosts, tasks, want in (("localhost", "3", 3),
                                   ("localhost,127.0.0.1", "3,1", 4),
                                   ("localhost,127.0.0.[1-3],::1", "2(x4),7",
                                    15)):
            self.assertEqual(self.ranks(SLURM_JOB_NODELIST=hosts,
                                        SLURM_TASKS_PER_NODE=tasks), want)

    def test_the_command_line_wins(self):
        slurm = {"SLURM_JOB_NODELIST": "away[1-9]",
                 "SLURM_TASKS_PER_NODE": "8(x9)"}
        self.assertEqual(self.ranks("-n", 2, "--host", "localhost", **slurm), 2)
        self.assertEqual(self.ranks("-n", 3, "--nodes", 2, **slurm), 3)
        self.assertEqual(self.ranks("-n", 2, LSB_HOSTS=f"{HERE} " * 5), 2)

    def test_nonsense_is_refused_with_the_variable(self):
        path = self.file(f"{HERE} 2 q\n{HERE} many q\n")
        self.refused("PE_HOSTFILE", "no number of slots", PE_HOSTFILE=path)
        self.refused("PBS_NODEFILE is '/no/file': No such file",
                     PBS_NODEFILE="/no/file")
        self.refused("LSB_MCPU_HOSTS", "no number", LSB_MCPU_HOSTS="a 1 b")
        for hosts in ("n[1-", "n[]", "n[5-1]", "a,n[x]", "n[1-99999]"):
            self.refused(f"SLURM_JOB_NODELIST is '{hosts}': this is no list",
                         SLURM_JOB_NODELIST=hosts, SLURM_TASKS_PER_NODE="1(x9)")
        for tasks in ("2(x2)", "x", "1,", "1(x", "1(x)", "0,1,1", "1;1;1",
                      "99999999999999999999(x3)"):
            self.refused(f"SLURM_TASKS_PER_NODE is '{tasks}'",
                         SLURM_JOB_NODELIST="n[1-3]",
                         SLURM_TASKS_PER_NODE=tasks)


launch.main()
