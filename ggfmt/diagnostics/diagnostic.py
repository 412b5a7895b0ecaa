"""Diagnostics: what is wrong, where, and what to do about it.

A finding is data (`Diagnostic`) and is rendered at the edge only (`ggfmt.render`). Its code is
declared in `ggfmt.diagnostics.codes`, where its severity comes from. The exception tree:

    GgfmtError                   carries one or more diagnostics and the exit code of the command
      ConfigurationError    1    findings in a handler file or in table definitions
        MissingFileError    2    one of these files is not there, or cannot be read
      UsageError            2    the command line asks for something that cannot be done
      Abend                 3    the run stopped, nothing was committed
      CommittedWithErrors   5    the run is committed, and something failed after that
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.lazy import lazy_regex

# The exit codes of all commands, by number; the documents generate their table from here.

DONE, FINDINGS, USAGE, STOPPED, REJECTS, AFTER_COMMIT = range(6)
READER_GONE = 141  # as in shells: 128, and the number of SIGPIPE

EXIT_CODES = {
    DONE: "done",
    FINDINGS: "errors in a handler file or in table definitions, a changed schema, or a problem of the machine",
    USAGE: "wrong usage, such as an unknown option, a missing input, or existing output",
    STOPPED: "abend: the run stopped and committed nothing; or ggfmt cannot write to standard output",
    REJECTS: "committed, with rejected records or tables set aside; or a preview or schema with one",
    AFTER_COMMIT: "committed, but a later step failed, as the message says: the next run finishes the commit, "
    "or a report is missing",
    127: "the system cannot load a library, mostly because memory ran out; nothing was committed",
    129: "interrupted by SIGHUP: nothing was committed; a signal that comes later ends with 5",
    130: "interrupted by Ctrl-C (SIGINT): nothing was committed; a signal that comes later ends with 5",
    134: "a library ended ggfmt because memory ran out (SIGABRT); the next run cleans up",
    READER_GONE: "the reader closed standard output, as in `ggfmt run ... -o - | head -1`; ggfmt leaves no files",
    143: "interrupted by SIGTERM: nothing was committed; a signal that comes later ends with 5",
}


@dataclass(frozen=True)
class Span:
    """A place: in a text file by line and column, both from 1; in an input by byte offset, or in a partition of a topic
    by the offset of the message; in data by table.

    `file` and `source`, the line, are for people: they contain no credentials.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    length: int = 1
    source: str | None = None
    offset: int | None = None
    table: str | None = None
    field: str | None = None
    position: str | None = None
    message: int | None = None

    def __post_init__(self) -> None:
        if self.file is not None:
            object.__setattr__(self, "file", without_credentials(self.file))
        if self.source is not None:
            object.__setattr__(self, "source", without_credentials(self.source))

    def at(self, **place: object) -> Span:
        """Return this place with other fields."""
        found = Span.__new__(Span)
        found.__dict__.update(self.__dict__, **place)
        found.__post_init__()
        return found

    @property
    def record(self) -> dict[str, object]:
        """Return where the record is: fields of another place."""
        return {"file": self.file, "offset": self.offset, "message": self.message}

    def __str__(self) -> str:
        """Return the place in one line: `file:line:column` or `file, byte offset`, then table, column and position."""
        parts = []
        if self.file is not None:
            place = self.file
            if self.line is not None:
                place += f":{self.line}"
                if self.column is not None:
                    place += f":{self.column}"
            parts.append(place)
        places = {
            "offset": self.message,
            "byte": self.offset,
            "table": self.table,
            "column": self.field,
            "position": self.position,
        }
        parts += [f"{word} {place}" for word, place in places.items() if place is not None]
        return ", ".join(parts)


@dataclass(frozen=True)
class Rewrite:
    """A change of whole lines of a file: the lines from `line` on, which are `old` without their ends, become `new`."""

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, init=False)
class Diagnostic:
    """One finding. `message` is a headline in one clause; `help` is an imperative or the legal values.

    `fix`: what to write at `span`, if there is one safe answer. `rewrite`: what was probably meant, if it may change
    the meaning of the file. `level`, `topic`: the severity and the page where they are not those of the code; a check
    warns of what is right for GoldenGate and stops a run of ggfmt.
    """

    code: str
    message: str
    span: Span
    help: str | None
    fix: str | None
    rewrite: Rewrite | None
    level: Severity | None
    topic: str | None

    def __init__(
        self,
        code: str,
        message: str,
        span: Span | str | None = None,
        help: str | None = None,
        fix: str | None = None,
        rewrite: Rewrite | None = None,
        level: Severity | None = None,
        topic: str | None = None,
    ) -> None:
        """Make a finding; a text as its place is the name of a file."""
        if code not in CODES:
            raise ValueError(f"`{code}` is not declared in `ggfmt.diagnostics.codes`")
        place = span if isinstance(span, Span) else Span(file=span)
        shown = None if help is None else without_credentials(help)
        values = (code, without_credentials(message), place, shown, fix, rewrite, level, topic)
        self.__dict__.update(zip(self.__dataclass_fields__, values, strict=True))

    @property
    def severity(self) -> Severity:
        return self.level or CODES[self.code].severity

    @property
    def page(self) -> str:
        return self.topic or CODES[self.code].page

    def at(self, **place: object) -> Diagnostic:
        """Return the same finding with more of its place (keyword arguments of `Span`)."""
        found = object.__new__(type(self))  # its texts were looked at: a run may make millions of rejects
        found.__dict__.update(self.__dict__, span=self.span.at(**place))
        return found

    def __str__(self) -> str:
        place = str(self.span)
        text = f"{place}: " if place else ""
        text += f"{self.severity.value}[{self.code}] {self.message}"
        return f"{text}; {self.help}" if self.help else text


