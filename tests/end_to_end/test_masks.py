"""`--columns` and `--mask`: no masked value is in a file that a run leaves, in a log or in an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import operation, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, UsageError

KEY = "a key of many bytes"
MASKS = {"S.C.ID": "hash", "S.C.EMAIL": "null", "S.C.CARD": "fixed:0", "S.C.BORN": "hash"}
# No number in a manifest, no time and no digest looks like one of these by chance.
SECRETS = ("411107", "SECRET", "1971-0")


def change(kind: str, number: int, old: dict[str, Any] | None = None, **columns: Any) -> dict[str, Any]:
    """A record of Maxwell, whose token `query` has the values too."""
    data = {"ID": 4111070 + number, "EMAIL": f"SECRET {number}", "CARD": 411107000 + number, "BORN": f"1971-0{number}"}
    found = {"database": "S", "table": "C", "type": kind, "ts": 1714979289 + number, "xid": 7 + number}
    found |= {"position": f"b.1:{number}", "data": data | columns, "query": f"insert into C values {data}"}
    return found if old is None else found | {"old": old}


CHANGES = [
    change("insert", 1, N="x"),
    change("insert", 2, N="y"),
    change("update", 1, {"EMAIL": "SECRET 0", "CARD": 411107000}, N="z"),
    change("update", 3, {"ID": 4111072}, N="y"),
    change("insert", 4, EMAIL=None, CARD=None, N=None),
    change("delete", 4, N=None),
]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GGFMT_MASK_KEY", KEY)


@pytest.fixture
def changes(tmp_path: Path) -> Path:
    return write(tmp_path / "in.json", CHANGES)


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def leaks(directory: Path) -> list[tuple[str, str]]:
    contents = [(path, path.read_bytes()) for path in directory.rglob("*") if path.is_file()]
    return [(str(path), word) for path, data in contents for word in (*SECRETS, KEY) if word.encode() in data]


@pytest.mark.parametrize("to", ["maxwell_json", "debezium_json", "json", "avro_op", "xml", "delimitedtext", "dts_avro"])
def test_no_message_has_a_masked_value(
    to: str, changes: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1, "ggfmt")
    out, seen = tmp_path / "out", tmp_path / "seen"
    for path in (changes, write(tmp_path / "later.json", [change("update", 3, {"BORN": "1971-00"}, N="z")])):
        shown = ggfmt.convert(
            path,
            output=out,
            to=to,
            master="none",
            definitions=None,
            checkpoint=seen,
            mask=MASKS,
            on_reject="quarantine",
        )
        assert shown.reject_count == 0
    assert leaks(out) + leaks(seen) == []
    assert not [record for record in caplog.messages if any(secret in record for secret in SECRETS)]
    assert len(list(out.rglob("*"))) > 3


def test_messages_keep_null_missing_and_changes(changes: Path, tmp_path: Path) -> None:
    ggfmt.convert(
        changes, output=tmp_path / "out", to="maxwell_json", master="none", mask=MASKS, columns="C=ID,EMAIL,CARD"
    )
    (path,) = (tmp_path / "out" / "maxwell").rglob("*.json")
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    ids = [record["data"]["ID"] for record in found]
    assert ids[0] == ids[2] and ids[4] == ids[5] and len(set(ids)) == 4 and all(len(text) == 64 for text in ids)
    assert [record["data"]["CARD"] for record in found] == [0, 0, 0, 0, None, 0]
    assert [record["data"]["EMAIL"] for record in found] == [None] * 6
    assert found[3]["old"] == {"ID": ids[1]}
    assert [record["xid"] for record in found] == [record["xid"] for record in CHANGES]
    assert {name for record in found for name in record["data"]} == {"ID", "EMAIL", "CARD"}


@pytest.mark.parametrize("to", ["parquet", "orc", "delta"])
@pytest.mark.parametrize("keep", [None, "unresolved"])
def test_rows_with_masks_are_the_same_rows(to: Any, keep: str | None, changes: Path, tmp_path: Path) -> None:
    if to == "delta" and keep is not None:
        pytest.skip("a lakehouse has current rows")
    out, seen = tmp_path / "out", tmp_path / "seen"
    later = write(tmp_path / "later.json", [change("delete", 1, N="z"), change("update", 9, {"N": "a"}, N="b")])
    checkpoint = None if keep else seen
    for path in (changes, later) if checkpoint else (changes,):
        masked = ggfmt.consolidate(
            path, out, to=to, master="none", key="ID", mask=MASKS, checkpoint=checkpoint, keep=keep
        )
        plain = ggfmt.consolidate(
            path,
            tmp_path / "plain",
            to=to,
            master="none",
            key="ID",
            checkpoint=None if checkpoint is None else tmp_path / "seen plain",
            keep=keep,
        )
        counts = ("rows", "unresolved", "deleted", "operations", "contradictions")
        assert {name: masked["tables"]["S.C"][name] for name in counts} == {
            name: plain["tables"]["S.C"][name] for name in counts
        }
    assert leaks(out) + leaks(seen) == [] and leaks(tmp_path / "plain") != []


def test_a_key_has_one_hash_whatever_the_spelling_of_its_number(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(
        '{"table":"S.T","op_type":"I","op_ts":"2026-01-01 00:00:00","pos":"1","after":{"ID":10,"A":"a"}}\n'
        '{"table":"S.T","op_type":"U","op_ts":"2026-01-01 00:00:00","pos":"2","after":{"ID":10.0,"A":"b"}}\n'
    )
    shown = ggfmt.consolidate(path, tmp_path / "out", to="json", master="none", key="ID", mask={"T.ID": "hash"})
    assert (shown["tables"]["S.T"]["rows"], shown["tables"]["S.T"]["unresolved"]) == (1, 0)


BAD = (
    '{"database":"S","table":"C","type":"insert","ts":"SECRET","data":{"ID":411107}}',
    '{"database":"S","table":"C","type":"SECRET 411107","ts":1,"data":{"ID":1}}',
    '{"database":"S","table":"C","type":"insert","ts":1,"data":{"ID":1,"EMAIL":"SECRET',
    '{"database":"S","table":"C","type":"insert","ts":1,"data":["SECRET"]}',
)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("rows", [False, True])
def test_an_error_and_a_rejected_record_have_no_value(bad: str, rows: bool, changes: Path, tmp_path: Path) -> None:
    with changes.open("a") as stream:
        stream.write(f"{bad}\n")

    def run(on_reject: Any, name: str) -> Any:
        if rows:
            return ggfmt.consolidate(changes, tmp_path / name, master="none", key="ID", mask=MASKS, on_reject=on_reject)
        return ggfmt.convert(changes, output=tmp_path / name, to="json", master="none", mask=MASKS, on_reject=on_reject)

    with pytest.raises(Abend) as caught:
        run("abend", "none")
    (found,) = caught.value.diagnostics
    assert not any(secret in str(found) for secret in SECRETS)
    assert found.span.file == str(changes) and found.span.offset == changes.read_text().rindex("\n", 0, -1) + 1
    run("quarantine", "out")
    assert leaks(tmp_path / "out") == []
    (reasons,) = (tmp_path / "out").rglob("*reasons.jsonl")
    (reason,) = map(json.loads, reasons.read_text().splitlines())
    assert (reason["record_length"], reason["offset"]) == (0, found.span.offset)


def test_a_message_that_cannot_be_written_is_rejected_without_its_record(tmp_path: Path) -> None:
    path = write(tmp_path / "in.json", [change("insert", 1), {**change("insert", 2), "type": "table-drop"}])
    shown = ggfmt.convert(
        write(path, [change("insert", 1, N="\0")]),
        output=tmp_path / "out",
        to="xml",
        master="none",
        mask=MASKS,
        on_reject="quarantine",
    )
    assert shown.reject_count == 1
    assert leaks(tmp_path / "out") == []
    assert [entry.record for entry in shown.rejects] == [b""]


@pytest.mark.example("GG592")
def test_a_name_that_matches_nothing_stops_every_command(changes: Path, tmp_path: Path) -> None:
    def run(command: str, mask: dict[str, str]) -> None:
        if command == "convert":
            ggfmt.convert(changes, output=tmp_path / "out", to="json", master="none", mask=mask)
        elif command == "consolidate":
            ggfmt.consolidate(changes, tmp_path / "out", master="none", mask=mask, checkpoint=tmp_path / "seen")
        elif command == "preview":
            ggfmt.preview(changes, to="json", mask=mask)
        else:
            ggfmt.schema(changes, mask=mask)

    for name in ("S.C.Email", "S.D.EMAIL", "s.c.EMAIL"):
        for command in ("convert", "consolidate", "preview", "schema"):
            with pytest.raises(UsageError, match="GG592"):
                run(command, {name: "null"})
    known = write_lines(tmp_path / "known.json", [operation(1)])
    with pytest.raises(UsageError, match="GG592"):
        ggfmt.convert(known, output=tmp_path / "out", to="json", mask={"TCUSTORD.Name": "null"}, dry_run=True)
    assert not (tmp_path / "out").exists()


def test_previews_and_schemas_have_masks(changes: Path) -> None:
    shown = ggfmt.preview(changes, to="json", mask=MASKS, columns={"C": ["ID", "CARD"]}, table="S.C")
    messages = [item for handler in shown.handlers for table in handler.tables for item in table.items]
    assert messages and not any(secret in str(messages) for secret in SECRETS)
    (schema,) = ggfmt.schema(changes, mask=MASKS, columns="C=ID,EMAIL")
    assert b"CARD" not in schema.content


def test_a_later_run_may_lack_a_table_but_not_have_it_in_another_case(tmp_path: Path) -> None:
    def run(*records: dict[str, Any]) -> None:
        path = write(tmp_path / f"{len(list(tmp_path.iterdir()))}.json", list(records))
        ggfmt.convert(path, output=tmp_path / "out", to="json", master="none", mask=MASKS, checkpoint=tmp_path / "seen")

    run(change("insert", 1))
    run({**change("insert", 2), "table": "OTHER"})
    with pytest.raises(UsageError, match=r"GG592.*upper and lower case differ"):
        run({**change("insert", 3), "table": "c"})
    with pytest.raises(UsageError, match=r"GG592.*upper and lower case differ"):
        run(change("insert", 3, email="SECRET"))


@pytest.mark.parametrize("rows", [False, True])
def test_a_checkpoint_keeps_masks_and_key(
    rows: bool, changes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(source: Path, **others: Any) -> None:
        if rows:
            ggfmt.consolidate(source, tmp_path / "out", master="none", checkpoint=tmp_path / "seen", key="ID", **others)
        else:
            ggfmt.convert(
                source, output=tmp_path / "out", to="json", master="none", checkpoint=tmp_path / "seen", **others
            )

    run(changes, mask=MASKS, columns="C=ID,EMAIL,CARD,BORN")
    later = write(tmp_path / "later.json", [change("insert", 5)])
    other: list[dict[str, Any]] = [
        {},
        {"mask": MASKS},
        {"mask": {**MASKS, "S.C.EMAIL": "hash"}, "columns": "C=ID,EMAIL,CARD,BORN"},
    ]
    for given in other:
        with pytest.raises(UsageError, match=r"GG513.*another selection"):
            run(later, **given)
    monkeypatch.setenv("GGFMT_MASK_KEY", "another key of many bytes")
    with pytest.raises(UsageError, match=r"GG513.*`mask_key` as before") as caught:
        run(later, mask=MASKS, columns="C=ID,EMAIL,CARD,BORN")
    assert KEY not in str(caught.value)
    monkeypatch.setenv("GGFMT_MASK_KEY", KEY)
    run(later, mask=MASKS, columns="C=ID,EMAIL,CARD,BORN")


def test_a_base_has_the_same_masks(changes: Path, tmp_path: Path) -> None:
    def run(name: str, base: str | None, **others: Any) -> None:
        given = None if base is None else tmp_path / base
        ggfmt.consolidate(changes, tmp_path / name, master="none", key="ID", base=given, **others)

    run("plain", None)
    run("masked", None, mask=MASKS)
    with pytest.raises(UsageError, match=r"GG551.*other columns or masks"):
        run("out", "plain", mask=MASKS)
    with pytest.raises(UsageError, match=r"GG551.*other columns or masks"):
        run("out", "masked")
    run("again", "masked", mask=MASKS)
    assert leaks(tmp_path / "again") == []


def test_the_key_of_hashes(changes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(**others: Any) -> str:
        ggfmt.consolidate(changes, tmp_path / "out", to="json", master="none", mode="overwrite", mask=MASKS, **others)
        (path,) = (tmp_path / "out" / "S.C").iterdir()
        return path.read_text()

    by_variable = shown()
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    monkeypatch.delenv("GGFMT_MASK_KEY")
    assert shown(mask_key=file) == by_variable
    file.write_text("too short\n")
    for others in ({}, {"mask_key": file}, {"mask_key": tmp_path / "none"}):
        with pytest.raises(UsageError, match="GG593") as caught:
            shown(**others)
        assert "too short" not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["EMAIL=null", "S.C.EMAIL", "S.C.EMAIL=NULL", "S.C.EMAIL=fixed", "S.C.EMAIL=null:x", ".C=null"]
)
def test_an_illegal_mask(given: str, changes: Path, tmp_path: Path) -> None:
    with pytest.raises(GgfmtError, match=r"GG565.*mask` needs TABLE.COLUMN"):
        ggfmt.consolidate(changes, tmp_path / "out", master="none", mask=given)
    with pytest.raises(GgfmtError, match=r"GG565.*columns` needs a table"):
        ggfmt.consolidate(changes, tmp_path / "out", master="none", columns="ID,EMAIL")


def test_quoted_names_and_texts(tmp_path: Path) -> None:
    columns = {"ID": "1", "a.b": "SECRET", 'q"=': "SECRET", "Email": "SECRET", "plain": "kept"}
    record = {"table": 'S."X.Y"', "op_type": "I", "op_ts": "2026-01-01 00:00:00", "pos": "1", "after": columns}
    path = write(tmp_path / "in.json", [record])
    mask = ['S."X.Y"."a.b"=fixed:a=b:c', 'S."X.Y"."q""="=null', '"X.Y"."Email"=null']
    ggfmt.consolidate(path, tmp_path / "out", to="json", master="none", mask=mask)
    (rows,) = (path for path in (tmp_path / "out").rglob("*.json") if "_ggfmt" not in path.parts)
    assert json.loads(rows.read_text()) == {"ID": "1", "a.b": "a=b:c", 'q"=': None, "Email": None, "plain": "kept"}


def test_tables_without_masks_are_as_before(changes: Path, tmp_path: Path) -> None:
    with changes.open("a") as stream:
        stream.write(f"{json.dumps({**change('insert', 1), 'table': 'D'})}\n")
    for name, mask in (("plain", None), ("masked", MASKS)):
        ggfmt.convert(changes, output=tmp_path / name, to="maxwell_json", master="none", mask=mask)
    plain, masked = ((next((tmp_path / name).rglob("S.D*.json"))).read_bytes() for name in ("plain", "masked"))
    assert plain == masked
