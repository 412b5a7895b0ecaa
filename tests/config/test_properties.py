"""Properties files are read as Java reads them, and every entry knows its place."""

from __future__ import annotations

from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggfmt.config.properties import (
    Comment,
    DecodedText,
    Entry,
    decode,
    entries_from_settings,
    parse_content,
    parse_properties,
    read_properties,
)

# Texts that are rich in what the syntax cares for.
SYNTAX = st.text(st.sampled_from("ab=: \\\n\r\t\f#!u0041") | st.characters())


def only(text: str) -> Entry:
    (entry,) = parse_properties(text, "f").entries
    return entry


@given(SYNTAX)
def test_keys_and_values_are_those_of_javaproperties(text: str) -> None:
    parsed = parse_properties(text, "f")
    try:
        expected = javaproperties.loads(text, object_pairs_hook=list)
    except javaproperties.InvalidUEscapeError:
        assert parsed.diagnostics
    else:
        assert [(entry.key, entry.value) for entry in parsed.entries] == expected
        assert not parsed.diagnostics


@given(SYNTAX)
def test_places_are_inside_the_source_line(text: str) -> None:
    for entry in parse_properties(text, "f").entries:
        assert 1 <= entry.column <= entry.column + entry.key_length <= entry.value_column
        assert entry.value_column + entry.value_length <= len(entry.source) + 1


@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_what_javaproperties_writes_is_read_back(pairs: list[tuple[str, str]]) -> None:
    text = javaproperties.dumps(pairs, timestamp=False)
    assert [(entry.key, entry.value) for entry in parse_properties(text, "f").entries] == pairs


@pytest.mark.parametrize(
    ("text", "line", "column", "value_column", "value_length"),
    [
        ("key=value", 1, 1, 5, 5),
        ("# comment\n\n  key = value  ", 3, 3, 9, 5),
        ("key:value", 1, 1, 5, 5),
        ("key value", 1, 1, 5, 5),
        ("key", 1, 1, 4, 0),
        ("key=", 1, 1, 5, 0),
        ("a\\ b\\=c=value", 1, 1, 9, 5),
        ("\\\n  key=value", 1, 1, 1, 0),
        ("key=va\\\n  lue", 1, 1, 5, 2),
        ("key=\\\n  value", 1, 1, 5, 0),
        ("key\\\n  =value", 1, 1, 4, 0),
        ("\tkey=\\u0001", 1, 2, 6, 6),
    ],
)
def test_place(text: str, line: int, column: int, value_column: int, value_length: int) -> None:
    entry = only(text)
    assert (entry.line, entry.column, entry.value_column, entry.value_length) == (
        line,
        column,
        value_column,
        value_length,
    )


def test_the_blanks_before_a_key_are_those_of_java() -> None:
    entry = only(" \t\fX=X\\\n \t\fX")
    assert (entry.key, entry.value, entry.column, entry.value_column) == ("X", "XX", 4, 6)
    (comment,) = parse_properties(" \t\f# X\na=b", "f").comments
    assert (comment.text, comment.column) == ("# X", 4)
    assert only("\vX=1").key == "\vX"


def test_lines_are_counted_over_comments_blanks_and_continuations() -> None:
    entries = parse_properties("a=1\\\n2\\\n3\n#\r\n\r\nb=2\rc=3", "f").entries
    assert [(entry.key, entry.value, entry.line) for entry in entries] == [
        ("a", "123", 1),
        ("b", "2", 6),
        ("c", "3", 7),
    ]


