"""Polars: JSON to delimited text or JSON, as a stream. Numbers are floats, and a missing column is NULL."""

from __future__ import annotations

import os
from pathlib import Path

from told import METADATA, told, work

job = told()
os.environ["POLARS_MAX_THREADS"] = str(job.cores)  # before it is imported

import polars as pl  # noqa: E402

Path(job.target).mkdir()
image = pl.Struct({name: pl.Float64 if name in job.numbers else pl.String for name in job.columns})
schema = {**dict.fromkeys(METADATA, pl.String()), "before": image, "after": image}
with work():
    data = pl.scan_ndjson(job.files, schema=schema if job.known else None, ignore_errors=job.tolerant)
    now = pl.lit("2024-06-02T22:15:00.447000").alias("current_ts")
    fields = [*map(pl.col, METADATA[:3]), now, pl.col(METADATA[3])]
    if job.work == "json":
        data.select(*fields, "before", "after").sink_ndjson(f"{job.target}/part.json")
    else:
        row = pl.when(pl.col("op_type") == "D").then(pl.col("before")).otherwise(pl.col("after"))
        values = [row.struct.field(name).cast(pl.String).fill_null("NULL").alias(name) for name in job.columns]
        chosen = data.select(*fields, *values)
        chosen.sink_csv(f"{job.target}/part.txt", separator="|", include_header=False, quote_style="never")
