"""Charsets: the names, aliases and bytes of `java.nio.charset` in the Java that would run Spark."""

from __future__ import annotations

import base64
import hashlib
import locale
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import make_charset_tables
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from strategies import examples

from ggfmt.formats.api.writing import TextFraming
from ggfmt.java import charsets
from ggfmt.java.charsets import aliases, byte_order_mark, codec_of, encoder, native_charset, refusal, tables
from ggfmt.java.text import InvalidValueError
from ggfmt.options.value_types import Charset
from ggfmt.spark.installations import find_java, spark_home

SERVED = [name for name in aliases() if refusal(name) is None]
REFUSED = {
    "ISO-2022-CN": "Java itself cannot encode it",
    "x-JISAutoDetect": "Java itself cannot encode it",
    "ISO-2022-KR": "ggfmt does not encode it",
    "x-ISO-2022-CN-CNS": "ggfmt does not encode it",
    "x-ISO-2022-CN-GB": "ggfmt does not encode it",
}

# The whole of the BMP, what is beyond it in any charset but those of all Unicode, and the edges.
CODES = [*range(0xD800), *range(0xE000, 0x10100), *range(0x1F100, 0x1F700), *range(0x20000, 0x30000), 0x10FFFF]
NOWHERE = "\ufff0"  # only the charsets of all Unicode have it
COMBINING = "\u0300\u0301\u0304\u030c\u02e5\u02e9\u309a\uff9e\uff9f"


pytestmark = pytest.mark.spark
TABLES = cache(tables)  # a run seldom needs more than one, and the tests need them all


@pytest.fixture(autouse=True, scope="module")
def tables_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charsets, "tables", TABLES)
        yield


def by_message(charset: str) -> bool:
    """Whether what a character becomes depends on its neighbors."""
    return not encoder(charset).whole