_E = TypeVar("_E", bound="GgfmtError")


class GgfmtError(Exception):
    """Base class of every error that ggfmt raises on purpose; it is made as its finding is."""

    exit_code = STOPPED
    diagnostics: tuple[Diagnostic, ...]

    def __init__(
        self,
        code: str,
        message: str,
        span: Span | str | None = None,
        help: str | None = None,
        *,
        level: Severity | None = None,
        topic: str | None = None,
    ) -> None:
        self.diagnostics = (Diagnostic(code, message, span, help, level=level, topic=topic),)

    @classmethod
    def of(cls: type[_E], *diagnostics: Diagnostic) -> _E:
        """Return an error with findings that exist."""
        error = cls.__new__(cls)
        error.diagnostics = diagnostics
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, self.diagnostics

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class ConfigurationError(GgfmtError):
    exit_code = FINDINGS


class MissingFileError(ConfigurationError):
    exit_code = USAGE


class UsageError(GgfmtError):
    exit_code = USAGE


class Abend(GgfmtError):
    exit_code = STOPPED


class CommittedWithErrors(GgfmtError):
    exit_code = AFTER_COMMIT


_MIN_START = 4
_MAX_WORD = 200  # letters; longer words are no misspelled names


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word nearest to `word`, ignoring case; None if none is near. `cutoff`: how near, up to 1.

    The nearest one is that of `difflib.get_close_matches`. Common letters bound the likeness of two words, so that few
    known words are compared.
    """
    if len(word) > _MAX_WORD:
        return None
    folded, names = word.casefold(), _folded(tuple(known))
    longer = [name for name in names if len(word) >= _MIN_START and name.startswith(folded)]
    if longer:  # a start of a word is nearer than another word with the same letters
        return names[min(longer, key=len)][0]
    letters, length = _letters(folded), len(folded)
    bounds = [
        (2 * (other & letters).bit_count() / ((length + len(name)) or 1), name) for name, (_, other) in names.items()
    ]
    likeness, near = cutoff, ""
    for bound, name in sorted((pair for pair in bounds if pair[0] >= cutoff), reverse=True):
        if bound < likeness:
            break
        likeness, near = max((likeness, near), (difflib.SequenceMatcher(None, name, folded).ratio(), name))
    # A part of the word is another word: `stageType` does not mean `type`.
    return names[near][0] if near and 2 * len(near) >= len(word) else None


@lru_cache(maxsize=256)
def _folded(known: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    """Return each word and its letters by the word in one case."""
    return {name.casefold(): (name, _letters(name.casefold())) for name in known if len(name) <= _MAX_WORD}


def _letters(word: str) -> int:
    """Return a bit for each letter, and further ones for its repetitions: `a & b` has those that two words share."""
    counts: dict[int, int] = {}
    bits = 0
    for letter in word:
        place = ord(letter) % 128
        count = counts[place] = counts.get(place, -1) + 1
        bits |= 1 << (128 * count + place)
    return bits


def suggestion(word: str, known: Iterable[str]) -> str | None:
    near = did_you_mean(word, known)
    return f"did you mean `{near}`?" if near else None


def listing(names: Sequence[str], quote: str = "`") -> str:
    """Return the names as a list in words: `a`, `b` and `c`."""
    quoted = [f"{quote}{name}{quote}" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# Credentials in URIs and settings, which ggfmt shows nowhere.

# The second form is a password with a slash in it, which a URI should not have but that of an object store may. With
# only one slash before it, it is not a URI, but was meant as one.
_CREDENTIALS = lazy_regex(r"(?<=:/)(/[^/@\s]+|/?[^/@:\s]+:(?!\d+(?:/|$))[^@\s]+)@")


_CONTAINERS = ("abfs:/", "abfss:/", "wasb:/", "wasbs:/")  # the user is a container or an account of Azure


MASK = "***"
_WORDS = (
    r"(?:passw(?:or)?d|pwd|passphrase|secret|credential|token|jaas|keystore[._-]key|key[._-]pem"
    r"|(?:access|account|api|private|encryption)[._-]?key)"
)
_SECRET_KEY = lazy_regex(_WORDS, re.IGNORECASE)
_NO_SECRET = lazy_regex(r"include(?:gg)?tokens?$", re.IGNORECASE)
# `jdbc:oracle:thin:user/password@host`, which is not a URI.
_ORACLE = lazy_regex(r"(?<=jdbc:oracle:)(thin:|oci8?:)[^\s/@]*/(?:\"[^\"]*\"|[^\s@])+@", re.IGNORECASE)
# `password=x`, `"password": "x"`, and the signature of a link that Azure signed.
_ASSIGNED = lazy_regex(
    rf"((?:{_WORDS}[\w.-]{{0,80}}|(?<=[?&])sig)(?:[\"']?\s*=\s*|[\"']\s*:\s*))"
    r"(\"[^\"]*\"?|'[^']*'?|[^\s&;,\"'`)]+)",
    re.IGNORECASE,
)
_HARMLESS = lazy_regex(r"[\"']?(?:true|false|\*\*\*|\$\{[^}]*\}|[A-Z_]+)?[\"']?")


def names_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None and _NO_SECRET.search(key) is None


def secret_start(line: str) -> int | None:
    found = _SECRET_KEY.search(line)
    return None if found is None else found.end()


def without_credentials(text: str) -> str:
    """Return the text without users and passwords of URIs; assigned passwords and tokens become `***`."""
    if "@" in text:
        text = _ORACLE.sub(r"\1@", _without_users(text))
    if "=" in text or (":" in text and ('"' in text or "'" in text)):
        text = _ASSIGNED.sub(_assigned, text)
    return text


def _assigned(found: re.Match[str]) -> str:
    key = f"{found.string[max(0, found.start() - 9) : found.start()]}{found[1].rstrip(' =:')}"
    if _NO_SECRET.search(key) or _HARMLESS.fullmatch(found[2]):
        return found[0]
    quote = found[2][0] if found[2][0] in "\"'" else ""
    return f"{found[1]}{quote}{MASK}{quote}"


def _without_users(text: str) -> str:
    def less(found: re.Match[str]) -> str:
        user = found[1].partition(":")[0]
        is_container = user != "/" and text.endswith(_CONTAINERS, 0, found.start())
        return f"{user}@" if is_container else "/" if user.startswith("/") else ""

    return _CREDENTIALS.sub(less, text)


def credentials(uri: str) -> tuple[str, str]:
    """Return the user and the password of a URI, as written in it; empty if it has none."""
    found = _CREDENTIALS.match(uri, uri.find("://") + 2)  # a path may contain text that looks like credentials
    user, _, password = found[1].removeprefix("/").partition(":") if found else ("", "", "")
    return user, password


# Packages that cannot be imported: only some of them are not installed.

# What imports raise: a file of a package may be unreadable, or a library that it loads absent.
IMPORT_ERRORS = (ImportError, OSError)
_AGAIN = "correct the permissions of the package, or install it again"


def package_error(code: str, message: str, package: str, error: BaseException | None, help: str) -> Diagnostic:
    """Return the diagnostic for a package that is needed. `message` and `help`: if it is not installed."""
    problem = _problem(package.partition(".")[0], error)
    return Diagnostic(code, message, help=help) if problem is None else Diagnostic(code, problem, help=_AGAIN)


def unimported_package(error: BaseException) -> str | None:
    """Return the package that an error is about; None if the error is not one of an import."""
    if isinstance(error, ImportError):
        return error.name
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return None
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    folders = [folder for folder in sys.path if folder and error.filename.startswith(os.path.join(folder, ""))]
    if not folders or not any(file.startswith("<frozen importlib") for file in frames):
        return None
    inside = os.path.relpath(error.filename, max(folders, key=len))
    return os.path.splitext(inside.split(os.sep)[0])[0]


def _problem(package: str, error: BaseException | None) -> str | None:
    """Return why an installed package cannot be imported; None if it is not installed."""
    for folder in filter(os.path.isdir, sys.path):
        inside = os.path.join(folder, package)
        for path in (folder, inside, f"{inside}.py", os.path.join(inside, "__init__.py")):
            if os.path.exists(path) and not os.access(path, os.R_OK):
                return f"the package `{package}` cannot be read: no permission for `{path}`"
    if error is None or (isinstance(error, ModuleNotFoundError) and (error.name or package) == package):
        return None
    return f"the package `{package}` cannot be imported: {' '.join(str(error).split())[:200]}"
