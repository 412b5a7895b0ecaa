"""DuckDB: JSON to delimited text or JSON, by one COPY. Numbers are DOUBLE, and a missing column is NULL."""

from __future__ import annotations

from pathlib import Path

import duckdb
from told import METADATA, Told, told, work

NOW = "strftime(now()::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%g')"


def source(job: Told) -> str:
    """What is read, with its columns as GoldenGate has them."""
    image = ", ".join(f'"{name}" {"DOUBLE" if name in job.numbers else "VARCHAR"}' for name in job.columns)
    images = f"before: 'STRUCT({image})', after: 'STRUCT({image})'"
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in METADATA)
    ignored = ", ignore_errors=true" if job.tolerant else ""
    given = f", columns={{{columns}, {images}}}" if job.known else ""
    return f"read_json({job.files!r}, format='newline_delimited'{given}{ignored})"


def selected(job: Told) -> str:
    fields = [f'"{name}"' for name in METADATA]
    fields.insert(3, f"{NOW} AS current_ts")
    if job.work == "json":
        return ", ".join([*fields, "before", "after"])
    images = (f"""CASE WHEN op_type = 'D' THEN before."{name}" ELSE after."{name}" END""" for name in job.columns)
    return ", ".join([*fields, *(f"coalesce(({image})::VARCHAR, 'NULL')" for image in images)])


job = told()
Path(job.target).mkdir()
database = duckdb.connect()
database.execute(f"SET threads = {job.cores}")
form = "FORMAT json" if job.work == "json" else "FORMAT csv, DELIMITER '|', HEADER false, QUOTE ''"
target = f"{job.target}/part.txt"
if job.by_table:
    form, target = f'{form}, PARTITION_BY ("table"), OVERWRITE_OR_IGNORE', job.target
with work():
    database.execute(f"COPY (SELECT {selected(job)} FROM {source(job)}) TO '{target}' ({form})")
