"""Event handlers leave what GoldenGate leaves: files converted, copied, moved and renamed, in the order of a chain."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import polars as pl
import pyarrow.orc as orc
import pytest
from runs import operation, write_lines
from s3_server import S3Server

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, UsageError
from ggfmt.reading.tasks import StagedFile
from ggfmt.sinks.messages.verification import verify

FILE_WRITER = (
    "gg.handler.fw.type=filewriter",
    "gg.handler.fw.pathMappingTemplate=dirout/${tableName}",
    "gg.handler.fw.fileNameMappingTemplate=${fullyQualifiedTableName}.json",
    "gg.handler.fw.stateFileDirectory=dirsta",
    "gg.handler.fw.format=json",
    "gg.handler.fw.format.jsonDelimiter=CDATA[\\n]",
    "gg.handler.fw.format.generateSchema=false",
    "ggfmt.compatibility=12.3.2",
)
STORE = (
    "gg.handler.fw.eventHandler=store",
    "gg.eventhandler.store.type=s3",
    "gg.eventhandler.store.region=us-east-1",
    "gg.eventhandler.store.bucketMappingTemplate=orders",
    "gg.eventhandler.store.pathMappingTemplate=ogg/${toLowerCase[${tableName}]}",
)
COUNTED = "${tableName}_${operationCount}_${insertCount}_${updateCount}_${deleteCount}_${truncateCount}.json"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two inserts, an update and a delete of one table, an insert of another."""
    inserts = [operation(0), operation(1), operation(2, "GG.OTHER")]
    row = inserts[0]["after"]
    update = {**operation(3), "op_type": "U", "before": row, "after": {**row, "NAME": "x"}}
    delete = {**operation(4), "op_type": "D", "before": row}
    delete.pop("after")
    return write_lines(tmp_path / "in.json", [*inserts, update, delete])


def run(source: Path, lines: Sequence[str], **given: Any) -> ggfmt.Result:
    output = given.pop("output", source.parent / "out")
    return ggfmt.convert(source, settings=lines, output=output, master="none[1]", **given)


def files(result: ggfmt.Result, root: int = 0) -> dict[str, dict[str, Any]]:
    """The files of an output directory by their names, less the number of each."""
    manifest = list(result.manifests.values())[root]
    return {re.sub(r"_[0-9]{5}(?=\.)", "", entry["path"]): entry for entry in manifest["files"]}


def test_a_store_gets_a_copy_of_each_file(source: Path) -> None:
    found = files(run(source, (*FILE_WRITER, *STORE)))
    assert found.keys() == {
        "fw/dirout/TCUSTORD/GG.TCUSTORD.json",
        "fw/dirout/OTHER/GG.OTHER.json",
        "fw/ogg/tcustord/GG.TCUSTORD.json",
        "fw/ogg/other/GG.OTHER.json",
    }
    copy = found["fw/ogg/tcustord/GG.TCUSTORD.json"]
    original = found["fw/dirout/TCUSTORD/GG.TCUSTORD.json"]
    assert copy.pop("event_handler") == "store"
    assert {**copy, "path": ""} == {**original, "path": ""}
    contents = [(source.parent / "out" / path).read_bytes() for path in (named(copy), named(original))]
    assert contents[0] == contents[1]
    assert contents[0].count(b"\n") == 4


def named(entry: dict[str, Any]) -> str:
    return str(entry["path"])


def test_what_is_deleted_is_only_in_the_store(source: Path) -> None:
    result = run(source, (*FILE_WRITER, *STORE, "gg.handler.fw.finalizeAction=delete"))
    assert files(result).keys() == {"fw/ogg/tcustord/GG.TCUSTORD.json", "fw/ogg/other/GG.OTHER.json"}
    assert verify(str(source.parent / "out")).findings == []


def test_the_last_file_stays_where_the_load_is_not_carried_out(source: Path) -> None:
    chain = (
        "gg.handler.fw.finalizeAction=delete",
        "gg.eventhandler.store.finalizeAction=delete",
        "gg.eventhandler.store.eventHandler=load",
        "gg.eventhandler.load.type=redshift",
    )
    assert files(run(source, (*FILE_WRITER, *STORE, *chain))).keys() == {
        "fw/ogg/tcustord/GG.TCUSTORD.json",
        "fw/ogg/other/GG.OTHER.json",
    }


