"""Frames in tests: operations as Arrow tables of both shapes, and a write in this process, as Spark does one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from round_trips import Operation
from runs import MOMENT

from ggfmt.frames.shapes import GENERIC, IMAGES, MISSING, FrameShape, typed
from ggfmt.frames.write import FrameWriter, PartWritten, WriteOptions, writer_of
from ggfmt.model.table import TableDef

AT = MOMENT.isoformat()
_attempts = itertools.count(100)


def _head(number: int, item: Operation) -> dict[str, Any]:
    moment = None if item.op_ts is None else datetime.fromisoformat(item.op_ts).replace(tzinfo=timezone.utc)
    return {
        "table": item.table,
        "op_type": item.op,
        "op_ts": moment,
        "position": item.pos,
        "tokens": list(item.tokens.items()) or None,
        "file": "in.json",
        "offset": 100 * number,
        "seq": number,
    }


def generic_rows(story: Iterable[Operation]) -> pa.Table:
    rows = []
    for number, item in enumerate(story):
        images = {"before": item.before, "after": item.after}
        maps = {name: None if image is None else list(image.items()) for name, image in images.items()}
        rows.append({**_head(number, item), **maps})
    return pa.Table.from_pylist(rows, GENERIC)


def typed_rows(story: Iterable[Operation], table: TableDef) -> pa.Table:
    """Values are given as texts, and become what their columns are."""
    schema = typed(table)
    structs = {field.name: field.type for field in schema.field("after").type}
    rows = []
    for number, item in enumerate(story):
        row = _head(number, item)
        for name in IMAGES:
            image = getattr(item, name)
            row[name] = None if image is None else {key: _value(text, structs[key]) for key, text in image.items()}
            lacking = [column for column in structs if image is not None and column not in image]
            row[MISSING[name]] = lacking or None
        rows.append(row)
    return pa.Table.from_pylist(rows, schema)


def _value(text: str | None, kind: pa.DataType) -> object:
    if text is None or kind == pa.string():
        return text
    return Decimal(text) if pa.types.is_decimal(kind) else float(text) if pa.types.is_floating(kind) else int(text)


def writer(
    shape: pa.Schema,
    output: Path | str,
    lines: Sequence[str],
    definitions: Mapping[str, TableDef] | None = None,
    overwrite: bool = False,
    **options: str,
) -> FrameWriter:
    given = {"path": str(output), "settings": "\n".join(lines), "currentTimestamp": AT, **options}
    asked = WriteOptions.of({name: value for name, value in given.items() if value}, overwrite)
    if definitions is not None:
        asked = replace(asked, settings=replace(asked.settings, definitions=dict(definitions)))
    return writer_of(asked, FrameShape.of(shape))


def write_parts(made: FrameWriter, parts: Sequence[pa.Table], batch: int = 1000) -> list[PartWritten]:
    """The tasks of a write, one for each part."""
    return [
        made.write_part(iter(part.to_batches(max_chunksize=batch)), ordinal, next(_attempts))
        for ordinal, part in enumerate(parts)
    ]


def write_frame(made: FrameWriter, parts: Sequence[pa.Table], batch: int = 1000) -> None:
    """A whole write; as with Spark, what fails is aborted."""
    written: list[PartWritten | None] = []
    try:
        written += write_parts(made, parts, batch)
        made.commit(list(written))
    except BaseException:
        made.abort(list(written))
        raise
