"""`--replicat`: a run, a preview, schemas and rows follow the parameter file of a Replicat."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from postgres import server_or_skip
from runs import MOMENT, content, manifest, metadata, operation, tables, write_lines

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, GgfmtError, UsageError
from ggfmt.model.table import Column, TableDef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTIES = r"""gg.handlerlist=j
gg.handler.j.type=hdfs
gg.handler.j.format=json
gg.handler.j.format.generateSchema=false
gg.handler.j.format.jsonDelimiter=CDATA[\n]
"""
RECORDS = [
    operation(0, "GG.A"),
    operation(1, "GG.B"),
    operation(2, "GG.A", "U"),
    operation(3, "GG.C"),
    operation(4, "GG.A", "D"),
    {**operation(5, "GG.B"), "op_type": "T"},
]
del RECORDS[5]["after"]


class Home:
    """GoldenGate's home, with `dirprm`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "dirprm").mkdir()
        (root / "dirprm" / "r.props").write_text(PROPERTIES)
        self.inputs = write_lines(root / "in.json", RECORDS)

    def write(
        self, *lines: str, name: str = "r.prm", head: str = "TARGETDB LIBFILE x SET property=dirprm/r.props"
    ) -> Path:
        path = self.root / "dirprm" / name
        path.write_text("\n".join(["REPLICAT rone", head, *lines, ""]))
        return path

    def run(self, *lines: str, out: str = "out", inputs: Any = None, **given: Any) -> ggfmt.Result:
        return ggfmt.convert(
            inputs or self.inputs, output=self.root / out, replicat=self.write(*lines), master="none[1]", **given
        )

    def messages(self, out: str = "out") -> list[dict[str, Any]]:
        return [json.loads(line) for line in content(self.root / out, "j").splitlines()]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_file_names_its_handler_file_and_tables(home: Home) -> None:
    result = home.run("MAPEXCLUDE gg.c", "MAP gg.a, TARGET rpt.Alpha;", "GETTRUNCATES", "MAP GG.*, TARGET *.T_*;")
    found = [(message["table"], message["op_type"]) for message in home.messages()]
    assert sorted(found) == [
        ("GG.T_A", "D"), ("GG.T_A", "I"), ("GG.T_A", "U"), ("GG.T_B", "I"), ("GG.T_B", "T"),
        ("rpt.Alpha", "D"), ("rpt.Alpha", "I"), ("rpt.Alpha", "U"),
    ]  # fmt: skip
    assert result.totals["mapped_operations"] == {
        "GG.A": {"": {"read": 3}, "r.prm:4": {"reached": 3}, "r.prm:6": {"reached": 3}},
        "GG.B": {"": {"read": 2}, "r.prm:6": {"reached": 2}},
        "GG.C": {"r.prm:3": {"excluded": 1}},
    }
    assert manifest(home.root / "out")["totals"]["mapped_operations"] == result.totals["mapped_operations"]


