"""Java's regular expressions, translated into Python's."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import groupby

from ggfmt.dataclasses import dataclass, replace
from ggfmt.java.text import InvalidValueError, UnsupportedValueError, visible
from ggfmt.lazy import lazy_regex

LAST = sys.maxunicode


@dataclass(frozen=True)
class CodePoints:
    """A set of code points: `ranges` are pairs of first and last, in order, that neither meet nor overlap."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, *items: str | tuple[int, int]) -> CodePoints:
        pairs: list[tuple[int, int]] = []
        for item in items:
            pairs.extend([(ord(c), ord(c)) for c in item] if isinstance(item, str) else [item])
        return cls(tuple(_merged(pairs)))

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints(tuple(_merged([*self.ranges, *other.ranges])))

    def __and__(self, other: CodePoints) -> CodePoints:
        return ~(~self | ~other)

    def __invert__(self) -> CodePoints:
        gaps = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CodePoints(tuple(gaps))

    def __sub__(self, other: CodePoints) -> CodePoints:
        return self & ~other

    def in_either_case(self) -> CodePoints:
        """Return the set with a to z for A to Z and vice versa; other characters have no case here."""
        lower, upper = self & CodePoints(((97, 122),)), self & CodePoints(((65, 90),))
        turned = [*((a - 32, b - 32) for a, b in lower.ranges), *((a + 32, b + 32) for a, b in upper.ranges)]
        return self | CodePoints(tuple(_merged(turned)))

    def python(self) -> str:
        """Return a part of a pattern for `re` that matches one character of the set, in every mode."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return python_escape(self.ranges[0][0])
        return _class(self, python_escape)

    def re2(self) -> str | None:
        """Return the same for RE2; None for the empty set, which RE2 cannot express."""
        return _class(self, "\\x{{{:x}}}".format) if self.ranges else None


def python_escape(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _class(points: CodePoints, escape: Callable[[int], str]) -> str:
    inside = "".join(
        escape(first) if first == last else f"{escape(first)}-{escape(last)}" for first, last in points.ranges
    )
    return f"[{inside}]" if inside else f"[^{escape(0)}-{escape(LAST)}]"


def _merged(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    ordered = sorted(pairs)
    if not ordered:
        return
    start, end = ordered[0]
    for first, last in ordered[1:]:
        if first > end + 1:
            yield start, end
            start, end = first, last
        else:
            end = max(end, last)
    yield start, end


def category(prefix: str) -> CodePoints:
    """Return the characters of a general category (`Lu`) or letter (`L`), by Python's tables."""
    return CodePoints.of(*(pair for name, pairs in _categories().items() if name.startswith(prefix) for pair in pairs))


_NAMES = "L Lu Ll Lt Lm Lo M Mn Me Mc N Nd Nl No Z Zs Zl Zp C Cc Cf Co Cs Cn P Pd Ps Pe Pc Po Pi Pf S Sm Sc Sk So"
CATEGORIES = frozenset(_NAMES.split(" "))


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    by_name: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, group in groupby(map(unicodedata.category, map(chr, range(LAST + 1)))):
        end = start + sum(1 for _ in group)
        by_name.setdefault(name, []).append((start, end - 1))
        start = end
    return by_name


# Java's regular expressions in Python's `re` and, if the meaning is the same, in RE2. A pattern
# (`java.util.regex.Pattern`) is parsed and rewritten without flags: every class becomes a set of characters, so that
# `\w`, `.`, `$`, `\b` and `(?i)` keep Java's meaning. Syntax without an exact equivalent is refused by name; nothing is
# passed on unchanged. `\b` is that of Java up to 18, which looks for a letter before up to three combining marks.

ATOMIC_GROUPS = sys.version_info >= (3, 11)

_MAX_REPEAT = 1000  # repetitions that RE2 accepts
_END = "(?!" + (~CodePoints()).python() + ")"  # the same as \z; Python's own syntax differs between releases
_UNIX_END = f"(?=\\n?{_END})"
_LAST_END = f"(?=(?:\\r\\n|[\\r\\x85\\u2028\\u2029]|(?<!\\r)\\n)?{_END})"
_MARKS = 3

