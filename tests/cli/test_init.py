"""`ggfmt init` and conf/: a handler file for every format, which has nothing to complain of and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import documents
import pytest
from places import ROOT

from ggfmt.config.handler_file import handler_file, handler_name
from ggfmt.config.handler_options import KafkaOptions
from ggfmt.config.handlers import HandlerOptions, RunOptions, read_configuration
from ggfmt.config.properties import read_properties
from ggfmt.formats import FORMATS

HANDLER_FILES = sorted((ROOT / "conf").glob("*.properties"))
WRITTEN = [name for name, format in FORMATS.items() if format.writes is not None]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The command


@pytest.mark.parametrize("name", WRITTEN)
def test_what_init_prints_validates_and_previews(name: str, here: Path) -> None:
    code, printed = documents.called(["init", name])
    assert (code, printed) == (0, handler_file(FORMATS[name]))
    assert documents.called(["init", name, "-o", "mine.properties"]) == (0, "")
    assert Path("mine.properties").read_text(encoding="utf-8") == printed
    code, told = documents.called(["validate-config", "mine.properties", "--strict"])
    assert code == 0, told
    sample = [str(ROOT / "samples" / "tcustord.json"), "--definitions", str(ROOT / "samples" / "TCUSTORD.def")]
    code, shown = documents.called(["preview", *sample, "-c", "mine.properties", "-n", "1"])
    assert code == 0, shown
    assert f"Handler {handler_name(FORMATS[name])}, format {name}, table GG.TCUSTORD" in shown


def test_init_never_overwrites_unless_told_to(here: Path) -> None:
    file = Path("mine.properties")
    file.write_text("mine\n", encoding="utf-8")
    code, told = documents.called(["init", "json", "-o", "mine.properties"])
    assert code == 2
    assert told == (
        "mine.properties: error[GG501] the file exists\n  help: name another file, or give `--force` to replace it\n"
    )
    assert file.read_text(encoding="utf-8") == "mine\n"
    assert documents.called(["init", "json", "-o", "mine.properties", "--force"]) == (0, "")
    assert file.read_text(encoding="utf-8") == handler_file(FORMATS["json"])


def test_init_into_a_directory_that_is_not_there(here: Path) -> None:
    code, told = documents.called(["init", "json", "-o", "none/mine.properties"])
    assert code == 2
    assert told == ("none/mine.properties: error[GG506] the file cannot be written: No such file or directory\n")


@pytest.mark.parametrize(
    ("name", "help"),
    [("jsn", "did you mean `json`?"), ("zzzz", "legal values are `delimitedtext`, ")],
)
def test_init_of_a_format_that_is_none(name: str, help: str) -> None:
    code, told = documents.called(["init", name])
    assert code == 2
    assert told.startswith(f"error[GG106] unknown format `{name}`\n  help: {help}")


def test_init_of_a_format_that_is_only_read() -> None:
    code, told = documents.called(["init", "dms_json"])
    assert code == 2
    assert told.startswith(
        "error[GG106] `dms_json` is a format that ggfmt reads, but does not write\n  help: no handler"
    )


# The files in conf/


def test_every_format_that_is_written_has_a_handler_file() -> None:
    assert [path.stem for path in HANDLER_FILES] == sorted(WRITTEN)


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_is_what_init_prints(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == handler_file(FORMATS[path.stem])


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_has_nothing_to_complain_of(path: Path) -> None:
    configuration = read_configuration([str(path)])
    assert configuration.diagnostics == ()
    (handler,) = configuration.handlers
    assert handler.format == path.stem
    assert handler.name == handler_name(FORMATS[path.stem])
    assert handler.handler.include_tokens


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_lists_every_property_with_what_it_does_and_its_default(path: Path) -> None:
    name = handler_name(FORMATS[path.stem])
    specs = {f"gg.handler.{name}.{spec.name}": spec for spec in HandlerOptions.specs()}
    below = "" if FORMATS[path.stem].handler_type else "format."
    specs |= {f"gg.handler.{name}.{below}{spec.name}": spec for spec in FORMATS[path.stem].options.specs()}
    specs |= {f"ggfmt.{spec.name}": spec for spec in RunOptions.specs()}
    of_kafka = [] if below else [spec for spec in KafkaOptions.specs() if spec.name != "schemaTopicName"]
    specs |= {f"gg.handler.{name}.{spec.name}": spec for spec in of_kafka}
    told = {}
    text = path.read_text(encoding="utf-8")
    for comment, key in re.findall(r"^((?:# .+\n)+)#?((?:gg\.handler\.|ggfmt\.)\S+?)=", text, re.MULTILINE):
        about, default = comment.rstrip("\n").rsplit("\n# Default: ", 1)
        told[key] = default
        if key in specs:
            said = " ".join(line.removeprefix("# ") for line in about.splitlines())
            assert said.startswith(specs[key].doc.replace("`", "")), key
        assert about.endswith("."), key
    defaults = {"kafkaconnect_json": None, "kafkaconnect_avro": "kafkaconnect_json"}
    assert told.pop(f"gg.handler.{name}.format", None) == defaults.get(path.stem, "delimitedtext")
    assert told == {
        key: "none" if spec.default in (None, ()) else spec.default_text if spec.default != "" else "nothing"
        for key, spec in specs.items()
    }


@pytest.mark.parametrize("path", HANDLER_FILES, ids=lambda path: path.stem)
def test_a_handler_file_is_as_goldengate_has_them(path: Path) -> None:
    keys = {entry.key for entry in read_properties(str(path)).entries}
    assert {"gg.handlerlist", "goldengate.userexit.writers", "javawriter.bootoptions", "gg.log"} <= keys


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_proposed_is_otherwise_by_default(name: str) -> None:
    """A line that says what the default says would mislead."""
    (handler,) = read_configuration([str(ROOT / "conf" / f"{name}.properties")]).handlers
    other = {spec.name for spec, _ in handler.handler.non_defaults()}
    other |= {f"format.{spec.name}" for spec, _ in handler.options.non_defaults()}
    # No options of ggfmt, or, for `format`, the choice of one.
    of_goldengate = {"kafkaProducerConfigFile", "topicMappingTemplate", "keyMappingTemplate", "format"}
    assert {line.partition("=")[0] for line in FORMATS[name].proposed} - of_goldengate == other - {
        "type",
        "mode",
        "rootFilePath",
        "includeTokens",
    }