def test_the_summary_says_what_was_left_out(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ggfmt")
    home.run("IGNOREDELETES", "MAP gg.a, TARGET x.a;", "GETDELETES", "MAP gg.b, TARGET x.b;", "MAP gg.b, TARGET y.b;")
    summary = next(message for message in caplog.messages if message.startswith("Totals"))
    assert [
        line.strip() for line in summary.splitlines() if "Totals" in line or "left out" in line or "copied" in line
    ] == [
        f"Totals: 6 operations read from 1 file ({home.inputs.stat().st_size} bytes)",
        "left out: GG.A, 1 operation, ignored for their kind by r.prm:4",
        "left out: GG.B, 1 operation, ignored as truncates by r.prm:6",
        "left out: GG.B, 1 operation, ignored as truncates by r.prm:7",
        "left out: GG.C, 1 operation, without a MAP",
        "copied: GG.B, 1 operation more than read",
    ]


def test_the_group_is_a_name_in_templates(home: Home) -> None:
    template = "gg.handler.j.pathMappingTemplate=${groupName}/${fullyQualifiedTableName}"
    home.run("MAP gg.*, TARGET rpt.*;", settings=[template])
    home.run("MAP gg.*, TARGET rpt.*;", settings=[template, "ggfmt.groupName=other"], out="other")
    for out, name in (("out", "rone"), ("other", "other")):
        assert {path.name for path in (home.root / out / "j").iterdir()} == {name}


def test_another_handler_file_is_said(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    other = home.root / "other.properties"
    other.write_text(PROPERTIES.replace("json\n", "json\ngg.handler.j.format.insertOpKey=INS\n"))
    home.run("MAP gg.*, TARGET rpt.*;", config=other)
    assert {message["op_type"] for message in home.messages()} == {"INS", "U", "D"}
    assert any("r.prm names `dirprm/r.props`, but `-c` is used" in message for message in caplog.messages)
    caplog.clear()
    home.run("MAP gg.*, TARGET rpt.*;", config=home.root / "dirprm" / "r.props", out="same")
    assert not caplog.messages


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["MAP gg.a, TARGET x.a;", "MAP gg.*, TARGET x.*, KEYCOLS (name);"], r"r.prm:4.*GG597.*the MAP in line 3 has"),
        (["UPDATEDELETES", "INSERTDELETES", "MAP gg.a, TARGET x.a;"], r"r.prm:5.*GG597.*UPDATEDELETES"),
        (["UPDATEINSERTS", "INSERTUPDATES", "MAP gg.a, TARGET x.a;"], r"r.prm:5.*GG597.*UPDATEINSERTS"),
        (["MAP gg.a, TARGET *.x.a;"], r"r.prm:3.*(OGG-02645|GG15).*"),
        (["MAP gg.a, TARGET x.a, KEYCOLS (nosuch);"], r"r.prm:3.*GG160.*nosuch"),
        (["COLMATCH PREFIX p_", "MAP gg.a, TARGET x.a;"], r"r.prm:4.*GG160.*COLMATCH"),
        (["TARGETDEFS dirdef/no.def", "MAP gg.a, TARGET x.a;"], "GG597.*TARGETDEFS `dirdef/no.def`"),
        (["SOURCEDEFS dirdef/no.def", "MAP gg.a, TARGET x.a;"], "GG597.*SOURCEDEFS `dirdef/no.def`"),
    ],
)
@pytest.mark.example("GG597")
def test_what_is_unknown_is_refused_with_its_place(lines: list[str], said: str, home: Home) -> None:
    with pytest.raises(GgfmtError, match=f"(?s){said}"):
        home.run(*lines)
    assert not (home.root / "out").exists() or not list((home.root / "out").rglob("*.txt"))


def test_maps_that_take_nothing_are_an_error(home: Home) -> None:
    with pytest.raises(ConfigurationError, match=r"GG597.*the file has no MAP"):
        home.run("GETTRUNCATES")
    with pytest.raises(UsageError, match=r"(?s)GG597.*no MAP names a table in the data.*`GG.A`.*as many parts"):
        home.run("MAP pdb.GG.*, TARGET GG.*;")
    home.run("MAP pdb.GG.*, TARGET GG.*;", inputs=[], allow_empty=True)


def test_wrong_files_are_errors_with_a_place(home: Home) -> None:
    for text in (b"gg.handlerlist=j\n", bytes(range(256)) * 2, b"REPLICAT r\nMAP gg.a, TARGET", b""):
        path = home.root / "dirprm" / "wrong.prm"
        path.write_bytes(text)
        with pytest.raises((ConfigurationError, UsageError)):
            ggfmt.convert(home.inputs, output=home.root / "out", replicat=path, master="none")
    with pytest.raises(ConfigurationError, match=r"no\.prm"):
        ggfmt.convert(home.inputs, output=home.root / "out", replicat=home.root / "no.prm", master="none")
    lonely = home.write("MAP gg.*, TARGET x.*;", head="-- no handler file")
    with pytest.raises(ConfigurationError, match=r"GG597.*`config`"):
        ggfmt.convert(home.inputs, output=home.root / "out", replicat=lonely, master="none")
    assert ggfmt.convert(home.inputs, output=home.root / "out", replicat=lonely, to="json", master="none").totals