class Java:
    """What a test asks a running Java."""

    def __init__(self, gateway: JavaGateway) -> None:
        lang, self._nio = gateway.jvm.java.lang, gateway.jvm.java.nio
        handles, lookup = lang.invoke.MethodHandles, lang.invoke.MethodHandles.publicLookup()
        self._arguments = gateway.new_array(lang.Object, 1)

        def method(holder: Any, name: str, kind: str) -> Any:
            kinds = gateway.new_array(lang.Class, 1)
            kinds[0] = lang.Class.forName(kind)
            return lookup.unreflect(holder.getMethod(name, kinds))

        # What a text becomes stays in Java, where it is shortened: py4j takes long time over long answers.
        digest, base64 = gateway.jvm.java.security.MessageDigest, gateway.jvm.java.util.Base64.getEncoder()
        as_text = method(base64.getClass(), "encodeToString", "[B").bindTo(base64)
        sha256 = method(lang.Class.forName("java.security.MessageDigest"), "digest", "[B")
        length = method(lang.Class.forName("java.lang.reflect.Array"), "getLength", "java.lang.Object")
        of_bytes = lang.invoke.MethodType.methodType(lang.Integer.TYPE, lang.Class.forName("[B"))
        get_bytes = method(lang.Class.forName("java.lang.String"), "getBytes", "java.lang.String")
        self._get_bytes = handles.filterReturnValue(get_bytes, as_text)
        self._get_length = handles.filterReturnValue(get_bytes, length.asType(of_bytes))
        sha256 = handles.filterReturnValue(sha256.bindTo(digest.getInstance("SHA-256")), as_text)
        self._get_digest = handles.filterReturnValue(get_bytes, sha256)
        self.version = lang.System.getProperty("java.specification.version")
        self.charsets = dict(self._nio.charset.Charset.availableCharsets())

    def _call(self, handle: Any, charset: str) -> Any:
        self._arguments[0] = charset
        return handle.invokeWithArguments(self._arguments)

    def get_bytes(self, charset: str, text: str) -> bytes:
        """`String.getBytes`, less the byte order mark."""
        encoded = base64.b64decode(self._call(self._get_bytes.bindTo(text), charset))
        mark = byte_order_mark(charset)
        assert encoded.startswith(mark) if text else not encoded
        return encoded[len(mark) :]

    def digests(self, text: str) -> Callable[[str], bytes]:
        """SHA-256 of `String.getBytes` of a long text, by a charset's name; with the byte order mark."""
        handle = self._get_digest.bindTo(text)
        return lambda charset: base64.b64decode(self._call(handle, charset))

    def loses(self, text: str) -> Callable[[str], int]:
        """How many characters of a long text a charset lacks, by what is left if Java leaves them out."""
        ignore = self._nio.charset.CodingErrorAction.IGNORE
        length, characters = self._get_length.bindTo(text), self._nio.CharBuffer.wrap(text)

        def lost(charset: str) -> int:
            if self.get_bytes(charset, NOWHERE) == self.get_bytes(charset, "\U0010ffff") != b"":
                line_end = len(self.get_bytes(charset, "\n"))
                cost = len(self.get_bytes(charset, NOWHERE + "\n")) - line_end
                kept = self.charsets[charset].newEncoder().onUnmappableCharacter(ignore)
                size = kept.encode(characters.duplicate()).remaining()
                whole = int(self._call(length, charset)) - len(byte_order_mark(charset))
                return (whole - int(size)) // cost
            return 0

        return lost


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    (jar,) = (spark_home() / "jars").glob("py4j-*.jar")
    port, process = launch_gateway(
        jarpath=str(jar), java_path=str(find_java().executable), die_on_exit=True, return_proc=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield Java(gateway)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(10)


def present(java: Java, wanted: list[str]) -> list[str]:
    """Those that this Java has; a small runtime lacks many, and the test reports them."""
    found = [name for name in wanted if name in java.charsets]
    if len(found) < len(wanted):
        warnings.warn(f"this Java has {len(found)} of {len(wanted)} charsets", stacklevel=2)
    assert {"UTF-8", "UTF-16", "ISO-8859-1", "US-ASCII"} & set(wanted) <= set(found)
    return found


# Names


def test_names_and_aliases_are_those_of_java(java: Java) -> None:
    known = aliases()
    assert set(java.charsets) <= set(known)
    for name in present(java, list(known)):
        told = set(java.charsets[name].aliases())
        assert told == set(known[name]) or (java.version != "17" and told <= set(known[name])), name


def test_every_name_and_alias_is_taken_in_any_case(java: Java) -> None:
    for name in present(java, SERVED):
        for alias in (name, *java.charsets[name].aliases()):
            assert Charset().parse(alias) == Charset().parse(alias.upper()) == Charset().parse(alias.lower()) == name


def test_what_cannot_be_written_is_refused_by_name(java: Java) -> None:
    assert {name: reason for name in aliases() if (reason := refusal(name)) is not None} == REFUSED
    for name, reason in REFUSED.items():
        for alias in (name, *aliases()[name]):
            with pytest.raises(InvalidValueError) as raised:
                Charset().parse(alias)
            assert str(raised.value) == f"cannot be `{alias}`"
            assert raised.value.help == f"{reason}; give {Charset().legal}"
    cannot = {name for name, charset in java.charsets.items() if not charset.canEncode()}
    assert cannot == {name for name, reason in REFUSED.items() if name in java.charsets and "Java" in reason}


def test_an_unknown_charset_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InvalidValueError) as raised:
        Charset().parse("windows_1252")
    assert str(raised.value) == "cannot be `windows_1252`"
    assert raised.value.help == f"give {Charset().legal}; did you mean `windows-1252`?"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("ANSI_X3.4-1968", "US-ASCII"),
        ("UTF-8", "UTF-8"),
        ("cp1252", "windows-1252"),
        ("eucJP", "EUC-JP"),
        ("iso8859-15", "ISO-8859-15"),
        ("mac-roman", "x-MacRoman"),
        ("ISO-2022-KR", "UTF-8"),
        ("utf-7", "UTF-8"),
    ],
)
def test_the_charset_of_the_machine(monkeypatch: pytest.MonkeyPatch, told: str, name: str) -> None:
    monkeypatch.setattr(locale, "getpreferredencoding", lambda _: told)
    assert native_charset() == name