def test_full_files_are_moved_and_renamed_by_their_counts(source: Path) -> None:
    moved = ("gg.handler.fw.finalizeAction=move-rename", "gg.handler.fw.movePathMappingTemplate=done")
    lines = (*FILE_WRITER, *moved, f"gg.handler.fw.fileRenameMappingTemplate={COUNTED}")
    assert files(run(source, lines)).keys() == {"fw/done/TCUSTORD_4_2_1_1_0.json", "fw/done/OTHER_1_1_0_0_0.json"}
    renamed = ("gg.handler.fw.finalizeAction=rename", f"gg.handler.fw.fileRenameMappingTemplate={COUNTED}")
    shared: Sequence[str] = (*FILE_WRITER, *renamed, "gg.handler.fw.partitionByTable=false")
    shared = tuple(line.replace("/${tableName}", "").replace("${tableName}_", "all_") for line in shared)
    shared = tuple(line.replace("${fullyQualifiedTableName}", "all") for line in shared)
    assert files(run(source, shared, mode="overwrite")).keys() == {"fw/dirout/all_5_3_1_1_0.json"}


def test_counts_in_the_first_name_are_zero(source: Path) -> None:
    line = "gg.handler.fw.fileNameMappingTemplate=${tableName}_${operationCount}.json"
    found = files(run(source, (*FILE_WRITER, line)))
    assert found.keys() == {"fw/dirout/TCUSTORD/TCUSTORD_0.json", "fw/dirout/OTHER/OTHER_0.json"}


def test_files_of_a_chain_are_numbered_on_and_replaced(source: Path) -> None:
    lines = (*FILE_WRITER, *STORE)
    run(source, lines)
    added = run(source, lines, mode="append")
    assert {re.sub(r".*_", "", entry["path"]) for entry in added.manifest["files"]} == {"00001.json"}
    found = verify(str(source.parent / "out"))
    assert found.findings == []
    assert found.messages == {("fw", "GG.TCUSTORD"): 8, ("fw", "GG.OTHER"): 2}
    run(source, lines, mode="overwrite")
    left = {path.name for path in (source.parent / "out" / "fw").rglob("*.json")}
    assert left == {"GG.TCUSTORD_00000.json", "GG.OTHER_00000.json"}


def test_a_lost_copy_is_found(source: Path) -> None:
    result = run(source, (*FILE_WRITER, *STORE))
    path = source.parent / "out" / "_ggfmt" / "manifest.json"
    document = json.loads(path.read_bytes())
    document["files"] = [item for item in document["files"] if "ogg/other" not in item["path"]]
    path.write_text(json.dumps(document))
    for record in (source.parent / "out" / "_ggfmt" / "runs").iterdir():
        record.write_text(json.dumps(document))
    assert any("event handler store" in finding.message for finding in verify(str(source.parent / "out")).findings)
    assert result.manifest is not None


def test_a_store_is_written_where_it_is(
    source: Path,
    s3_server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    s3_server.client().create_dir("orders")
    result = run(source, (*FILE_WRITER, *STORE), event_handlers="map")
    assert files(result).keys() >= {"fw/dirout/TCUSTORD/GG.TCUSTORD.json"}
    with s3_server.client().open_input_stream("orders/fw/ogg/tcustord/GG.TCUSTORD_00000.json") as stream:
        assert stream.read().count(b"\n") == 4
    assert verify("s3://orders/?region=us-east-1").findings == []
    assert verify(str(source.parent / "out")).findings == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("gg.eventhandler.store.type=oci",), "does not fully define the store"),
        (("gg.eventhandler.store.bucketMappingTemplate=b-${tableName}",), "names a bucket for each table"),
        (("gg.eventhandler.store.type=abs",), "accountName` is missing"),
    ],
)
def test_a_store_that_the_file_does_not_describe(source: Path, lines: Sequence[str], message: str) -> None:
    changed = {line.partition("=")[0] for line in lines}
    store = [line for line in STORE if line.partition("=")[0] not in changed]
    with pytest.raises(ConfigurationError, match="GG515.*" + re.escape(message)):
        run(source, (*FILE_WRITER, *store, *lines), event_handlers="map")


def test_a_stream_has_no_event_handlers(source: Path) -> None:
    with pytest.raises(UsageError, match=r"GG519.*event handlers make files"):
        run(source, (*FILE_WRITER, *STORE), output="-")


def test_two_files_of_one_name_are_refused(source: Path) -> None:
    path = "gg.eventhandler.store.pathMappingTemplate=dirout/${tableName}"
    with pytest.raises(Abend, match=r"GG514.*the File Writer and the event handler `store` would write the same file"):
        run(source, (*FILE_WRITER, *STORE[:-1], path))
    assert not (source.parent / "out" / "fw").exists()


