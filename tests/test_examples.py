"""The example of every code is true: what it shows gives the code, and what is mended does not."""

from __future__ import annotations

import io
import json
import logging
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dialects
import pytest
from runs import content, run_ggfmt, write_lines
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.config.handlers import read_configuration
from ggfmt.config.lint.linter import lint
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.code_examples import EXAMPLES
from ggfmt.diagnostics.codes import CODES, Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, GgfmtError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Event, Reject
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef
from ggfmt.scan.runner import InProcess
from ggfmt.scan.scan import ScanRequest
from ggfmt.sinks.messages.pipeline import HandlerSettings
from ggfmt.sinks.schema import schemas
from ggfmt.spark.java_home import find_java

ROOT = Path(__file__).resolve().parents[1]
TABLE = TableDef(
    "GG.TCUSTORD",
    (
        Column("CUST_CODE", SqlType(Kind.STRING), key=1),
        Column("PRODUCT", SqlType(Kind.STRING)),
        Column("AMOUNT", SqlType(Kind.DECIMAL, precision=6, scale=0)),
    ),
)
DEFINITIONS = {TABLE.full_name: TABLE, "DB.GG.TCUSTORD": TableDef("DB.GG.TCUSTORD", TABLE.columns)}

OF_FILES = [code for code in EXAMPLES if code.startswith("GG1") and code not in ("GG100", "GG127", "GG132", "GG133")]
OF_RECORDS = ["GG204", "GG205", *(f"GG30{number}" for number in range(1, 9)), "GG311", "GG312", "GG320", "GG321"]
OF_MESSAGES = ["GG206", "GG210", "GG401", "GG402", "GG403", "GG404", "GG405", "GG406"]
OF_COMMANDS = [
    "GG100",
    "GG133",
    "GG201",
    "GG203",
    "GG209",
    "GG309",
    "GG310",
    "GG313",
    "GG315",
    "GG316",
    "GG407",
    "GG408",
    "GG501",
    "GG506",
    "GG508",
    "GG509",
    "GG513",
    "GG517",
    "GG518",
    "GG519",
    "GG565",
]
OF_OTHERS = [
    "GG127",
    "GG132",
    "GG202",
    "GG208",
    "GG211",
    "GG216",
    "GG314",
    "GG317",
    "GG411",
    "GG502",
    "GG510",
    "GG511",
    "GG514",
    "GG515",
    "GG516",
    "GG560",
    "GG561",
    "GG562",
    "GG563",
    "GG587",
]
# Tried in the tests of the formats that they are of.
OF_FORMATS = ["GG214", "GG215", "GG318", "GG319", "GG409", "GG410"]
# These need a Spark that fails, defects of ggfmt, ten seconds, or Ctrl-C: their examples are only looked at.
OF_SPARK = ["GG212", "GG503", "GG504", "GG505", "GG507", "GG512", "GG520", "GG521", "GG522", "GG523", "GG524", "GG550"]
OF_FRAMES = ["GG530", "GG531", "GG532", "GG533", "GG540", "GG541", "GG542", "GG543"]  # tried in the tests of frames
OF_ROWS = ["GG551", "GG552", "GG570"]  # tried in the tests of consolidation
OF_COMPARISONS = ["GG580", "GG581", "GG582", "GG583", "GG584", "GG585", "GG586"]


def test_the_example_of_times_without_a_mask() -> None:
    before, after = (read_configuration([], text.splitlines()) for text in EXAMPLES["GG216"])
    with pytest.raises(ConfigurationError, match="GG216"):
        HandlerSettings.of(before.handlers[0], before.run)
    assert HandlerSettings.of(after.handlers[0], after.run).context.timestamp_mask == "yyyy-MM-dd HH:mm:ss"


def test_every_code_has_an_example_that_is_tried() -> None:
    tried = [
        *OF_FILES,
        *OF_RECORDS,
        *OF_MESSAGES,
        *OF_COMMANDS,
        *OF_OTHERS,
        *OF_FORMATS,
        *OF_FRAMES,
        *OF_ROWS,
        *OF_COMPARISONS,
        *OF_SPARK,
    ]
    assert sorted(tried) == sorted(CODES) == sorted(EXAMPLES)
    for code in CODES.values():
        assert code.before and code.after
        assert code.before != code.after
        assert not code.before.endswith("\n") and not code.after.endswith("\n")
        assert all(line.isprintable() and len(line) <= 140 for line in (code.before + "\n" + code.after).split("\n"))


