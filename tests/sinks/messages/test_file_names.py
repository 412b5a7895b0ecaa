"""Names of files by templates: what keywords stand for, what is refused, and that no name leaves the output."""

from __future__ import annotations

import pickle
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import MOMENT, PIPES, operation, run_ggfmt, write_lines
from strategies import examples, table_names

from ggfmt.config.handlers import read_configuration
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import TableDef
from ggfmt.options.templates import FileNameTemplate, NameContext, PathTemplate, TemplateValue, parse_template
from ggfmt.sinks.messages.layout import OutputLayout
from ggfmt.sinks.messages.targets import RunSettings, make_targets
from ggfmt.sinks.messages.verification import verify

FACTS = NameContext(datetime(2026, 1, 5, 7, 8, 9, 4000), "CAT.GG.Orders", ("CAT", "GG", "Orders"), "RBD01")


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("plain", "plain"),
        ("${fullyQualifiedTableName}", "CAT.GG.Orders"),
        ("${CATALOGNAME}-${schemaname}-${TableName}", "CAT-GG-Orders"),
        ("${groupName}${emptyString}", "RBD01"),
        ("${currentTimestamp}", "2026-01-05_07-08-09.004"),
        ("${currentTimestamp[yy''D 'at' hh a E]}", "26'5 at 07 AM Mon"),
        ("${staticMap[CAT.GG.Orders=o,X.Y=y]}", "o"),
        ("${staticMap[X.Y=y][rest]}", "rest"),
        ("${toUpperCase[${schemaName}/${tableName}]}", "GG/ORDERS"),
        ("${toLowerCase[${substring[${tableName}][1][3]}]}", "rd"),
        ("${substring[${tableName}][0][99]}", "Orders"),
        ("${regex[${tableName}][[A-Z]+(r)][$1]}", "rders"),
        ("$ {x} ]", "$ {x} ]"),
    ],
)
def test_a_keyword_stands_for(template: str, shown: str) -> None:
    assert parse_template(template).show(FACTS) == shown


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("${opType}", "one operation"),
        ("${tabelName}", "no keyword"),
        ("${tableName", "not closed"),
        ("${staticMap[a]}", "not `TABLE=VALUE`"),
        ("${currentTimestamp[YYYY]}", "year of a week"),
        ("${substring[x][a]}", "whole numbers"),
        ("a/b", "`/`"),
    ],
)
def test_what_is_no_template_for_files(template: str, reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        FileNameTemplate().parse(template)


def test_no_path_goes_up() -> None:
    with pytest.raises(InvalidValueError, match="leave"):
        PathTemplate().parse("a/../../${tableName}")


PARTS = ["a", "/", ".", "..", "_", "%", "${tableName}", "${fullyQualifiedTableName}", "${regex[${tableName}][x][.]}"]


@examples(50)
@given(st.lists(st.sampled_from(PARTS), max_size=5), table_names)
def test_no_name_leaves_the_directory(parts: list[str], table: str) -> None:
    try:
        layout = OutputLayout(".txt", PathTemplate().parse("".join(parts)), parse_template("${tableName}.json"))
        name = layout.place(TableDef(table), MOMENT).numbered(0, 5)
    except (InvalidValueError, Abend):
        return
    for part in name.split("/"):
        assert part not in ("", ".", "..") and "\0" not in part and len(part.encode()) <= 255
        assert not part.startswith((".", "_"))


def records(tmp_path: Path) -> Path:
    rows = [operation(n, table=f"GG.{'AB'[n % 2]}", NAME=["x", "y/z", ".."][n % 3]) for n in range(1, 7)]
    return write_lines(tmp_path / "in.json", rows)


def written(tmp_path: Path, *settings: str, mode: str = "error") -> list[str]:
    out = tmp_path / "out"
    run_ggfmt([records(tmp_path)], out, *PIPES, *(f"gg.handler.d.{line}" for line in settings), mode=mode)
    assert verify(str(out)).findings == []
    return sorted(str(path.relative_to(out / "d")) for path in (out / "d").rglob("*") if path.is_file())


def test_a_name_does_not_pack_a_file(tmp_path: Path) -> None:
    """Arrow packs what is written to a name that ends with `.gz`."""
    (one, other) = written(tmp_path, "fileNameMappingTemplate=${fullyQualifiedTableName}.gz")
    assert one.endswith(".gz") and other.endswith(".gz")
    assert (tmp_path / "out" / "d" / one).read_bytes().startswith(b"I|GG.A|")


LOWER = (
    "pathMappingTemplate=/ogg/./${toLowerCase[${tableName}]}/${currentTimestamp[yyyy/MM]}",
    "fileNameMappingTemplate=${fullyQualifiedTableName}.csv",
)


def test_a_run_with_templates_and_runs_that_add_and_replace(tmp_path: Path) -> None:
    first = ["ogg/a/2015/09/GG.A_00000.csv", "ogg/b/2015/09/GG.B_00000.csv"]
    assert written(tmp_path, *LOWER) == first
    assert len(written(tmp_path, *LOWER, mode="append")) == 4
    assert written(tmp_path, *LOWER, mode="overwrite") == first


def test_rows_go_to_files_of_their_values(tmp_path: Path) -> None:
    divided = (
        "partitioner.GG.A=NAME",
        "partitioner.GG.B=NAME",
        "pathMappingTemplate=${tableName}/${columnValue[name]}",
    )
    names = written(tmp_path, *divided, "fileNameMappingTemplate=f.txt", "bom=efbbbf")
    assert names == [f"{table}/{value}/f_00000.txt" for table in "AB" for value in ("%2E%2E", "x", "y%2Fz")]
    assert (tmp_path / "out" / "d" / "A" / "x" / "f_00000.txt").read_bytes().startswith(b"\xef\xbb\xbfI|GG.A|")


def test_two_tables_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Abend, match=r"GG514.*`GG\.[AB]` and `GG\.[AB]`"):
        written(tmp_path, "pathMappingTemplate=all", "fileNameMappingTemplate=${schemaName}.csv")
    assert not (tmp_path / "out" / "d").exists()