def preview(home: Home, path: Path, **given: Any) -> set[str]:
    return {table.table for table in ggfmt.preview(home.inputs, replicat=path, **given).handlers[0].tables}


def schema(home: Home, path: Path, **given: Any) -> set[str]:
    return {
        file.name.removesuffix(".schema.json")
        for file in ggfmt.schema(
            home.inputs, replicat=path, settings=["gg.handler.j.format.generateSchema=true"], **given
        )
    }


def consolidate(home: Home, path: Path, **given: Any) -> set[str]:
    rows = ggfmt.consolidate(home.inputs, home.root / "rows", replicat=path, key="ID", master="none", **given)
    return set(rows["tables"])


def convert(home: Home, path: Path, **given: Any) -> set[str]:
    ggfmt.convert(home.inputs, output=home.root / "out", replicat=path, master="none", **given)
    return {message["table"] for message in home.messages()}


def scan(home: Home, path: Path, **given: Any) -> set[str]:
    return set(map(str, ggfmt.scan(home.inputs, replicat=path).read_all()["table"].to_pylist()))


@pytest.mark.parametrize("command", [preview, schema, consolidate, convert, scan])
def test_each_command_has_the_names_of_targets(command: Callable[..., set[str]], home: Home) -> None:
    path = home.write("MAPEXCLUDE gg.c", "MAP gg.*, TARGET rpt.*;", "MAP gg.b, TARGET copy.*;")
    assert command(home, path) == {"rpt.A", "rpt.B", "copy.B"}


@pytest.mark.parametrize("command", [preview, schema, consolidate, convert])
def test_options_name_tables_of_the_source(command: Callable[..., set[str]], home: Home) -> None:
    path = home.write("MAP gg.*, TARGET rpt.*;")
    assert command(home, path, table=["GG.A", "B"], exclude="GG.B", mask={"GG.A.NAME": "null"}) == {"rpt.A"}
    if command is convert:
        assert {message.get("after", {"NAME": None})["NAME"] for message in home.messages()} == {None}
    with pytest.raises(UsageError, match=r"GG315|GG592"):
        command(home, path, table="rpt.A", **({"mode": "overwrite"} if command in (consolidate, convert) else {}))


def test_tables_without_a_map_need_no_definition(home: Home) -> None:
    definitions = {"GG.A": TableDef("GG.A", (Column("ID", key=1), Column("NAME"), Column("AMOUNT")))}
    written = ["gg.handlerlist=d", "gg.handler.d.type=hdfs", "gg.handler.d.format=delimitedtext"]
    ggfmt.convert(home.inputs, output=home.root / "d", settings=written, master="none")
    given: dict[str, Any] = {"inputs": sorted((home.root / "d").rglob("*.txt")), "definitions": definitions}
    given |= {"input_format": "delimitedtext"}
    with pytest.raises(Abend, match="GG205"):
        home.run("MAP gg.*, TARGET x.*;", **given)
    home.run("MAP gg.a, TARGET x.a;", **given)
    assert [message["table"] for message in home.messages()] == ["x.a"] * 3
    given["replicat"] = None
    ggfmt.convert(output=home.root / "table", to="json", master="none", table="GG.A", **given)


def test_targets_have_the_columns_of_targetdefs(home: Home) -> None:
    (home.root / "dirdef").mkdir()
    (home.root / "dirdef" / "t.sql").write_text(
        "CREATE TABLE x.a (P_NAME VARCHAR(20), ID NUMBER(9) PRIMARY KEY, NEW DATE, TOTAL NUMBER(9));"
    )
    head = ("TARGETDEFS dirdef/t.sql", "COLMATCH NAMES total = amount", "COLMATCH PREFIX p_")
    home.run(*head, "MAP gg.a, TARGET x.a;", settings=["gg.handler.j.format.includePrimaryKeys=true"])
    first, *_ = home.messages()
    assert first["after"] == {"P_NAME": "name 0", "ID": 0, "TOTAL": 0}
    assert first["primary_keys"] == ["ID"]


