"""Files that were joined, such as by `cat`: the byte order mark of each but the first is between records, and is no
part of any."""

from __future__ import annotations

import bz2
import gzip
import lzma
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest
from contract import contract_of
from dialects import Read, chunk_bytes, read
from kafka_dumps import IN_JSON, WRAPS, Wrap, wrapped
from round_trips import STORY, TABLES, Operation, handler, view, write_as, write_story
from runs import content, run_ggfmt

SEPARATORS = [b"\n" + BOM_UTF8, b"\r\n" + BOM_UTF8, BOM_UTF8, b"\n" + BOM_UTF8 + b"\n", b"\n" + BOM_UTF8 * 2]


def _same(found: Read, expected: Read) -> None:
    assert found.reasons == expected.reasons == []
    assert found.plain == expected.plain
    assert found.others == expected.others


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", IN_JSON)
def test_a_byte_order_mark_between_json_records(name: str, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr("ggfmt.kernels.native", None)
    records = contract_of(name).records
    one = b"\n".join(records)
    whole = read(name, one + b"\n" + one + b"\n")
    for separator in SEPARATORS:
        with chunk_bytes(300):
            _same(read(name, BOM_UTF8 + one + separator + one + b"\n"), whole)


@pytest.mark.parametrize("name", IN_JSON)
def test_a_byte_order_mark_at_the_border_of_splits_and_chunks(name: str) -> None:
    records = contract_of(name).records
    one = b"\n".join(records) + b"\n"
    data = BOM_UTF8 + one + BOM_UTF8 + one
    whole = read(name, one + one)
    mark = len(BOM_UTF8 + one)
    for size in range(mark - 2, mark + 5):
        _same(read(name, data, size=size), whole)
        with chunk_bytes(size):
            _same(read(name, data), whole)


@pytest.mark.parametrize("gap", [b"", b" ", b";"])
def test_a_byte_order_mark_between_concatenated_and_pretty_printed_records(gap: bytes) -> None:
    one = b'{\n"table":"S.T",\n"op_type":"I",\n"after":{"A":"\xef\xbb\xbf{"}\n}'
    data = BOM_UTF8 + gap.join([one] * 3) + gap + BOM_UTF8 + gap.join([one] * 3)
    for size in range(1, 60):
        with chunk_bytes(size):
            found = read("json", data)
        assert found.reasons == []
        assert [item.after for item in found.plain] == [{"A": "\ufeff{"}] * 6


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_byte_order_mark_between_messages_of_kafka(wrap: Wrap) -> None:
    records = contract_of("debezium_json").records
    one = wrapped(wrap, records, '{"id":1}')
    _same(read("debezium_json", BOM_UTF8 + one + BOM_UTF8 + one), read("debezium_json", one + one))


def test_a_record_before_a_byte_order_mark_that_is_damaged_costs_no_other() -> None:
    good = b'{"table":"S.T","op_type":"I","after":{"A":"1"}}\n'
    for cut in range(1, len(good) - 1):
        found = read("json", good + good[:cut] + b"\n" + BOM_UTF8 + good + good)
        assert len(found.plain) == 3
        assert len(found.rejects) == 1


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", ["delimitedtext", "delimitedtext_op", "xml", "json", "json_row", "kafkaconnect_json"])
def test_a_byte_order_mark_between_files_that_ggfmt_wrote(
    name: str, kernels: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the story in one file, half in the other: together they are read as the two of them are."""
    if not kernels:
        monkeypatch.setattr("ggfmt.kernels.native", None)
    source = write_story(tmp_path / "in.json", [item for item in STORY if item.op != "T"])
    folder, told = write_as(source, name, tmp_path / "one")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    data = b"".join(path.read_bytes() for path in files)
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    plain.write_bytes(data + data)
    marked.write_bytes(BOM_UTF8 + data + BOM_UTF8 + data)
    expected = view(plain, tmp_path / "a", name, told)
    assert len(expected) >= 20
    assert view(marked, tmp_path / "b", name, told) == expected


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize("name", ["json", "delimitedtext", "xml"])
def test_a_byte_order_mark_in_compressed_and_split_inputs(
    name: str, suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    rows = [Operation("I", None, {"ID": str(number), "NAME": "a"}) for number in range(40)]
    source = write_story(tmp_path / "in.json", rows)
    lines = handler(name, tmp_path / "dirdef")
    folder, told = write_as(source, name, tmp_path / "one")
    (file,) = [path for path in folder.rglob("*") if path.is_file()]
    data = file.read_bytes()
    joined = BOM_UTF8 + data + BOM_UTF8 + data
    plain, packed = tmp_path / "plain.txt", tmp_path / f"packed.txt{suffix}"
    plain.write_bytes(data + data)
    packed.write_bytes(pack(joined))
    run_ggfmt([plain], tmp_path / "out", *lines, input_format=name, source=told, definitions=TABLES)
    assert content(tmp_path / "out", "h").count(b"GG.ORDERS") == 80
    mark = len(BOM_UTF8 + data)
    for size in (None, 1000, *range(mark - 1, mark + 5)):
        split = {"split_size": size, "definitions": TABLES}
        run_ggfmt([packed], tmp_path / f"out{size}", *lines, input_format=name, source=told, **split)
        assert content(tmp_path / f"out{size}", "h") == content(tmp_path / "out", "h")
