"""Names in Avro, as Avro for Java takes them."""

from __future__ import annotations

import unicodedata


def is_name(text: str) -> bool:
    """Whether Avro for Java takes the name: letters, digits and `_`, no digit first. As it looks at UTF-16 units, no
    character beyond the BMP is a letter."""
    head, tail = text[:1], text[1:]
    return (head == "_" or _is_letter(head)) and all(
        character == "_" or _is_letter(character) or _is_digit(character) for character in tail
    )


def _is_letter(character: str) -> bool:
    return character.isalpha() and character <= "\uffff"


def _is_digit(character: str) -> bool:
    return unicodedata.category(character) == "Nd" and character <= "\uffff"