def test_keycols_are_the_key(home: Home) -> None:
    keys = ["gg.handler.j.format.includePrimaryKeys=true"]
    home.run("MAP gg.a, TARGET x.a, KEYCOLS (name, id);", settings=keys)
    assert {tuple(message["primary_keys"]) for message in home.messages()} == {("NAME", "ID")}


def test_columns_and_filters(home: Home) -> None:
    line = "MAP gg.a, TARGET x.a, COLMAP (USEDEFAULTS, twice = @COMPUTE (AMOUNT * 2)), FILTER (AMOUNT < 3);"
    result = home.run(line, settings=["gg.handler.j.format=json_row"])
    assert [(message["op_type"], message["twice"]) for message in home.messages()] == [("I", 0), ("U", 4)]
    assert result.totals["mapped_operations"]["GG.A"]["r.prm:3"] == {"filtered": 1, "reached": 2}
    with pytest.raises(Abend, match=r"GG412.*before image"):
        home.run(line, out="with before images")


@pytest.mark.example("GG412")
def test_the_word_for_updates_is_that_of_the_trail(home: Home) -> None:
    moved = operation(3, "GG.A", "U") | {"primary_keys": ["ID"]}
    moved["before"], moved["after"] = {"ID": "1", "NAME": "x"}, {"ID": "2", "NAME": "x"}
    inputs = write_lines(home.root / "kinds.json", [*RECORDS[:1], RECORDS[2], moved, RECORDS[4]])
    maps = "MAP GG.*, TARGET GG.*, COLMAP (USEDEFAULTS, KIND = @GETENV ('GGHEADER', 'OPTYPE'));"
    row = {"gg.handler.j.format": "json_row", "gg.handler.j.format.pkUpdateHandling": "update"}
    with pytest.raises(Abend, match=r"GG412\] the result depends on whether OPTYPE is .*`ggfmt.updateOpType`"):
        home.run(maps, inputs=inputs, settings=row)
    given = {**row, "ggfmt.updateOpType": "SQL COMPUPDATE"}
    table = TableDef("GG.A", (Column("ID", key=1), Column("NAME"), Column("AMOUNT")))
    home.run(maps, inputs=inputs, settings=given, definitions={"GG.A": table})
    kinds = [message["KIND"] for message in home.messages()]
    assert kinds == ["INSERT", "SQL COMPUPDATE", "PK UPDATE", "DELETE"]


def test_a_row_format_does_not_hide_before_images_from_expressions(home: Home) -> None:
    update = operation(1, "GG.A", "U")
    update["before"] = {**update["after"], "NAME": "old"}
    inputs = write_lines(home.root / "before.json", [update])
    maps = "MAP GG.*, TARGET GG.*, FILTER (@STREQ (BEFORE.NAME, 'old')), COLMAP (USEDEFAULTS, WAS = BEFORE.NAME);"
    home.run(maps, inputs=inputs, settings={"gg.handler.j.format": "json_row"})
    assert [message["WAS"] for message in home.messages()] == ["old"]


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        (["MAP gg.a, TARGET x.a;"], "ID"),
        (["MAP gg.a, TARGET x.a, KEYCOLS (Id);"], "ID"),
        (["MAP gg.a, TARGET x.a, COLMAP (USEDEFAULTS, more = AMOUNT);"], "ID"),
        (["MAP gg.a, TARGET x.a, KEYCOLS (name);"], "NAME"),
        (["MAP gg.a, TARGET x.a, COLMAP (new = id, name = name), KEYCOLS (name);"], "NAME"),
        (["MAP gg.a, TARGET x.a, COLMAP (USEDEFAULTS, id = name, name = id);"], "NAME"),
        (["TARGETDEFS t.sql", "MAP gg.a, TARGET x.a;"], "NAME"),
    ],
)
def test_the_key_of_the_target_decides_on_updates_of_the_key(lines: list[str], key: str, home: Home) -> None:
    (home.root / "t.sql").write_text("CREATE TABLE x.a (ID NUMBER(9), NAME VARCHAR(9) PRIMARY KEY, AMOUNT NUMBER(9));")
    settings = ["gg.handler.j.format=json_row", "gg.handler.j.format.pkUpdateHandling=abend"]
    for changed in ("ID", "NAME", "AMOUNT"):
        update = operation(3, "GG.A", "U") | {"primary_keys": ["ID"]}
        update["before"] = {"ID": "1", "NAME": "x", "AMOUNT": "7"}
        update["after"] = update["before"] | {changed: "2"}
        inputs = write_lines(home.root / f"{changed}.json", [update])
        if changed == key:
            with pytest.raises(Abend, match="primary key"):
                home.run(*lines, inputs=inputs, settings=settings)
        else:
            home.run(*lines, inputs=inputs, settings=settings, out=f"out of {changed}")


