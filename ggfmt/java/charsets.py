"""Java's charsets by name, and how Java encodes text in them."""

from __future__ import annotations

import codecs
import json
import locale
import pkgutil
import re
from functools import cache
from typing import Any, Protocol

from ggfmt.lazy import lazy_regex

# The encoders of charsets for which Python has no codec with the same bytes. `charset_tables.xz` is JSON, made by
# tests/tools/make_charset_tables.py from a JDK. A table has the `replacement` of characters that the charset lacks;
# `pairs`, two characters that together have bytes of their own; and `modes`, each with the bytes that switch to it, its
# rows as `prefix first count` (bytes that differ only in the last one), and their characters. A text starts and ends in
# the first mode.

_HOLE = "\uffff"

# The characters for which Java's GB18030 (that of 2022) has other bytes than Python's, with Java's bytes.
_GB18030 = """
    1e3f:a8bc 9fb4:fe59 9fb5:fe61 9fb6:fe66 9fb7:fe67 9fb8:fe6d 9fb9:fe7e 9fba:fe90 9fbb:fea0 e78d:84318236
    e78e:84318238 e78f:84318237 e790:84318239 e791:84318330 e792:84318331 e793:84318332 e794:84318333 e795:84318334
    e796:84318335 e7c7:8135f437 e81e:82359037 e826:82359038 e82b:82359039 e82c:82359130 e832:82359131 e843:82359132
    e854:82359133 e864:82359134 fe10:a6d9 fe11:a6db fe12:a6da fe13:a6dc fe14:a6dd fe15:a6de fe16:a6df fe17:a6ec
    fe18:a6ed fe19:a6f3
"""


class CharsetEncoder(Protocol):
    """`encode` returns the bytes of a text and how many of its characters became the charset's replacement.

    `whole`: the bytes of two texts are the bytes of their concatenation; otherwise each message is encoded alone.
    """

    whole: bool

    def encode(self, text: str) -> tuple[bytes, int]: ...


class PythonEncoder:
    """A codec of Python that makes the same bytes; the replacement is `?`, which is one byte."""

    whole = True

    def __init__(self, codec: str) -> None:
        self._codec = codec

    def encode(self, text: str) -> tuple[bytes, int]:
        try:
            return text.encode(self._codec), 0
        except UnicodeEncodeError:
            encoded = text.encode(self._codec, "replace")
            return encoded, len(encoded) - len(text.encode(self._codec, "ignore"))


class Cesu8Encoder:
    """UTF-8 of the halves of surrogate pairs."""

    whole = True

    def encode(self, text: str) -> tuple[bytes, int]:
        return re.sub("[\U00010000-\U0010ffff]", _halves, text).encode("utf-8", "surrogatepass"), 0