# Bytes


@pytest.mark.parametrize("between", ["", pytest.param("\n", marks=pytest.mark.long)])
def test_every_character_has_the_bytes_of_java_alone_and_beside_others(java: Java, between: str) -> None:
    text = between.join(map(chr, CODES))
    digest = java.digests(text)
    for name in present(java, SERVED):
        data = byte_order_mark(name) + encoder(name).encode(text)[0]
        assert hashlib.sha256(data).digest() == digest(name), name


def test_lost_characters_are_counted(java: Java) -> None:
    some = CODES[::5]
    apart = "\n".join(map(chr, some))
    lost = java.loses(apart)
    counted = {name: encoder(name).encode(apart)[1] for name in present(java, SERVED)}
    assert counted == {name: lost(name) for name in counted}
    assert counted["UTF-8"] == counted["UTF-16"] == 0
    assert counted["US-ASCII"] == sum(code > 127 for code in some)


def repertoire(charset: str) -> str:
    """Characters of a charset that matter to its state, and some that it lacks."""
    table = TABLES().get(charset)
    modes = [mode[2] for mode in table["modes"]] if table else ["aé\u4e00\ud55c\U00020000"]
    some = [*(character for mode in modes for character in islice(mode, 0, None, max(1, len(mode) // 60)))]
    odd = "\n\r \0~\\\u00a5\u203e\U0001f600かセㇷæɔʌəɚÊê"
    return "".join(some).replace("\uffff", "") + odd + COMBINING + NOWHERE


PAIRED = frozenset("\u309a\u02e5\u02e9\u0300\u0301\u0304\u030c")


@pytest.mark.parametrize("charset", ["x-SJIS_0213", "x-MS932_0213"])
def test_two_characters_that_are_one_in_the_charset_are_not_lost(java: Java, charset: str) -> None:
    if charset not in java.charsets:
        pytest.skip(f"this Java has no {charset}")
    for text, lost in (("\u304b\u309a", 0), ("\u304b", 0), ("\u309a", 1), ("\u304b\u309a\u309a", 1)):
        data, found = TextFraming(charset).frame(pa.array([text], pa.string()))
        assert (bytes(data), found) == (java.get_bytes(charset, text), lost)


@pytest.mark.parametrize("charset", SERVED)
def test_runs_of_characters_have_the_bytes_of_java(java: Java, charset: str) -> None:
    if charset not in java.charsets:
        pytest.skip(f"this Java has no {charset}")
    framing = TextFraming(charset)
    plain = st.text(st.sampled_from(repertoire(charset)), max_size=30)

    @examples(100 if by_message(charset) else 15)
    @given(st.lists(plain | st.text(max_size=10), min_size=1, max_size=4))
    def check(messages: list[str]) -> None:
        expected = [java.get_bytes(charset, message) for message in messages]
        data, lost = framing.frame(pa.array(messages, pa.string()))
        assert bytes(data) == b"".join(expected)
        alone = sum(encoder(charset).encode(character)[1] for message in messages for character in message)
        # The second of two characters that are one in the charset is lost only where it is alone.
        pairs = not PAIRED.isdisjoint("".join(messages))
        assert lost <= alone if pairs else lost == alone

    check()


def test_what_depends_on_its_neighbours_is_encoded_message_by_message() -> None:
    assert set(filter(by_message, SERVED)) == {
        *("ISO-2022-JP", "ISO-2022-JP-2", "x-windows-50220", "x-windows-50221", "x-windows-iso2022jp"),
        *("x-IBM930", "x-IBM933", "x-IBM935", "x-IBM937", "x-IBM939", "x-IBM1364"),
        *("x-SJIS_0213", "x-MS932_0213"),
    }
    framing = TextFraming("ISO-2022-JP")
    one = b'\x1b$B$"\x1b(B'
    assert framing.frame(pa.array(["あ", "あ"])) == (one + one, 0)
    assert framing.frame(pa.array(["x", "あ\uffe8"]).slice(1)) == (b'\x1b$B$"!)\x1b(B', 1)
    assert TextFraming("x-SJIS_0213").frame(pa.array(["か\u309a", "か", "\u309a"])) == (b"\x82\xf5\x82\xa9?", 1)


@pytest.mark.parametrize("charset", SERVED)
def test_the_codec_of_a_charset_makes_the_same_bytes(charset: str) -> None:
    codec, text = codec_of(charset), "a\n" + repertoire(charset)
    made, lost = encoder(charset).encode(text)
    assert text.encode(codec, "replace") == made
    if not lost:
        assert text.encode(codec) == made
        return
    with pytest.raises(UnicodeEncodeError) as raised:
        text.encode(codec)
    assert encoder(charset).encode(text[: raised.value.start])[1] == 0
    assert encoder(charset).encode(text[raised.value.start])[1] == 1


def test_the_codec_of_single_bytes_decodes_and_others_say_that_they_do_not() -> None:
    text = "I|ä€\n"
    assert text.encode(codec_of("IBM01141")).decode(codec_of("IBM01141")) == text
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode(codec_of("JIS_X0201"))
    for charset in ("CESU-8", "x-IBM930", "GBK"):
        with pytest.raises(UnicodeDecodeError, match=f"{charset} is only written"):
            b"a".decode(codec_of(charset))


def test_utf_8_is_not_copied() -> None:
    messages = pa.array(["äöü", "ß"])
    data, lost = TextFraming("UTF-8").frame(messages)
    assert isinstance(data, pa.Buffer)
    own = messages.buffers()[2]
    assert own is not None
    assert (data.address, lost) == (own.address, 0)


def test_byte_order_marks_are_java_s(java: Java) -> None:
    for name in present(java, SERVED):  # `get_bytes` takes a mark away, and sees that it is there; no other is left
        assert len(java.get_bytes(name, "aa")) == 2 * len(java.get_bytes(name, "a"))
    assert {name: TextFraming(name).header for name in SERVED if byte_order_mark(name)} == {
        "UTF-16": b"\xfe\xff",
        "x-UTF-16LE-BOM": b"\xff\xfe",
        "X-UTF-32BE-BOM": b"\0\0\xfe\xff",
        "X-UTF-32LE-BOM": b"\xff\xfe\0\0",
    }


@pytest.mark.long
def test_tables_are_those_of_the_jdk(java: Java) -> None:
    home = find_java().home
    if java.version != "17" or len(java.charsets) < len(aliases()) or not (home / "bin" / "javac").exists():
        pytest.skip(f"only a full JDK 17 makes the tables, and {home} is none")
    names, made = make_charset_tables.made(str(home))
    assert names == Path(charsets.__file__).with_name("charset_names.txt").read_text(encoding="ascii")
    assert made == TABLES()


@pytest.mark.parametrize(
    ("elsewhere", "java"),
    [
        *(("AL32UTF8", "UTF-8"), ("utf8mb4", "UTF-8"), ("ZHS16GBK", "GBK"), ("WE8ISO8859P1", "ISO-8859-1")),
        *(("ar8mswin1256", "windows-1256"), ("KO16MSWIN949", "x-windows-949"), ("WE8ISO8859P99", None)),
        ("UTF-8", None),
    ],
)
def test_names_of_databases(elsewhere: str, java: str | None) -> None:
    assert charsets.name_elsewhere(elsewhere) == java


def test_the_names_that_databases_mean_are_those_of_java() -> None:
    names = charsets._NAMES_ELSEWHERE
    assert {name: charsets.canonical_name(name) for name in names.values()} == {name: name for name in names.values()}
    assert [name for name in names if charsets.canonical_name(name) is not None] == []
