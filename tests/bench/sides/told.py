"""The arguments of a side, and how it reports that its work begins and ends (see `comparison/measured.py`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """One piece of work: read the files of a directory, and write into another, which is not there yet.

    `work` is `delimited` (the columns of the row as it is after the operation, or before a delete, and five fields of
    metadata), `json` (both images, and the metadata) or `avro` (as `delimited`, in container files). `known`: the
    columns are given, and not discovered; `by_table`: each table has its own files; `tolerant`: lines that are not
    records are skipped.
    """

    work: str
    files: list[str]
    source: str
    target: str
    cores: int
    columns: list[str]
    numbers: list[str]
    known: bool
    by_table: bool
    tolerant: bool


METADATA = ("table", "op_type", "op_ts", "pos")


def told() -> Told:
    return Told(**json.loads(sys.argv[1]))


@contextmanager
def work() -> Iterator[None]:
    print("BEGIN", flush=True)
    yield
    print("END", flush=True)