def test_every_malformed_escape_is_told_and_reading_goes_on() -> None:
    parsed = parse_properties("a=\\u12 \\uxyz\nb=1\nc\\u=1\\\n  2\\u00\n", "f")
    assert [(entry.key, entry.value) for entry in parsed.entries] == [("b", "1")]
    assert [str(diagnostic) for diagnostic in parsed.diagnostics] == [
        f"f:{place}: error[GG108] `\\u` is not followed by four hexadecimal digits; write `\\\\` for a backslash"
        for place in ("1:3", "1:8", "3:2", "4:4")
    ]


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("é".encode(), "Ã©"),
        ("é".encode("iso-8859-1"), "é"),
        ("密码".encode(), "å¯\x86ç\xa0\x81"),
        (b"\\u5bc6 \xc3\xa9", "密 Ã©"),
    ],
)
def test_encoding(tmp_path: Path, content: bytes, value: str) -> None:
    path = tmp_path / "a.properties"
    path.write_bytes(b"key=" + content)
    (entry,) = read_properties(str(path)).entries
    assert entry.value == value


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.properties"
    path.write_bytes(b"\xef\xbb\xbfkey=value")
    (entry,) = read_properties(str(path)).entries
    assert (entry.key, entry.column) == ("key", 1)


@given(st.binary() | st.text().map(str.encode) | st.binary().map(lambda content: b"\xef\xbb\xbf" + content))
def test_decoded_bytes_can_be_encoded_again(content: bytes) -> None:
    text, encoding, mark = decode(content)
    assert mark + text.encode(encoding) == content


@pytest.mark.parametrize(
    ("content", "decoded"),
    [
        (b"a=\xc3\xa4", DecodedText("a=\xe4", "utf-8", b"")),
        (b"a=\xe4", DecodedText("a=\xe4", "iso-8859-1", b"")),
        (b"\xef\xbb\xbfa=b\r\n", DecodedText("a=b\r\n", "utf-8", b"\xef\xbb\xbf")),
        (b"\xef\xbb\xbfa=\xe4", DecodedText("a=\xe4", "iso-8859-1", b"\xef\xbb\xbf")),
        (b"", DecodedText("", "utf-8", b"")),
    ],
)
def test_decoding(content: bytes, decoded: DecodedText) -> None:
    assert decode(content) == decoded


@given(SYNTAX)
def test_an_entry_has_all_that_stands_in_its_logical_line(text: str) -> None:
    for entry in parse_properties(text, "f").entries:
        assert javaproperties.unescape(entry.raw) == entry.value
        assert not entry.raw.startswith((" ", "\t", "\f"))
        assert entry.separator.strip(" \t\f") in ("", "=", ":")
        assert not {"\n", "\r"} & set("".join((entry.raw, entry.separator, *entry.continued)))


@pytest.mark.parametrize(
    ("text", "separator", "raw", "continued", "is_plain"),
    [
        ("key=\\t|\\u0020 ", "=", "\\t|\\u0020 ", (), True),
        ("key : v", " : ", "v", (), True),
        ("k\\u0065y=v", "=", "v", (), False),
        ("k\\\n  ey=a\\\n  b\\", "=", "ab", ("  ey=a\\", "  b\\"), False),
        ("\\\nkey=v", "=", "v", ("key=v",), False),
        ("key\\\n =v", "=", "v", (" =v",), True),
    ],
)
def test_what_follows_a_key(text: str, separator: str, raw: str, continued: tuple[str, ...], is_plain: bool) -> None:
    entry = only(text)
    assert (entry.separator, entry.raw, entry.continued, entry.is_plain) == (separator, raw, continued, is_plain)


def test_comments_know_the_property_below_them() -> None:
    text = "# a\n  ! b\r\nkey=\\\n  value\n#c\n\n# d\nx=\\u1\n#e"
    assert parse_properties(text, "f").comments == (
        Comment(1, 1, "# a", range(3, 5)),
        Comment(2, 3, "! b", range(3, 5)),
        Comment(5, 1, "#c", range(0)),
        Comment(7, 1, "# d", range(8, 9)),
        Comment(9, 1, "#e", range(0)),
    )


def test_bytes_of_utf16_are_refused() -> None:
    (diagnostic,) = parse_content(b"\xff\xfea\0", "f").diagnostics
    assert str(diagnostic) == "f: error[GG100] the file is UTF-16; save it as UTF-8"