@pytest.mark.parametrize("code", OF_FILES)
def test_lines_of_a_handler_file(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = ({found.code for found in lint(text.encode(), "f")} for text in EXAMPLES[code])
    assert code in before
    assert code not in after
    # Notes say what may be meant.
    assert {found for found in after if CODES[found].severity is not Severity.NOTE} == set()


def test_properties_that_a_run_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = EXAMPLES["GG127"]
    Path("before").write_text(before)
    with pytest.raises(GgfmtError, match="GG127"):
        read_configuration(["before"])
    Path("after").write_text(after)
    assert [finding.code for finding in read_configuration(["after"]).diagnostics] == ["GG126"]


def test_a_template_without_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = EXAMPLES["GG411"]
    for name, text in (("before", before), ("after", after)):
        Path(name).write_text(text)
    configuration = read_configuration(["before"])
    with pytest.raises(GgfmtError, match="GG411"):
        HandlerSettings.of(configuration.handlers[0], configuration.run)
    configuration = read_configuration(["after"])
    made = HandlerSettings.of(configuration.handlers[0], configuration.run)
    assert made.context.variables == {"${groupname}": "rep1"}


# Records


def read(text: str) -> set[str]:
    """The codes of the rejects of one record, in the format that it looks like."""
    data = re.sub(rb"\\x(..)", lambda match: bytes.fromhex(match[1].decode()), text.encode())
    name = {"{": "json", "<": "xml"}.get(text[0], "delimitedtext")
    lines = ["fieldDelimiter=|", "includeCurrentTimestamp=false", "includePosition=false", "encoding=UTF-8"]
    if name == "delimitedtext":
        data += b"\n"
    else:
        lines = []
    settings = [f"gg.handler.x.format={name}", *(f"gg.handler.x.format.{line}" for line in lines)]
    (handler,) = read_configuration([], settings).handlers
    source = WriterSettings(handler.options, Context())
    reader = FORMATS[name].read_support.reader
    reading = reader(Catalog(dict(DEFINITIONS)), Projection(), source)
    events: list[Event] = []
    for chunk in reader.chunks(io.BytesIO(data), "f", 0, None, reader.layout(data, True, source)):
        events += reading.read(chunk)
    events += reading.flush()
    assert events
    return {event.diagnostic.code for event in events if isinstance(event, Reject)}


@pytest.mark.parametrize("code", OF_RECORDS)
def test_records(code: str) -> None:
    before, after = EXAMPLES[code]
    assert read(before) == {code}
    assert read(after) == set()


# Messages


@pytest.fixture
def quiet() -> Iterator[None]:
    log = logging.getLogger("ggfmt")
    before = log.handlers[:], log.level, log.propagate
    yield
    log.handlers[:], log.level, log.propagate = before


def told(settings: list[str], record: dict[str, object], directory: Path) -> set[str]:
    """The codes of what stops a run of one operation, or of what is counted by it."""
    source = write_lines(directory / "in.json", [record])
    table = str(record["table"])
    definitions = {table: TableDef(table, TABLE.columns)}
    try:
        result = run_ggfmt([source], directory / "out", *settings, definitions=definitions, mode="overwrite")
    except GgfmtError as error:
        return {diagnostic.code for diagnostic in error.diagnostics}
    finally:
        shutil.rmtree(directory / "out", ignore_errors=True)
    [manifest] = result.manifests.values()
    return {code for warning in manifest["totals"]["warnings"] for code in re.findall(r"^\[(GG...)\]", warning)}


@pytest.mark.parametrize("code", OF_MESSAGES)
def test_lines_that_meet_a_value(code: str, tmp_path: Path, quiet: None) -> None:
    for text, expected in zip(EXAMPLES[code], ({code}, set()), strict=True):
        if text.startswith("{"):
            settings, record = ["gg.handler.out.format=json"], json.loads(text)
        else:
            settings = [line for line in text.split("\n") if not line.startswith(("#", "gg.handlerlist"))]
            about = re.search("^# (?:PRODUCT|the table) is (.+)", text, re.MULTILINE)
            value = about[1].encode("latin-1", "backslashreplace").decode("unicode_escape") if about else "CAR"
            image = {"CUST_CODE": "WILL", "PRODUCT": value, "AMOUNT": 3}
            table = value if value.startswith("GG.") else TABLE.full_name
            record = {"table": table, "op_type": "U", "before": image, "after": image}
            if code == "GG402":
                record["after"] = {**image, "CUST_CODE": "JANE"}
        settings += ["gg.handler.out.format.generateSchema=false"] * ("json" in settings[0] or "avro" in settings[0])
        assert told(settings, record, tmp_path) == expected


# Commands


AVRO = '{"type":"record","name":"T","namespace":"GG","fields":[%s]}'


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: None) -> Path:
    for name in ("samples", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "changes").mkdir()
    shutil.copy(ROOT / "samples" / "tcustord.json", tmp_path / "changes")
    row = {"table": "GG.T", "op_type": "I", "op_ts": "", "pos": "", "after": {"ID": 17}}
    table = TableDef("GG.T", (Column("ID", SqlType(Kind.DOUBLE)),))
    settings = ("gg.handler.a.format=avro_row", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([write_lines(tmp_path / "in.json", [row])], tmp_path / "made", *settings, definitions={"GG.T": table})
    (tmp_path / "messages.avro").write_bytes(content(tmp_path / "made", "a"))
    (tmp_path / "notes.txt").write_text("Nothing but words.\n", encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    column = '{"name":"ID","type":["null","%s"]}'
    (tmp_path / "old" / "GG.T.avsc").write_text(AVRO % (column % "string"), encoding="utf-8")
    (tmp_path / "new" / "GG.T.avsc").write_text(AVRO % (column % "double"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings: InProcess())
    return tmp_path


def run(command: str) -> set[str]:
    """The codes that a command ends with; none if it succeeds."""
    program, *arguments = shlex.split(command)
    assert program == "ggfmt"
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, GgfmtError):
        return {diagnostic.code for diagnostic in result.exception.diagnostics}
    assert result.exit_code == 0, result.output
    return set()


@pytest.mark.parametrize("code", OF_COMMANDS)
def test_commands(code: str, checkout: Path) -> None:
    before, after = EXAMPLES[code]
    PREPARE.get(code, lambda: None)()
    assert run(before) == {code}
    assert run(after) == set()


@pytest.mark.parametrize("code", ["GG510", "GG511"])
def test_an_output_that_is_read_back(code: str, checkout: Path) -> None:
    run(EXAMPLES["GG501"][0])
    if code == "GG510":
        next(Path("out/json").rglob("*.json")).unlink()
    else:
        Path("out/notes.txt").touch()
    before, after = EXAMPLES[code]
    ended = CliRunner().invoke(app, shlex.split(before)[1:])
    assert ended.exit_code == 1
    assert f"error[{code}]" in ended.output
    for command in after.split(" && "):
        if command.startswith("rm "):
            Path(command[3:]).unlink()
        else:
            assert run(command) == set()


@pytest.mark.parametrize("code", ["GG560", "GG561", "GG562", "GG563"])
def test_a_report_of_an_output(code: str, checkout: Path) -> None:
    run(EXAMPLES["GG501"][0])
    manifest = Path("out/_ggfmt/manifest.json")
    whole = manifest.read_text(encoding="utf-8")
    document = json.loads(whole)
    document |= {"GG561": {"layout": 99}, "GG562": {"totals": []}}.get(code, {})
    manifest.write_text(json.dumps(document), encoding="utf-8")
    before, after = EXAMPLES[code]
    assert run(before) == {code}
    for command in after.split(" && "):
        if command.startswith("pip "):  # a later ggfmt knows the layout
            manifest.write_text(whole, encoding="utf-8")
        else:
            assert run(command) == set()


@pytest.mark.parametrize("code", OF_COMPARISONS)
def test_places_that_are_compared(code: str, checkout: Path) -> None:
    for table in ("out/GG.T", "dump/GG.T"):
        Path(table).mkdir(parents=True)
        Path(table, "part-0.csv").write_text("ID,NAME,UPDATED_AT\n1,ä,5\n2,ä,6\n", encoding="utf-8")
    Path("latin1.csv").write_text("ID,NAME,UPDATED_AT\n1,ä,5\n2,ä,6\n", encoding="latin-1")
    other = Path("dump/GG.T/part-0.csv")
    if code == "GG583":
        other.write_text("ID,NAME,UPDATED_AT\n1,ä,5\n2,ä,7\n", encoding="utf-8")
    elif code == "GG585":
        other.write_text("ID,NAME,UPDATED_AT,LOADED_AT\n1,ä,5,\n2,ä,6,\n", encoding="utf-8")
    elif code == "GG584":
        Path("dump/GG.U").mkdir()
        Path("dump/GG.U/part-0.csv").write_text("ID\n", encoding="utf-8")
    before, after = EXAMPLES[code]
    if code in ("GG580", "GG581", "GG582"):
        assert run(before) == {code}
    else:
        ended = CliRunner().invoke(app, shlex.split(before)[1:])
        assert (ended.exit_code, re.findall(r"\[(GG...)\]", ended.output)) == (
            int(code != "GG586"),
            [code] * (1 + (code == "GG586")),
        )
    assert run(after) == set()


def test_a_directory_without_room(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(prefix: str) -> str:
        raise OSError(28, "No space left on device")

    Path("out.csv").write_text("ID\n1\n", encoding="utf-8")
    monkeypatch.setattr("tempfile.mkdtemp", full)
    assert run("ggfmt compare out.csv out.csv --key ID") == {"GG587"}


def _old_schemas() -> None:
    Path("schemas").mkdir()
    Path("schemas/GG.TCUSTORD.schema.json").write_text("{}", encoding="utf-8")


def _empty_journal() -> None:
    Path("out/_ggfmt").mkdir(parents=True)
    Path("out/_ggfmt/journal.json").touch()


PREPARE: dict[str, Callable[[], object]] = {
    "GG209": _old_schemas,
    "GG509": _empty_journal,
    "GG501": lambda: run(EXAMPLES["GG501"][0]),
}


def test_two_lists_of_handlers(checkout: Path) -> None:
    for text, expected in zip(EXAMPLES["GG132"], (["GG132"], []), strict=True):
        given = dict(zip(*[iter(shlex.split(text)[3:])] * 2, strict=True))
        settings = [given["--set"]] if "--set" in given else []
        found = read_configuration(["conf/json.properties", "conf/xml.properties"], settings).diagnostics
        assert [diagnostic.code for diagnostic in found] == expected
        assert run(text.replace("-o out", f"-o out{len(settings)}")) == set()


def test_a_schema_that_is_none(tmp_path: Path) -> None:
    before, after = EXAMPLES["GG202"]
    file = tmp_path / "GG.TCUSTORD.avsc"
    file.write_text(before, encoding="utf-8")
    with pytest.raises(GgfmtError) as caught:
        load_definitions([str(file)])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["GG202"]
    file.write_text(after, encoding="utf-8")
    assert list(load_definitions([str(file)])) == ["GG.TCUSTORD"]


def test_a_table_for_hive() -> None:
    for text, expected in zip(EXAMPLES["GG208"], ("GG208", None), strict=True):
        settings = [*text.split("\n")[1:], "gg.handler.out.rootFilePath=/data", "gg.handler.out.format.encoding=UTF-8"]
        try:
            schemas(ScanRequest([], definitions=DEFINITIONS), read_configuration([], settings), "ddl")
        except GgfmtError as error:
            assert {diagnostic.code for diagnostic in error.diagnostics} == {expected}
        else:
            assert expected is None


def test_a_value_that_is_not_as_its_column_is_described() -> None:
    for record, expected in zip(EXAMPLES["GG314"], ({"GG314"}, set()), strict=True):
        found = dialects.read("canal_json", record.encode())
        assert {reject.diagnostic.code for reject in found.rejects} == expected


@pytest.mark.parametrize("code", ["GG211", "GG317"])
def test_what_is_odd_about_operations(code: str) -> None:
    for record, expected in zip(EXAMPLES[code], ({code}, set()), strict=True):
        found = dialects.read("maxwell_json", record.encode())
        assert {remark.code for remark in found.remarks} == expected
        assert len(found.plain) == 1


def test_a_java_that_is_not_there() -> None:
    home = re.search("--java-home (.+)", EXAMPLES["GG502"][0])
    assert home is not None
    with pytest.raises(GgfmtError) as caught:
        find_java(home[1])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["GG502"]
