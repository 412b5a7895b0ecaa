"""The charsets of Java: their names and aliases, and what writes the bytes that Java writes.

`String.getBytes(charset)` is the measure: of every text the same bytes, less the byte order mark, which Java puts
before each message in UTF-16, x-UTF-16LE-BOM, X-UTF-32BE-BOM and X-UTF-32LE-BOM; here it stands once, at the start of a
file. A character that a charset lacks becomes the charset's replacement (`?` for most).
"""

from __future__ import annotations

import codecs
import locale
import re
from functools import cache

from ggfmt.java.charset_codecs import CharsetEncoder, PythonEncoder, python_codec, special_encoder
from ggfmt.java.charset_names import NAMES

_JAVA_CANNOT = ("ISO-2022-CN", "x-JISAutoDetect")
_MARKS = {
    "UTF-16": codecs.BOM_UTF16_BE,
    "x-UTF-16LE-BOM": codecs.BOM_UTF16_LE,
    "X-UTF-32BE-BOM": codecs.BOM_UTF32_BE,
    "X-UTF-32LE-BOM": codecs.BOM_UTF32_LE,
}
_OWN_CODEC = "ggfmt_"

# Java's names, each with what encodes it, and with its aliases.
_CODECS: dict[str, str] = {}
_ALIASES: dict[str, tuple[str, ...]] = {}
for _line in NAMES.replace("\n ", " ").splitlines():
    _name, _codec, *_rest = _line.split()
    _CODECS[_name], _ALIASES[_name] = _codec, tuple(_rest)
_NAMES = {alias.lower(): name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}


def aliases() -> dict[str, tuple[str, ...]]:
    """The names of all charsets of Java 17, also of those that cannot be written, each with its aliases."""
    return dict(_ALIASES)


def charset_names() -> list[str]:
    """All names and aliases of charsets that can be written."""
    return [name for own, others in _ALIASES.items() if not refusal(own) for name in (own, *others)]


def canonical_name(text: str) -> str | None:
    """Java's name for the charset that has `text` for its name or alias, in any case; None for no charset of Java."""
    return _NAMES.get(text.lower())


def refusal(charset: str) -> str | None:
    """Why a charset cannot be written, in one clause; None if it can."""
    if _CODECS[charset] != "none":
        return None
    return "Java itself cannot encode it" if charset in _JAVA_CANNOT else "ggfmt does not encode it"


def native_charset() -> str:
    """Java's name for the charset of this machine's locale; UTF-8 where that is none that can be written."""
    preferred = locale.getpreferredencoding(False)
    name = canonical_name(preferred)
    if name is None:
        codec = codecs.lookup(preferred).name
        name = next((own for own, known in _CODECS.items() if _is_python(known) and _same(known, codec)), "UTF-8")
    return "UTF-8" if refusal(name) else name


def can_decode(charset: str) -> bool:
    """Whether texts of the charset can be read; some are written only."""
    try:
        b"0".decode(codec_of(charset), "replace")
    except UnicodeError:
        return False
    return True


def codec_of(charset: str) -> str:
    """A Python codec that makes the same bytes as the Java charset, less the byte order mark.

    It knows the error handlers `strict` and `replace`. One of ggfmt's own is known only in a process that asked here.
    """
    codec = _CODECS[charset]
    if _is_python(codec):
        return codec
    _register()
    return _OWN_CODEC + _identifier(charset)


@cache
def encoder(charset: str) -> CharsetEncoder:
    """What encodes texts in the charset."""
    codec = _CODECS[charset]
    return PythonEncoder(codec) if _is_python(codec) else special_encoder(charset)


def byte_order_mark(charset: str) -> bytes:
    """What a file in the charset starts with: a mark where Java writes one, nothing for most."""
    return _MARKS.get(charset, b"")


def _is_python(codec: str) -> bool:
    return codec not in ("table", "unicode", "none")


def _same(codec: str, other: str) -> bool:
    return codecs.lookup(codec).name == other


def _identifier(charset: str) -> str:
    return re.sub("[^a-z0-9]", "_", charset.lower())


@cache
def _register() -> None:
    codecs.register(_find)


@cache
def _find(name: str) -> codecs.CodecInfo | None:
    own = {_OWN_CODEC + _identifier(charset): charset for charset, codec in _CODECS.items() if not _is_python(codec)}
    return python_codec(name, own[name]) if name in own else None
