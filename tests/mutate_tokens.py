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
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BEFORE_EXPRESSION = {"(", "[", "{", "}", ";", ",", "?", ":", "return", "else",
                     "do", "case", "goto"} | ASSIGNMENTS
BEHIND_EXPRESSION = {")", "]", "}", ";", ",", "?", ":"}
WITH_CONDITION = {"if", "while", "for", "switch"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int
    define: int = 0  # where the directive begins whose body it is in, or 0

    @property
    def end(self):
        return self.at + len(self.text)


@dataclass(frozen=True)
class Mutant:
    """In `file`, the text from `start` to `end` becomes `new`."""
    file: str
    start: int
    end: int
    new: str
    line: int
    outer: tuple  # start and end of the expression that it is in, or ()
    function: str  # or the empty string
    before: str  # its line, and what becomes of that
    after: str

    def applied(self, text):
        return text[:self.start] + self.new + text[self.end:]

    @property
    def place(self):
        return self.file + (f": {self.function}" if self.function else "")

    @property
    def is_return(self):
        return self.new.startswith("!(")


def tokens_of(text):
    at, fresh = 0, True  # fresh: only blanks since the line began
    inside = 0
    while at < len(text):
        directive = DIRECTIVE.match(text, at) if fresh else None
        if directive:
            define = DEFINE.match(text, at)
            inside = define.end() if define else 0
            at, fresh = inside or directive.end(), False
            continue
        m = TOKEN.match(text, at)
        if m.lastgroup != "skip":
            yield Token(m.lastgroup, m[0], at, inside)
            fresh = False
        elif "\n" in m[0] and m[0] != "\\\n":
            fresh, inside = True, 0
        at = m.end()


def closing(tokens, i):
    """The index of the parenthesis that closes the one at i."""
    depth = 0
    for k in range(i, len(tokens)):
        depth += (tokens[k].text == "(") - (tokens[k].text == ")")
        if depth == 0:
            return k
    return len(tokens) - 1


def opening(tokens, i):
    """The index of the parenthesis that the one at i closes."""
    depth = 0
    for k in range(i, -1, -1):
        depth += (tokens[k].text in ")]") - (tokens[k].text in "([")
        if depth == 0:
            return k
    return 0


def begin_of_expression(tokens, i):
    """The first token of the smallest expression that has the one at i."""
    k = i
    while k > 0 and tokens[k - 1].define == tokens[i].define:
        before = tokens[k - 1].text
        if before in BEFORE_EXPRESSION:
            break
        if before in (")", "]"):
            open_ = opening(tokens, k - 1)
            if open_ and tokens[open_ - 1].text in WITH_CONDITION:
                break
            k = open_
        else:
            k -= 1
    return k


def end_of_expression(tokens, i):
    """One behind its last token. An assignment is one with its right side."""
    depth = choices = 0
    assigns = False
    for k in range(i, len(tokens)):
        t = tokens[k].text
        if tokens[k].define != tokens[i].define:
            return k
        if not depth:
            assigns |= t in ASSIGNMENTS
            if assigns and t == "?":
                choices += 1
            elif choices and t == ":":
                choices -= 1
            elif t in BEHIND_EXPRESSION:
                return k
        depth += (t in "([{") - (t in ")]}")
    return len(tokens)


def expression(tokens, i):
    """Where the smallest expression begins and ends that has the token at i."""
    first, end = begin_of_expression(tokens, i), end_of_expression(tokens, i)
    return (tokens[first].at, tokens[end - 1].end) if first < end else ()


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
            yield i, t.at, t.end, new


def lines_of(text, tokens):
    lines, line, at = [], 1, 0
    for t in tokens:
        line += text.count("\n", at, t.at)
        at = t.at
        lines.append(line)
    return lines


def functions_of(text):
    """Yields start, end and name: a body begins with { in the first column."""
    for m in re.finditer(r"^\{\n", text, re.M):
        head = text[text.rfind("\n\n", 0, m.start()) + 2:m.start()]
        head = head[head.rfind("*/") + 1:]
        names = [n for n in re.findall(r"(\w+)\(", head)
                 if n not in NOT_MUTATED]
        end = text.find("\n}", m.end())
        if names:
            yield m.start(), end if end >= 0 else len(text), names[0]


def line_at(text, start, end):
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, last if last >= 0 else len(text)


def mutants_of(file, text):
    tokens = list(tokens_of(text))
    lines = lines_of(text, tokens)
    functions = list(functions_of(text))
    for i, start, end, new in changes(text, tokens):
        first, last = line_at(text, start, end)
        changed = text[first:start] + new + text[end:last]
        outer = (start, end) if new.startswith("!(") else \
            expression(tokens, i)
        function = next((name for first, last, name in functions
                         if first <= start < last), "")
        yield Mutant(file, start, end, new, lines[i], outer, function,
                     " ".join(text[first:last].split()),
                     " ".join(changed.split()))
