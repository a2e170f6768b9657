#!/usr/bin/env python3
"""Runs tests again and again until one fails or hangs, and says what it said.

    tests/repeat.py build 'job_threads_.*_shm$' -n 1000
    tests/repeat.py build-lock-free unit_pool_threads -s 480
    tests/repeat.py build 'job_.*threads' -s 480 --bare

Every test of the build whose name matches runs in turn, until each has run N
times or the seconds are over. A hang is a run that takes longer than the limit
of the test, or --limit seconds. --bare starts jobs without run_job.py, which looks
for what they leave behind and takes longer than a short job.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time


def tests_of(build, regex):
    """Name, command, environment, seconds, status when skipped, folder."""
    out = subprocess.run(["ctest", "--test-dir", build, "-R", regex,
                          "--show-only=json-v1"], check=True,
                         capture_output=True, text=True).stdout
    for test in json.loads(out)["tests"]:
        of = {p["name"]: p["value"] for p in test["properties"]}
        env = dict(e.split("=", 1) for e in of.get("ENVIRONMENT", []))
        if "command" in test:
            yield (test["name"], test["command"], env,
                   of.get("TIMEOUT", 1500), of.get("SKIP_RETURN_CODE"),
                   of.get("WORKING_DIRECTORY", build))


def without_run_job(command):
    for i, word in enumerate(command):
        if word.endswith("/run_job.py"):
            return command[i + 1:]
    return command


def kill(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, env, limit, folder):
    """Its status, None for a hang, and what it said."""
    p = subprocess.Popen(command, env={**os.environ, **env}, cwd=folder,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace", start_new_session=True)
    try:
        said, _ = p.communicate(timeout=limit)
        return p.returncode, said
    except KeyboardInterrupt:
        kill(p)
        raise
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGABRT)
        time.sleep(1)
        kill(p)
        return None, p.communicate()[0]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("build")
    p.add_argument("regex")
    p.add_argument("-n", type=int, default=sys.maxsize, metavar="TIMES")
    p.add_argument("-s", type=float, default=float("inf"), metavar="SECONDS")
    p.add_argument("--bare", action="store_true", help="mpirun alone")
    p.add_argument("--limit", type=float, help="seconds of a run")
    args = p.parse_args()
    if args.n == sys.maxsize and args.s == float("inf"):
        p.error("-n or -s says when to stop")
    tests = list(tests_of(args.build, args.regex))
    if args.bare:
        tests = [(name, without_run_job(command), *more)
                 for name, command, *more in tests]
    if not tests:
        p.error("no test has such a name")
    count, start, bad = {t[0]: 0 for t in tests}, time.monotonic(), 0
    runs = (t for _ in range(args.n) for t in tests)
    try:
        for name, command, env, limit, skip, folder in runs:
            if bad or time.monotonic() - start > args.s:
                break
            status, said = run(command, env, args.limit or limit, folder)
            if status not in (0, skip):
                print(said)
                print(f"{name}, run {count[name] + 1}: "
                      + ("hangs" if status is None else f"status {status}"))
                bad = 1
            count[name] += status == 0
    except KeyboardInterrupt:
        print("interrupted; until then:")
        bad = 128 + signal.SIGINT
    for name, n in count.items():
        print(f"{n:8} {name}")
    print(f"{sum(count.values())} runs passed in "
          f"{time.monotonic() - start:.0f} s")
    return bad


if __name__ == "__main__":
    sys.exit(main())