@pytest.mark.parametrize("to", ["parquet", "orc"])
def test_operations_as_parquet_and_orc_without_a_handler_file(source: Path, to: str) -> None:
    result = ggfmt.convert(source, to=to, output=source.parent / "out", master="none[1]")
    found = files(result)
    stamp = re.compile(r"_[0-9-]+_[0-9.-]+(?=\.)")
    names = {stamp.sub("", name): entry for name, entry in found.items()}
    assert names.keys() == {f"{to}/GG.TCUSTORD/GG.TCUSTORD.{to}", f"{to}/GG.OTHER/GG.OTHER.{to}"}
    path = source.parent / "out" / names[f"{to}/GG.TCUSTORD/GG.TCUSTORD.{to}"]["path"]
    read = pl.read_parquet(path) if to == "parquet" else pl.from_arrow(orc.read_table(path))
    assert isinstance(read, pl.DataFrame)
    assert read["op_type"].to_list() == ["I", "I", "U", "D"]
    assert read["NAME"].to_list()[2] == "x"
    assert verify(str(source.parent / "out")).findings == []


def test_a_chain_of_parquet_and_a_store(source: Path) -> None:
    """The Avro files stay, and the Parquet files go to the store alone."""
    lines = [line for line in (*FILE_WRITER, *STORE) if ".format" not in line and ".eventHandler=" not in line]
    lines += [
        "gg.handler.fw.format=avro_op_ocf",
        "gg.handler.fw.eventHandler=pq",
        "gg.eventhandler.pq.type=Parquet",
        "gg.eventhandler.pq.pathMappingTemplate=parquet",
        "gg.eventhandler.pq.fileNameMappingTemplate=${tableName}_${deleteCount}.parquet",
        "gg.eventhandler.pq.compressionCodec=gzip",
        "gg.eventhandler.pq.finalizeAction=delete",
        "gg.eventhandler.pq.eventHandler=store",
    ]
    found = files(run(source, lines))
    assert found.keys() == {
        "fw/dirout/TCUSTORD/GG.TCUSTORD.json",
        "fw/dirout/OTHER/GG.OTHER.json",
        "fw/ogg/tcustord/TCUSTORD_1.parquet",
        "fw/ogg/other/OTHER_0.parquet",
    }
    rows = pl.read_parquet(source.parent / "out" / found["fw/ogg/tcustord/TCUSTORD_1.parquet"]["path"])
    assert rows["op_type"].to_list() == ["I", "I", "U", "D"]
    assert [None if image is None else image["NAME"] for image in rows["before"].to_list()][:2] == [None, None]
    container = (source.parent / "out" / found["fw/dirout/TCUSTORD/GG.TCUSTORD.json"]["path"]).read_bytes()
    records: Any = fastavro.reader(io.BytesIO(container))
    assert [record["op_type"] for record in records] == ["I", "I", "U", "D"]


def test_the_staging_files_of_a_target(source: Path) -> None:
    target = ["gg.target=fabric_lakehouse", "gg.stage=abs", "gg.eventhandler.onelake.workspace=w"]
    with pytest.raises(ConfigurationError, match=r"GG146.*File Writer -> parquet -> onelake"):
        run(source, target)
    given = ["ggfmt.target.format=parquet", "ggfmt.target.template=${optype[op]},${position}"]
    found = files(run(source, [*target, *given]))
    assert {entry["event_handler"] for entry in found.values()} == {"parquet"}
    (path,) = [name for name, entry in found.items() if entry["table"] == "GG.OTHER"]
    assert path.startswith("filewriter/GG.OTHER/")
    assert pl.read_parquet(source.parent / "out" / found[path]["path"]).columns[:2] == ["op", "position"]


def test_a_converted_file_has_every_operation(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that is cut where a block ends looks whole: the operations are counted."""
    original = StagedFile.__init__

    def more(self: StagedFile, *given: Any, **named: Any) -> None:
        original(self, *given, **named)
        object.__setattr__(self, "operations", self.operations + 1)

    monkeypatch.setattr(StagedFile, "__init__", more)
    with pytest.raises(Abend, match=r"GG507.*a converted file has [14] operations, but"):
        ggfmt.convert(source, to="parquet", output=source.parent / "out", master="none[1]")
    assert not (source.parent / "out" / "parquet").exists()


def test_lzo_is_refused(source: Path) -> None:
    lines = [line for line in FILE_WRITER if ".format" not in line]
    lines += ["gg.handler.fw.format=avro_row_ocf", "gg.handler.fw.eventHandler=p", "gg.eventhandler.p.type=parquet"]
    lines += ["gg.eventhandler.p.pathMappingTemplate=p", "gg.eventhandler.p.compressionCodec=LZO"]
    lines += ["gg.handler.fw.format.pkUpdateHandling=update"]
    with pytest.raises(Abend, match="LZO"):
        run(source, lines)


def test_the_manifest_says_which_release_messages_follow(source: Path) -> None:
    result = run(source, FILE_WRITER[:-1])
    assert result.manifest is not None
    assert result.manifest["goldengate"] == {
        "release": "12.3.2.1",
        "reason": "release 12.3.2.1 or later, because `--set` has the type `filewriter`; ggfmt assumes 12.3.2.1; set "
        "`ggfmt.compatibility` to change that",
    }
