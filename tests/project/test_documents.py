"""README.md, the pages of ggfmt/docs and the samples are true: what they say is so, and what they show runs."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import documents
import make_picture
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
from ggfmt.formats.api.format import Format

PAGES = {name: file.read_text(encoding="utf-8") for name, file in documents.documents().items()}
README = PAGES["README.md"]
SAMPLE = ROOT / "samples" / "tcustord.json"
MAX_OF_GUIDE = 80  # lines
MAX_OF_QUESTION = 110  # characters
MAX_OF_README = 10_000  # bytes: it is to be read in one go
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]
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


def without_output(text: str) -> str:
    """A page without what commands print, and without examples of mistakes."""
    return re.sub(r"```(?:text|diff)\n.*?```", "", text, flags=re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with what comes with ggfmt."""
    for name in ("samples", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with documents.without_spark():
        yield tmp_path


# Parts made from the code


def test_generated_parts_are_fresh() -> None:
    assert {name: old for name, text in PAGES.items() if (old := documents.stale(text))} == {}


@pytest.mark.parametrize(
    ("page", "title", "name", "value"),
    [
        ("reference/doctor.md", "doctor", "VERSION", "99.0"),
        ("reference/doctor.md", "doctor", "OLDEST_JAVA", 99),
        ("reference/limits.md", "refused-formats", "FORMAT_OWNERS", {}),
        ("reference/options.md", "charsets", "refusal", lambda name: None if name == "UTF-8" else "why"),
        ("reference/options.md", "charsets", "can_decode", lambda name: True),
        ("reference/metadata.md", "template-formats", "FORMATS", {"xml": FORMATS["xml"]}),
        ("reference/limits.md", "unsplit", "FORMATS", {"json": FORMATS["json"]}),
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
    """And no page calls one refused that ggfmt writes."""
    body = documents.blocks(PAGES["ggfmt/docs/reference/limits.md"])["refused-formats"]
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


def test_a_page_that_only_a_person_can_write_is_asked_for_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(documents, "documents", None)  # nothing is made
    monkeypatch.setattr(documents, "CODES", {"GG101": None, "GG999": None})
    monkeypatch.setattr(documents, "FORMATS", {"json": None, "none": None})
    assert documents.main([]) == documents.main(["--check"]) == 1
    asked = capsys.readouterr().err.splitlines()[:2]
    assert [line.partition(" with")[0] for line in asked] == [
        "write ggfmt/docs/reference/codes/GG999.md",
        "write the page of `none` in ggfmt/docs/reference/formats: its title names the id",
    ]


def test_every_format_has_its_options_losses_and_messages_on_its_page() -> None:
    for name in FORMATS:
        page, text = docs.aliases()[name]
        titles = _subjects(documents.blocks(PAGES[f"ggfmt/docs/{page.path}"]))
        assert text == page.text
        assert page.is_of_formats
        assert f"options {name}" in titles
        shown = name.removesuffix("_ocf")
        of_written = {f"losses {name}", f"messages {documents._SHOWN_AS.get(shown, shown)}"}
        assert name not in WRITTEN or of_written <= titles


def _subjects(titles: Iterable[str]) -> set[str]:
    """`options json json_row` is one for each of them."""
    return {f"{kind} {name}" for kind, *names in map(str.split, titles) for name in names}


def _unnamed(format: Format, page: docs.Page) -> list[str]:
    """The title and the first sentence of a page of formats, if they do not name the system as its declaration does,
    apart from the ids.
    """
    system = re.split(r"[:,]| in ", format.doc)[0]
    return [text for text in (page.title, page.summary) if system.lower() not in re.sub("`.*?`", "", text).lower()]


def test_a_page_of_formats_names_its_own_system() -> None:
    firsts = {docs.aliases()[name][0].topic: name for name in reversed([*FORMATS])}
    assert len(firsts) == sum(page.is_of_formats for page in docs.pages().values())
    pages = {topic: _unnamed(FORMATS[name], docs.pages()[topic]) for topic, name in firsts.items()}
    assert {topic: found for topic, found in pages.items() if found} == {}
    copied = docs.pages()["canal"].text.replace("canal_json", "maxwell_json")
    found = _unnamed(FORMATS["maxwell_json"], docs.Page("maxwell", "reference/formats/maxwell.md", copied))
    assert found == [
        "Canal, and DTS in its format: `maxwell_json`",
        "How do I read and write the messages of Alibaba Canal?",
    ]


def test_what_formats_share_is_on_their_page_once() -> None:
    shared = documents.regenerated(
        "<!-- generated: options json json_row -->\n<!-- /generated -->"
        "<!-- generated: losses json json_row -->\n<!-- /generated -->"
    )
    assert shared.count("| `prettyPrint` | all |") == 1
    assert "| `flatten` | `json` |" in shared
    for name in ("json", "json_row"):
        assert all(
            f"| `{spec.name}` | all |" in shared or f"| `{spec.name}` | `{name}` |" in shared
            for spec in FORMATS[name].options.specs()
        )
        assert all(
            f"* {loss.text}\n" in shared or f"* `{name}`: {loss.text}\n" in shared for loss in FORMATS[name].losses
        )


def test_the_fidelity_table_has_every_format_and_what_two_keep() -> None:
    lines = documents.regenerated("<!-- generated: fidelity -->\n<!-- /generated -->").splitlines()
    named = [name for line in lines for name in re.findall(r"`(\w+)`", line)]
    assert sorted(named) == sorted(WRITTEN)
    assert "| `xml` | kept | kept | kept | kept | settings | kept | lost | lost | kept | kept |" in lines
    apart = documents.regenerated("<!-- generated: no-tokens -->\n<!-- /generated -->")
    assert "* `canal_json` and `qlik_json`, `qlik_avro`, `shareplex_json`\n" in apart
    assert not re.search(r"`canal_json`.*`maxwell_json`", apart)


COMMON = {"--log-level", "--log-format", "--verbose", "--quiet"}


def test_every_command_has_its_options_on_a_page() -> None:
    sections = dict(docs.pages()["commands"].sections())
    assert all(f"`{option}" in sections["## Options of all commands"] for option in COMMON)
    for name, options in OPTIONS.items():
        rows = re.findall(r"^\| (`.*?) \| (.*) \|$", sections[f"## ggfmt {name}"], re.MULTILINE)
        own, shared = (
            {option for cell, text in rows if ("(#" in text) is also for option in re.findall(r"`(--[a-z-]+)", cell)}
            for also in (False, True)
        )
        assert own | shared == options - COMMON - {"--no-progress"}
        assert not own & shared
        assert all(f"`{option}" in sections["## Options of several commands"] for option in shared)
    assert "--master" in OPTIONS["run"]


def test_every_code_is_in_the_index_and_has_a_page() -> None:
    index = docs.pages()["codes"].text
    for name, code in CODES.items():
        page = docs.code_pages()[name]
        assert docs.find(name.lower()) == page.text
        severity = f"{code.severity.value}{' of a run' * code.of_run}"
        assert index.count(f"| [{name}](codes/{name}.md) | {severity} | {code.title} | [") == 1
        (link,) = re.findall(r"^[\w`; -]+\. What to do: \[.+\]\((.+)\)\.$", page.text, re.MULTILINE)
        assert posixpath.normpath(posixpath.join("reference/codes", link)) == docs.pages()[code.page].path


# What pages link to, and name


@cache
def _anchors(file: Path) -> set[str]:
    """The anchors that GitHub and others make from the headings of a page."""
    page = docs.Page(file.stem, file.name, file.read_text(encoding="utf-8"))
    headings = (heading for heading, _ in page.sections())
    return {re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-") for heading in headings}


def _broken(name: str, text: str) -> Iterator[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    here = documents.documents()[name]
    for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = here.parent / path if path else here
        if not file.is_file() or (anchor and file.suffix != ".svg" and anchor not in _anchors(file)):
            yield target


def test_every_link_leads_to_a_file_and_an_anchor() -> None:
    assert {name: found for name, text in PAGES.items() if (found := list(_broken(name, text)))} == {}


def test_a_link_that_leads_nowhere_would_be_seen() -> None:
    text = "[a](codes/GG205.md), [b](codes/GG999.md), [c](options.md#handler-properties-of-every-handler), [d](#gg205)"
    assert list(_broken("ggfmt/docs/reference/codes.md", text)) == ["codes/GG999.md", "#gg205"]


def test_pages_stand_alone_in_the_package() -> None:
    """They are shipped without the project around them: links stay between them."""
    targets = {
        (documents.documents()[name].parent / target.partition("#")[0]).resolve()
        for name, text in PAGES.items()
        if name.startswith("ggfmt/")
        for target in re.findall(r"\]\(([^):]+)\)", text)
    }
    assert [target for target in targets if not target.is_relative_to(documents.DOCS)] == []


def test_every_file_named_exists() -> None:
    words = re.findall(r"[\w./@-]+", "".join(map(without_output, PAGES.values())))  # `@ggfmt/` is a stage of Snowflake
    ours = {word.rstrip(".") for word in words if re.match(r"(samples|conf|tests|ggfmt|\.ci)/", word)}
    assert {"samples/tcustord.json", "conf/json.properties", ".ci/run"} <= ours
    made = {"conf/orders.properties"}  # by commands of the pages that name it
    assert {name for name in ours if not (ROOT / name).exists()} == made


def test_every_command_and_option_that_is_named_exists() -> None:
    named = set(re.findall(r"`ggfmt ([a-z][a-z-]+)", "".join(map(without_output, PAGES.values()))))
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
        "--side",
        "--record",
        "--suites",
        "--files",
        "--py-files",
        "--goldengate",
        "--mariadb",
        "--targets",
        "--schemas",
        "--no-deps",
        "--force-reinstall",
        "--deploy-mode",
        "--print-table-metadata",
        "--short-form",
        "--flashback",
    }  # of pytest, of tests/, of spark-submit, of pip and of mysqlbinlog
    known = set().union(*OPTIONS.values(), common, foreign)
    named_of = {name: set(re.findall(r"`(--[a-z][a-z-]+)", without_output(text))) for name, text in PAGES.items()}
    unknown = {name: options - known for name, options in named_of.items() if options - known}
    old = {"--primary-keys", "--strict-fidelity", "--json"}  # in the table of old names
    assert unknown == {"ggfmt/docs/reference/changes.md": old}


def test_the_names_of_the_developers_documents_are_those_of_the_code() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "ggfmt").rglob("*.py"))
    names = ("reference/glossary", *(f"contribute/{name}" for name in docs.SECTIONS["Contribute"]))
    prose = "".join(PAGES[f"ggfmt/docs/{name}.md"] for name in names)
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+|[A-Z]+_[A-Z]+)`", prose))
    assert {"SchemaChange", "WriteSupport", "WRITE_SIDES"} <= named
    assert [name for name in sorted(named) if not re.search(rf"^(?:class )?{name}\b", code, re.MULTILINE)] == []
    modules = set(re.findall(r"`((?:scan|sinks|commit|commands|cli|config|spark|formats)/[\w/]+\.py)`", prose))
    assert {"sinks/messages/execution.py", "formats/records/declared.py"} <= modules
    assert [name for name in sorted(modules) if not (ROOT / "ggfmt" / name).is_file()] == []


# README.md


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= MAX_OF_README


def test_the_readme_opens_with_setting_up_and_testing() -> None:
    first, second = documents.shell_blocks(README)[:2]
    assert README.startswith("# ggfmt\n\nggfmt reads files of database changes and writes exactly ")
    assert README.index(f"\n\n```bash\n{first}```\n\n```bash\n{second}```\n\n![") < 600
    assert first.count("\n") == second.count("\n") == 1, "each is one command line"
    assert first.endswith("&& head -n 1 out/json/*/*.json\n")  # a message also where the output is no terminal
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e '.[java]' && .venv/bin/ggfmt run ")
    assert second == ".venv/bin/pip install -q -e '.[java,test]' && .venv/bin/python -m pytest\n"


def test_the_picture_shows_what_the_commands_print() -> None:
    shown = make_picture.words(make_picture.PICTURE.read_text(encoding="utf-8"))
    assert make_picture.words(make_picture.picture()) == shown, "run `python tests/tools/make_picture.py`"
    assert f"({make_picture.PICTURE.relative_to(ROOT)})" in README


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = [topic for topics in docs.SECTIONS.values() for topic in topics]
    files = {path.stem: path for path in documents.DOCS.rglob("*.md")}
    assert len(listed) == len(set(listed)) and len(files) == len(list(documents.DOCS.rglob("*.md")))
    of_formats = {topic for topic, page in docs.pages().items() if page.is_of_formats}
    assert {*listed, *of_formats, *docs.code_pages()} == files.keys()
    formats = set(re.findall(r"\]\(formats/(\w+)\.md", PAGES["ggfmt/docs/reference/formats.md"]))
    assert formats == of_formats


KINDS = {"tutorial", "how-to", "reference", "explanation", "contribute"}


@pytest.mark.parametrize("topic", docs.pages())
def test_a_page_has_the_form_of_its_kind(topic: str) -> None:
    page = docs.pages()[topic]
    assert page.path.split("/")[0] in KINDS
    assert page.summary.endswith("?"), "a page begins with the question that it answers"
    assert len(page.summary) <= MAX_OF_QUESTION, page.summary
    if page.path.startswith("how-to/"):
        assert page.text.count("\n") <= MAX_OF_GUIDE


def test_the_exit_codes_have_one_table() -> None:
    tables = [name for name, text in PAGES.items() if "\n| Code | Meaning |\n" in text]
    assert tables == ["ggfmt/docs/reference/output.md"]
    assert "ggfmt/docs/reference/output.md#exit-codes" in README
    errors = {kind.exit_code for kind in (ConfigurationError, MissingFileError, UsageError, Abend, CommittedWithErrors)}
    signals = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)}
    without_memory = {127, 128 + signal.SIGABRT}
    assert errors | signals | without_memory | {0, 4} == set(EXIT_CODES)


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
    assert sorted(path.name for path in checkout.iterdir()) == ["conf", "out", "samples"]


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
    assert held == {name: text.encode() for name, text in PAGES.items() if name.startswith("ggfmt/")}


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
