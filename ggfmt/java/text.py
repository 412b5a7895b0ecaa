"""Texts as Java has them: what it trims, how it escapes, and a text that cannot be what it should be."""

from __future__ import annotations

JAVA_BLANKS = "".join(map(chr, range(0x21)))


class InvalidValueError(ValueError):
    """A text that is no value of its kind; the message says what is wrong, `help` what to do."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


def trim(text: str) -> str:
    return text.strip(JAVA_BLANKS)


_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def visible(text: str) -> str:
    """The text with every character that does not print as a Java escape; a backslash stays as it is."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
