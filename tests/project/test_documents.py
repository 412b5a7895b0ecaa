"""README.md, the pages of ggfmt/docs and the samples are true: what they say is so, and what they show runs."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import documents
import pytest
import typer
from places import ROOT
from typer.testing import CliRunner
from wheels import build_wheel, copy_project

from ggfmt import docs
from ggfmt.cli import app
from ggfmt.diagnostics.codes import CODES
from ggfmt.diagnostics.diagnostic import (
    EXIT_CODES,
    Abend,
    CommittedWithErrors,
    ConfigurationError,
    MissingFileError,
    UsageError,
)
from ggfmt.formats import FORMATS
from ggfmt.reading.runner import InProcess
from ggfmt.sinks.messages.run import execute

PAGES = {name: file.read_text(encoding="utf-8") for name, file in documents.documents().items()}
README = PAGES["README.md"]
ALL = "".join(PAGES.values())
SAMPLE = ROOT / "samples" / "tcustord.json"
MAX_OF_README = 15_000  # characters: it is to be read in one go
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]
FAILING = {  # what is shown because it fails
    "validate-config samples/mistakes.properties": 1,
    "run samples/tcustord.json -c samples/mistakes.properties -o out": 1,
    "compare samples/rows.csv samples/dump.csv --key ID": 1,
}
PROGRAM: Any = typer.main.get_command(app)
OPTIONS = {  # of each command, without old names
    name: {
        word
        for option in command.params
        for word in (*option.opts, *option.secondary_opts)
        if word[:2] == "--" and not option.hidden
    }
    for name, command in PROGRAM.commands.items()
}
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name, text in PAGES.items()
    for number, block in enumerate(documents.shell_blocks(text))
    if documents.ggfmt_commands(block)
]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with what comes with ggfmt, and inputs of some formats as commands name them."""
    for name in ("samples", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "tc000000000.json").write_bytes(b"".join(lines[:6]))
    (tmp_path / "changes" / "tc000000001.json.gz").write_bytes(gzip.compress(b"".join(lines[6:])))
    (tmp_path / "text").mkdir()
    shown = documents.blocks(ALL)["messages delimitedtext"].split("```")[1].removeprefix("text\n")
    (tmp_path / "text" / "orders.txt").write_text(shown, encoding="utf-8")
    execute(documents._settings("avro_op_ocf", str(tmp_path / "avro")), InProcess)
    monkeypatch.chdir(tmp_path)
    with documents.without_spark():
        yield tmp_path


# Parts made from the code


def test_generated_parts_are_fresh() -> None:
    assert {name: old for name, text in PAGES.items() if (old := documents.stale(text))} == {}


@pytest.mark.parametrize(
    ("page", "title", "name", "value"),
    [
        ("doctor.md", "doctor", "VERSION", "99.0"),
        ("doctor.md", "doctor", "OLDEST_JAVA", 99),
        ("limits.md", "refused-formats", "ADAPTER_FORMATS", ("csv",)),
        ("limits.md", "refused-formats", "GOLDENGATE_FORMATS", ()),
        ("options.md", "charsets", "refusal", lambda name: None if name == "UTF-8" else "why"),
        ("options.md", "charsets", "can_decode", lambda name: True),
        ("metadata.md", "template-formats", "FORMATS", {"xml": FORMATS["xml"]}),
        ("limits.md", "unsplit", "FORMATS", {"json": FORMATS["json"]}),
    ],
)
def test_facts_of_pages_follow_the_declarations(
    page: str, title: str, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, name, value)
    body = documents.blocks(PAGES[f"ggfmt/docs/{page}"])[title]
    part = f"<!-- generated: {title} -->\n{body}<!-- /generated -->"
    assert documents.stale(part) == [title]


def test_formats_that_pages_call_refused_are_refused(tmp_path: Path) -> None:
    """And no page says so of one that ggfmt writes."""
    body = documents.blocks(PAGES["ggfmt/docs/limits.md"])["refused-formats"]
    refused = re.findall(r"`(\w+)`", body)
    assert refused
    for name in refused:
        arguments = ["run", str(SAMPLE), "--set", f"gg.handler.h.format={name}", "-o", str(tmp_path / name)]
        code, output = documents.called(arguments)
        assert code != 0
        assert name in output