def test_rows_take_the_word_for_updates_from_the_handler_file(home: Home) -> None:
    with (home.root / "dirprm" / "r.props").open("a") as file:
        file.write("ggfmt.updateOpType = UPDATE\n")
    maps = home.write("MAP GG.*, TARGET GG.*, COLMAP (USEDEFAULTS, KIND = @GETENV ('GGHEADER', 'OPTYPE'));")
    inputs = write_lines(home.root / "rows.json", [operation(1, "GG.A"), operation(1, "GG.A", "U")])
    ggfmt.consolidate(inputs, output=home.root / "rows", to="csv", replicat=maps, key="ID", master="none")
    (file_of_rows,) = (home.root / "rows" / "GG.A").iterdir()
    assert "UPDATE" in file_of_rows.read_text()


def test_the_delete_of_a_key_update_shows_a_before_image(home: Home) -> None:
    update = operation(1, "GG.A", "U")
    update["before"] = {**update["after"], "NAME": "old"}
    maps = "MAP GG.*, TARGET GG.*, KEYCOLS (ID), COLMAP (USEDEFAULTS, NAME = @STRCAT (NAME, '!'));"
    given: Any = {
        "settings": {"gg.handler.j.format": "json_row", "gg.handler.j.format.pkUpdateHandling": "delete-insert"}
    }
    home.run(maps, inputs=write_lines(home.root / "same.json", [update]), **given)
    update["before"]["ID"] = 77
    with pytest.raises(Abend, match=r"GG412.*before image of an update"):
        home.run(maps, inputs=write_lines(home.root / "moved.json", [update]), out="moved", **given)


def test_the_sample_runs_as_its_page_says(tmp_path: Path) -> None:
    samples = Path(__file__).parents[2] / "samples"
    changes, maps = samples / "shop" / "changes", samples / "dirprm" / "rkafka.prm"
    ggfmt.convert(changes, output=tmp_path / "out", replicat=maps, master="none")
    found = [json.loads(line) for line in content(tmp_path / "out", "kafka").replace(b"}{", b"}\n{").splitlines()]
    kinds = {message["OP"] for message in found if message["table"] == "RPT.ORDERS"}
    assert kinds == {"INSERT", "SQL COMPUPDATE", "DELETE"}
    assert not any(message["op_type"] == "D" for message in found if message["table"] == "RPT.CUSTOMERS")


@pytest.mark.process
def test_rows_of_a_database_have_the_names_of_targets(home: Home) -> None:
    maps = home.write("MAP gg.a, TARGET public.alpha, KEYCOLS (ID), COLMAP (ID = ID, WHAT = NAME);")
    with server_or_skip() as server:
        ggfmt.apply(home.inputs, server.url, replicat=maps, starts_empty=True)
        rows = [{"id": "0", "what": "name 0"}, {"id": "2", "what": "name 2"}]
        assert server.copied("select * from alpha order by id") == rows
        with pytest.raises(ggfmt.UsageError, match="GG513"):
            ggfmt.apply(home.inputs, server.url, replicat=home.write("MAP GG.*, TARGET x.*;"))


