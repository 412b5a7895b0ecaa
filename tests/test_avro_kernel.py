"""The native kernel for Avro tells what the exact readers tell, of whole files and of damaged ones; and it is used."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from avro_cases import MAKERS, Case, damaged, datum, told, without_kernel
from hypothesis import given
from hypothesis import strategies as st
from runs import operation, run_ggfmt, write_lines
from strategies import examples

from ggfmt import kernels
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import Context, WriterSettings
from ggfmt.formats.avro import programs
from ggfmt.formats.dts.read import DtsReader
from ggfmt.formats.goldengate.avro import AvroRowOptions
from ggfmt.formats.goldengate.avro.plan import without_logical_types
from ggfmt.formats.goldengate.avro.reader import AvroReader
from ggfmt.formats.goldengate.avro.table_schema import avro_schema
from ggfmt.model.table import Column, Kind, SqlType, TableDef

needs_kernel = pytest.mark.skipif(kernels.native is None, reason=f"no kernels: {kernels.state}")


def same(case: Case, seed: int | None = None) -> None:
    def damage(data: bytes) -> bytes:
        return data if seed is None else damaged(data, random.Random(seed))

    with without_kernel():
        expected = told(case, damage)
    assert told(case, damage) == expected


@needs_kernel
@pytest.mark.parametrize("system", MAKERS)
@given(seed=st.integers(0, 1 << 32))
@examples(20)
def test_the_kernel_tells_what_the_exact_reader_tells(system: str, seed: int) -> None:
    same(MAKERS[system](random.Random(seed)))


@needs_kernel
@pytest.mark.parametrize("system", MAKERS)
@given(seed=st.integers(0, 1 << 32), damage=st.integers(0, 1 << 32))
@examples(60)
def test_of_damaged_files_too(system: str, seed: int, damage: int) -> None:
    same(MAKERS[system](random.Random(seed)), damage)


def noting(method: Callable[..., Any], seen: list[object]) -> Callable[..., Any]:
    """The method, which takes note of each call."""

    def noted(*given: Any) -> Any:
        seen.append(given)
        return method(*given)

    return noted


@needs_kernel
@pytest.mark.parametrize("name", ["avro_row", "avro_op", "avro_row_ocf", "avro_op_ocf", "dts_avro"])
def test_the_kernel_takes_all_that_is_regular(name: str, tmp_path: Path) -> None:
    """All but the first message of each table, whose definition the exact reader looks up where no container has it."""
    kinds = [SqlType(Kind.INTEGER), SqlType(Kind.STRING), SqlType(Kind.DECIMAL, precision=9, scale=2)]
    columns = tuple(Column(column, kind) for column, kind in zip(("ID", "NAME", "AMOUNT"), kinds, strict=True))
    definitions = {table: TableDef(table, columns) for table in ("GG.A", "GG.B")}
    operations = [operation(n, "GG.AGG.B"[n % 2 * 4 :][:4], "IUD"[n % 3]) for n in range(30)]
    source = write_lines(tmp_path / "in.json", operations)
    settings = (f"gg.handler.a.format={name}", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([source], tmp_path / "out", *settings, definitions=definitions)
    exact: list[object] = []
    seen = 0
    for path in sorted(path for path in (tmp_path / "out" / "a").rglob("*") if path.is_file()):
        case = Case(name, path.read_bytes(), WriterSettings(FORMATS[name].options()), definitions)
        with (
            patch.object(AvroReader, "_hold", noting(AvroReader._hold, exact)),
            patch.object(DtsReader, "_take_odd", noting(DtsReader._take_odd, exact)),
        ):
            *batches, _, _, _ = told(case)
        seen += sum(len(batch[1]) for batch in batches if isinstance(batch, tuple))
    assert seen == 30
    assert len(exact) == (0 if name.endswith("_ocf") else 2)


@needs_kernel
def test_a_table_that_the_kernel_cannot_take_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And read all the same: a decimal of more digits behind its point than the kernel writes."""
    options = AvroRowOptions(enable_decimal_logical_type=True, max_precision=400)
    table = TableDef("GG.A", (Column("C", SqlType(Kind.DECIMAL, precision=300, scale=300)),))
    schema = avro_schema(table, options, Context(), False).document
    message = dict.fromkeys(("table", "op_ts", "current_ts", "pos"), "") | {"op_type": "I", "primary_keys": []}
    data = datum(without_logical_types(dict(schema)), {**message, "table": "GG.A", "tokens": {}, "C": b"\1"}) * 5
    asked: list[object] = []
    monkeypatch.setattr(programs, "program", noting(programs.program, asked))
    case = Case("avro_row", data, WriterSettings(options), {"GG.A": table})
    batch, *_ = told(case)
    assert [operation.after["C"] for operation in batch[1]] == [f"0.{1:0300}"] * 5
    assert len([given for given in asked if given[0]["name"] == "GG.A"]) == 1  # type: ignore[index]
