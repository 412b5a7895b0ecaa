"""Runs with a small limit for records that set rejects aside, and a schema in Avro to run into limits."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, run_ggfmt

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import WriterSettings
from ggfmt.model.table import Column, TableDef
from ggfmt.sinks.messages.run import RunResult

TABLE = TableDef("GG.T", (Column("A"), Column("B")))
LIMIT = 100_000


def run(
    data: bytes, name: str, folder: Path, ending: str = "", **options: str
) -> tuple[RunResult, list[dict[str, Any]]]:
    """A run that sets rejects aside, and why they were."""
    source = folder / f"in{ending}"
    source.write_bytes(data)
    trusted = {"GG.T": TABLE} if FORMATS[name].read_support.discovery is None else None
    told = WriterSettings(FORMATS[name].options.parse(options))
    out = folder / "out"
    given: dict[str, Any] = {"input_format": name, "definitions": trusted, "source": told, "max_record": LIMIT}
    result = run_ggfmt([source], out, *JSON_LINES, quarantine=True, **given)
    files = sorted(out.rglob("*.reasons.jsonl"))
    reasons = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    if reasons:
        with pytest.raises(Abend) as abend:
            run_ggfmt([source], folder / "none", *JSON_LINES, **given)
        assert abend.value.diagnostics[0].code == reasons[0]["code"]
    return result, reasons


def codes(reasons: list[dict[str, Any]]) -> Counter[str]:
    return Counter(reason["code"] for reason in reasons)


FIELDS: list[dict[str, Any]] = [
    {"name": name, "type": "string"} for name in ("table", "op_type", "op_ts", "current_ts", "pos")
]
FIELDS += [
    {"name": "primary_keys", "type": {"type": "array", "items": "string"}},
    {"name": "tokens", "type": {"type": "map", "values": "string"}},
]


def record_of(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "T", "namespace": "GG", "fields": list(fields)}


ROW = record_of(*FIELDS, {"name": "A", "type": ["null", "string"]})
