"""The functions for programs: what the commands do, by the same names, and with values instead of texts."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from runs import MOMENT, operation, output_files, write_lines
from typer.testing import CliRunner

import ggfmt
from ggfmt.cli import app
from ggfmt.cli.typer_commands import COMMON
from ggfmt.sinks.preview import Message

LINES = {
    "gg.handlerlist": "j",
    "gg.handler.j.type": "kafka",
    "gg.handler.j.format": "json",
    "gg.handler.j.format.jsonDelimiter": "CDATA[\n]",
}
# What only a terminal, or only a program, has.
ONLY_COMMANDS = {"report", "open_report", "progress", "output", "check", "output_format"}
ONLY_FUNCTIONS = {"warn", "progress", "spark"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.json", [*map(operation, range(20)), b"{broken", operation(20)])


def is_old(annotation: object) -> bool:
    """Whether it is that of an option by the name that it had."""
    return any(getattr(about, "hidden", False) for about in getattr(annotation, "__metadata__", ()))


@pytest.mark.parametrize(
    ("command", "function", "kept"),
    [
        ("run", ggfmt.run, {"output"}),
        ("consolidate", ggfmt.consolidate, {"output"}),
        ("preview", ggfmt.preview, set()),
        ("schema", ggfmt.schema, set()),
        ("compare", ggfmt.compare, set()),
    ],
)
def test_a_function_has_the_names_and_defaults_of_its_command(command: str, function: object, kept: set[str]) -> None:
    def of(call: object) -> dict[str, object]:
        parameters = inspect.signature(call).parameters.values()  # type: ignore[arg-type]
        return {item.name: item.default for item in parameters if not is_old(item.annotation)}

    (callback,) = (each.callback for each in app.registered_commands if each.name == command)
    commands = {name: value for name, value in of(callback).items() if name not in ONLY_COMMANDS - kept}
    functions = {name: value for name, value in of(function).items() if name not in ONLY_FUNCTIONS}
    assert functions == {name: value for name, value in commands.items() if name not in COMMON}


def test_the_stable_names_are_there_and_are_light() -> None:
    code = (
        "import ggfmt, sys\n"
        "assert set(ggfmt.__all__) <= set(dir(ggfmt))\n"
        "heavy = {'pyarrow', 'pyspark', 'typer', 'lxml', 'fastavro', 'msgspec', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "results = {'Comparison', 'Operations', 'Preview'}\n"
        "assert all(callable(getattr(ggfmt, name)) for name in {*ggfmt.__all__} - results - {'__version__'})\n"
        "ggfmt.lint(text='gg.handlerlist=x')\n"
        "assert not {'pyarrow', 'pyspark'} & set(sys.modules)\n"
        "try: ggfmt.nothing\n"
        "except AttributeError as error: print(error)\n"
        "from ggfmt import *\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("module `ggfmt` has no attribute `nothing`\n", "")
    assert (Path(ggfmt.__file__).parent / "py.typed").exists()


def test_convert_gives_totals_manifest_and_rejects(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ggfmt.convert(
        source, output=out, settings=LINES, on_reject="quarantine", master="none", current_timestamp=MOMENT
    )
    assert result.totals["operations_read"] == 21
    assert result.manifest is not None
    assert list(result.manifests) == [str(out)]
    assert [entry["operations"] for entry in result.manifest["files"] if "operations" in entry] == [21]
    assert result.reject_count == 1
    (reject,) = result.rejects
    assert (reject.handler, reject.code, reject.record, reject.file) == ("j", "GG301", b"{broken", str(source))
    assert reject.offset == source.read_bytes().index(b"{broken")
    assert list(result.rejects) == [reject], "they are read anew"
    assert output_files(out, "j")


def test_convert_writes_what_the_command_writes(source: Path, tmp_path: Path) -> None:
    lines = [part for line in LINES.items() for part in ("--set", ggfmt_line(*line))]
    words = ["run", str(source), "-o", str(tmp_path / "a"), *lines, "--master", "none", "--on-reject", "quarantine"]
    assert ggfmt.main([*words, "--current-timestamp", MOMENT.isoformat()]) == 4
    told = {"on_reject": "quarantine", "master": "none", "current_timestamp": MOMENT.isoformat()}
    ggfmt.convert([source], output=tmp_path / "b", settings=list(map(ggfmt_line, LINES, LINES.values())), **told)  # type: ignore[arg-type]
    (one,), (other,) = output_files(tmp_path / "a", "j"), output_files(tmp_path / "b", "j")
    assert (one.name, one.read_bytes()) == (other.name, other.read_bytes())


def ggfmt_line(key: str, value: str) -> str:
    return f"{key}={value}".replace("\n", "\\n")


def test_mistakes_are_exceptions_with_diagnostics(source: Path, tmp_path: Path) -> None:
    told = {"output": tmp_path / "out", "to": "json", "master": "none"}
    with pytest.raises(ggfmt.Abend) as abend:
        ggfmt.convert(source, **told)  # type: ignore[arg-type]
    (diagnostic,) = abend.value.diagnostics
    assert (diagnostic.code, diagnostic.span.file, diagnostic.severity) == ("GG301", str(source), ggfmt.Severity.ERROR)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ggfmt.UsageError, match=r"GG310.*input not found"):
        ggfmt.convert(tmp_path / "none.json", **told)  # type: ignore[arg-type]
    with pytest.raises(ggfmt.ConfigurationError):
        ggfmt.convert(source, output=tmp_path / "out", settings={"gg.handlerlist": "x"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "replace"},
        {"on_reject": "drop"},
        {"current_timestamp": "yesterday"},
        {"split_size": "many"},
        {"max_record": -1},
        {"spark_conf": "nothing"},
        {"input_options": ["nothing"]},
        {"config": "x.properties"},
    ],
)
def test_an_argument_that_cannot_be_is_told(source: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ggfmt.UsageError, match="GG565"):
        ggfmt.convert(source, to="json", **wrong)  # type: ignore[arg-type]


def test_values_of_a_mapping_are_as_they_are(source: Path, tmp_path: Path) -> None:
    """An equals sign, a hash and an umlaut mean something else in a line of a properties file."""
    settings = {"gg.handlerlist": "d", "gg.handler.d.format": "delimitedtext", "gg.handler.d.type": "hdfs"}
    delimiter = "=:ä#!"
    keys = {"fieldDelimiter": delimiter, "encoding": "UTF-8"}
    settings |= {f"gg.handler.d.format.{key}": value for key, value in keys.items()}
    ggfmt.convert(source, output=tmp_path, settings=settings, master="none", on_reject="quarantine", mode="append")
    (file,) = output_files(tmp_path, "d")
    assert f"0{delimiter}name 0{delimiter}0".encode() in file.read_bytes()


def test_preview_schema_and_lint(source: Path, tmp_path: Path) -> None:
    shown = ggfmt.preview(source, to="json", count=2)
    (handler,) = shown.handlers
    (table,) = handler.tables
    assert [item.data[:8] for item in table.items if isinstance(item, Message)] == [b'{"table"'] * 2
    assert [file.name for file in ggfmt.schema(write_lines(tmp_path / "x.json", [operation(1)]), kind="json")] == [
        "GG.TCUSTORD.schema.json"
    ]
    file = tmp_path / "h.properties"
    text = "gg.handlerlist=h\ngg.handler.h.type=hdfs\ngg.handler.h.format=jsn\n"
    file.write_text(text)
    of_text, of_file = ggfmt.lint(text=text), ggfmt.lint(file)
    assert [finding.code for finding in of_text] == [finding.code for finding in of_file]
    assert (of_text[0].span.file, of_text[0].span.line) == ("<text>", 3)
    assert of_file[0].span.file == str(file)
    with pytest.raises(ggfmt.UsageError, match="GG100"):
        ggfmt.lint(tmp_path / "none.properties")


def test_settings_override_what_a_format_is_made_with(source: Path, tmp_path: Path) -> None:
    result = ggfmt.convert(
        source,
        output=tmp_path / "out",
        to="json",
        settings={"ggfmt.compatibility": "21", "gg.handler.json.format.prettyPrint": True},
        on_reject="quarantine",
        master="none",
    )
    assert result.warnings == ()
    with pytest.raises(ggfmt.ConfigurationError) as caught:
        ggfmt.convert(source, output=tmp_path / "no", to="json", settings=["gg.handler.json.mode=x"])
    assert [str(found.span) for found in caught.value.diagnostics] == ["--set:1:22"]


def test_main_returns_what_a_process_ends_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert ggfmt.main(["--version"]) == 0
    assert f"ggfmt {ggfmt.__version__}" in capsys.readouterr().out
    assert ggfmt.main(["nothing"]) == 2
    assert ggfmt.main(["run", "none.json", "--to", "json", "-o", "x"]) == 2
    assert CliRunner().invoke(app, ["--version"]).exit_code == 0


def test_a_time_with_a_zone_is_taken_as_it_is_told(source: Path) -> None:
    from ggfmt.commands.arguments import parse_timestamp

    assert (
        parse_timestamp("2020-01-02T03:04:05")
        == parse_timestamp(datetime(2020, 1, 2, 3, 4, 5))
        == datetime(2020, 1, 2, 3, 4, 5)
    )


def test_results_show_themselves_in_a_line_and_as_a_page(source: Path, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"settings": LINES, "on_reject": "quarantine", "master": "none"}
    result = ggfmt.convert(source, output=tmp_path / "out", **arguments)
    size = source.stat().st_size
    assert repr(result) == (
        f"<ggfmt.Result: 21 operations read from 1 file ({size:,} bytes); 21 messages written to 1 file; "
        f"1 record rejected, see `rejects`; in {tmp_path / 'out'}>"
    )
    page = result._repr_html_()
    assert "<td>GG.TCUSTORD</td><td>21</td><td>0</td>" in page and "1 record rejected" in page
    planned = ggfmt.convert(source, output=tmp_path / "other", dry_run=True, **arguments)
    assert repr(planned) == "<ggfmt.Result: a dry run, which wrote nothing>"
    assert planned.manifest == {}
    out = tmp_path / "rows"
    rows = ggfmt.consolidate(source, out, key="ID", on_reject="quarantine", master="none")
    assert repr(rows) == f"<ggfmt.consolidate: 21 rows of 1 table; 0 unresolved; 1 record rejected; in {out}>"
    assert rows == json.loads((out / "_ggfmt" / "manifest.json").read_bytes())
    assert "<td>GG.TCUSTORD</td><td>21</td><td>21</td><td>0</td><td>ID</td>" in rows._repr_html_()
    same = ggfmt.compare(out, out, key="ID")
    assert "are the same; 1 table; 21 equal, 0 missing, 0 extra, 0 different rows" in repr(same)
    assert "<td>21</td><td>0</td>" in same._repr_html_()


def test_a_result_shows_no_credentials() -> None:
    result = ggfmt.Result(
        {"operations": {}, "handlers": {}, "operations_read": 0, "input_bytes": 0}, {"s3://me:key@b/o": {}}
    )
    assert "in s3://b/o" in repr(result)
    assert "key" not in repr(result) + result._repr_html_()


def test_the_package_lists_its_names_alone() -> None:
    assert dir(ggfmt) == sorted(ggfmt.__all__)


def test_a_notebook_shows_tables(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.json", [*map(operation, range(9)), operation(9, "GG.<b>")])
    results: list[Any] = [
        ggfmt.preview(source, to="json", count=2),
        ggfmt.schema(source, kind="json"),
        ggfmt.validate_config(text="gg.handlerlist=h\ngg.handler.h.type=hdfs\ngg.handler.h.format=jsn\n"),
        ggfmt.validate_config(text="gg.handlerlist=h\ngg.handler.h.type=hdfs\ngg.handler.h.format=json\n"),
    ]
    assert list(map(repr, results)) == [
        "<ggfmt.preview: 3 messages of 2 tables>",
        "<ggfmt.schema: 2 schemas>",
        "<ggfmt.validate_config: 1 error>",
        "<ggfmt.validate_config: no findings>",
    ]
    shown = [result._repr_html_() for result in results]
    assert [html.count("<tr>") for html in shown] == [4, 3, 2, 0]
    assert "GG.&lt;b&gt;" in shown[0] and "GG.<b>" not in "".join(shown)
    assert "GG106" in shown[2]