# Characters and classes of Java's regular expressions: escapes, properties and `[...]`, as sets of characters. Syntax
# that Java's releases read differently, or for which Python has no tables, is refused by name. Sets such as `\p{L}` use
# the tables of the running Python.

LINE_END = CodePoints.of("\n\r\x85\u2028\u2029")
VERTICAL = LINE_END | CodePoints.of("\x0b\f")

_DIGIT = CodePoints.of((48, 57))
_LETTER = CodePoints.of((65, 90), (97, 122))
_SPACE = CodePoints.of(" \t\n\x0b\f\r")
_PUNCT = CodePoints.of((33, 47), (58, 64), (91, 96), (123, 126))
_HORIZONTAL = CodePoints.of(" \t\xa0\u1680\u180e\u202f\u205f\u3000", (0x2000, 0x200A))
_CLASSES = {"d": _DIGIT, "w": _LETTER | _DIGIT | CodePoints.of("_"), "s": _SPACE, "h": _HORIZONTAL, "v": VERTICAL}
_POSIX = {
    "Lower": CodePoints.of((97, 122)),
    "Upper": CodePoints.of((65, 90)),
    "ASCII": CodePoints.of((0, 127)),
    "Alpha": _LETTER,
    "Digit": _DIGIT,
    "Alnum": _LETTER | _DIGIT,
    "Punct": _PUNCT,
    "Graph": CodePoints.of((33, 126)),
    "Print": CodePoints.of((32, 126)),
    "Blank": CodePoints.of(" \t"),
    "Cntrl": CodePoints.of((0, 31), (127, 127)),
    "XDigit": CodePoints.of((48, 57), (65, 70), (97, 102)),
    "Space": _SPACE,
}
_CASED = {"Lower", "Upper", "Lu", "Ll", "Lt"}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_ESCAPE_NAMES = {"G": "the end of the match before", "X": "a grapheme cluster", "N": "a character by its name"}
_VERSIONS = "Java releases read differently"


def unsupported_error(
    what: str, why: str = "has no exact equal in Python", help: str = "write it in another way"
) -> InvalidValueError:
    return UnsupportedValueError(f"has {what}, which {why}", help)


def pattern_error(what: str) -> InvalidValueError:
    return InvalidValueError(
        f"is not a Java pattern: {what}", "correct it; a backslash is written `\\\\` in a handler file"
    )


@dataclass(frozen=True)
class Flags:
    i: bool = False
    m: bool = False
    s: bool = False
    d: bool = False