def test_a_stale_part_and_a_stale_handler_file_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, file = tmp_path / "page.md", tmp_path / "json.properties"
    page.write_text("<!-- generated: codes -->\nold\n<!-- /generated -->\n", encoding="utf-8")
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "documents", lambda: {"page.md": page})
    monkeypatch.setattr(documents, "handler_files", lambda: {file: "new\n"})
    assert documents.main(["--check"]) == 1
    told = capsys.readouterr().err
    assert "page.md: `codes` is stale" in told
    assert "json.properties is stale" in told
    assert documents.main([]) == 0
    assert documents.main(["--check"]) == 0
    assert "GG101" in page.read_text(encoding="utf-8")
    assert file.read_text(encoding="utf-8") == "new\n"


def test_every_format_has_its_options_losses_and_messages_on_its_page() -> None:
    for name in FORMATS:
        page, text = docs.aliases()[name]
        titles = documents.blocks(PAGES[f"ggfmt/docs/{page.path}"])
        assert text == page.text
        assert page.path.startswith("formats/")
        assert f"options {name}" in titles
        shown = name.removesuffix("_ocf")
        of_written = {f"losses {name}", f"messages {documents._SHOWN_AS.get(shown, shown)}"}
        assert name not in WRITTEN or of_written <= titles.keys()


COMMON = {"--log-level", "--log-format", "--verbose", "--quiet"}


def test_every_command_has_its_options_on_a_page() -> None:
    sections = dict(docs.pages()["commands"].sections())
    assert all(f"`{option}" in sections["## Options of all commands"] for option in COMMON)
    for name, options in OPTIONS.items():
        cells = re.findall(r"^\| (`.*?) \|", sections[f"## ggfmt {name}"], re.MULTILINE)
        assert set(re.findall(r"`(--[a-z-]+)", "".join(cells))) == options - COMMON
    assert "--master" in OPTIONS["run"]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_an_anchor(code: str) -> None:
    assert code.lower() in docs.pages()["codes"].anchors()
    text = docs.find(code)
    assert text is not None
    assert text.startswith(f"### {code}\n")
    assert CODES[code].explanation in text
    assert len(re.findall("^### ", text, re.MULTILINE)) == 1


# What pages link to, and name


def _anchors(file: Path) -> set[str]:
    return set(docs.Page(file.stem, file.name, file.read_text(encoding="utf-8")).anchors())


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file_and_an_anchor(name: str) -> None:
    text = re.sub(r"^```.*?^```", "", PAGES[name], flags=re.DOTALL | re.MULTILINE)
    here = documents.documents()[name]
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = here.parent / path if path else here
        assert file.is_file(), target
        assert not anchor or anchor in _anchors(file), target


def test_a_link_that_leads_nowhere_would_be_seen() -> None:
    assert "gg205" in _anchors(documents.DOCS / "codes.md")
    assert "handler-properties-of-every-handler" in _anchors(documents.DOCS / "options.md")
    assert "gg999" not in _anchors(documents.DOCS / "codes.md")


@pytest.mark.parametrize("name", [name for name in PAGES if name != "README.md"])
def test_pages_stand_alone_in_the_package(name: str) -> None:
    """They are shipped without the project around them: links stay between them."""
    for target in re.findall(r"\]\(([^):]+)\)", PAGES[name]):
        assert (documents.documents()[name].parent / target.partition("#")[0]).resolve().is_relative_to(documents.DOCS)


def test_every_file_named_exists() -> None:
    words = re.findall(r"[\w./-]+", re.sub(r"```text\n.*?```", "", ALL, flags=re.DOTALL))
    ours = {word.rstrip(".") for word in words if re.match(r"(samples|conf|tests|ggfmt|\.ci)/", word)}
    assert {"samples/tcustord.json", "conf/json.properties", ".ci/run"} <= ours
    assert [name for name in sorted(ours) if not (ROOT / name).exists()] == []