def _halves(match: re.Match[str]) -> str:
    above = ord(match[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


class Gb18030Encoder:
    whole = True

    def __init__(self) -> None:
        items = (item.split(":") for item in _GB18030.split())
        # Releases of Python differ in the character of these bytes: use that of the running Python.
        self._moved = {int(code, 16): bytes.fromhex(made).decode("gb18030") for code, made in items}

    def encode(self, text: str) -> tuple[bytes, int]:
        return (text if text.isascii() else text.translate(self._moved)).encode("gb18030"), 0


class TableEncoder:
    """A charset whose bytes depend on a character or a pair. `single`: by byte, U+FFFE for none; or None."""

    def __init__(self, table: dict[str, Any]) -> None:
        self._replacement = bytes.fromhex(table["replacement"])
        ((_, heads, text),) = table["modes"]
        self._codes = _codes(heads, text)
        self._ascii = _has_ascii(self._codes)
        by_code: dict[bytes, str] = {}
        for character, code in self._codes.items():
            by_code.setdefault(code, character)
        twins = {character: by_code[code] for character, code in self._codes.items() if by_code[code] != character}
        self._twins = {ord(character): first for character, first in twins.items()}
        self._twin = lazy_regex(f"[{re.escape(''.join(twins))}]" if twins else "(?!)")
        self.single: str | None = None
        if all(len(code) == 1 for code in by_code):
            self.single = "".join(by_code.get(bytes((code,)), "\ufffe") for code in range(256))
            self._charmap = codecs.charmap_build(self.single)
        pairs = {pair: bytes.fromhex(made.partition(":")[2]) for pair, made in table["pairs"].items()}
        self._codes.update(pairs)
        self._pair = lazy_regex("|".join(map(re.escape, pairs)) or "(?!)")
        self._token = lazy_regex(f"{self._pair.pattern}|.", re.DOTALL)
        self.whole = not pairs

    def encode(self, text: str) -> tuple[bytes, int]:
        if self._ascii and text.isascii():
            return text.encode("ascii"), 0
        if self.single is not None:
            try:
                plain = text.translate(self._twins) if self._twin.search(text) else text
                return codecs.charmap_encode(plain, "strict", self._charmap)[0], 0
            except UnicodeEncodeError:
                pass
        tokens = text if self.whole or not self._pair.search(text) else self._token.findall(text)
        codes = list(map(self._codes.get, tokens))
        lost = codes.count(None)
        if lost:
            return b"".join([self._replacement if code is None else code for code in codes]), lost
        return b"".join(codes), 0  # type: ignore[arg-type]  # there is no None in it


class ShiftingEncoder:
    """A charset that switches between modes: ISO 2022 for Japanese, and the mixed EBCDIC of IBM."""

    whole = False

    def __init__(self, table: dict[str, Any]) -> None:
        self._enter = [bytes.fromhex(enter) for enter, _, _ in table["modes"]]
        self._codes: dict[str, tuple[int, bytes]] = {}
        for mode, (_, heads, text) in enumerate(table["modes"]):
            codes = _codes(heads, text)
            self._codes.update((character, (mode, code)) for character, code in codes.items())
            if mode == 0:
                self._ascii = _has_ascii(codes)
        self._replacement = bytes.fromhex(table["replacement"])
        # The replacement of ISO 2022 is in the set JIS X 0208; that of EBCDIC is written in the current mode.
        self._replaced_in = self._enter.index(b"\x1b$B") if b"\x1b$B" in self._enter else None

    def encode(self, text: str) -> tuple[bytes, int]:
        if self._ascii and text.isascii():
            return text.encode("ascii"), 0
        parts: list[bytes] = []
        current = lost = 0
        for found in map(self._codes.get, text):
            if found is None:
                lost += 1
                mode, code = current if self._replaced_in is None else self._replaced_in, self._replacement
            else:
                mode, code = found
            if mode != current:
                parts.append(self._enter[mode])
                current = mode
            parts.append(code)
        if current:
            parts.append(self._enter[0])
        return b"".join(parts), lost


def _codes(heads: str, text: str) -> dict[str, bytes]:
    codes: dict[str, bytes] = {}
    at = 0
    for head in heads.split(","):
        prefix, first, count = head.split()
        front = b"" if prefix == "-" else bytes.fromhex(prefix)
        for last, character in enumerate(text[at : at + int(count)], int(first)):
            if character != _HOLE:
                codes[character] = front + bytes((last,))
        at += int(count)
    return codes


def _has_ascii(codes: dict[str, bytes]) -> bool:
    return all(codes.get(chr(code)) == bytes((code,)) for code in range(128))


def tables() -> dict[str, Any]:
    """Return all tables by the charsets' names. They are not cached: a run seldom needs more than one."""
    import lzma  # some Pythons lack it, and few charsets need it

    return dict(json.loads(lzma.decompress(_read("charset_tables.xz"))))


def _read(name: str) -> bytes:
    data = pkgutil.get_data(__package__, name)
    assert data is not None
    return data


def python_codec(name: str, charset: str) -> codecs.CodecInfo:
    """Return a charset as a codec of Python, which decodes only if every byte is a character."""

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        made = encoder(charset)
        encoded, lost = made.encode(text)
        if lost and errors == "strict":
            at = next(at for at, character in enumerate(text) if made.encode(character)[1])
            raise UnicodeEncodeError(name, text, at, at + 1, f"{charset} lacks the character")
        return encoded, len(text)

    def decode(data: bytes, errors: str = "strict") -> tuple[str, int]:
        made = encoder(charset)
        if isinstance(made, TableEncoder) and made.single is not None:
            return codecs.charmap_decode(data, errors, made.single)
        raise UnicodeDecodeError(name, bytes(data), 0, len(data), f"{charset} is only written")

    return codecs.CodecInfo(encode, decode, name=name)  # type: ignore[arg-type]  # of bytes, which is all there is


# The charsets of Java: their names and aliases, and their encoders. The reference is `String.getBytes(charset)`: the
# same bytes for every text, without the byte order mark that Java writes before each message in UTF-16, x-UTF-16LE-BOM,
# X-UTF-32BE-BOM and X-UTF-32LE-BOM. ggfmt writes it once, at the start of a file. A character that a charset lacks
# becomes the charset's replacement (`?` for most).

_JAVA_CANNOT = ("ISO-2022-CN", "x-JISAutoDetect")
_MARKS = {
    "UTF-16": codecs.BOM_UTF16_BE,
    "x-UTF-16LE-BOM": codecs.BOM_UTF16_LE,
    "X-UTF-32BE-BOM": codecs.BOM_UTF32_BE,
    "X-UTF-32LE-BOM": codecs.BOM_UTF32_LE,
}
_OWN_CODEC = "ggfmt_"

# Java's names, each with its encoder and its aliases: `charset_names.txt` is of Java 17, made by the same program. What
# encodes a charset is a codec of Python, `unicode` or `table` as above, or `none`.
_CODECS: dict[str, str] = {}
_ALIASES: dict[str, tuple[str, ...]] = {}
for _line in _read("charset_names.txt").decode().replace("\n ", " ").splitlines():
    _name, _codec, *_rest = _line.split()
    _CODECS[_name], _ALIASES[_name] = _codec, tuple(_rest)
_NAMES = {alias.lower(): name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}


def aliases() -> dict[str, tuple[str, ...]]:
    return dict(_ALIASES)


def charset_names() -> list[str]:
    return [name for own, others in _ALIASES.items() if not refusal(own) for name in (own, *others)]


def canonical_name(text: str) -> str | None:
    return _NAMES.get(text.lower())


def java_refuses(charset: str) -> bool:
    return charset in _JAVA_CANNOT


# What databases and editors call charsets that Java knows by another name.
_NAMES_ELSEWHERE = {
    "al16utf16": "UTF-16BE",
    "al32utf8": "UTF-8",
    "utf8mb3": "UTF-8",
    "utf8mb4": "UTF-8",
    "utfe": "UTF-8",
    "us7ascii": "US-ASCII",
    "zhs16gbk": "GBK",
    "zhs16cgb231280": "GB2312",
    "zhs32gb18030": "GB18030",
    "zht16big5": "Big5",
    "ja16sjis": "Shift_JIS",
    "ja16euc": "EUC-JP",
    "ko16ksc5601": "EUC-KR",
    "th8tisascii": "TIS-620",
    "cl8koi8r": "KOI8-R",
}
_NUMBERED = lazy_regex(r"[a-z0-9]{2,5}?(?:iso8859p([0-9]{1,2})|mswin([0-9]{3,4}))", re.IGNORECASE)


def name_elsewhere(text: str) -> str | None:
    """Return Java's name of a charset that databases and editors call `text`."""
    match = _NUMBERED.fullmatch(text)
    if match is not None:
        numbered = (f"ISO-8859-{match[1]}",) if match[1] else (f"windows-{match[2]}", f"x-windows-{match[2]}")
        return next((name for name in numbered if canonical_name(name) == name), None)
    return _NAMES_ELSEWHERE.get(text.lower())


def refusal(charset: str) -> str | None:
    """Return why a charset cannot be written, in one clause; None if it can."""
    if _CODECS[charset] != "none":
        return None
    return "Java itself cannot encode it" if java_refuses(charset) else "ggfmt does not encode it"


def native_charset() -> str:
    """Return Java's name for the charset of this machine's locale; UTF-8 if that cannot be written."""
    preferred = locale.getpreferredencoding(False)
    name = canonical_name(preferred)
    if name is None:
        codec = codecs.lookup(preferred)
        same = (own for own, known in _CODECS.items() if _is_python(known) and codecs.lookup(known).name == codec.name)
        name = next(same, "UTF-8")
    return "UTF-8" if refusal(name) else name


def can_decode(charset: str) -> bool:
    """Return whether texts of the charset can be read; some are only written."""
    try:
        b"0".decode(codec_of(charset), "replace")
    except UnicodeError:
        return False
    return True


def codec_of(charset: str) -> str:
    """Return a Python codec that makes the same bytes as the Java charset, without the byte order mark.

    It supports the error handlers `strict` and `replace`. A codec of ggfmt is registered on the first call.
    """
    codec = _CODECS[charset]
    if _is_python(codec):
        return codec
    _register()
    return _OWN_CODEC + _identifier(charset)


@cache
def encoder(charset: str) -> CharsetEncoder:
    codec = _CODECS[charset]
    if _is_python(codec):
        return PythonEncoder(codec)
    if charset == "CESU-8":
        return Cesu8Encoder()
    if charset == "GB18030":
        return Gb18030Encoder()
    table = tables()[charset]
    return TableEncoder(table) if len(table["modes"]) == 1 else ShiftingEncoder(table)


def byte_order_mark(charset: str) -> bytes:
    return _MARKS.get(charset, b"")


def _is_python(codec: str) -> bool:
    return codec not in ("table", "unicode", "none")


def _identifier(charset: str) -> str:
    return re.sub("[^a-z0-9]", "_", charset.lower())


@cache
def _register() -> None:
    codecs.register(_find)


@cache
def _find(name: str) -> codecs.CodecInfo | None:
    own = {_OWN_CODEC + _identifier(charset): charset for charset, codec in _CODECS.items() if not _is_python(codec)}
    return python_codec(name, own[name]) if name in own else None
