"""Writes the manual pages from what says the same elsewhere: the help that
programs print, the commands of docs/user, tools/README.md and
docs/user/mpi-ini.md.

    manual.py OUTDIR VERSION SUFFIX NAME=HELPFILE ...

SUFFIX is that of the installed names of programs that every MPI has.
The names are mpirun, mpicc and weft-info; mpi.ini has a page without that.
SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUMMARY = {
    "mpirun": "start a parallel program",
    "mpicc": "compile and link a program that uses MPI",
    "weft-info": "ask what Weft is configured to do, and why",
    "mpi.ini": "configuration of the MPI library Weft",
}
SAME_PAGE = {"mpirun": ["mpiexec", "weftrun"],
             "mpicc": ["mpicc_abi", "mpicxx", "mpicxx_abi", "mpic++",
                       "mpiCC"]}


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def line(text):
    """A line of text, which roff must not take for a request."""
    return ("\\&" if text[:1] in (".", "'") else "") + text + "\n"


def spans(text):
    """Markdown within a paragraph."""
    out = ""
    for part in re.split(r"(`[^`]+`|\*+[^*]+\*+)", text):
        if part[:1] == "`":
            out += f"\\fB{escape(part[1:-1])}\\fR"
        elif part[:1] == "*":
            out += f"\\fI{escape(part.strip('*'))}\\fR"
        else:
            out += escape(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", part))
    return out


def verbatim(lines):
    return (".PP\n.nf\n.RS 4\n" + "".join(line(escape(s)) for s in lines)
            + ".RE\n.fi\n")


def table(rows):
    """The first column is a tag; those between it and the last have names."""
    cells = [[c.strip().replace("\0", "|") for c in
              row.strip().strip("|").replace("\\|", "\0").split("|")]
             for row in rows]
    out = ""
    for row in cells[2:]:
        named = [f"{name}: {value}" for name, value
                 in zip(cells[0][1:-1], row[1:-1]) if value]
        text = "; ".join(named) + (".\n" if named else "") + row[-1]
        out += ".TP\n" + line(spans(row[0]) or "\\&")
        out += "".join(line(spans(s)) for s in text.splitlines())
    return out


def block(lines):
    """A paragraph, a table, a list or an example."""
    if lines[0].startswith("```"):
        return verbatim(lines[1:-1])
    if lines[0].startswith("    "):
        return verbatim([s[4:] for s in lines])
    if lines[0].startswith("|"):
        return table(lines)
    out = ""
    for text in re.split(r"\n(?=- |\d+\. )", "\n".join(lines)):
        item = re.match(r"(-|\d+\.) (.*)", text, re.S)
        if item:
            mark = "\\(bu" if item.group(1) == "-" else item.group(1)
            out += f".IP {mark} 4\n"
        else:
            out += ".PP\n"
        text = re.sub(r"\n *", " ", item.group(2) if item else text)
        out += line(spans(text))
    return out


def markdown(text):
    """The blocks of a document, headings as sections."""
    out, lines, fenced = "", [], False
    for text in text.splitlines() + [""]:
        fence = text.startswith("```")
        heading = re.match(r"(#+) (.*)", text) if not fenced else None
        if lines and not fenced and (not text or heading or fence):
            out += block(lines)
            lines = []
        if heading:
            kind = ".SH" if len(heading.group(1)) < 3 else ".SS"
            name = heading.group(2)
            if kind == ".SH" and "[" not in name:
                name = name.upper()
            out += f"{kind} \"{spans(name)}\"\n"
        elif text and not text.startswith("<!--") or fenced:
            lines.append(text)
        if fence and fenced:
            out += block(lines)
            lines = []
        fenced ^= fence
    return out


def options(text):
    """The help of mpirun: options are indented, and what they do stands in a
    column of its own or behind them."""
    out = ""
    for text in text.splitlines():
        option = re.match(r"  (-\S.{32,}?) +(\S.*)", text)
        if option:
            out += ".TP\n" + line(f"\\fB{escape(option.group(1).strip())}\\fR")
            out += line(escape(option.group(2)))
        elif text:
            out += line(escape(text))
        else:
            out += ".PP\n"
    return re.sub(r"(\.PP\n)+$", "", out)


def examples(name):
    """Commands of documents, which their test runs."""
    text = "".join(read(ROOT, "docs", "user", page)
                   for page in ("running.md", "appliances.md"))
    tested = re.findall(r"<!-- test[^>]*-->\n```sh\n(.*?)^```", text,
                        re.M | re.S)
    found = [s for part in tested for s in part.splitlines()
             if s.startswith(name + " ")]
    return ".SH EXAMPLES\n" + verbatim(found) if found else ""


def part(document, heading):
    """A part of a document, with its heading."""
    found = re.search(rf"^(## {heading}\n.*?)(?=^## |\Z)", document, re.M | re.S)
    if not found:
        sys.exit(f"manual.py: tools/README.md has no part '{heading}'")
    return markdown(found.group(1))


def section(name):
    return 5 if name == "mpi.ini" else 1


def page(name, version, body):
    names = ", ".join(map(escape, [name] + SAME_PAGE.get(name, [])))
    also = ", ".join(f"\\fB{escape(other)}\\fR({section(other)})"
                     for other in SUMMARY if other != name)
    return (f".TH \"{escape(name).upper()}\" {section(name)} \"\" "
            f"\"Weft {version}\"\n.SH NAME\n{names} \\- {SUMMARY[name]}\n"
            f"{body}.SH \"SEE ALSO\"\n{also}\n")


def bodies(helps):
    """What each page says, by its name."""
    tools, ini = (read(ROOT, *path) for path in (("tools", "README.md"),
                                                 ("docs", "user",
                                                  "mpi-ini.md")))
    says = ".SH DESCRIPTION\n"
    return {
        "mpirun": says + options(helps["mpirun"])
                  + part(tools, "Which rank runs where")
                  + part(tools, "Several hosts by ssh")
                  + part(tools, "Where a job is") + examples("mpirun"),
        "mpicc": says + verbatim(helps["mpicc"].splitlines())
                 + examples("mpicc"),
        "weft-info": says + verbatim(helps["weft-info"].splitlines())
                     + examples("weft-info"),
        "mpi.ini": says + markdown(ini.split("\n", 1)[1]),
    }


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def write(out, name, number, text):
    folder = os.path.join(out, f"man{number}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.{number}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(out, version, suffix, *helps):
    helps = {name: read(path) for name, path in
             (item.split("=", 1) for item in helps)}
    for name, body in bodies(helps).items():
        file = name + suffix if name.startswith("mpi") and section(name) == 1 \
            else name
        write(out, file, section(name), page(name, version, body))
        for other in SAME_PAGE.get(name, []):
            if other.startswith("mpi"):
                other += suffix
            write(out, other, 1, f".so man1/{file}.1\n")


main(*sys.argv[1:])
