"""Decoders of texts in the charsets of databases, by MySQL's names.

MySQL's `latin1` is Windows code page 1252 and not ISO 8859-1; the five bytes that code page 1252 leaves undefined are
the control characters with the same numbers. ggfmt does not read charsets for which Python has no codec (`armscii8`,
`dec8`, `geostd8`, `keybcs2`, `swe7`). A name that MySQL does not know may be a name of Java, as Oracle and PostgreSQL
use them.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from ggfmt.java.charsets import can_decode, canonical_name, codec_of

BINARY = "binary"

_OF_PYTHON = (
    "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "gb18030", "gb2312",
    "gbk",
)  # fmt: skip
MYSQL_CHARSETS = {
    **{name: name for name in _OF_PYTHON},
    **dict.fromkeys(("utf8", "utf8mb3", "utf8mb4"), "utf-8"),
    **dict.fromkeys(("ucs2", "utf16"), "utf-16-be"),
    **dict.fromkeys(("eucjpms", "ujis"), "euc_jp"),
    "euckr": "euc_kr",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "hp8": "hp_roman8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
_NOT_READ = frozenset({"armscii8", "dec8", "geostd8", "keybcs2", "swe7"})
_LATIN_1 = "".join(
    bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)
)  # a character for each byte


@cache
def decoder(charset: str) -> Callable[[bytes], str] | None:
    """Return a decoder that raises ValueError for undecodable bytes; None for an unknown charset."""
    name = charset.lower()
    if name == "latin1":
        return lambda data: codecs.charmap_decode(data, "strict", _LATIN_1)[0]
    codec = MYSQL_CHARSETS.get(name)
    if codec is None and name not in _NOT_READ:
        java = canonical_name(charset)
        with suppress(LookupError):
            codec = codec_of(java) if java is not None and can_decode(java) else None
    if codec is None:
        return None
    return lambda data: str(data, codec)
