"""A client of PMI-1, for the scripts that launch_spawn.py runs as ranks.

A scenario's words are Python: it is started as `python -c "from pmi_client
import *; ..."`, under a launcher, or by start_launcher() with one of its own.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import socket
import subprocess
import sys
import time
import urllib.parse

PYTHON = sys.executable
HEAD = "from pmi_client import *\n"


def encode(text):
    return urllib.parse.quote(text, safe="/:+")


def decode(text):
    return urllib.parse.unquote(text)


def fields(line):
    return dict(w.split("=", 1) for w in line.split() if "=" in w)


class Pmi:
    def __init__(self, sock=None):
        sock = sock or socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
        self.file = sock.makefile("rw", newline="\n")
        self.rank = int(os.environ.get("PMI_RANK", 0))
        self.ask("cmd=init pmi_version=1 pmi_subversion=1")

    def send(self, text):
        self.file.write(text + "\n")
        self.file.flush()

    def read_answer(self):
        """The next line that is no notice of Weft's mpirun."""
        while True:
            line = self.file.readline()
            if not line.startswith("cmd=weft_"):
                return fields(line)

    def ask(self, text):
        self.send(text)
        return self.read_answer()

    def get(self, key):
        return self.ask(f"cmd=get kvsname=x key={key}").get("value")

    def finalize(self):
        self.ask("cmd=finalize")

    def ask_to_spawn(self, *commands, preput=(), words=True):
        """A command is (count, [program, argument...], {info})."""
        code = encode if words else str
        for i, (count, argv, *info) in enumerate(commands):
            info = info[0] if info else {}
            lines = ["mcmd=spawn", *(["weft_words=1"] if words else []),
                     f"nprocs={count}", f"execname={code(argv[0])}",
                     f"totspawns={len(commands)}", f"spawnssofar={i + 1}",
                     *(f"arg{k + 1}={code(a)}" for k, a in enumerate(argv[1:])),
                     f"argcnt={len(argv) - 1}", f"preput_num={len(preput)}"]
            for k, (key, value) in enumerate(preput):
                lines += [f"preput_key_{k}={code(key)}",
                          f"preput_val_{k}={code(value)}"]
            lines.append(f"info_num={len(info)}")
            for k, (key, value) in enumerate(info.items()):
                lines += [f"info_key_{k}={code(key)}",
                          f"info_val_{k}={code(value)}"]
            self.send("\n".join([*lines, "endcmd"]))

    def spawn(self, *commands, **kw):
        """The reason of a refusal, or None."""
        self.ask_to_spawn(*commands, **kw)
        reply = self.read_answer()
        assert reply["cmd"] == "spawn_result", reply
        return None if reply["rc"] == "0" else decode(reply.get("msg", "?"))

    def spawn_script(self, count, script, **kw):
        return self.spawn((count, [PYTHON, "-c", HEAD + script]), **kw)


def say(*words):
    """One write, so that lines of several processes do not mix."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def wait_for_ever():
    while True:
        time.sleep(1000)


def start_launcher(mpirun, **kw):
    """A launcher for this process, as the library starts one."""
    ours, theirs = socket.socketpair()
    subprocess.run([mpirun, "--singleton"], stdin=theirs, check=True, **kw)
    theirs.close()
    return Pmi(ours)
