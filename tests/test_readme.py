"""README.md, the example handler files and the samples are true: what they say is so, and what they show runs."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import readme
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.config.handlers import HandlerOptions, read_configuration
from ggfmt.config.properties import read_properties
from ggfmt.diagnostics.codes import CODES
from ggfmt.engine.run import execute
from ggfmt.engine.runner import InProcess
from ggfmt.formats import FORMATS

ROOT = readme.ROOT
TEXT = readme.README.read_text(encoding="utf-8")
BLOCKS = readme.shell_blocks(TEXT)
SAMPLE = ROOT / "samples" / "tcustord.json"
HANDLER_FILES = sorted((ROOT / "conf").glob("*.properties"))
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with copies of what comes with ggfmt a `trail/` and a `text/`; the log is as before."""
    for name in ("samples", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (tmp_path / "trail").mkdir()
    (tmp_path / "trail" / "tc000000000.json").write_bytes(b"".join(lines[:6]))
    (tmp_path / "trail" / "tc000000001.json.gz").write_bytes(gzip.compress(b"".join(lines[6:])))
    (tmp_path / "text").mkdir()
    shown = readme.blocks(TEXT)["messages delimitedtext"].split("```")[1].removeprefix("text\n")
    (tmp_path / "text" / "orders.txt").write_text(shown, encoding="utf-8")
    settings = readme._settings("avro_op_ocf", str(tmp_path / "avro"))
    execute(settings, InProcess)
    monkeypatch.chdir(tmp_path)
    log = logging.getLogger("ggfmt")
    before = log.handlers[:], log.level, log.propagate
    yield tmp_path
    log.handlers[:], log.level, log.propagate = before


# Blocks made from the code


def test_generated_parts_are_fresh() -> None:
    assert readme.stale(TEXT) == []


def test_every_format_that_is_written_has_its_options_and_messages_in_the_readme() -> None:
    titles = readme.blocks(TEXT)
    for name in WRITTEN:
        assert f"options {name}" in titles
        shown = name.removesuffix("_ocf")
        assert f"messages {readme.SHOWN_AS.get(shown, shown)}" in titles
    assert "options handler" in titles


def test_a_stale_part_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- generated: codes -->\nold\n<!-- /generated -->\n", encoding="utf-8")
    monkeypatch.setattr(readme, "README", page)
    try:
        assert readme.main(["--check"]) == 1
        assert "`codes` is stale" in capsys.readouterr().err
        assert readme.main([]) == 0
        assert readme.main(["--check"]) == 0
    finally:
        logging.disable(logging.NOTSET)
    assert "GG101" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    assert f"| `{code}` |" in TEXT


# What the page shows


def test_the_page_opens_with_setting_up_and_testing() -> None:
    first, second = BLOCKS[:2]
    assert TEXT.startswith(f"# ggfmt\n\n```bash\n{first}```\n\n```bash\n{second}```\n")
    assert first.count("\n") == second.count("\n") == 1, "each is one command line"
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e '.[java]' && .venv/bin/ggfmt run ")
    assert second == ".venv/bin/pip install -q -e '.[java,test]' && .venv/bin/python -m pytest\n"


@pytest.mark.spark
def test_the_first_command_runs(checkout: Path) -> None:
    (arguments,) = readme.ggfmt_commands(BLOCKS[0])
    ended = subprocess.run(
        [Path(sys.executable).parent / "ggfmt", *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""
    assert "14 operations read from 1 file" in ended.stderr
    written = [line for file in sorted((checkout / "out" / "json").rglob("*.json")) for line in file.open("rb")]
    assert len(written) == 14
    assert {path.name for path in (checkout / "out").iterdir()} == {"_SUCCESS", "_ggfmt", "dirdef", "json"}
    assert sorted(path.name for path in checkout.iterdir()) == ["avro", "conf", "out", "samples", "text", "trail"]


@pytest.mark.parametrize("block", [block for block in BLOCKS if readme.ggfmt_commands(block)])
def test_every_command_of_the_page_runs(block: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Spark: the task function is the same, and the options for Spark are read all the same."""
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings: InProcess())
    for arguments in readme.ggfmt_commands(block):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"ggfmt {shlex.join(arguments)}\n{result.output}\n{result.exception}"


def test_every_option_of_run_is_in_the_readme() -> None:
    shown = set(re.findall(r"`(--[a-z-]+)", readme.blocks(TEXT)["command run"]))
    told = set(re.findall(r"--[a-z-]+", CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output))
    assert "--master" in shown
    assert told - {"--help"} == shown


def test_every_file_named_exists() -> None:
    words = re.findall(r"[\w./-]+", re.sub(r"```text\n.*?```", "", TEXT, flags=re.DOTALL))
    ours = {word.rstrip(".") for word in words if re.match(r"(samples|conf|tests|ggfmt|\.ci)/", word)}
    ours |= set(re.findall(r"\]\(([^:)#]+)\)", TEXT))
    assert {"samples/tcustord.json", "conf/json.properties", ".ci/run", "CHANGELOG.md"} <= ours
    assert [name for name in sorted(ours) if not (ROOT / name).exists()] == []


def _section(title: str) -> str:
    """The text of a part of the page, with its subdivisions."""
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_findings_shown_are_the_findings_printed(tmp_path: Path) -> None:
    section = _section("Checking handler files")
    file, shown = (re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("properties", "text"))
    assert file is not None
    assert shown is not None
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "json.properties").write_text(file[1], encoding="utf-8")
    program = [sys.executable, "-m", "ggfmt", "validate-config", "conf/json.properties"]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert ended.stdout == shown[1]
    assert f"`{ended.stderr.strip()}`" in section


def test_the_error_shown_is_the_error_printed(checkout: Path) -> None:
    shown = re.search(r"```text\n(conf/json\.properties:.*?)```", _section("Handler files"), re.DOTALL)
    assert shown is not None
    file = checkout / "conf" / "json.properties"
    file.write_text(file.read_text("utf-8").replace("prettyPrint=false", "prettyPrint=yes"), encoding="utf-8")
    program = [sys.executable, "-m", "ggfmt", "run", "samples/tcustord.json", "-c", "conf/json.properties"]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr == shown[1]


def test_what_ci_needs_is_there() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_changes_are_kept_in_the_known_form() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# The example handler files


def test_every_format_that_is_written_has_a_handler_file() -> None:
    assert [path.stem for path in HANDLER_FILES] == sorted(WRITTEN)


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_has_nothing_to_complain_of(path: Path) -> None:
    configuration = read_configuration([str(path)])
    assert configuration.diagnostics == ()
    (handler,) = configuration.handlers
    assert handler.format == path.stem
    assert handler.handler.include_tokens


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_lists_every_property_with_what_it_does_and_its_default(path: Path) -> None:
    specs = {spec.name: spec for spec in HandlerOptions.specs()}
    specs |= {f"format.{spec.name}": spec for spec in FORMATS[path.stem].options.specs()}
    (handler,) = read_configuration([str(path)]).handlers
    told = {}
    for comment, key in re.findall(
        rf"^((?:# .+\n)+)#?gg\.handler\.{handler.name}\.(\S+?)=", path.read_text(encoding="utf-8"), re.MULTILINE
    ):
        about, default = comment.rstrip("\n").rsplit("\n# Default: ", 1)
        assert about.endswith("."), key
        told[key] = default
    assert told.pop("format") == "delimitedtext"
    assert told == {
        name: "none" if spec.default in (None, ()) else spec.default_text if spec.default != "" else "nothing"
        for name, spec in specs.items()
    }


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_is_as_goldengate_has_them(path: Path) -> None:
    keys = {entry.key for entry in read_properties(str(path)).entries}
    assert {"gg.handlerlist", "goldengate.userexit.writers", "javawriter.bootoptions", "gg.log"} <= keys


# The samples


def test_the_sample_is_the_story_of_the_manual_and_more() -> None:
    records = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    assert [record["op_type"] for record in records[:4]] == ["I", "U", "D", "T"]
    assert {record["table"] for record in records[:4]} == {"GG.TCUSTORD"}
    positions = [record["pos"] for record in records if "pos" in record]
    assert positions == sorted(set(positions))
    assert all(len(position) == 20 for position in positions)
    assert [record["op_type"] for record in records if "pos" not in record] == ["OBJECT_METADATA"]
    assert len({record["table"] for record in records if "table" in record}) == 3
    after = [record["after"] for record in records if "after" in record]
    assert any(value is None for image in after for value in image.values())
    texts = "".join(str(value) for image in after for value in image.values())
    assert re.search("[à-ÿ]", texts)
    assert re.search("[\u4e00-\u9fff]", texts)
    assert re.search("[\U00010000-\U0010ffff]", texts)


@pytest.mark.parametrize(
    "handler_file",
    [ROOT / "conf" / f"{name}.properties" for name in ("delimitedtext", "json", "xml")],
    ids=lambda p: p.stem,
)
def test_the_sample_is_converted_with_and_without_definitions(
    handler_file: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings: InProcess())
    common = ["run", "samples/tcustord.json", "-c", f"conf/{handler_file.name}"]
    common += ["--current-timestamp", "2015-09-18T13:39:35.447000"]
    for output, more in (("with", ["--definitions", "samples/TCUSTORD.def"]), ("without", [])):
        result = CliRunner().invoke(app, [*common, "-o", output, *more])
        assert result.exit_code == 0, result.output
    messages = {
        output: [file.read_bytes() for file in sorted((checkout / output).glob("*/*/*"))]
        for output in ("with", "without")
    }
    assert messages["with"] == messages["without"], "the sample's own types are those of its definitions"
    end = b"</operation>" if handler_file.stem == "xml" else b"\n"
    assert b"".join(messages["with"]).count(end) == 14


@pytest.mark.parametrize("handler_file", HANDLER_FILES, ids=lambda path: path.stem)
def test_what_a_handler_file_writes_of_the_sample_is_read_back(
    handler_file: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All operations but truncates, which some systems have no form for."""
    monkeypatch.setattr("ggfmt.spark.session.SparkRunner", lambda settings: InProcess())
    definitions = ["--definitions", "samples/TCUSTORD.def"]
    told = ["--on-reject", "quarantine", "--report", "report.json"]
    first = ["run", "samples/tcustord.json", "-c", f"conf/{handler_file.name}", "-o", "one", *definitions, *told]
    ended = CliRunner().invoke(app, first)
    (handler,) = json.loads(Path("report.json").read_text("utf-8"))["handlers"].values()
    refused = sum(handler["rejects"].values())
    assert (ended.exit_code, refused) in [(0, 0), (4, 1)], ended.output
    if handler_file.stem in ("avro_row", "avro_op"):
        return  # one definition a table is not enough for the metadata change of the sample
    source = ["--input-format", handler_file.stem, "--input-config", f"conf/{handler_file.name}"]
    (directory,) = (path for path in Path("one").iterdir() if path.is_dir() and path.name not in ("_ggfmt", "dirdef"))
    more = definitions if handler_file.stem == "delimitedtext" else []
    second = ["run", f"{directory}/*/*", *source, *more, "-c", "conf/json.properties", "-o", "two", *told]
    assert CliRunner().invoke(app, second).exit_code in (0, 4), handler_file
    report = json.loads(Path("report.json").read_text("utf-8"))
    if handler_file.stem == "delimitedtext":  # of other tables than the defined one no line can be read
        assert report["operations"] == {"GG.TCUSTORD": {"I": 2, "U": 1, "D": 1, "T": 1}} or report["operations_read"]
    else:
        assert report["operations_read"] == 14 - refused, report
