"""The lexical rules of code: what every supported Python reads in the same way.

The text alone decides, by the rules of Python 3.11, before any parser sees it. Forms that another
version reads differently are refused, and so is code that is nested so deeply that a parser's
verdict would depend on its stack.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from auditcoder.domain.portable_limits import (
    BLOCK_LEVELS,
    BRACKET_LEVELS,
    FEWEST_LONG_DIGITS,
    MAX_BLOCKS,
    MAX_CHARACTERS,
    MAX_COMPREHENSIONS,
    MAX_DEPTH,
    MAX_INTEGER_BITS,
    MAX_INTEGER_DIGITS,
    STRING,
    is_plain,
)

_DIGITS = "[0-9](?:_?[0-9])*+"
_NUMBER = (
    "0[xX](?:_?[0-9a-fA-F])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++"
    rf"|(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][-+]?{_DIGITS})?[jJ]?"
)
_WORD = "[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+"
_MARKED_WORD = r"(?:if|not|for|async|lambda|await|yield|barry_as_FLUFL|[tT]|[tT][rR]|[rR][tT])\b"
_TOKEN = re.compile(
    r"[ \t\f]*+(?:"
    # A run of names, numbers and attributes, read at once because little in it matters.
    rf"(?P<plain>(?:(?!{_MARKED_WORD})[A-Za-z_][A-Za-z0-9_]*+(?![\x80-\U0010ffff'\"])"
    rf"|{_NUMBER}|->|[=!<>]=|\.|[ \t\f]++(?=[A-Za-z0-9_=!<>.-]))++)"
    r"|(?P<comma>,)"
    r"|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])"
    r"|(?P<newline>\n)"
    r"|(?P<other>:=|[=!:]|<(?!<)|>(?!>))"
    r"|(?P<string>(?:[bB][rR]?|[rR][bBfF]?|[fF][rR]?|[uU])?+"
    rf"(?:{STRING}))"
    rf"|(?P<word>{_WORD})"
    r"|(?P<operator>\*\*|//|<<|>>|[-+*/%@&|^~])"
    r"|(?P<comment>\#[^\n]*+)"
    r"|(?P<continuation>\\\n)"
    r"|(?P<semicolon>;)"
    r"|(?P<end>\Z)"
    r")",
    re.DOTALL,
)
_NAME_OR_NUMBER = re.compile(rf"(?P<name>{_WORD})|{_NUMBER}")
_LINE_START = re.compile(r"(?P<blank>(?:[ \t\f]*(?:\#[^\n]*)?\n)*+)(?P<margin>[ \t\f]*)")
_HEADER = re.compile(r"(?:async[ \t\f]+)?(?P<word>[a-z]+)(?P<bracket>[ \t\f]*\()?")
_NAMED_CHARACTER = re.compile(r"\\(?:N\{(?P<name>[^}]*)\}|.)", re.DOTALL)
_IN_FSTRING = re.compile(r"\\N\{[^}]*\}|\\[^{}]|\{\{|\}\}|[{}]", re.DOTALL)
_IN_RAW_FSTRING = re.compile(r"\{\{|\}\}|[{}]")
_IN_FORMAT = re.compile(r"\{\{|[{}\\\n]")

_NESTING_WORDS = frozenset({"not", "lambda", "if", "await", "yield"})
_DIGIT_BITS = {"0x": 4, "0o": 3, "0b": 1}
_BLOCK_WEIGHTS = {"for": 1, "while": 1, "else": 1, "try": 3, "except": 3, "finally": 3}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}

_CHARACTERS = unicodedata.ucd_3_2_0
"""The Unicode database of a fixed version, which every Python has."""
_CHANGED_CHARACTERS = frozenset("\u200c\u200d\u30fb\uff65")
"""Old characters that later versions of Unicode allow in identifiers."""


class NameToken(NamedTuple):
    """A name or keyword in the text."""

    start: int
    end: int
    enclosed: bool
    """Whether the innermost bracket around it is a round one, as in a call."""


class Lexed(msgspec.Struct, frozen=True):
    """What the text of code shows without parsing it."""

    source: str
    code_lines: frozenset[int]
    """Lines with code: all but blank lines and lines with only a comment."""
    inside_string: frozenset[int]
    """Lines that begin inside a string."""
    has_comment: bool
    runs: tuple[tuple[int, int, bool], ...]
    """Where names and numbers are, and whether the innermost bracket is a round one."""

    def names(self) -> Iterator[NameToken]:
        """Yield each name and keyword, also in replacement fields of f-strings."""
        for start, end, enclosed in self.runs:
            for found in _NAME_OR_NUMBER.finditer(self.source, start, end):
                if found["name"]:
                    yield NameToken(found.start(), found.end(), enclosed)


def words_in(text: str) -> frozenset[str]:
    """Return all words in a text, which include all names that the lexical rules allow."""
    if not text.isascii():
        text = "".join(c if c <= "\x7f" or _CHARACTERS.category(c) != "Cn" else " " for c in text)
    return frozenset(re.findall(r"\w+", text))


def refuse_unstable_identifier(name: str) -> None:
    """Raise SyntaxError if Python versions could disagree about an identifier."""
    for character in name:
        if character > "\x7f" and (
            _CHARACTERS.category(character) == "Cn" or character in _CHANGED_CHARACTERS
        ):
            raise SyntaxError(f"the character U+{ord(character):04X} is not in Unicode 3.2")


def refuse_unportable(source: str) -> None:
    """Raise SyntaxError for code that Pythons could read differently."""
    if not is_plain(source):
        lex(source)


def lines_inside_strings(source: str) -> frozenset[int]:
    """Return the lines that begin inside a string, or raise SyntaxError."""
    if '"""' not in source and "'''" not in source and "\\" not in source:
        return frozenset()
    return lex(source).inside_string