@pytest.mark.example("GG598")
def test_an_operation_without_a_tested_column(home: Home) -> None:
    records = [operation(0, "GG.A"), operation(1, "GG.A", "U")]
    del records[1]["before"], records[1]["after"]["AMOUNT"]
    inputs = write_lines(home.root / "lacks.json", records)
    lines = "MAP gg.a, TARGET x.a, WHERE (AMOUNT < 9);"
    result = home.run(lines, inputs=inputs)
    counts = {"dropped for a missing column": 1, "reached": 1}
    assert result.totals["mapped_operations"]["GG.A"]["r.prm:3"] == counts
    with pytest.raises(Abend, match=r"GG598.*r\.prm:3"):
        home.run(lines, inputs=inputs, strict=True, out="strict")


def test_tables_of_one_target_are_in_order(home: Home) -> None:
    records = [operation(number, f"S{number % 3}.{'AB'[number % 2]}") for number in range(300)]
    inputs = write_lines(home.root / "several.json", records)
    given: dict[str, Any] = {"inputs": inputs, "split_size": 2048}
    home.run("MAP s?.*, TARGET x.*;", "MAP s1.a, TARGET x.B;", **given)
    found = tables(home.root / "out", "j")
    names = {name: [int(json.loads(line)["pos"]) for line in data.splitlines()] for name, data in found.items()}
    assert names == {
        "x.A": [number for number in range(300) if number % 2 == 0],
        "x.B": [number for number in range(300) if number % 2 or number % 3 == 1],
    }


def test_tables_of_one_target_with_other_columns_stop_the_run(home: Home) -> None:
    records = [operation(0, "GG.A"), operation(1, "GG.B", MORE="x"), operation(2, "GG.A")]
    inputs = write_lines(home.root / "unlike.json", records)
    with pytest.raises(ConfigurationError, match=r"(?s)x\.all.*GG597.*`GG\.A`.*`GG\.B`.*TARGETDEFS"):
        home.run("MAP gg.*, TARGET x.all;", inputs=inputs)
    (home.root / "t.sql").write_text("CREATE TABLE x.all (ID NUMBER(9), NAME VARCHAR(9));")
    home.run("TARGETDEFS t.sql", "MAP gg.*, TARGET x.all;", inputs=inputs)
    assert [message["after"]["ID"] for message in home.messages()] == [0, 1, 2]


def test_a_schema_change_reaches_the_target(home: Home) -> None:
    records = [
        metadata("GG.A", ID="string", NAME="string", AMOUNT="number"), operation(0, "GG.A"),
        metadata("GG.A", ID="string", NAME="string", AMOUNT="number", X="string"), operation(1, "GG.A", X="y"),
    ]  # fmt: skip
    inputs = write_lines(home.root / "changed.json", records)
    home.run("MAP gg.*, TARGET x.*;", inputs=inputs)
    assert [message["after"].get("X") for message in home.messages()] == [None, "y"]
    rows = ggfmt.consolidate(
        inputs, home.root / "rows", replicat=home.root / "dirprm" / "r.prm", key="ID", master="none"
    )
    assert list(rows["tables"]["x.A"]["columns"]) == ["ID", "NAME", "AMOUNT", "X"]


def test_a_checkpoint_belongs_to_the_maps(home: Home) -> None:
    given: dict[str, Any] = {"checkpoint": home.root / "seen", "mode": "append"}
    home.run("MAP gg.a, TARGET x.a;", **given)
    home.run("-- a comment", "REPORTCOUNT EVERY 5 MINUTES", "MAP gg.a,", " TARGET x.a;", **given)
    with pytest.raises(UsageError, match=r"(?s)GG513.*--replicat"):
        home.run("MAP gg.*, TARGET x.*;", **given)
    with pytest.raises(UsageError, match=r"(?s)GG513.*--replicat"):
        ggfmt.convert(
            home.inputs, output=home.root / "out", config=home.root / "dirprm" / "r.props", master="none", **given
        )


