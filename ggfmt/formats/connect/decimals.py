"""Decimals as Kafka Connect has them: Base64 of a big-endian number in two's complement, less its decimal point."""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from decimal import Decimal

from ggfmt.columnar.strings import Kernel, by_value

_BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)
_PLAIN = re.compile(r"[+-]?[0-9]{1,1500}(?:\.[0-9]{1,1500})?", re.ASCII)
_EXPONENT = re.compile(r"[+-]?(?:[0-9]{1,1500}(?:\.[0-9]{0,1500})?|\.[0-9]{1,1500})(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_MOST_BYTES = 1600  # Python prints no more digits


def decimals(scale: int) -> Kernel:
    """A kernel that makes texts of decimals of a scale."""
    return by_value(lambda text: decoded(text, scale))


def decoded(text: str, scale: int) -> str | None:
    """The decimal of a scale that Base64 stands for; None if it is none."""
    data = bytes_of(text)
    return decimal_text(int.from_bytes(data, "big", signed=True), scale) if data and len(data) <= _MOST_BYTES else None


def bytes_of(text: str) -> bytes | None:
    """The bytes that Base64 stands for; None if a text is not strictly that."""
    return a2b_base64(text) if _BASE64.fullmatch(text) else None


def decimal_text(number: int, scale: int) -> str:
    """`number` times ten to the power of `-scale`."""
    if scale <= 0:
        return f"{number}{'0' * -scale if number else ''}"
    digits = str(number if number >= 0 else -number)
    if len(digits) <= scale:
        digits = digits.zfill(scale + 1)
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def encoded(text: str, scale: int) -> str | None:
    """A decimal in Base64; None if the text is none, or has more digits behind its point than the scale."""
    parts = unscaled(text)
    if parts is None:
        return None
    number, own = parts
    if own > scale:
        number, rest = divmod(number, 10 ** (own - scale))
        if rest:
            return None
    elif own < scale:
        number *= 10 ** (scale - own)
    return base64_of(number)


def unscaled(text: str) -> tuple[int, int] | None:
    """A whole number and the scale by which a text gives it; None for no number."""
    if _PLAIN.fullmatch(text):
        whole, _, fraction = text.partition(".")
        return int(whole + fraction), len(fraction)
    if not _EXPONENT.fullmatch(text):
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    return -number if sign else number, -exponent


def base64_of(number: int) -> str:
    bits = (number if number >= 0 else ~number).bit_length()
    return b2a_base64(number.to_bytes(bits // 8 + 1, "big", signed=True), newline=False).decode()
