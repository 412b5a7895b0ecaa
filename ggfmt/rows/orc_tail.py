"""The calendar of an ORC file, which the ORC library of Arrow leaves out.

Arrow writes days and times of the proleptic Gregorian calendar, as SQL has it. If a file does not name its calendar,
readers in Java, such as Spark, assume the Julian calendar before 1582-10-15, and read other dates. The calendar is a
field of the footer.

A file ends with the footer (chunks, each with a header of three bytes), the postscript (not compressed), and the length
of the postscript in one byte.
"""

from __future__ import annotations

TAIL_BYTES = 256  # the postscript and its length are never longer

_FOOTER_LENGTH = 0x08  # the key of the first field of the postscript: field 1, a varint
_PROLEPTIC_GREGORIAN = b"\x58\x02"  # `calendar` of the footer (field 11, a varint)
_CHUNK = bytes(((len(_PROLEPTIC_GREGORIAN) << 1) | 1, 0, 0)) + _PROLEPTIC_GREGORIAN  # a chunk that is not compressed


def with_calendar(tail: bytes) -> bytes:
    """Return the last bytes of a compressed ORC file with the calendar in its footer.

    Args:
        tail: the last `TAIL_BYTES` of the file, or all of a shorter one.
    Raises:
        ValueError: The postscript does not begin with the length of the footer.
    """
    length = tail[-1]
    before, postscript = tail[: -1 - length], tail[-1 - length : -1]
    if not postscript or postscript[0] != _FOOTER_LENGTH:
        raise ValueError("the postscript of the ORC file does not begin with the length of the footer")
    size, end = _read_varint(postscript, 1)
    postscript = bytes((_FOOTER_LENGTH,)) + _varint(size + len(_CHUNK)) + postscript[end:]
    return before + _CHUNK + postscript + bytes((len(postscript),))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset behind it."""
    number = shift = 0
    while data[at] > 0x7F:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))