DROPPED = [
    {"database": "d", "table": "t", "type": "INSERT", "isDdl": False, "es": 1, "ts": 1, "id": 1, "pkNames": ["ID"],
     "mysqlType": {"ID": "int"}, "sqlType": {"ID": 4}, "data": [{"ID": "1"}], "old": None, "sql": ""},
    {"database": "d", "table": "t", "type": "ERASE", "isDdl": True, "es": 2, "ts": 2, "id": 2, "sql": "drop table t",
     "data": None, "old": None, "pkNames": None, "mysqlType": None, "sqlType": None},
]  # fmt: skip


def test_a_drop_is_a_truncate(home: Home) -> None:
    inputs = write_lines(home.root / "dropped.json", DROPPED)
    for lines, rows in ((["MAP d.*, TARGET x.*;"], 1), (["GETTRUNCATES", "MAP d.*, TARGET x.*;"], 0)):
        made = ggfmt.consolidate(
            inputs, home.root / "rows", replicat=home.write(*lines), key="ID", master="none", mode="overwrite"
        )
        assert made["tables"]["x.t"]["rows"] == rows


def test_the_plan_of_a_dry_run_shows_maps(home: Home) -> None:
    names = [TableDef(f"GG.{name}", (Column("ID", key=1), Column("NAME"), Column("AMOUNT"))) for name in "ABC"]
    definitions = {table.full_name: table for table in names}
    lines = ("MAPEXCLUDE gg.c", "MAP gg.a, TARGET x.a;", "MAP gg.a, TARGET y.a;")
    plan = home.run(*lines, dry_run=True, definitions=definitions).plan
    assert plan is not None
    assert plan.routes == (
        "GG.A: x.a by r.prm:4, y.a by r.prm:5",
        "GG.B: without a MAP",
        "GG.C: excluded by r.prm:3",
    )
    assert plan.tables is not None and [table.full_name for table in plan.tables] == ["x.a", "y.a"]


@pytest.mark.spark
def test_spark_writes_the_same_messages(spark: SparkSession, home: Home) -> None:
    records = [operation(number, f"GG.{'ABC'[number % 3]}", "IUD"[number % 3]) for number in range(300)]
    inputs = write_lines(home.root / "many.json", records)
    lines = ("INSERTDELETES", "MAP gg.*, TARGET x.all;", "MAP gg.b, TARGET y.*, FILTER (AMOUNT > 100);")
    home.run(*lines, inputs=inputs, current_timestamp=MOMENT)
    path = home.root / "dirprm" / "r.prm"
    given: dict[str, Any] = {"current_timestamp": MOMENT, "spark": spark, "split_size": 4096}
    by_spark = ggfmt.convert(inputs, output=home.root / "spark", replicat=path, **given)
    assert tables(home.root / "spark", "j") == tables(home.root / "out", "j")
    assert by_spark.totals["mapped_operations"]["GG.B"]["r.prm:5"] == {"filtered": 34, "reached": 66}