@pytest.mark.parametrize(
    "settings",
    [
        ("fileNameMappingTemplate=${uuid}",),
        ("fileNameMappingTemplate=${groupName}",),
        ("fileNameMappingTemplate=${columnValue[NAME]}",),
        ("partitioner.GG.A=NAME",),
        ("fileNameMappingTemplate=${tableName}", "partitionByTable=false"),
    ],
)
def test_a_layout_that_is_not_known_is_refused(tmp_path: Path, settings: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="GG515"):
        written(tmp_path, *settings)


EVERY_PIECE = (
    "gg.handler.d.partitioner.GG.T=NAME",
    "gg.handler.d.pathMappingTemplate="
    "${staticMap[GG.T=t,GG.U=u][rest]}/${toLowerCase[${schemaName}]}/${columnValue[NAME][null][none]}",
    "gg.handler.d.fileNameMappingTemplate="
    "${regex[${tableName}][T][new]}_${substring[${groupName}][0][2]}_${currentTimestamp[yyyy-MM-dd_HH]}${emptyString}.csv",
    "ggfmt.groupName=rep1",
)


def test_a_layout_travels_to_workers() -> None:
    """Spark sends the settings of tasks as pickles."""
    configuration = read_configuration([], [*PIPES, *EVERY_PIECE])
    settings = RunSettings(inputs=[], handlers=configuration.handlers, run_options=configuration.run, output="out")
    (target,) = make_targets(settings)
    received = pickle.loads(pickle.dumps(target))
    assert received == target
    table, partition = TableDef("GG.T"), (TemplateValue(True, "x"),)
    place = received.layout.place(table, MOMENT, partition)
    assert place == target.layout.place(table, MOMENT, partition)
    assert place.path == f"t/gg/x/new_re_{MOMENT:%Y-%m-%d_%H}.csv"


@pytest.mark.parametrize("below", ["", "/deep", "/deep/down"])
def test_a_directory_that_would_be_a_file_of_another_table_is_refused(tmp_path: Path, below: str) -> None:
    layout = (
        f"pathMappingTemplate=${{staticMap[GG.A=a,GG.B=a/A_00000.csv{below}]}}",
        "fileNameMappingTemplate=${tableName}.csv",
    )
    with pytest.raises(Abend, match=r"GG506.*a file and a directory would have the same name") as raised:
        written(tmp_path, *layout)
    assert str(raised.value.diagnostics[0].span.file).endswith("/d/a/A_00000.csv")
    assert not (tmp_path / "out" / "d").exists()
    assert written(tmp_path, layout[0].replace("A_", "B_"), layout[1])
