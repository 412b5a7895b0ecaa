"""Avro is read back, from streams and containers: all that the format shows, and rejects for what is damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import metadata, operation, run_ggfmt, snapshot, tables, write_lines

from ggfmt.model.table import TableDef

CONTAINERS = ("avro_row_ocf", "avro_op_ocf")


def story(count: int = 40) -> list[dict[str, Any]]:
    items = [operation(n, f"GG.T{n % 2}", "IUD"[n % 3], AMOUNT=None) for n in range(count)]
    change = metadata("GG.T0", ID="string", NAME="string", AMOUNT="string", ADDED="string")
    return [*items, change, {**operation(count, "GG.T0"), "after": {"ID": "1", "NAME": "x", "ADDED": None}}]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_run_turns_containers_into_the_same_containers(name: str, tmp_path: Path) -> None:
    """Through a metadata change, without any definition given."""
    source = write_lines(tmp_path / "in.json", story())
    settings = (f"gg.handler.a.format={name}", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([source], tmp_path / "one", *settings)
    for split_size in (None, 500):
        out = tmp_path / f"two{split_size}"
        run_ggfmt(
            [tmp_path / "one" / "a" / table for table in ("GG.T0", "GG.T1")], out, *settings, split_size=split_size
        )
        assert snapshot(out / "a") == snapshot(tmp_path / "one" / "a")


def test_streams_need_definitions(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", story(10)[:10])
    settings = ("gg.handler.a.format=avro_op", "gg.handler.a.format.generateSchema=false")
    result = run_ggfmt([source], tmp_path / "one", *settings)
    assert result.totals.read == 10
    names = ("GG.T0", "GG.T1")
    from ggfmt.model.table import Column

    definitions = {name: TableDef(name, tuple(Column(c) for c in ("ID", "NAME", "AMOUNT"))) for name in names}
    run_ggfmt([tmp_path / "one" / "a"], tmp_path / "two", *settings, input_format="avro_op", definitions=definitions)
    assert tables(tmp_path / "two", "a") == tables(tmp_path / "one", "a")
    result = run_ggfmt([tmp_path / "one" / "a"], tmp_path / "none", *settings, input_format="avro_op", quarantine=True)
    assert (result.totals.read, result.totals.rejects) == (0, 2)


@pytest.mark.parametrize("wrapped", ["true", "false"])
@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_at_level_trace_every_message_is_logged_decoded(
    name: str, wrapped: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = write_lines(tmp_path / "in.json", [operation(n) for n in range(3)])
    settings = (
        f"gg.handler.a.format={name}",
        "gg.handler.a.format.generateSchema=false",
        "gg.handler.a.format.lineDelimiter=CDATA[\\n]",
        f"gg.handler.a.format.wrapMessageInGenericAvroMessage={wrapped}",
    )
    with caplog.at_level(5, "ggfmt"):
        run_ggfmt([source], tmp_path / "out", *settings)
    traced = [json.loads(r.getMessage().removeprefix("handler a: ")) for r in caplog.records if r.levelno == 5]
    images = [message["after"] if name == "avro_op" else message for message in traced]
    assert [(message["pos"], image["NAME"]) for message, image in zip(traced, images, strict=True)] == [
        (f"{n:020d}", f"name {n}") for n in range(3)
    ]
    caplog.clear()
    with caplog.at_level("DEBUG", "ggfmt"):
        run_ggfmt([source], tmp_path / "again", *settings)
    assert not [record for record in caplog.records if record.levelno == 5]
