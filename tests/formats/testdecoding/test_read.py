"""test_decoding's texts, read: what is odd in them, and the frames of query rows. The lines are invented."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from contract.testdecoding import RECORDS, change
from dialects import Read, chunk_bytes, read, told
from scanners import without_kernels

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.model.table import Kind

NAME = "test_decoding"
INSERT = "table public.t: INSERT: id[integer]:1 v[text]:'a'"


def found_in(*texts: str, frame: str = "{}\n", **options: str) -> Read:
    """What is read, alike with kernels and without, and in chunks of any size."""
    data = "".join(frame.format(text) for text in texts).encode()
    source = told(NAME, **options)
    found = read(NAME, data, source)
    with without_kernels():
        assert read(NAME, data, source) == found
    for size in (1, 64):
        with chunk_bytes(size):
            assert read(NAME, data, source) == found
    return found


def images(found: Read) -> list[tuple[Any, Any]]:
    return [(item.before, item.after) for item in found.plain]


# Traps


@pytest.mark.parametrize("frame", ["{}\n", "{}\r\n", "0/19A1938|732|{}\n", "0/19A1938\t732\t{}\n"])
def test_a_value_can_have_a_line_feed_and_what_looks_like_records(frame: str) -> None:
    value = "a\nCOMMIT 1\n0/1|1|table public.t: DELETE: id[integer]:1\ntable public.t: DELETE: id[integer]:1\nit's"
    found = found_in(change("public.t", "I", {"v": value}), INSERT, frame=frame)
    assert images(found) == [(None, {"v": value}), (None, {"id": "1", "v": "a"})]
    assert found.reasons == []


def test_quotes_are_doubled_and_backslashes_are_plain() -> None:
    values = r"""v[character varying]:'it''s' w[text]:'''' x[text]:'\n"\\' y[text]:''"""
    found = found_in(f"table public.t: INSERT: {values}")
    assert images(found) == [(None, {"v": "it's", "w": "'", "x": r'\n"\\', "y": ""})]


def test_names_and_types_have_brackets_blanks_and_quotes() -> None:
    name = '"M S"."T.a ""q"" x"'
    found = found_in(
        f"table {name}: INSERT: \"a:b[c]\"[integer[]]:'{{1}}' c[timestamp without time zone]:null "
        "d[\"char\"]:'Z' e[bit]:B'101' f[\"My \"\"T]\"[]]:'{x}'"
    )
    ((table, item),) = found.operations
    assert table.parts == ("M S", 'T.a "q" x')
    assert item.after == {"a:b[c]": "{1}", "c": None, "d": "Z", "e": "101", "f": "{x}"}
    assert table.columns[1].type.kind is Kind.TIMESTAMP


def test_null_missing_and_texts() -> None:
    texts = "a[text]:null b[text]:'null' c[text]:unchanged-toast-datum d[text]:'unchanged-toast-datum'"
    found = found_in("table public.t: INSERT: c[text]:'x'", f"table public.t: UPDATE: id[integer]:1 {texts}")
    assert images(found)[1] == (None, {"id": "1", "a": None, "b": "null", "d": "unchanged-toast-datum"})


def test_an_unchanged_value_is_in_the_old_row() -> None:
    found = found_in("table public.t: UPDATE: old-key: id[integer]:1 v[text]:'x' new-tuple: id[integer]:1 "
                     "v[text]:unchanged-toast-datum", fullIdentity="public.t")  # fmt: skip
    assert images(found) == [({"id": "1", "v": "x"}, {"id": "1", "v": "x"})]


def test_numbers_keep_their_digits() -> None:
    values = {
        "numeric": ("NaN", "Infinity", "-Infinity", "99999999999999999999.90"), "real": ("1e+10", "NaN"),
        "double precision": ("5e-324", "-0"), "bigint": ("9007199254740993",),
    }  # fmt: skip
    for type, texts in values.items():
        found = found_in(*(f"table public.t: INSERT: n[{type}]:{text}" for text in texts))
        assert [item.after for item in found.plain] == [{"n": text} for text in texts]
        assert found.remarks == {}


@pytest.mark.parametrize(
    "text",
    [
        "v[text]:a", "v[text]:'a'b", "v[text]:'a'  w[text]:'b'", "v[integer]:'1'", "v[integer]:1a", "v[boolean]:1",
        "v[bit]:101", "v[numeric]:01", "v[numeric]:nan", "v:1", "v[]:1", "v[bytea]:'abc'", "V[text]:'a'", "v[text]:",
        "v[text]:'a' old-key: v[text]:'b'", "v[text]:'a' (no-tuple-data)",
    ],
)  # fmt: skip
def test_what_the_plugin_does_not_write_is_rejected(text: str) -> None:
    found = found_in(INSERT, f"table public.t: INSERT: {text}", INSERT)
    assert len(found.plain) == 2
    assert [reason[:5] for reason in found.reasons] == ["GG314" if "bytea" in text else "GG301"]


def test_several_tables_are_truncated() -> None:
    found = found_in('table a.b, "C d".e, a.c: TRUNCATE: restart_seqs cascade', "table a.b: TRUNCATE: cascade")
    assert [(table.full_name, item.op) for table, item in found.operations] == [
        ("a.b", "T"), ("C d.e", "T"), ("a.c", "T"), ("a.b", "T")
    ]  # fmt: skip


def test_the_content_of_a_message_has_the_length_that_it_says() -> None:
    head = "message: transactional: 1 prefix: app, sz: {} content:{}"
    content = "a ' \" \nb"
    found = found_in(INSERT, head.format(len(content), content), head.format(9, ""), INSERT)
    assert (len(found.plain), found.others, found.reasons) == (2, {"message": 2}, [])
    content = f"a\n{INSERT}"
    found = found_in(INSERT, head.format(len(content), content), INSERT)
    assert found.reasons == ["GG301 the content of a message has lines that can be records"]
    assert len(found.plain) == 2


def test_bare_words_of_transactions_are_counted_or_skipped() -> None:
    assert found_in("BEGIN", INSERT, "COMMIT", INSERT).reasons == []
    found = found_in("BEGIN 1", INSERT, "COMMIT 1 (at 2026-11-28 14:48:29.313369+00)", INSERT)
    assert found.others == {"transaction begin": 1, "transaction end": 1}
    assert [item.tokens for item in found.plain] == [{"xid": "1"}, {}]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["BEGIN 1", INSERT], "the transaction has no end"),
        (["BEGIN 1", INSERT, "BEGIN 2", INSERT, "COMMIT 2"], "the transaction before has no end"),
        (["BEGIN 1", INSERT, "PREPARE TRANSACTION 'a''b', txid 1"], "a prepared transaction has no end"),
        (
            ["BEGIN 1", INSERT, "PREPARE TRANSACTION 'a', txid 1", "ROLLBACK PREPARED 'a', txid 1"],
            "a prepared transaction is rolled back, whose changes were read",
        ),
    ],
)
def test_a_transaction_without_a_good_end(texts: list[str], reason: str) -> None:
    assert found_in(*texts).reasons == [f"GG302 {reason}"]


# Keys


def test_an_update_without_an_old_row_shows_that_old_rows_are_keys() -> None:
    update, delete = "table public.t: UPDATE: id[integer]:1 v[text]:'b'", "table public.t: DELETE: id[integer]:1"
    for texts, keys in (([INSERT, update, delete], ("id",)), ([delete, update], ("id",)), ([INSERT, delete], ())):
        found = found_in(*texts)
        assert found.reasons == []
        assert found.operations[0][0].key_names == keys
    other = "table public.t: DELETE: id[integer]:1 v[text]:'b'"
    assert [reason[:5] for reason in found_in(update, delete, other).reasons] == ["GG305"]


def test_nulls_of_a_whole_old_row() -> None:
    texts = ["table public.t: INSERT: id[integer]:1 v[text]:null", "table public.t: DELETE: id[integer]:1"]
    assert found_in(*texts).plain[1].before == {"id": "1"}
    assert found_in(*texts, fullIdentity="public.t").plain[1].before == {"id": "1", "v": None}


# Frames


@pytest.mark.parametrize("gap", ["a  b", "a\nb"])
def test_values_that_a_printed_table_does_not_show_are_rejected(gap: str) -> None:
    lines = f"table public.t: INSERT: v[text]:'{gap}'".split("\n")
    row = " +\n           |     | ".join(lines)
    head = "    lsn    | xid |  data\n-----------+-----+---------\n"
    found = read(NAME, f"{head} 0/19D67F8 | 772 | {INSERT}\n 0/19D67F8 | 772 | {row}\n(2 rows)\n".encode())
    assert [reason[:5] for reason in found.reasons] == ["GG301"]
    assert [item.pos for item in found.plain] == ["0/19D67F8"]


def test_lines_of_copy() -> None:
    row = r"0/1	7	table public.t: INSERT: v[text]:'a\\b\nc'"
    found = found_in(row, row, escapes="copy")
    assert images(found) == [(None, {"v": "a\\b\nc"})] * 2
    assert found_in(row, escapes="psql").plain[0].after == {"v": r"a\\b\nc"}
    assert [reason[:5] for reason in found_in(row, row).reasons] == ["GG301"] * 2  # both are possible


def test_csv_with_line_feeds_in_values() -> None:
    value = 'a\n0/1,1,"x"\n"'
    text = change("public.t", "I", {"v": value}).replace('"', '""')
    found = found_in(f'0/1,7,"{text}"', f"0/2,7,{INSERT}")
    assert [(item.pos, item.after) for item in found.plain] == [("0/1", {"v": value}), ("0/2", {"id": "1", "v": "a"})]


# Commands


@pytest.mark.process
def test_commands_recognize_and_read_the_format(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text("\n".join((*RECORDS, INSERT, "")).replace("NaN", "2.5"))
    ggfmt.convert(path, output=tmp_path / "out", to="json", master="none")
    messages = "".join(file.read_text() for file in (tmp_path / "out").rglob("*.json"))
    assert re.findall('"op_type":"(.)"', messages) == list("IUUDTI")
    path.write_text(f"{INSERT}\ntable public.t: DELETE: (no-tuple-data)\n")
    with pytest.raises(Abend, match="GG301"):
        ggfmt.convert(path, output=tmp_path / "no", to="json", master="none")


# Damage


_TEXTS = ("BEGIN 732", *RECORDS, "BEGIN 2", change("public.t", "I", {"v": "it's\n'x' \n"}), "COMMIT 2")
STORY = "".join(f"{text}\n" for text in _TEXTS)


def test_a_cut_file_has_a_part_of_the_operations_or_a_problem() -> None:
    data = STORY.encode()
    whole = images(read(NAME, data))
    for place in range(0, len(data), 3):
        found = read(NAME, data[:place])
        assert images(found) == whole[: len(found.plain)], data[:place]
        ended = re.search(rb"\nCOMMIT [0-9]+(?: \(at [^)]*\))?\n?\Z", data[:place])
        assert found.reasons or ended or b"table " not in data[:place], data[:place]


def test_a_lost_or_added_quote_is_a_problem() -> None:
    data = STORY.encode()
    whole = images(read(NAME, data))
    for place in range(len(data)):
        if data[place] in b"'" and not data.startswith(b"it's", place - 2):
            for damaged in (data[:place] + data[place + 1 :], data[:place] + b"'" + data[place:]):
                found = read(NAME, damaged)
                changed = [image for image in images(found) if image not in whole]
                assert found.reasons or len(changed) <= 1, damaged


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes(seed: int) -> None:
    """Nothing breaks, and what is not in the original is in one record, or there is a problem."""
    choose = random.Random(seed)
    data = STORY.encode()
    whole = images(read(NAME, data))
    for _ in range(60):
        damaged = bytearray(data)
        one, two = choose.randrange(len(data) - 1), choose.randrange(len(data) - 1)
        if choose.random() < 0.5:
            damaged[one] = choose.choice(b"'\"\n \\[]:,.Bx1\x00\xff\r|\t")
        else:
            damaged[one], damaged[two] = damaged[two], damaged[one]
        found = read(NAME, bytes(damaged))
        assert len([image for image in images(found) if image not in whole]) <= 2 or found.reasons
        assert len(found.plain) >= len(whole) or found.reasons or found.others


def test_a_file_is_recognized_by_a_change() -> None:
    reader = FORMATS[NAME].read_support.reader
    for head in (STORY, f"0/1|7|{INSERT}\n", f"lsn,xid,data\n0/1,7,{INSERT}\n", f"BEGIN 1\nCOMMIT 1\n{INSERT}\n"):
        assert reader.sniff(head.encode()) == "a line such as `table public.t: INSERT:`"
    for head in ("BEGIN 1\n", "table of contents: INSERT: \n", '{"action":"I"}\n', ""):
        assert reader.sniff(head.encode()) is None
