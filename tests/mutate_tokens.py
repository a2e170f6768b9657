"""The tokens of a C file, and the mutants that one changed token makes.

Comments, strings, preprocessor directives (but the body of a #define counts),
attributes, and static assertions are not mutated. Whether `*`, `&`, `+` and `-`
have two operands is told by the blanks around them, as .clang-format leaves
them.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
from dataclasses import dataclass

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\\\n)
  | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\])*"|[uUL]?'(?:\\.|[^'\\])*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """, re.X | re.S)
DIRECTIVE = re.compile(r"[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*", re.S)
DEFINE = re.compile(r"[ \t]*\#[ \t]*define[ \t]+\w+(?:\([^)]*\))?", re.S)

OPERATORS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "%=": ["/="],
    "++": ["--"], "--": ["++"],
    "&&": ["||"], "||": ["&&"],
    "&": ["|"], "|": ["&"], "^": ["&"], "<<": [">>"], ">>": ["<<"],
    "&=": ["|="], "|=": ["&="], "^=": ["|="], "<<=": [">>="], ">>=": ["<<="],
}
ALONE = {"!", "~", "-"}  # before their only operand: removed
NOT_MUTATED = {"__attribute__", "_Static_assert", "static_assert", "_Alignas",
               "__builtin_prefetch", "__asm__", "asm", "__typeof__"}
BOOLEANS = {"true": "false", "false": "true"}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Mutant:
    """In `file`, the text from `start` to `end` becomes `new`."""
    file: str
    start: int
    end: int
    new: str
    line: int
    first: int  # lines of its statement
    last: int
    before: str  # its line, and what becomes of that
    after: str

    def applied(self, text):
        return text[:self.start] + self.new + text[self.end:]


def tokens_of(text):
    at, fresh = 0, True  # fresh: only blanks since the line began
    while at < len(text):
        directive = DIRECTIVE.match(text, at) if fresh else None
        if directive:
            define = DEFINE.match(text, at)
            at, fresh = (define.end(), False) if define else (
                directive.end(), False)
            continue
        m = TOKEN.match(text, at)
        if m.lastgroup != "skip":
            yield Token(m.lastgroup, m[0], at)
            fresh = False
        elif "\n" in m[0] and m[0] != "\\\n":
            fresh = True
        at = m.end()


def closing(tokens, i):
    """The index of the parenthesis that closes the one at i."""
    depth = 0
    for k in range(i, len(tokens)):
        depth += (tokens[k].text == "(") - (tokens[k].text == ")")
        if depth == 0:
            return k
    return len(tokens) - 1


def without_declarations(tokens):
    """Yields the indices of tokens that may be mutated."""
    i = 0
    while i < len(tokens):
        if tokens[i].text in NOT_MUTATED:
            while i + 1 < len(tokens) and tokens[i + 1].text in (
                    "volatile", "goto"):
                i += 1
            if i + 1 < len(tokens) and tokens[i + 1].text == "(":
                i = closing(tokens, i + 1)
        else:
            yield i
        i += 1


def blank(text, at):
    return not 0 <= at < len(text) or text[at].isspace()


def of_operator(text, token):
    before, behind = token.at - 1, token.at + len(token.text)
    if token.text in ALONE and not blank(text, behind):
        return [""]
    if token.text in "*&+-<>" and not (blank(text, before) and
                                       blank(text, behind)):
        return []
    return OPERATORS.get(token.text, [])


def of_number(tokens, i):
    m = INTEGER.match(tokens[i].text)
    if not m:
        return []
    size = (i and tokens[i - 1].text == "[" and i + 1 < len(tokens) and
            tokens[i + 1].text == "]")
    octal = m[1].startswith("0") and m[1].isdigit() and len(m[1]) > 1
    value = int(m[1], 8 if octal else 0)
    if size and value >= 8:
        return []  # of an array: one more changes nothing
    if value >= 1000 and m[1].isdigit():
        return []  # a time or an amount that measuring has chosen
    if value == 0:
        return ["1" + m[2]]
    shape = "0x{:x}" if m[1][:2] in ("0x", "0X") else \
        "0{:o}" if octal else "{}"
    return [shape.format(value + k) + m[2] for k in (1, -1)]


def of_return(text, tokens, i):
    """The end of the value and its negation, or None."""
    depth, k = 0, i + 1
    while k < len(tokens) and (depth or tokens[k].text != ";"):
        depth += (tokens[k].text in "([{") - (tokens[k].text in ")]}")
        k += 1
    value = tokens[i + 1:k]
    if k == len(tokens) or not value or value[0].text in ("!", "true", "false"):
        return None
    if len(value) == 1 and value[0].kind in ("number", "text"):
        return None
    start, end = value[0].at, tokens[k].at
    return start, end, f"!({text[start:end]})"


def changes(text, tokens):
    """Yields the index of a token with start, end and text of its change."""
    for i in without_declarations(tokens):
        t = tokens[i]
        end = t.at + len(t.text)
        found = []
        if t.kind == "sign":
            found = of_operator(text, t)
        elif t.kind == "number":
            found = of_number(tokens, i)
        elif t.text in BOOLEANS:
            found = [BOOLEANS[t.text]]
        elif t.text == "return":
            change = of_return(text, tokens, i)
            if change:
                yield i, *change
        for new in found:
            yield i, t.at, end, new


def statements(text, tokens):
    """For each token, the first and last line of its statement."""
    spans, begin = [None] * len(tokens), 0
    lines = [0] * len(tokens)
    line = at = 0
    for i, t in enumerate(tokens):
        line += text.count("\n", at, t.at)
        at, lines[i] = t.at, line + 1
    for i, t in enumerate(tokens):
        if t.text in (";", "{", "}") or i == len(tokens) - 1:
            for k in range(begin, i + 1):
                spans[k] = lines[begin], lines[i]
            begin = i + 1
    return lines, spans


def line_at(text, start, end):
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, last if last >= 0 else len(text)


def mutants_of(file, text):
    tokens = list(tokens_of(text))
    lines, spans = statements(text, tokens)
    for i, start, end, new in changes(text, tokens):
        first, last = line_at(text, start, end)
        changed = text[first:start] + new + text[end:last]
        yield Mutant(file, start, end, new, lines[i], *spans[i],
                     " ".join(text[first:last].split()),
                     " ".join(changed.split()))
