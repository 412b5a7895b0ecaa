"""Definitions found while formatting: the first records show what is expected of the others, and the outcome is that of
a discovery pass over all of them."""

from __future__ import annotations

import logging
import random
from pathlib import Path
from typing import Any

import pytest
from hostile_json import file
from hypothesis import given
from hypothesis import strategies as st
from runs import JSON_LINES, content, metadata, operation, run_ggfmt, write_lines
from strategies import examples

from ggfmt import kernels
from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.model.table import Column, TableDef
from ggfmt.reading import discovery, scan
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import ScanRequest

pytestmark = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What looked for definitions, in order."""
    seen = []
    for name in ("discover_from_head", "discover"):
        original = getattr(discovery, name)

        def noted(*arguments: Any, name: str = name, original: Any = original) -> Any:
            found = original(*arguments)
            if found is not None:
                seen.append(name)
            return found

        monkeypatch.setattr(scan, name, noted)
    return seen


def rows(count: int = 200, first: int = 0, **columns: Any) -> list[dict[str, Any]]:
    return [operation(number, kind="IUD"[number % 3], **columns) for number in range(first, first + count)]


def outcome(files: list[Path], output: Path, **options: Any) -> object:
    """All that a run leaves, and what it says, without its times."""
    try:
        result = run_ggfmt(files, output, quarantine=True, input_format="json", **options)
    except GgfmtError as error:
        return [(found.code, found.message, found.span) for found in error.diagnostics]
    totals = {name: value for name, value in result.report.items() if "second" not in name}
    return totals, [content(output, handler) for handler in "jd"]


def same_by_a_pass(files: list[Path], folder: Path, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "discover_from_head", lambda *_: None)
        expected = outcome(files, folder / "all", **options)
    assert outcome(files, folder / "ahead", **options) == expected


def test_records_that_go_on_as_they_begin_are_read_once(passes: list[str], tmp_path: Path) -> None:
    same_by_a_pass([write_lines(tmp_path / "in.json", rows(5000))], tmp_path, split_size=100_000)
    assert passes == ["discover", "discover_from_head"]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([operation(1, NEW="x")], id="column"),
        pytest.param([operation(1, table="GG.NEW")], id="table"),
        pytest.param([operation(1, AMOUNT="a text")], id="type"),
        pytest.param([operation(1, NAME=17)], id="number"),
        pytest.param([{**operation(1), "primary_keys": ["ID"]}], id="key"),
        pytest.param([metadata(ID="VARCHAR", NAME="VARCHAR", AMOUNT="NUMBER")], id="metadata"),
        pytest.param([{**operation(1), "after": {"NAME": "x", "ID": "1"}}], id="order"),
        pytest.param(
            [{**operation(1), "op_ts": 17, "after": {"ID": "1", "MORE": "x"}}], id="reject that tells a column"
        ),
    ],
)
def test_a_later_record_that_contradicts_has_all_looked_at(
    passes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(discovery, "_HEAD_BYTES", 1000)
    same_by_a_pass([write_lines(tmp_path / "in.json", [*rows(), *later, *rows()])], tmp_path, split_size=5000)
    assert passes == ["discover", "discover_from_head", "discover"]


def test_a_mistake_does_not_count_before_all_was_looked_at(passes: list[str], tmp_path: Path) -> None:
    data = write_lines(tmp_path / "in.json", [*rows(), b"{broken", *rows(first=200)])
    with pytest.raises(GgfmtError) as raised:
        run_ggfmt([data], tmp_path / "out", *JSON_LINES)
    assert raised.value.diagnostics[0].code == "GG301"
    assert passes == ["discover_from_head", "discover"]


@given(st.integers(0, 2**32), st.sampled_from((0.0, 0.05, 0.3)), st.sampled_from((200, 2000, 10**6)))
@examples(30)
def test_any_input_gives_what_a_pass_over_it_gives(
    tmp_path_factory: pytest.TempPathFactory, seed: int, hostile: float, split: int
) -> None:
    folder = tmp_path_factory.mktemp("ahead")
    draw = random.Random(seed)
    files = [folder / f"{number}.json" for number in range(draw.choice((1, 1, 3)))]
    for path in files:
        path.write_bytes(file(draw.getrandbits(30), 25, hostile))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discovery, "_HEAD_BYTES", draw.choice((150, 600, 3000)))
        same_by_a_pass(files, folder, split_size=split)


def test_definitions_that_lack_the_schema_of_the_data_are_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A dump of a database names its tables only, and their types would count for nothing."""
    file = write_lines(tmp_path / "in.json", [operation(1, "shop.orders"), operation(2, "shop.lines")])

    def warned(*names: str) -> list[str]:
        caplog.clear()
        definitions = {name: TableDef(name, (Column("ID"),)) for name in names}
        request = ScanRequest([str(file)], "json", definitions=definitions)
        scan.Scan(request, request.list()).discover(InProcess())
        return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]

    caplog.set_level("WARNING", "ggfmt")
    said = "the data have `shop.orders`, and `--definitions` only `{}`: write its whole name there"
    assert warned("orders", "other") == [said.format("orders")]
    assert warned("SHOP.Orders") == [said.format("SHOP.Orders")]
    assert warned("orders", "x.lines") == [
        "the data have `shop.lines`, and `--definitions` only `x.lines`: write its whole name there "
        "(one of 2 such tables)"
    ]
    assert warned("shop.lines", "lines", "orders_2") == warned("shop.orders", "shop.lines") == []
