"""What the ORC library of Arrow leaves out or writes wrong: the calendar of a file, and some times before 1970.

Arrow writes days and times of the proleptic Gregorian calendar, as SQL has it. If a file does not name its calendar,
readers in Java, such as Spark, assume the Julian calendar before 1582-10-15, and read other dates. The calendar is a
field of the footer.

A file ends with the footer (if it is compressed in chunks, each with a header of three bytes), the postscript (not
compressed), and the length of the postscript in one byte.

Of a time before 1970 with a fraction of a second, Arrow writes a negative number of nanoseconds. Other readers take it
for another time or refuse it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.pieces import varint

TAIL_BYTES = 256  # the postscript and its length are never longer

_FOOTER_LENGTH = 0x08  # the key of the first field of the postscript: field 1, a varint
_COMPRESSION = 0x10  # that of the second one: field 2, a varint, 0 for none
_PROLEPTIC_GREGORIAN = b"\x58\x02"  # `calendar` of the footer (field 11, a varint)
_CHUNK = bytes(((len(_PROLEPTIC_GREGORIAN) << 1) | 1, 0, 0)) + _PROLEPTIC_GREGORIAN  # a chunk that is not compressed


def with_calendar(tail: bytes) -> bytes:
    """Return the last bytes of an ORC file with the calendar in its footer. `tail`: the last `TAIL_BYTES` of the file,
    or all of a shorter one. Raises: ValueError for another postscript."""
    length = tail[-1]
    before, postscript = tail[: -1 - length], tail[-1 - length : -1]
    if not postscript or postscript[0] != _FOOTER_LENGTH:
        raise ValueError("the postscript of the ORC file does not begin with the length of the footer")
    size, end = _read_varint(postscript, 1)
    is_compressed = postscript[end] == _COMPRESSION and postscript[end + 1] != 0
    calendar = _CHUNK if is_compressed else _PROLEPTIC_GREGORIAN
    postscript = bytes((_FOOTER_LENGTH,)) + varint(size + len(calendar)) + postscript[end:]
    return before + calendar + postscript + bytes((len(postscript),))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset behind it."""
    number = shift = 0
    while data[at] > 0x7F:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1


def unwritable_times(times: pa.Array[Any]) -> pa.BooleanArray:
    """Return where timestamps in microseconds are before 1970 and have a fraction of a second."""
    micros = pc.cast(times, pa.int64())
    whole = pc.equal(pc.multiply(pc.divide(micros, 1_000_000), 1_000_000), micros)
    return pc.and_not(pc.less(micros, 0), whole)