class PatternCursor:
    """A pattern without `\\Q...\\E`, read from left to right; `flags` are those that apply at the current place."""

    def __init__(self, pattern: str) -> None:
        self.text = _unquoted(pattern)
        self.at = 0
        self.flags = Flags()

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def next(self, wanted: str) -> str:
        """Return the next character. Raises an error that names `wanted` if there is none."""
        if self.at >= len(self.text):
            raise pattern_error(f"it ends where {wanted} should follow")
        self.at += 1
        return self.text[self.at - 1]

    def eat(self, text: str) -> bool:
        starts = self.text.startswith(text, self.at)
        self.at += len(text) * starts
        return starts

    def match(self, pattern: str) -> str | None:
        match = lazy_regex(pattern).match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def escaped(self, char: str) -> int | CodePoints:
        """Return what an escape means, also inside a class: a character, or a set of characters."""
        if char.lower() in _CLASSES:
            points = _CLASSES[char.lower()]
            return points if char.islower() else ~points
        if char in "pP":
            points = self._property()
            return points if char == "p" else ~points
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "c":
            return ord(self.next("a character")) ^ 64
        digits = {"0": r"[0-3][0-7]{0,2}|[4-7][0-7]?", "x": r"[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\}", "u": r"[0-9A-Fa-f]{4}"}
        if char in digits:
            match = self.match(digits[char])
            if match is None:
                raise pattern_error(f"`\\{char}` is not followed by its digits")
            code = int(match.strip("{}"), 8 if char == "0" else 16)
            if char == "u" and 0xD800 <= code < 0xDC00:
                low = self.match(r"\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}")
                code = 0x10000 + (code - 0xD800) * 0x400 + int(low[2:], 16) - 0xDC00 if low else code
            if code > sys.maxunicode or 0xD800 <= code < 0xE000:
                raise pattern_error(f"`\\{char}{match}` is not a character")
            return code
        if char in _ESCAPE_NAMES:
            raise unsupported_error(f"`\\{char}` ({_ESCAPE_NAMES[char]})")
        if char.isascii() and char.isalnum():
            raise pattern_error(f"`\\{char}` is not an escape here")
        return ord(char)

    def _property(self) -> CodePoints:
        match = self.match(r"\{[^}]*\}|[A-Za-z]")
        if match is None:
            raise pattern_error("`\\p` is not followed by the name of a property")
        name = match.strip("{}")
        plain = re.sub(r"^(?:Is(?=[A-Z][a-z]?$)|(?:gc|general_category)=)", "", name)
        if self.flags.i and plain in _CASED:
            raise unsupported_error(f"`\\p{{{name}}}` under `(?i)`", _VERSIONS)
        if plain in CATEGORIES:
            return category(plain)
        if name in _POSIX:
            return _POSIX[name]
        help = "give a general category such as `\\p{L}`, a POSIX class such as `\\p{Alpha}`, or a range"
        raise unsupported_error(f"`\\p{{{visible(name)}}}`", help=help)

    def character_class(self) -> CodePoints:
        negated = self.eat("^")
        operands: list[CodePoints] = []
        points, parts, nested = CodePoints(), 0, 0
        start = self.at
        while True:
            if self.eat("&&"):
                if not parts or self.peek() in ("&", "^", "]"):
                    raise unsupported_error("`&&` without a class on both sides", _VERSIONS)
                operands.append(points)
                points, parts, nested = CodePoints(), 0, 0
                start = self.at
                continue
            char = self.next("`]`")
            if char == "]" and (parts or operands):
                break
            parts += 1
            if char == "[":
                nested += 1
                points |= self.character_class()
            else:
                points |= self.cased(self._class_item(char))
            mixed = nested and parts > 1
            if mixed and (operands or self.text.startswith("&&", self.at)):
                text = self.text[start : self.at]
                help = "put this part into separate brackets"
                raise unsupported_error(f"`{visible(text)}` beside `&&`", _VERSIONS, help)
            if negated and nested:
                raise unsupported_error("a class inside of `[^...]`", _VERSIONS, "negate the classes inside")
        for operand in operands:
            if negated:
                raise unsupported_error("`&&` inside of `[^...]`", _VERSIONS, "negate the classes inside")
            points &= operand
        return ~points if negated else points

    def _class_item(self, char: str) -> CodePoints:
        first: int | CodePoints = self.escaped(self.next("an escaped character")) if char == "\\" else ord(char)
        is_range = self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("[", "]", "")
        if isinstance(first, CodePoints):
            if is_range and self.text[self.at - 1] == "v":
                raise unsupported_error("a range that starts with `\\v`", _VERSIONS)
            return first
        if not is_range:
            return CodePoints.of((first, first))
        self.at += 1
        char = self.next("the end of a range")
        last = self.escaped(self.next("an escaped character")) if char == "\\" else ord(char)
        if isinstance(last, CodePoints) or last < first:
            raise pattern_error("a range in a class ends before it starts")
        return CodePoints.of((first, last))

    def cased(self, points: CodePoints) -> CodePoints:
        return points.in_either_case() if self.flags.i else points


def _unquoted(pattern: str) -> str:
    """Return the pattern with `\\Q...\\E` written as escapes."""
    pieces = re.split(r"((?:\\(?!Q).|[^\\]|\\\Z)+)|\\Q(.*?)(?:\\E|\Z)", pattern, flags=re.DOTALL)
    assert not any(pieces[::3])  # nothing is between them
    parts = zip(pieces[1::3], pieces[2::3], strict=True)
    return "".join(plain or "".join(f"\\x{{{ord(char):x}}}" for char in quoted or "") for plain, quoted in parts)


@dataclass(frozen=True)
class JavaRegex:
    """The pattern `java`, translated: `python` for `re`, without flags; `re2` is None if RE2 may differ.

    `needle`: a text that is in every match, possibly empty. `repeated`: the groups inside a repetition. Their final
    content differs between Java and Python, so nothing may refer to them.
    """

    java: str
    python: str
    re2: str | None
    groups: int
    names: tuple[tuple[str, int], ...]
    needle: str
    repeated: frozenset[int]

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.python)

    @property
    def is_anchored(self) -> bool:
        """Return whether RE2 checks where a text starts or ends."""
        return self.re2 is not None and ("\\A" in self.re2 or "\\z" in self.re2)