def test_batches_have_the_operations_of_targets(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """Those of the messages, one by one."""
    records = [operation(number, f"GG.{'ABC'[number % 3]}", "IUD"[number % 7 % 3]) for number in range(400)]
    for number, record in enumerate(records):
        if record["op_type"] == "U":
            record["before"] = {**record["after"], "NAME": f"old {number}"}
    inputs = write_lines(home.root / "many.json", records)
    lines = (
        "MAP gg.a, TARGET x.all;", "MAP gg.c, TARGET x.all;", "IGNOREDELETES",
        "MAP gg.b, TARGET y.*, COLMAP (ID = ID, WHAT = NAME), FILTER (AMOUNT > 100);",
    )  # fmt: skip
    home.run(*lines, inputs=inputs)
    path = home.root / "dirprm" / "r.prm"
    caplog.set_level(logging.INFO, "ggfmt")
    found = ggfmt.scan(inputs, replicat=path).read_all().to_pylist(maps_as_pydicts="strict")
    left = [message for message in caplog.messages if message.startswith("left out")]
    assert [message.rpartition(", ")[2] for message in left] == [
        "filtered by r.prm:6",
        "ignored for their kind by r.prm:6",
    ]
    shown = {
        table: [
            (
                row["position"],
                row["op_type"],
                *(row[image] and row[image].get("WHAT", row[image].get("NAME")) for image in ("before", "after")),
            )
            for row in found
            if row["table"] == table
        ]
        for table in ("x.all", "y.B")
    }
    wanted: dict[str, list[Any]] = {"x.all": [], "y.B": []}
    for number, record in enumerate(records):
        of_b = record["table"] == "GG.B"
        if not of_b or (number > 100 and record["op_type"] != "D"):
            images = (record[image]["NAME"] if image in record else None for image in ("before", "after"))
            wanted["y.B" if of_b else "x.all"].append((record["pos"], record["op_type"], *images))
    assert shown == wanted
    assert sorted(row["position"] for row in found) == sorted(message["pos"] for message in home.messages())
    of_table = ggfmt.scan(inputs, "y.B", replicat=path, ops=["I"]).read_all()
    assert [field.name for field in of_table.schema.field("after").type] == ["ID", "WHAT"]
    assert of_table["position"].to_pylist() == [row[0] for row in wanted["y.B"] if row[1] == "I"]


@pytest.mark.parametrize(
    ("lines", "table", "said"),
    [
        (["MAP gg.a, TARGET x.a;"], "GG.A", r"GG531.*`GG\.A` not found; the table.*`x\.a`"),
        (["MAP nosuch.*, TARGET x.*;"], None, r"GG597.*no MAP names a table"),
        (["MAP gg.a, TARGET x.all;", "MAP gg.b, TARGET x.all, KEYCOLS (NAME);"], None, r"GG597.*several definitions"),
        (["GETTRUNCATES"], None, r"GG597.*no MAP"),
        (["SOURCEDEFS no.def", "MAP gg.a, TARGET x.a;"], None, r"GG597.*SOURCEDEFS `no\.def`"),
    ],
)
def test_batches_refuse_what_a_run_refuses(lines: list[str], table: str | None, said: str, home: Home) -> None:
    with pytest.raises((ConfigurationError, UsageError), match=f"(?s){said}"):
        ggfmt.scan(home.inputs, table, replicat=home.write(*lines))


def test_a_before_image_of_batches_is_undecided(home: Home) -> None:
    update = operation(1, "GG.A", "U")
    update["before"] = {**update["after"], "NAME": "old"}
    inputs = write_lines(home.root / "update.json", [update])
    path = home.write("MAP gg.a, TARGET x.a, COLMAP (ID = ID, WHAT = @STRCAT (NAME, '!'));")
    with pytest.raises(Abend, match=r"GG412.*before image of an update"):
        ggfmt.scan(inputs, replicat=path).read_all()


@pytest.mark.spark
def test_a_frame_of_spark_has_the_operations_of_targets(spark: SparkSession, home: Home) -> None:
    path = home.write("MAP gg.*, TARGET x.all;", "MAP gg.b, TARGET y.*, COLMAP (ID = ID, WHAT = NAME);")
    for table in (None, "y.B"):
        frame = ggfmt.read(spark, home.inputs, table=table, replicat=path, split_size=300).orderBy("table", "seq")
        batches = (
            ggfmt.scan(home.inputs, table, replicat=path)
            .read_all()
            .sort_by([("table", "ascending"), ("seq", "ascending")])
        )
        assert frame.toArrow().to_pylist() == batches.cast(frame.toArrow().schema).to_pylist()
        assert len(batches) == (6 if table is None else 1)


@pytest.mark.parametrize("condition", ["FILTER (@STREQ (name, 'name 1'))", "WHERE (ID > 0 AND NAME = 'name 1')"])
def test_a_condition_must_not_test_a_masked_column(condition: str, home: Home) -> None:
    path = home.write(f"MAP gg.*, TARGET x.*, {condition};")
    for mask in ("GG.A.NAME=null", "A.NAME=fixed:name 1"):
        with pytest.raises(ConfigurationError, match=r"r\.prm:3:.*table GG\.A.*GG597.*`NAME`.*`mask`"):
            convert(home, path, mask=mask)
        with pytest.raises(ConfigurationError, match="GG597"):
            consolidate(home, path, mask=mask)
    convert(home, path, mask="GG.A.AMOUNT=null")
