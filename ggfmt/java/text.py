"""Text as Java treats it: blanks, trimming, hash codes and escapes, and a time limit for regular expressions."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ggfmt.lazy import lazy_regex

JAVA_BLANKS = "".join(map(chr, range(0x21)))


class InvalidValueError(ValueError):
    """A text that is not a legal value, `help`, and the wrong `part` of the text, if the rest is right.

    `right`: what is certainly meant in place of the part.
    """

    def __init__(
        self, message: str, help: str | None = None, part: str | None = None, right: str | None = None
    ) -> None:
        super().__init__(message)
        self.help = help
        self.part = part
        self.right = right


class UnsupportedValueError(InvalidValueError):
    """A value that is legal in GoldenGate, and that ggfmt cannot apply."""


_CLASS = lazy_regex(r"(?:[^\W\d][\w$]*\.)*[^\W\da-z][\w$]*")


def is_java_class(text: str) -> bool:
    """Return whether a text has the form of a class: the names of its packages, and a name with a capital letter."""
    return _CLASS.fullmatch(text) is not None


def trim(text: str) -> str:
    return text.strip(JAVA_BLANKS)


def string_hash(text: str) -> int:
    """Return Java's `String.hashCode()`: over UTF-16 units, a signed number of 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    return _hash(0, (units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)))


def objects_hash(*hashes: int) -> int:
    """Return Java's `Objects.hash()` of objects with these hash codes; that of null is 0."""
    return _hash(1, hashes)


def _hash(result: int, numbers: Iterable[int]) -> int:
    for number in numbers:
        result = (31 * result + number) & 0xFFFFFFFF
    return result - (result >> 31 << 32)


_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def visible(text: str) -> str:
    """Return the text with a Java escape for every character that does not print; a backslash stays as it is."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


# A time limit for regular expressions: some need exponential time for thirty characters.


class TimeLimitError(Exception):
    """The time is up."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimitError after this many seconds of computing.

    Python's `re` checks for signals while it searches. Only the main thread gets them, and not on Windows: elsewhere
    there is no limit. Tasks of Spark run in the main thread of their worker.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL if before is None else before)
