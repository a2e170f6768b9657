"""The works that Weft follows: what each says, and the figures about it.
docs/internals/papers.md says what Weft took of them, and where it is.

SPDX-License-Identifier: BSD-3-Clause
"""

# work, what it says, beginnings of the figures' names
PAPERS = [
    ("Protopopov and Skjellum, a multi-threaded MPI architecture",
     "Polling several fabrics in turn averages their latencies, so the fast one "
     "becomes as slow as the slow one. Then: the fast fabric costs the same "
     "beside idle ones, by a named source and by any.",
     ("idle-named", "idle-any", "fabrics-fast", "fabrics-slow")),
    ("Brightwell and Greenberg, MPI on Sandia's lightweight kernels",
     "Messages land in the user's buffer once they are matched, whatever the "
     "program does; few are stored. Then: a message is in memory soon while its "
     "process computes, a large transfer hides behind a computation, and long "
     "queues cost little.",
     ("deliver-", "overlap-shm", "overlap-tcp", "overlap-4-", "match-unexpected-order",
      "depth-")),
    ("Brightwell and Greenberg, the section on real-time channels",
     "What a send needs is reserved collectively when the channel is set up. "
     "Then: with bulk messages of the same pair under way, starts on a channel "
     "are as early as without them, the late ones too.",
     ("channel",)),
    ("Balaji and others, support for multithreaded MPI communication",
     "Message rates grow with the number of threads as locks become finer: "
     "global, brief-global, per-object, lock-free. A build has one of these "
     "(./build.sh --granularity); --also NAME=DIR measures others beside it.",
     ("threads-null", "threads-blocking", "threads-nonblocking")),
    ("Plachetka, thread-safe MPI without active polling",
     "A blocked process takes no processor time, and a thread that serves "
     "requests beside a computation answers at once and costs it little.",
     ("blocked", "wake", "serve")),
    ("Holmes, McMPI",
     "Layers of a managed language need not cost much: latency by message "
     "size, rate, and matching of many tags, between processes and between "
     "threads that are ranks.",
     ("shm-latency", "tcp-latency", "thread-latency", "match-posted-",
      "thread-match-posted-")),
]


def beginnings():
    """The beginnings of the names of all figures that are about a work."""
    return [b for _, _, names in PAPERS for b in names]


def works_of(figure):
    """The works that a figure is about: (work, what it says)."""
    return [(work, says) for work, says, names in PAPERS
            if figure.startswith(names)]
