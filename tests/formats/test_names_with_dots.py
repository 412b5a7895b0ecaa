"""Names of tables that contain a dot, in every format that has a field for each part of a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ggfmt
from ggfmt.formats import FORMATS

NAME = '"x.y"."a.b""c"'
NEEDS_MORE = {"delimitedtext", "delimitedtext_op", "arcion_csv"}  # to be read: definitions
LEGAL_AVRO = {"avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf", "kafkaconnect_avro"}
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None and name not in NEEDS_MORE]


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dots") / "in.json"
    source = {"connector": "postgresql", "schema": "x.y", "table": 'a.b"c', "lsn": 1, "ts_ms": 1}
    path.write_text(json.dumps({"op": "c", "before": None, "after": {"id": 1}, "source": source}))
    return path


@pytest.mark.parametrize("format", WRITTEN)
def test_a_name_with_dots(change: Path, tmp_path: Path, format: str) -> None:
    if format in LEGAL_AVRO:
        with pytest.raises(ggfmt.Abend, match=r"GG206.*not a legal Avro name"):
            ggfmt.convert(change, output=tmp_path / "out", to=format, master="none")
        return
    ggfmt.convert(change, output=tmp_path / "out", to=format, master="none")
    manifest = ggfmt.consolidate(tmp_path / "out", tmp_path / "rows", master="none", key="id")
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {NAME: 1}