def test_every_command_and_option_that_is_named_exists() -> None:
    prose = re.sub(r"```text\n.*?```", "", ALL, flags=re.DOTALL)
    named = set(re.findall(r"`ggfmt ([a-z][a-z-]+)", prose))
    assert {"run", "docs", "init", "validate-config"} <= named <= OPTIONS.keys()
    common = {"--help", "--version", "--log-level", "--log-format", "--install-completion", "--show-completion"}
    foreign = {
        "--hypothesis-profile",
        "--check",
        "--block",
        "--memory",
        "--peer",
        "--environments",
        "--screenshots",
        "--conf",
        "--files",
        "--py-files",
    }  # of pytest, of tests/ and of spark-submit
    assert set(re.findall(r"`(--[a-z][a-z-]+)", prose)) <= set().union(*OPTIONS.values(), common, foreign)


def test_the_names_of_the_developers_documents_are_those_of_the_code() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "ggfmt").rglob("*.py"))
    prose = "".join(PAGES[f"ggfmt/docs/{name}.md"] for name in ("vocabulary", "development", "extending"))
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+|[A-Z]+_[A-Z]+)`", prose))
    assert {"SchemaChange", "WriteSupport", "WRITE_SIDES"} <= named
    assert [name for name in sorted(named) if not re.search(rf"^(?:class )?{name}\b", code, re.MULTILINE)] == []
    modules = set(re.findall(r"`((?:scan|sinks|commit|commands|cli|config|spark|formats)/[\w/]+\.py)`", prose))
    assert {"sinks/messages/execution.py", "formats/records/dialect.py"} <= modules
    assert [name for name in sorted(modules) if not (ROOT / "ggfmt" / name).is_file()] == []


# README.md


def test_the_readme_is_short() -> None:
    assert len(README) <= MAX_OF_README


def test_the_readme_opens_with_setting_up_and_testing() -> None:
    first, second = documents.shell_blocks(README)[:2]
    assert README.startswith(f"# ggfmt\n\n```bash\n{first}```\n\n```bash\n{second}```\n")
    assert first.count("\n") == second.count("\n") == 1, "each is one command line"
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e '.[java]' && .venv/bin/ggfmt run ")
    assert second == ".venv/bin/pip install -q -e '.[java,test]' && .venv/bin/python -m pytest\n"


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(ggfmt/docs/([\w/]+\.md)", README))
    assert linked == {page.path for page in docs.pages().values() if "/" not in page.path}
    formats = set(re.findall(r"\]\((formats/\w+\.md)", PAGES["ggfmt/docs/formats.md"]))
    assert formats == {page.path for page in docs.pages().values() if "/" in page.path}


def test_the_exit_codes_have_one_table() -> None:
    tables = [name for name, text in PAGES.items() if "\n| Code | Meaning |\n" in text]
    assert tables == ["ggfmt/docs/output.md"]
    assert "ggfmt/docs/output.md#exit-codes" in README
    errors = {kind.exit_code for kind in (ConfigurationError, MissingFileError, UsageError, Abend, CommittedWithErrors)}
    signals = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)}
    assert errors | signals | {0, 4} == set(EXIT_CODES)


@pytest.mark.spark
def test_the_first_command_runs(checkout: Path) -> None:
    (arguments,) = documents.ggfmt_commands(documents.shell_blocks(README)[0])
    ended = subprocess.run(
        [Path(sys.executable).parent / "ggfmt", *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""
    assert "14 operations read from 1 file" in ended.stderr
    written = [line for file in sorted((checkout / "out" / "json").rglob("*.json")) for line in file.open("rb")]
    assert len(written) == 14
    assert {path.name for path in (checkout / "out").iterdir()} == {"_SUCCESS", "_ggfmt", "dirdef", "json"}
    assert sorted(path.name for path in checkout.iterdir()) == ["avro", "changes", "conf", "out", "samples", "text"]


# What pages show


@pytest.mark.parametrize("block", BLOCKS)
def test_every_command_of_a_page_runs(block: str, checkout: Path) -> None:
    for arguments in documents.ggfmt_commands(block):
        if arguments[0] == "consolidate":  # of tables that have keys; see `rows/test_command.py`
            continue
        code, output = documents.called(arguments)
        assert code == FAILING.get(shlex.join(arguments), 0), f"ggfmt {shlex.join(arguments)}\n{output}"


def test_every_example_for_programs_runs(checkout: Path) -> None:
    """One after the other, as in a notebook."""
    blocks = re.findall(r"```python\n(.*?)```", PAGES["ggfmt/docs/python.md"], re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert (checkout / "out" / "rows").is_dir()


def test_the_findings_shown_are_the_findings_printed(tmp_path: Path) -> None:
    page = PAGES["ggfmt/docs/checking.md"]
    file, shown = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("properties", "text"))
    assert file is not None
    assert shown is not None
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "json.properties").write_text(file[1], encoding="utf-8")
    program = [sys.executable, "-m", "ggfmt", "validate-config", "conf/json.properties"]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert ended.stdout == shown[1]
    assert all(line in page for line in ended.stderr.splitlines())


def test_what_ci_needs_is_there() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    installed = "-e '.[java,test]'"  # which the second command of the README does before its tests
    assert script.read_text(encoding="utf-8").count(installed) == 2
    assert documents.shell_blocks(README)[1].count(f" {installed} && ") == 1


def test_changes_are_kept_in_the_known_form() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# The package


@pytest.mark.long
def test_a_wheel_that_is_built_without_a_compiler_has_the_pages(tmp_path: Path) -> None:
    """Built from a copy, as `pip` builds one; the kernels are left out of it."""
    with zipfile.ZipFile(build_wheel(copy_project(tmp_path / "project"), tmp_path, CC="false")) as archive:
        names = archive.namelist()
        held = {name: archive.read(name) for name in names if name.endswith(".md")}
    assert not [name for name in names if "_native" in name and not name.endswith(".pyi")]
    assert held == {name: text.encode() for name, text in PAGES.items() if name != "README.md"}


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
def test_the_sample_is_converted_with_and_without_definitions(handler_file: Path, checkout: Path) -> None:
    common = ["run", "samples/tcustord.json", "-c", f"conf/{handler_file.name}"]
    common += ["--current-timestamp", "2015-09-18T13:39:35.447000"]
    for output, more in (("with", ["--definitions", "samples/TCUSTORD.def"]), ("without", [])):
        result = CliRunner().invoke(app, [*common, "-o", output, *more])
        assert result.exit_code == 0, result.output
    messages = {
        output: [file.read_bytes() for file in sorted((checkout / output).glob("[!_]*/*/*"))]
        for output in ("with", "without")
    }
    assert messages["with"] == messages["without"], "the sample's own types are those of its definitions"
    end = b"</operation>" if handler_file.stem == "xml" else b"\n"
    assert b"".join(messages["with"]).count(end) == 14


@pytest.mark.parametrize("handler_file", sorted(documents.handler_files()), ids=lambda path: path.stem)
def test_what_a_handler_file_writes_of_the_sample_is_read_back(handler_file: Path, checkout: Path) -> None:
    """All operations but truncates, which some systems have no form for."""
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
    more = definitions if handler_file.stem.startswith("delimitedtext") else []
    second = ["run", f"{directory}/*/*", *source, *more, "-c", "conf/json.properties", "-o", "two", *told]
    assert CliRunner().invoke(app, second).exit_code in (0, 4), handler_file
    report = json.loads(Path("report.json").read_text("utf-8"))
    if handler_file.stem.startswith("delimitedtext"):  # lines behind the metadata change have another number of fields
        three = {"I": 2, "U": 1, "D": 1}
        orders = {"I": 1, "U": 1, "D": 1, "T": 1}
        assert report["operations"] == {"GG.ARTIKEL": three, "GG.TCUSTMER": three, "GG.TCUSTORD": orders}
        (handler,) = report["handlers"].values()
        assert handler["rejects"] == {"GG311": 2}
    else:
        assert report["operations_read"] == 14 - refused, report
