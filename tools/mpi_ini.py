#!/usr/bin/env python3
"""Writes docs/user/mpi-ini.md from the tables of options.

    mpi_ini.py [FILE]     FILE, or standard output

The keys, their defaults, ranges and help are those of core/config/options.def,
of the weft_option tables of the transports, and of core/config/algorithms.def.
The prose around the tables is tools/mpi_ini/text.md.in, and what there is to
say of an option beyond its help is tools/mpi_ini/notes.txt.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRANSPORTS = {
    "shm": "plugins/shm/shm.c",
    "tcp": "plugins/tcp/tcp.c",
    "udp-reliable": "plugins/udp-reliable/udp.c",
    "sctp": "plugins/sctp/sctp.c",
    "thread": "core/thread/transport.c",
}
STRING = r'"(?:[^"\\]|\\.)*"'


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def arguments(text, start):
    """The arguments of a call or initialiser whose text begins at start,
    behind its bracket, as C text; and where it ends."""
    found, depth, part = [], 0, ""
    for token in re.finditer(STRING + r"|[^\"]", text[start:], re.S):
        c = token.group()
        if depth == 0 and c in ",)}":
            found.append(part.strip())
            part = ""
            if c != ",":
                return found, start + token.end()
        else:
            depth += (c in "({") - (c in ")}")
            part += c
    raise ValueError("no end: " + text[start:start + 40])


def value(text):
    """A C string, of several parts perhaps, or None."""
    if text == "NULL":
        return None
    return "".join(s[1:-1] for s in re.findall(STRING, text))


class Option:
    def __init__(self, key, kind, default, limits, help_):
        self.key = key.strip('"')
        self.kind = kind.removeprefix("WEFT_OPT_")
        self.default, self.range = value(default), value(limits)
        self.help = value(help_)

    def values(self):
        """What it may be, in words."""
        if self.kind == "BOOL":
            return "yes or no"
        if self.kind == "LIST":
            return "list"
        if self.kind == "STR":
            return "text"
        parts = self.range.split("|")
        unit = {"TIME": "time ", "SIZE": "size "}.get(self.kind, "")
        if re.search(r"\b1\.\.", self.range) and self.kind == "SIZE":
            unit = ""  # a number that may have K or M behind it
        return ", ".join(unit + p if ".." in p else p for p in parts)


def macro_options(name, only_same=False):
    """The options that options.def lists by the macro NAME; only_same: those
    on which the processes of a job must agree."""
    text = read("core", "config", "options.def")
    text = text[text.index("#endif\n\nWF_"):]
    for call in re.finditer(rf"^{name}\(", text, re.M):
        args = arguments(text, call.end())[0]
        if name == "WF_CORE":
            same = args.pop(4)
            if same != "1" and only_same:
                continue
        if name != "WF_COLLECTIVES":
            yield Option(*args)


def expand_macro(call):
    """The options that a macro of the transports over IP lists."""
    for header in ("alive.h", "endpoint.h"):
        text = read("plugins", "ip", header).replace("\\\n", "\n")
        found = re.search(rf"#define {call.group(1)}\(OPTION.*?\) *\n(.*?)"
                          r"^(?:#|/\*)", text, re.M | re.S)
        if found:
            return found.group(1).replace("PORT ", f"{call.group(2)} ")
    raise ValueError("no macro " + call.group(1))


def table_options(path):
    """The options of a weft_option table."""
    body = re.search(r"weft_option options\[\] = \{(.*?)\{0\}\};", read(path),
                     re.S).group(1)
    body = re.sub(r"(WF_IP_\w+_OPTIONS)\(OPTION(?:, (\"[^\"]*\"))?\)",
                  expand_macro, body)
    for start in re.finditer(r'OPTION\(|\{(?=")', body):
        args = arguments(body, start.end())[0]
        if start.group() == "{":
            del args[2]  # where the value goes
        yield Option(*args)


def notes():
    """Text of notes.txt by section and key, and sign: one of + = :"""
    found = {}
    text = re.sub(r"^#.*\n", "", read("tools", "mpi_ini", "notes.txt"),
                  flags=re.M)
    for part in filter(str.strip, re.split(r"\n\s*\n", text)):
        name, sign, words = part.strip().split(None, 2)
        found[name, sign] = " ".join(words.split())
    return found


class Manual:
    def __init__(self):
        self.notes = notes()
        self.used = set()

    def note(self, section, option, sign):
        name = f"{section}.{option.key}", sign
        self.used.add(name)
        return self.notes.get(name)

    def meaning(self, section, option):
        text = self.note(section, option, "=") or option.help
        more = self.note(section, option, "+")
        return (f"{text}; {more}" if more else text).replace("|", "\\|")

    def rows(self, section, options):
        yield "| key | default | values | meaning |"
        yield "|---|---|---|---|"
        for o in options:
            default = f"`{o.default}`" if o.default is not None else ""
            values = self.note(section, o, ":") or o.values()
            yield (f"| `{o.key}` | {default} | {values} | "
                   f"{self.meaning(section, o)} |").replace("|  |", "| |")

    def collectives(self):
        text = read("core", "config", "algorithms.def")
        names = {}
        for call in re.finditer(r"^WF_ALGORITHM\(", text, re.M):
            args = arguments(text, call.end())[0]
            names[args[0]] = args[1]
        yield "| key | default | sizes are of | algorithms |"
        yield "|---|---|---|---|"
        for call in re.finditer(r"^WF_COLLECTIVE\(", text, re.M):
            args = arguments(text, call.end())[0]
            can = ", ".join(names[s] for s in re.findall(r"ALG\((\w+)\)",
                                                         args[3]))
            yield f"| `{args[1]}` | `auto` | {value(args[2])} | {can} |"

    def block(self, name):
        """What stands in place of a line @NAME@."""
        if name == "same":
            same = macro_options("WF_CORE", only_same=True)
            return textwrap.wrap(
                "The processes of a job must agree on " +
                ", ".join(f"`{o.key}`" for o in same) + ", on the transports "
                "(name and plugin), the routes and the choice of algorithms; "
                "`check` compares these.", 100)
        if name == "collectives":
            return self.collectives()
        if name.startswith("plugin "):
            name = name.removeprefix("plugin ")
            return self.rows(name, table_options(TRANSPORTS[name]))
        return self.rows(name, macro_options("WF_" + name.upper()))

    def text(self):
        out = []
        for line in read("tools", "mpi_ini", "text.md.in").splitlines():
            mark = re.fullmatch(r"@(.*)@", line)
            out += self.block(mark.group(1)) if mark else [line]
        for name, _ in set(self.notes) - self.used:
            sys.exit(f"mpi_ini.py: notes.txt names {name}, which is no option")
        return "\n".join(out) + "\n"


def main(path=None):
    text = Manual().text()
    if path and path.startswith("-"):
        sys.exit(__doc__)
    if path is None:
        sys.stdout.write(text)
    else:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
