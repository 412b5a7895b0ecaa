"""Every code has a page, and its example is true: what it shows gives the code, and what is mended does not.

A test of one form of example tries all of them, and lists those that are false.
"""

from __future__ import annotations

import io
import json
import logging
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import dialects
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from places import ROOT, TESTS
from runs import content, run_ggfmt, write_lines
from typer.testing import CliRunner

from ggfmt import docs
from ggfmt.cli import app
from ggfmt.commands.runners import Default, default_master
from ggfmt.config.handlers import read_configuration
from ggfmt.config.lint.fix import apply_fixes
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.codes import CODES, Code, Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, GgfmtError, UsageError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.api.reading import Event, Reject
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import ScanRequest
from ggfmt.sinks.messages.pipeline import HandlerSettings
from ggfmt.sinks.schema import schemas
from ggfmt.spark.installations import find_java

EXAMPLES = {name: (code.before, code.after) for name, code in CODES.items()}
TABLE = TableDef(
    "GG.TCUSTORD",
    (
        Column("CUST_CODE", SqlType(Kind.STRING), key=1),
        Column("PRODUCT", SqlType(Kind.STRING)),
        Column("AMOUNT", SqlType(Kind.DECIMAL, precision=6, scale=0)),
    ),
)
DEFINITIONS = {TABLE.full_name: TABLE, "DB.GG.TCUSTORD": TableDef("DB.GG.TCUSTORD", TABLE.columns)}


@cache
def marked() -> set[str]:
    """The codes that tests anywhere are marked to try or to produce themselves."""
    sources = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    marks = (mark for text in sources for mark in re.findall(r"^@pytest\.mark\.example\(([^)]*)\)", text, re.MULTILINE))
    return {code for mark in marks for code in re.findall(r"GG[0-9]{3}", mark)}