def translate(pattern: str, atomic: bool = ATOMIC_GROUPS) -> JavaRegex:
    """Return the Java pattern for Python. Raises: InvalidValueError that names unsupported syntax.

    `atomic`: whether Python has possessive quantifiers and atomic groups, as it has from 3.11 on.
    """
    if not pattern:
        raise InvalidValueError("is empty", "give a regular expression, or remove it")
    try:
        parser = _Parser(pattern, atomic)
        part = parser.whole()
        regex = JavaRegex(
            pattern,
            part.python,
            part.re2 if part.low else None,
            parser.groups,
            tuple(parser.names.items()),
            part.needle,
            frozenset(parser.repeated),
        )
        regex.compiled  # noqa: B018
    except (re.error, OverflowError, RecursionError) as error:
        reason = error.msg if isinstance(error, re.error) else "it is too large"
        raise UnsupportedValueError(f"is refused by Python: {reason}", "write it in another way") from None
    return regex


@dataclass(frozen=True)
class _Part:
    """A piece of a pattern.

    `low`: the fewest characters of a match. `exact`: it matches only `needle`. `single`: it always matches one
    character. `groups`: the numbers of its groups.
    """

    python: str
    re2: str | None = None
    low: int = 0
    needle: str = ""
    exact: bool = False
    single: bool = False
    groups: frozenset[int] = frozenset()