def test_unreadable_files(tmp_path: Path) -> None:
    utf16 = tmp_path / "utf16.properties"
    utf16.write_bytes("key=value".encode("utf-16"))
    for path, message in (
        (tmp_path / "missing", "the file cannot be read: No such file or directory"),
        (tmp_path, "the file cannot be read: Is a directory"),
        ("nul\0", "the file cannot be read: embedded null byte"),
        (utf16, "the file is UTF-16; save it as UTF-8"),
    ):
        (diagnostic,) = read_properties(str(path)).diagnostics
        assert str(diagnostic).startswith(f"{path}: error[GG100] {message}")


def test_settings() -> None:
    parsed = entries_from_settings(["a=CDATA[\\n]", "b = \\u0001", "c=x\ny", "d:", "e=C:\\\\x"])
    assert [(entry.key, entry.value) for entry in parsed.entries] == [
        ("a", "CDATA[\n]"),
        ("b", "\x01"),
        ("c", "x\ny"),
        ("d", ""),
        ("e", "C:\\x"),
    ]
    assert [(entry.file, entry.line) for entry in parsed.entries] == [("--set", line) for line in range(1, 6)]
    assert not parsed.diagnostics


def test_settings_that_are_none() -> None:
    parsed = entries_from_settings(["key", "# a=b", "", "=x", "a=\\u1"])
    assert parsed.entries == ()
    assert [str(diagnostic) for diagnostic in parsed.diagnostics] == [
        *(
            f"--set:{line}:1: error[GG108] a setting is not `KEY=VALUE`; give a key, `=` and a value"
            for line in range(1, 5)
        ),
        "--set:5:3: error[GG108] `\\u` is not followed by four hexadecimal digits; write `\\\\` for a backslash",
    ]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("gg.eventhandler.s3.secretKey=hunter2", "gg.eventhandler.s3.secretKey=***"),
        ("ssl.keystore.key=-----BEGIN PRIVATE KEY-----", "ssl.keystore.key=***"),
        ("ssl.key.pem=hunter2", "ssl.key.pem=***"),
        ("sasl.jaas.config=a.B required hunter2", "sasl.jaas.config=***"),
        ("ssl.keystore.location=key.pem", "ssl.keystore.location=key.pem"),
        ("gg.handler.k.hiveJdbcPassword = hunter2", "gg.handler.k.hiveJdbcPassword = ***"),
        ("jvm.bootoptions=-Djavax.net.ssl.trustStorePassword=hunter2", "jvm.bootoptions=***"),
        ("x.accessToken hunter2", "x.accessToken ***"),
        ("gg.handler.tokens.format=json", "gg.handler.tokens.format=json"),
        ("gg.handler.k.includeTokens=true", "gg.handler.k.includeTokens=true"),
        ("gg.includeggtokens=true", "gg.includeggtokens=true"),
    ],
)
def test_secrets_are_masked_in_what_is_shown(text: str, source: str) -> None:
    entry = only(text)
    assert entry.source == source
    assert "hunter2" not in repr(entry)
    assert entry.secret == source.endswith("***")
    assert entry.value_length == len(source) - entry.value_column + 1


def test_secrets_are_masked_where_they_are_malformed() -> None:
    (diagnostic,) = parse_properties("db.password=hun\\u12ter2", "f").diagnostics
    assert (diagnostic.span.source, diagnostic.span.column, diagnostic.span.length) == ("db.password=***", 13, 3)
    (setting,) = entries_from_settings(["password-hunter2"]).diagnostics
    assert setting.span.source == "password***"


@pytest.mark.parametrize(
    ("text", "key", "value_column"), [("=x", "", 2), (":x", "", 2), ("\\=a=x", "=a", 5), ("a=x", "a", 3), ("a", "a", 2)]
)
def test_a_key_ends_where_its_separator_is(text: str, key: str, value_column: int) -> None:
    (entry,) = parse_content(text.encode(), "f").entries
    assert (entry.key, entry.value_column) == (key, value_column)


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "orders.properties"
    link.symlink_to("gone.properties")
    (finding,) = read_properties(str(link)).diagnostics
    assert finding.help == "the link leads to `gone.properties`, which does not exist"