def tried_by(code: str) -> str:
    """The test below that tries an example of such a form."""
    before = EXAMPLES[code][0]
    if before.startswith("ggfmt "):
        return "test_commands"
    if code.startswith("GG1"):
        return "test_lines_of_a_handler_file"
    if before.startswith("gg.") or code.startswith("GG4"):
        return "test_lines_that_meet_a_value"
    return "test_records"


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> dict[str, tuple[str, str]]:
    """The examples of the form that a test tries, by their codes."""
    return {code: EXAMPLES[code] for code in CODES if tried_by(code) == request.node.name and code not in marked()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`code` is one that the test is marked with."""
    if "code" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("example")
        assert mark is not None
        metafunc.parametrize("code", mark.args)


@pytest.mark.example("GG216")
def test_the_example_of_times_without_a_mask() -> None:
    before, after = (read_configuration([], text.splitlines()) for text in EXAMPLES["GG216"])
    with pytest.raises(ConfigurationError, match="GG216"):
        HandlerSettings.of(before.handlers[0], before.run)
    assert HandlerSettings.of(after.handlers[0], after.run).context.timestamp_mask == "yyyy-MM-dd HH:mm:ss"


def faults(code: Code) -> Iterator[str]:
    """What is wrong with the page of a code."""
    try:
        texts = code.title, code.explanation, code.before, code.after
    except (OSError, ValueError) as error:
        yield str(error)
        return
    title, explanation, before, after = texts
    page = docs.code_pages()[code.name].text
    of_run = " of a run; a note in `validate-config` without `--for-run`" * code.of_run
    severity = rf"{code.severity.value.capitalize()}{of_run}\. What to do: \["
    if not re.fullmatch(rf"# {code.name}: .+\n\n(?:.+\n)+\n```diff\n(?:[-+ ].*\n)+```\n\n{severity}.+\.\n\n", page):
        yield "another form: `# CODE: title`, an explanation in one paragraph, an example"
    if title.endswith(".") or title != title.strip() or title.startswith(("A ", "An ", "The ")):
        yield "the title is a noun phrase in lower case"
    if not explanation.endswith("."):
        yield "the explanation is no sentence"
    if before == after or not before or not after:
        yield "the example is the same before and after"
    if not all(line.isprintable() and len(line) <= 140 for line in f"{before}\n{after}".split("\n")):
        yield "a line of the example is long, or has a character that does not print"
    if code.page not in docs.pages():
        yield f"no page `{code.page}`"


def test_every_code_has_a_page() -> None:
    """An example of an unusual form is tried, or its code produced, by a test with the mark
    `@pytest.mark.example("GG000")`."""
    assert docs.code_pages().keys() == CODES.keys()
    assert marked() <= set(CODES)
    assert list(CODES) == sorted(CODES)
    assert {name: found for name, code in CODES.items() if (found := list(faults(code)))} == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# GG103: an illegal value\n", "# GG103\n"),
        ("# GG103: an illegal value\n", "# GG104: an illegal value\n"),
        ("an illegal value\n", "An illegal value.\n"),
        (r"values\.\n", "values\n"),
        ("\n\n```diff", "\n\nMore.\n\n```diff"),
        ("```diff", "```text"),
        ("\n[-+]", "\n "),
        (r"Error\. ", "Warning. "),
    ],
)
def test_a_page_of_another_form_is_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = docs.code_pages()["GG103"]
    text = re.sub(old, new, page.text)
    assert text != page.text
    monkeypatch.setattr("pkgutil.get_data", lambda package, name: text.encode())
    monkeypatch.setattr(docs, "code_pages", lambda: {"GG103": replace(page, text=text)})
    assert list(faults(Code("GG103", Severity.ERROR, "options")))
    monkeypatch.undo()
    assert not list(faults(Code("GG103", Severity.ERROR, "options")))
    assert list(faults(Code("GG999", Severity.ERROR, "options")))
    assert list(faults(Code("GG103", Severity.ERROR, "outputs")))


def test_lines_of_a_handler_file(
    examples: dict[str, tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    false = {}
    for code, texts in examples.items():
        rules = Rules(for_run=code == "GG156")  # it is shown for a run alone
        before, after = ({found.code for found in lint(text.encode(), "f", rules)} for text in texts)
        # Notes say what may be meant.
        left = {found for found in after if found == code or CODES[found].severity is not Severity.NOTE}
        if code not in before or left:
            false[code] = before, left
    assert len(examples) > 30
    assert false == {}


@pytest.mark.example("GG143")
def test_a_byte_order_mark() -> None:
    before, after = EXAMPLES["GG143"]
    content = before.replace(r"\xef\xbb\xbf", "\ufeff").encode()
    assert [found.code for found in lint(content, "f")] == ["GG143"]
    assert apply_fixes(content, lint(content, "f"))[0] == after.encode()
    assert lint(after.encode(), "f") == ()


@pytest.mark.example("GG525")
def test_a_file_of_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = EXAMPLES["GG525"]
    Path("ggfmt.toml").write_text(before)
    with pytest.raises(UsageError, match="GG525"):
        default_master({})
    Path("ggfmt.toml").write_text(after)
    assert default_master({}) == Default("none", "ggfmt.toml")


@pytest.mark.example("GG127")
def test_properties_that_a_run_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = EXAMPLES["GG127"]
    Path("before").write_text(before)
    with pytest.raises(GgfmtError, match="GG127"):
        read_configuration(["before"])
    Path("after").write_text(after)
    assert [finding.code for finding in read_configuration(["after"]).diagnostics] == ["GG127"]


@pytest.mark.example("GG411")
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


def test_records(examples: dict[str, tuple[str, str]]) -> None:
    found = {code: tuple(map(read, texts)) for code, texts in examples.items()}
    assert len(found) > 10
    assert found == {code: ({code}, set()) for code in examples}


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


def meet(code: str, text: str, directory: Path) -> set[str]:
    """The codes of a run with an example: an operation, or lines of a handler file and what they meet."""
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
    return told(settings, record, directory)


def test_lines_that_meet_a_value(examples: dict[str, tuple[str, str]], tmp_path: Path, quiet: None) -> None:
    found = {code: tuple(meet(code, text, tmp_path) for text in texts) for code, texts in examples.items()}
    assert len(found) >= 8
    assert found == {code: ({code}, set()) for code in examples}


@pytest.mark.example("GG514", "GG515", "GG516")
def test_names_of_files(code: str, tmp_path: Path, quiet: None) -> None:
    columns = (Column("ID", key=1), Column("C"))
    names = ("GG.T", "GG.U" if code == "GG514" else "GG.T")
    definitions = {name: TableDef(name, columns) for name in names}
    record = {"op_type": "I", "op_ts": "", "pos": "", "after": {"ID": "1", "C": None}}
    records = [{"table": name, **record} for name in names]
    source = write_lines(tmp_path / "in.json", records)
    before, after = ([*text.split("\n")[1:], "gg.handler.out.format.generateSchema=false"] for text in EXAMPLES[code])
    with pytest.raises(GgfmtError) as caught:
        run_ggfmt([source], tmp_path / "before", *before, definitions=definitions)
    assert code in {diagnostic.code for diagnostic in caught.value.diagnostics}
    result = run_ggfmt([source], tmp_path / "after", *after, definitions=definitions)
    assert result.totals.handlers["out"].messages == 2


# Commands


AVRO = '{"type":"record","name":"T","namespace":"GG","fields":[%s]}'


@pytest.fixture
def checkout(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, quiet: None) -> Path:
    """The current directory, with files that the commands of examples read."""
    directory = tmp_path_factory.mktemp("checkout")
    for name in ("samples", "conf"):
        shutil.copytree(ROOT / name, directory / name)
    (directory / "changes").mkdir()
    shutil.copy(ROOT / "samples" / "tcustord.json", directory / "changes")
    row = {"table": "GG.T", "op_type": "I", "op_ts": "", "pos": "", "after": {"ID": 17}}
    table = TableDef("GG.T", (Column("ID", SqlType(Kind.DOUBLE)),))
    settings = ("gg.handler.a.format=avro_row", "gg.handler.a.format.generateSchema=false")
    run_ggfmt([write_lines(directory / "in.json", [row])], directory / "made", *settings, definitions={"GG.T": table})
    (directory / "messages.avro").write_bytes(content(directory / "made", "a"))
    (directory / "notes.txt").write_text("Nothing but words.\n", encoding="utf-8")
    (directory / "old").mkdir()
    (directory / "new").mkdir()
    column = '{"name":"ID","type":["null","%s"]}'
    (directory / "old" / "GG.T.avsc").write_text(AVRO % (column % "string"), encoding="utf-8")
    (directory / "new" / "GG.T.avsc").write_text(AVRO % (column % "double"), encoding="utf-8")
    monkeypatch.chdir(directory)
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings, **checks: InProcess())
    return directory


def run(command: str) -> set[str]:
    """The codes that a command ends with; none if it succeeds."""
    program, *arguments = shlex.split(command)
    assert program == "ggfmt"
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, GgfmtError):
        return {diagnostic.code for diagnostic in result.exception.diagnostics}
    assert result.exit_code == 0, result.output
    return set()


def test_commands(
    examples: dict[str, tuple[str, str]], checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for code, texts in examples.items():
        monkeypatch.chdir(shutil.copytree(checkout, tmp_path / code))
        PREPARE.get(code, lambda: None)()
        found[code] = tuple(map(run, texts))
    assert len(found) > 15
    assert found == {code: ({code}, set()) for code in examples}


@pytest.mark.example("GG510", "GG511")
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


@pytest.mark.example("GG560", "GG561", "GG562", "GG563")
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


@pytest.mark.example("GG567", "GG580", "GG581", "GG582", "GG583", "GG584", "GG585", "GG586", "GG590")
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
    elif code == "GG567":
        for name in ("out/T/part-0.csv", "dump/T/part-0.csv", "dump/GG.T/part-1.xlsx"):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text("ID\n1\n", encoding="utf-8")
    elif code == "GG590":
        moments = pa.table({"ID": [1, 2], "UPDATED_AT": pa.array([2**62, 6000], pa.timestamp("ms"))})
        parquet.write_table(moments, "seen.parquet")
        other.write_text("ID,UPDATED_AT\n1,\n2,1970-01-01 00:00:06\n", encoding="utf-8")
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


@pytest.mark.example("GG587")
def test_a_directory_without_room(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(prefix: str, dir: str | None) -> str:
        raise OSError(28, "No space left on device")

    Path("out.csv").write_text("ID\n1\n", encoding="utf-8")
    monkeypatch.setattr("tempfile.mkdtemp", full)
    assert run("ggfmt compare out.csv out.csv --key ID") == {"GG587"}


@pytest.mark.example("GG588", "GG589")
def test_a_database_that_is_not_there(code: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out").mkdir()
    Path("out/part-0.csv").write_text("ID\n1\n", encoding="utf-8")
    if code == "GG589":
        monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    assert run(EXAMPLES[code][0]) == {code}


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


@pytest.mark.example("GG132")
def test_two_lists_of_handlers(checkout: Path) -> None:
    for text, expected in zip(EXAMPLES["GG132"], (["GG132"], []), strict=True):
        given = dict(zip(*[iter(shlex.split(text)[3:])] * 2, strict=True))
        settings = [given["--set"]] if "--set" in given else []
        found = read_configuration(["conf/json.properties", "conf/xml.properties"], settings).diagnostics
        assert [diagnostic.code for diagnostic in found] == expected
        assert run(text.replace("-o out", f"-o out{len(settings)}")) == set()


@pytest.mark.example("GG202")
def test_a_schema_that_is_none(tmp_path: Path) -> None:
    before, after = EXAMPLES["GG202"]
    file = tmp_path / "GG.TCUSTORD.avsc"
    file.write_text(before, encoding="utf-8")
    with pytest.raises(GgfmtError) as caught:
        load_definitions([str(file)])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["GG202"]
    file.write_text(after, encoding="utf-8")
    assert list(load_definitions([str(file)])) == ["GG.TCUSTORD"]


@pytest.mark.example("GG208")
def test_a_table_for_hive() -> None:
    for text, expected in zip(EXAMPLES["GG208"], ("GG208", None), strict=True):
        settings = [*text.split("\n")[1:], "gg.handler.out.rootFilePath=/data", "gg.handler.out.format.encoding=UTF-8"]
        try:
            schemas(ScanRequest([], definitions=DEFINITIONS), read_configuration([], settings), "ddl")
        except GgfmtError as error:
            assert {diagnostic.code for diagnostic in error.diagnostics} == {expected}
        else:
            assert expected is None


@pytest.mark.example("GG314")
def test_a_value_that_is_not_as_its_column_is_described() -> None:
    for record, expected in zip(EXAMPLES["GG314"], ({"GG314"}, set()), strict=True):
        found = dialects.read("canal_json", record.encode())
        assert {reject.diagnostic.code for reject in found.rejects} == expected


@pytest.mark.example("GG322")
def test_a_column_of_objects_that_nothing_describes() -> None:
    for record, expected in zip(EXAMPLES["GG322"], ({"GG322"}, set()), strict=True):
        found = dialects.read("debezium_json", record.encode())
        assert {reject.diagnostic.code for reject in found.rejects} == expected


@pytest.mark.example("GG329")
def test_a_member_twice() -> None:
    for record, expected in zip(EXAMPLES["GG329"], ({"GG329"}, set()), strict=True):
        found = dialects.read("maxwell_json", record.encode())
        assert {reject.diagnostic.code for reject in found.rejects} == expected


@pytest.mark.example("GG324")
def test_rows_without_a_column() -> None:
    for records, expected in zip(EXAMPLES["GG324"], ({"GG324"}, set()), strict=True):
        found = dialects.read("maxwell_json", records.encode())
        assert {remark.code for remark in found.remarks} == expected


@pytest.mark.example("GG330")
def test_values_that_the_input_does_not_show() -> None:
    for record, expected in zip(EXAMPLES["GG330"], ({"GG330"}, set()), strict=True):
        found = dialects.read("wal2json", record.encode())
        assert {remark.code for remark in found.remarks} == expected


@pytest.mark.example("GG211", "GG317")
def test_what_is_odd_about_operations(code: str) -> None:
    for record, expected in zip(EXAMPLES[code], ({code}, set()), strict=True):
        found = dialects.read("maxwell_json", record.encode())
        assert {remark.code for remark in found.remarks} == expected
        assert len(found.plain) == 1


@pytest.mark.example("GG218")
def test_values_without_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: None) -> None:
    monkeypatch.chdir(tmp_path)
    source = {"connector": "postgresql", "schema": "S", "table": "ORDERS", "ts_ms": 1}
    write_lines(tmp_path / "orders.json", [{"op": "c", "after": {"PRICE": "AdUG"}, "source": source}])
    price = {"name": "PRICE", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}}
    schema = {"type": "record", "namespace": "S", "name": "ORDERS", "fields": [price]}
    Path("S.ORDERS.avsc").write_text(json.dumps(schema), encoding="utf-8")
    CliRunner().invoke(app, ["init", "json", "-o", "json.properties"])
    for text, expected, value in zip(EXAMPLES["GG218"], (True, False), ('"AdUG"', "1200.70"), strict=True):
        result = CliRunner().invoke(app, [*shlex.split(text)[1:], "--master", "none", "--mode", "overwrite"])
        assert ("[GG218] table S.ORDERS" in result.output) is expected
        assert f'"PRICE":{value}'.encode() in content(tmp_path / "out", "json")


@pytest.mark.example("GG219")
def test_types_without_a_known_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for text, expected in zip(EXAMPLES["GG219"], (True, False), strict=True):
        (tmp_path / "shop.sql").write_text(text, encoding="utf-8")
        caplog.clear()
        (table,) = load_definitions([str(tmp_path / "shop.sql")]).values()
        assert ("[GG219] table shop.orders" in caplog.text) is expected
        assert (table.columns[1].type.kind is Kind.STRING) is expected


@pytest.mark.example("GG502")
def test_a_java_that_is_not_there() -> None:
    home = re.search("--java-home (.+)", EXAMPLES["GG502"][0])
    assert home is not None
    with pytest.raises(GgfmtError) as caught:
        find_java(home[1])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["GG502"]