class _Parser(PatternCursor):
    def __init__(self, pattern: str, atomic: bool) -> None:
        super().__init__(pattern)
        self.atomic = atomic
        self.groups = 0
        self.closed: set[int] = set()
        self.repeated: set[int] = set()
        self.line_ends = 0
        self.references: dict[int, str] = {}
        self.names: dict[str, int] = {}

    def whole(self) -> _Part:
        part = self._either(self._branches())
        if self.at < len(self.text):
            raise pattern_error("a `)` closes no group")
        for number, shown in self.references.items():
            if number in self.repeated:
                raise unsupported_error(f"`{shown}`", "names a group inside of a repetition", "put the group around it")
        return part

    # Structure

    def _branches(self) -> list[_Part]:
        branches = [self._sequence()]
        while self.eat("|"):
            branches.append(self._sequence())
        return branches

    def _either(self, branches: list[_Part]) -> _Part:
        if len(branches) == 1:
            return branches[0]
        return _Part(
            "|".join(branch.python for branch in branches),
            _joined([branch.re2 for branch in branches], "|"),
            min(branch.low for branch in branches),
            groups=frozenset().union(*(branch.groups for branch in branches)),
        )

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self.peek() not in ("", "|", ")"):
            line_ends = self.line_ends
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part, self.line_ends > line_ends))
        if len(parts) == 1:
            return parts[0]
        runs = [""]
        for part in parts:
            if part.exact:
                runs[-1] += part.needle
            else:
                runs += [part.needle, ""]
        return _Part(
            "".join(part.python for part in parts),
            _joined([part.re2 for part in parts], ""),
            sum(part.low for part in parts),
            max(runs, key=len),
            all(part.exact for part in parts),
            groups=frozenset().union(*(part.groups for part in parts)),
        )

    def _atom(self) -> _Part | None:
        char = self.next("a character")
        if char == "(":
            return self._group()
        if char == "[":
            return _one_of(self.character_class())
        if char in "*+?":
            raise pattern_error(f"`{char}` repeats nothing")
        if char == "{":
            raise pattern_error("`{` repeats nothing; write `\\{` for the character")
        if char == ".":
            excluded = CodePoints() if self.flags.s else CodePoints.of("\n") if self.flags.d else LINE_END
            return _one_of(~excluded)
        if char == "^":
            return self._caret()
        if char == "$":
            return self._dollar()
        return self._escape() if char == "\\" else self._literal(ord(char))

    def _literal(self, code: int) -> _Part:
        points = self.cased(CodePoints.of((code, code)))
        if points.ranges != ((code, code),):
            return _one_of(points)
        return _Part(python_escape(code), f"\\x{{{code:x}}}", 1, chr(code), exact=True, single=True)

    def _caret(self) -> _Part:
        if not self.flags.m:
            return _Part("(?:\\A)", "(?:\\A)")
        if self.flags.d:
            return _Part(f"(?:(?!{_END})(?:\\A|(?<=\\n)))")
        return _Part(f"(?:(?!{_END})(?:\\A|(?<=[\\n\\x85\\u2028\\u2029])|(?<=\\r)(?!\\n)))")

    def _dollar(self) -> _Part:
        if not self.flags.m:
            return _Part(_UNIX_END if self.flags.d else _LAST_END)
        if self.flags.d:
            return _Part(f"(?=\\n|{_END})")
        return _Part(f"(?={_END}|[\\r\\x85\\u2028\\u2029]|(?<!\\r)\\n)")

    def _repeated(self, part: _Part, has_line_end: bool) -> _Part:
        quantifier = self.match(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
        if quantifier is None:
            if self.peek() == "{":
                raise pattern_error("`{` must be followed by numbers and `}`; write `\\{` for the character")
            return part
        if quantifier in ("*", "+", "?"):
            low, high = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[quantifier]
        else:
            first, comma, last = quantifier[1:-1].partition(",")
            low = int(first)
            high = int(last) if last else -1 if comma else low
            if 0 <= high < low:
                raise pattern_error(f"`{quantifier}` ends before it starts")
            if max(low, high) >= 1 << 31:
                raise pattern_error(f"`{quantifier}` is too large")
        if has_line_end:
            # After `\R`, Java may match `\r\n` again as two line ends, but not inside most repetitions.
            raise unsupported_error(
                f"`\\R` inside of the repetition `{quantifier}`", "Java and Python match differently"
            )
        if not part.low and high not in (0, 1):
            raise unsupported_error(
                f"`{quantifier}` after an expression that can be empty", "Java and Python repeat differently"
            )
        mode = self.match("[?+]") or ""
        if mode == "+":
            self._check_atomic(part, f"the possessive quantifier `{quantifier}+`")
        if quantifier != "?":
            self.repeated |= part.groups
        re2 = None
        if part.re2 is not None and part.low and mode != "+" and max(low, high) <= (_MAX_REPEAT if part.single else 1):
            re2 = f"(?:{part.re2}){quantifier}{mode}"
        return _Part(
            f"(?:{part.python}){quantifier}{mode}", re2, part.low * low, part.needle if low else "", groups=part.groups
        )

    # Groups

    def _group(self) -> _Part | None:
        before = self.flags
        number = 0
        opening, closing, re2_opening = "(?:", ")", "(?:"
        around = False
        if not self.eat("?"):
            number = self._open_group()
        elif look := next(filter(self.eat, ("<=", "<!", "=", "!")), None):
            opening, around = f"(?{look}", True
        elif self.eat(">"):
            opening, re2_opening = "(?>", ""
        elif self.eat("<"):
            name = self.match(r"[A-Za-z][A-Za-z0-9]*(?=>)")
            if name is None:
                raise pattern_error("a group's name is not letters and digits between `<` and `>`")
            self.at += 1
            if name in self.names:
                raise pattern_error(f"two groups have the name `{name}`")
            number = self.names[name] = self._open_group()
        elif not self.eat(":") and not self._inline_flags():
            return None
        if number:
            opening = re2_opening = "("
        branches = self._branches()
        body = self._either(branches)
        if not self.eat(")"):
            raise pattern_error("a `(` is not closed")
        self.flags = before
        if number:
            self.closed.add(number)
        if opening == "(?>":
            self._check_atomic(body, "the atomic group `(?>`")
        python = f"{opening}{body.python}{closing}"
        if opening in ("(?<=", "(?<!") and len(branches) > 1 and not body.groups:
            # In Python, all alternatives of a look-behind must have one width.
            either = ("|" if opening == "(?<=" else "").join(f"{opening}{branch.python})" for branch in branches)
            return _Part(f"(?:{either})")
        if around:
            return _Part(python, groups=body.groups)
        re2 = f"{re2_opening}{body.re2})" if re2_opening and body.re2 is not None else None
        groups = body.groups | {number} if number else body.groups
        return replace(body, python=python, re2=re2, exact=False, single=False, groups=groups)

    def _check_atomic(self, part: _Part, what: str) -> None:
        if not self.atomic:
            raise unsupported_error(what, "Python has from 3.11 on", "run ggfmt with Python 3.11 or newer")
        if part.groups:
            raise unsupported_error(
                f"a group inside of {what}", "Java and Python keep differently", "write `(?:` for `(`"
            )

    def _open_group(self) -> int:
        self.groups += 1
        return self.groups

    def _inline_flags(self) -> bool:
        """Read `i-s:` or `i-s)`; return False for the latter, which holds up to the end of the enclosing group."""
        on = True
        while (char := self.next("`)`")) not in ":)":
            if char == "-":
                on = False
            elif char in "imsd":
                self.flags = replace(self.flags, **{char: on})
            elif char in "uUxc":
                names = {"u": "case of Unicode", "U": "classes of Unicode", "x": "comments", "c": "equivalence"}
                raise unsupported_error(f"the flag `(?{char})` ({names[char]})", "is not supported")
            else:
                raise pattern_error(f"`{char}` is not a flag")
        return char == ":"

    # Escapes

    def _escape(self) -> _Part:
        char = self.next("an escaped character")
        if char in "AZz":
            if char == "A":
                return _Part("(?:\\A)", "(?:\\A)")
            if char == "z":
                return _Part(_END, "(?:\\z)")
            return _Part(_UNIX_END if self.flags.d else _LAST_END)
        if char in "bB":
            if self.peek() == "{":
                raise unsupported_error("`\\b{...}`")
            return _Part(_word_boundary() if char == "b" else f"(?!{_word_boundary()})")
        if char == "R":
            points = VERTICAL
            self.line_ends += 1
            return _Part(f"(?:\\r\\n|{points.python()})", f"(?:\\x{{d}}\\x{{a}}|{points.re2()})", 1)
        if char == "k":
            name = self.match(r"<[A-Za-z][A-Za-z0-9]*>")
            if name is None or name[1:-1] not in self.names:
                raise pattern_error("`\\k` names no group before it")
            return self._reference(self.names[name[1:-1]], f"\\k{name}")
        if char in "123456789":
            number = int(char)
            while self.peek() in tuple("0123456789") and number * 10 + int(self.peek()) <= self.groups:
                number = number * 10 + int(self.next("a digit"))
            return self._reference(number, f"\\{number}")
        escape = self.escaped(char)
        return _one_of(escape) if isinstance(escape, CodePoints) else self._literal(escape)

    def _reference(self, number: int, shown: str) -> _Part:
        if number not in self.closed:
            raise unsupported_error(
                f"`{shown}`", "names no group that is closed before it", "number groups by their `(`"
            )
        self.references.setdefault(number, shown)
        return _Part(f"(?ai:\\{number})" if self.flags.i else f"(?:\\{number})")


def _one_of(points: CodePoints) -> _Part:
    return _Part(points.python(), points.re2(), 1, single=True)


def _joined(parts: list[str | None], between: str) -> str | None:
    known = [part for part in parts if part is not None]
    return between.join(known) if len(known) == len(parts) else None


@cache
def _word_boundary() -> str:
    """Return the word boundary of Java up to 18: letters, digits and `_` may have combining marks."""
    letters = category("L") | category("Nd")
    # Python's \w has a few more numbers; excluding them is much shorter than listing the rest.
    others = CodePoints.of(*((c, c) for a, b in category("N").ranges for c in range(a, b + 1) if chr(c).isalnum()))
    others -= letters
    inside = others.python()[1:-1]
    word, letter, mark = f"[^\\W{inside}]", f"[^\\W_{inside}]", category("Mn").python()
    behind = [f"(?<={word})", *(f"(?<={letter}{mark * count})" for count in range(1, _MARKS + 1))]
    left = f"(?:{'|'.join(behind)})"
    anywhere = f"(?:(?={mark})(?<=_)|(?!{mark})(?:{left}(?!{word})|(?!{left})(?={word})))"
    beyond = "[^\\x00-\\x7f]"  # between two ASCII characters, Java and Python agree, and this is fast
    return f"(?:(?!{beyond})(?<!{beyond})(?a:\\b)|(?:(?={beyond})|(?<={beyond})){anywhere})"