def has_comment(source: str) -> bool:
    """Whether code has a comment; or raise SyntaxError."""
    return "#" in source and lex(source).has_comment


@lru_cache(maxsize=64)
def lex(source: str) -> Lexed:
    """Read code lexically, or raise SyntaxError for what Pythons could read differently."""
    if len(source) > MAX_CHARACTERS:
        raise SyntaxError(f"the code has more than {MAX_CHARACTERS:,} characters")
    if "\0" in source:
        raise SyntaxError("the code contains a null character")
    if "\r" in source:
        raise SyntaxError("carriage returns make line numbers ambiguous")
    lexer = _Lexer(source)
    lexer.read()
    return Lexed(
        source=source,
        runs=tuple(lexer.runs),
        code_lines=frozenset(lexer.code_lines),
        inside_string=frozenset(lexer.inside_string),
        has_comment=lexer.has_comment,
    )


class _Bracket(NamedTuple):
    """An open bracket or replacement field, and the state around it."""

    closer: str
    depth: int
    chain: int
    lambdas: int
    own: int
    nested: int
    inside: int


class _Block(msgspec.Struct):
    """A block of statements with the same indentation."""

    column: int
    depth: int
    weight: int
    """Loops and the like around it, as MAX_BLOCKS counts them."""
    elifs: int = 0


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 1
        self.runs: list[tuple[int, int, bool]] = []
        self.code_lines: list[int] = []
        self.last_code_line = 0
        self.inside_string: set[int] = set()
        self.has_comment = False
        self.brackets: list[_Bracket] = []
        self.blocks = [_Block(0, 0, 0)]
        self.header = ""
        self.items_in_bracket = False
        self.items = 1
        self.depth = self.chain = self.lambdas = 0
        # Of the innermost bracket: the blocks of its own clauses, if it is a comprehension, and
        # the most comprehensions and blocks in each other that its brackets have.
        self.own = self.nested = self.inside = 0

    def read(self) -> None:
        """Read the whole text."""
        position, end = self._begin_line(0), len(self.source)
        while position < end:
            position = self._tokens(position, end, in_field=False)
        if self.brackets:
            raise self._refusal(f"'{self.brackets[-1].closer}' is missing")

    def _refusal(self, reason: str) -> SyntaxError:
        return SyntaxError(f"{reason} (line {self.line})")

    def _begin_line(self, position: int) -> int:
        """Skip blank lines, and find the block that the next statement belongs to."""
        start = _LINE_START.match(self.source, position)
        assert start is not None  # it matches the empty text
        self.line += start["blank"].count("\n")
        self.has_comment = self.has_comment or "#" in start["blank"]
        column = len(start["margin"].rpartition("\f")[2].expandtabs(8))
        header = _HEADER.match(self.source, start.end())
        word = header["word"] if header else ""
        while len(self.blocks) > 1 and column < self.blocks[-1].column:
            self.blocks.pop()
        if column > self.blocks[-1].column:
            self._begin_block(column)
        block = self.blocks[-1]
        if word == "elif":
            block.elifs += 1
        elif word != "else":
            block.elifs = 0
        self.header, self.items = word, 1
        self.items_in_bracket = bool(header and header["bracket"])
        self.depth, self.chain, self.lambdas = block.depth + block.elifs, 0, 0
        self._check_depth()
        return start.end()

    def _begin_block(self, column: int) -> None:
        weight = 0 if self.header in {"def", "class"} else self._weight()
        if weight > MAX_BLOCKS:
            raise self._refusal("too many loops, `with` items and `try` statements are nested")
        self.blocks.append(_Block(column, self.depth + BLOCK_LEVELS, weight))

    def _weight(self) -> int:
        """Return how many blocks are around the body of the statement."""
        own = self.items if self.header == "with" else _BLOCK_WEIGHTS.get(self.header, 0)
        return self.blocks[-1].weight + own

    def _check_depth(self) -> None:
        if self.depth + self.chain > MAX_DEPTH:
            raise self._refusal("the code is nested too deeply")

    def _open(self, closer: str) -> None:
        self.brackets.append(
            _Bracket(
                *(closer, self.depth, self.chain, self.lambdas, self.own, self.nested, self.inside)
            )
        )
        self.depth += self.chain + BRACKET_LEVELS
        self.chain = self.lambdas = self.own = self.nested = self.inside = 0
        self._check_depth()

    def _close(self, closer: str) -> None:
        if not self.brackets or self.brackets[-1].closer != closer:
            raise self._refusal(f"'{closer}' closes nothing")
        if self.own:
            self._end_comprehension()
        nested, inside = self.nested, self.inside
        (_, self.depth, self.chain, self.lambdas, self.own, self.nested, self.inside) = (
            self.brackets.pop()
        )
        if nested:
            self.nested, self.inside = max(self.nested, nested), max(self.inside, inside)
        self.chain += 1  # the next bracket could be a call of this one
        self._check_depth()

    def _end_comprehension(self) -> None:
        self.nested += 1
        self.inside += self.own
        if self.nested > MAX_COMPREHENSIONS:
            raise self._refusal("too many comprehensions are nested")
        if self._weight() + self.inside > MAX_BLOCKS:
            raise self._refusal("too many loops, `with` items and comprehensions are nested")

    def _tokens(self, position: int, end: int, *, in_field: bool) -> int:
        """Read tokens up to the end of a logical line or of a replacement field's expression."""
        outer, match_token = len(self.brackets), _TOKEN.match
        while True:
            found = match_token(self.source, position, end)
            if found is None:
                raise self._refusal("no token begins here, or a string does not end")
            kind = found.lastgroup
            assert kind is not None  # every alternative has a name
            start, position = found.span(kind)
            if in_field and len(self.brackets) == outer and self._ends_field(kind, found[kind]):
                return start
            if kind == "newline":
                self.line += 1
                if not self.brackets:
                    return self._begin_line(position)
            elif kind == "comment":
                if in_field:
                    raise self._refusal("a comment in a replacement field")
                self.has_comment = True
            elif kind == "continuation":
                self.line += 1
            elif kind == "end":
                return position
            else:
                self._mark(kind, start, position)

    def _mark(self, kind: str, start: int, end: int) -> None:
        if self.line != self.last_code_line:
            self.last_code_line = self.line
            self.code_lines.append(self.line)
        match kind:
            case "plain":
                self._plain(start, end)
            case "other":
                pass
            case "comma":
                self.chain = self.lambdas
                self.items += len(self.brackets) <= self.items_in_bracket
            case "open":
                self._open(_CLOSERS[self.source[start]])
            case "close":
                self._close(self.source[start])
            case "operator":
                self.chain += 1
                self._check_depth()
            case "word":
                self._word(start, end)
            case "string":
                self._string(start, end)
            case "semicolon":
                self.chain = self.lambdas = 0
            case _:
                pass

    def _plain(self, start: int, end: int) -> None:
        enclosed = bool(self.brackets) and self.brackets[-1].closer == ")"
        self.runs.append((start, end, enclosed))
        dots = self.source.count(".", start, end)
        if dots:
            self.chain += dots
            self._check_depth()
        if end - start > FEWEST_LONG_DIGITS:
            for found in _NAME_OR_NUMBER.finditer(self.source, start, end):
                if _is_too_long(found[0].replace("_", "")):
                    raise self._refusal(f"an integer has over {MAX_INTEGER_DIGITS:,} digits")

    def _word(self, start: int, end: int) -> None:
        name = self.source[start:end]
        enclosed = bool(self.brackets) and self.brackets[-1].closer == ")"
        self.runs.append((start, end, enclosed))
        if name in _NESTING_WORDS:
            self.chain += 1
            self.lambdas += name == "lambda"
            self._check_depth()
        elif name == "for":
            self.own = max(self.own, 1)  # of a statement, it counts in no bracket
        elif name == "async":
            self.own += 2
        elif not name.isascii():
            refuse_unstable_identifier(name)
        elif name == "barry_as_FLUFL":
            raise self._refusal("this future statement changes the grammar")
        elif name.lower() in {"t", "tr", "rt"} and self.source[end : end + 1] in {"'", '"'}:
            raise self._refusal("template strings do not exist in Python 3.11")

    def _string(self, start: int, end: int) -> None:
        text = self.source[start:end]
        quote = min(text.find(q) for q in "'\"" if q in text)
        prefix, body = text[:quote].lower(), text[quote:]
        delimiter = 3 if len(body) > 3 and body[:3] in {"'''", '"""'} else 1
        first, last = self.line, self.line + text.count("\n")
        if "\\N" in text and not {"r", "b"} & set(prefix):
            self._refuse_character_names(text)
        if "f" in prefix:
            pattern = _IN_RAW_FSTRING if "r" in prefix else _IN_FSTRING
            self._fstring(start + quote + delimiter, end - delimiter, pattern)
        self.line = last
        if last > first:
            self.code_lines.extend(range(first, last + 1))
            self.inside_string.update(range(first + 1, last + 1))

    def _refuse_character_names(self, text: str) -> None:
        """Refuse escapes with a name, such as that of a bullet, that is not in Unicode 3.2."""
        for escape in _NAMED_CHARACTER.finditer(text):
            name = escape["name"]
            if name is not None:
                try:
                    character = unicodedata.lookup(name)
                except KeyError:
                    character = ""
                if len(character) != 1 or _CHARACTERS.name(character, "") != name.upper():
                    raise self._refusal(f"no character has the name {name!r} in Unicode 3.2")

    def _fstring(self, position: int, end: int, pattern: re.Pattern[str]) -> None:
        """Read the replacement fields of an f-string."""
        while (found := pattern.search(self.source, position, end)) is not None:
            position = found.end()
            match found[0]:
                case "{":
                    position = self._field(position, end, in_format=False)
                case "}":
                    raise self._refusal("a single '}' in an f-string")
                case _:
                    pass

    def _field(self, start: int, end: int, *, in_format: bool) -> int:
        """Read a replacement field after its opening brace; return the position after it."""
        self._open("}")
        stop = self._tokens(start, end, in_field=True)
        text, position = self.source[start:stop], stop
        expression = text.strip(" \t\n\f")
        if not expression or expression.startswith("*") or "\\" in text:
            raise self._refusal("a replacement field without a plain expression")
        if self.source.startswith("=", position, end):
            if in_format:
                raise self._refusal("a replacement field with '=' in a format")
            position += 1
            while self.source[position : position + 1] in {" ", "\t"}:
                position += 1
            if "\n" in text:
                raise self._refusal("a replacement field with '=' on several lines")
        if self.source.startswith("!", position, end):
            position += 2
            if self.source[position - 1 : position] not in {"s", "r", "a"}:
                raise self._refusal("a conversion is one of !s, !r and !a")
        if self.source.startswith(":", position, end):
            if in_format:
                raise self._refusal("replacement fields are nested too deeply")
            position = self._format(position + 1, end)
        if not self.source.startswith("}", position, end):
            raise self._refusal("'}' is missing in an f-string")
        self._close("}")
        return position + 1

    def _format(self, position: int, end: int) -> int:
        """Read a format specification; return the position of the brace after it."""
        while (found := _IN_FORMAT.search(self.source, position, end)) is not None:
            match found[0]:
                case "{":
                    position = self._field(found.end(), end, in_format=True)
                case "}":
                    return found.start()
                case _:
                    raise self._refusal("a format with a backslash, a doubled brace or a new line")
        return end

    def _ends_field(self, kind: str, text: str) -> bool:
        """Whether a token ends the expression of a replacement field."""
        if kind == "word" and text in {"for", "lambda"}:
            raise self._refusal(f"a replacement field with {text!r} needs parentheses")
        return text in {"}", "=", "!", ":", ":="} or kind == "end"


def _is_too_long(number: str) -> bool:
    """Whether an integer could have too many decimal digits."""
    bits = _DIGIT_BITS.get(number[:2].lower())
    if bits is None:
        return len(number) > MAX_INTEGER_DIGITS and number.isdecimal()
    return bits * (len(number) - 2) > MAX_INTEGER_BITS
