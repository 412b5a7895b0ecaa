"""`ggfmt init` and conf/: a handler file for every format, which has nothing to complain of and does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import documents
import pytest
from places import ROOT

from ggfmt.config.handler_file import NEW_TYPES, handler_file, handler_name, type_file
from ggfmt.config.handler_options import KafkaOptions
from ggfmt.config.handlers import HandlerOptions, RunOptions, read_configuration
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.config.properties import parse_properties, read_properties
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.formats import FORMATS
from ggfmt.options.releases import RELEASES, find_release, is_later
from ggfmt.replicat.parse import parse_content
from ggfmt.replicat.statements import Kinds

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
def test_init_of_a_name_that_is_none(name: str, help: str) -> None:
    code, told = documents.called(["init", name])
    assert code == 2
    assert told.startswith(f"error[GG106] unknown format or type `{name}`\n  help: {help}")


def test_init_of_a_format_that_is_only_read() -> None:
    code, told = documents.called(["init", "dms_json"])
    assert code == 2
    assert told.startswith(
        "error[GG106] `dms_json` is a format that ggfmt reads, but does not write\n  help: no handler"
    )


# Files for types of handlers and event handlers


@pytest.mark.parametrize("name", NEW_TYPES)
def test_the_file_of_a_type_is_right_in_each_of_its_releases(name: str) -> None:
    checked = 0
    for release in RELEASES:
        try:
            text = type_file(name, release)
        except UsageError:
            continue
        findings = lint(text.encode(), "mine.properties", Rules())
        assert [str(each) for each in findings if each.severity is not Severity.NOTE] == [], release
        keys = {entry.key: entry.value for entry in parse_properties(text, "mine.properties").entries}
        assert keys["ggfmt.compatibility"] == release
        assert ("jvm.bootoptions" in keys) is (release in ("21", "23", "26"))
        checked += 1
    known = NEW_TYPES[name]
    assert checked >= (1 if known.until or not find_release(known.since) else 2)


_RUN = [
    ("kafka", "json", "topicMappingTemplate"),
    ("filewriter", "delimitedtext", "stateFileDirectory"),
    ("kafkaconnect", "kafkaconnect_json", "keyMappingTemplate"),
    ("parquet", "avro_row_ocf", "eventHandler"),
    ("hdfs", "delimitedtext", "pathMappingTemplate"),
]


@pytest.mark.parametrize("release", ["12.3.2", "19.1", "21c", "23ai"])
@pytest.mark.parametrize(("name", "format", "property"), _RUN, ids=[name for name, _, _ in _RUN])
def test_the_file_of_a_type_runs(name: str, format: str, property: str, release: str, here: Path) -> None:
    assert documents.called(["init", name, "--release", release, "-o", "mine.properties"]) == (0, "")
    text = Path("mine.properties").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line[:1] not in ("", "#")]
    assert name in ("hdfs", "parquet") or "hdfs" not in text.lower()
    assert any(f".{property}=" in line for line in lines)
    assert any(".metaColumnsTemplate=${" in line for line in lines) is (release != "12.3.2")
    code, told = documents.called(["validate-config", "mine.properties", "--strict", "--for-run"])
    assert code == 0, told
    sample = [str(ROOT / "samples" / "tcustord.json"), "--definitions", str(ROOT / "samples" / "TCUSTORD.def")]
    code, told = documents.called(["-q", "run", *sample, "-c", "mine.properties", "-o", "out", "--master", "none[1]"])
    assert code == 0, told
    (handler,) = read_configuration(["mine.properties"]).handlers
    assert handler.format == format


def test_a_chain_of_event_handlers_is_that_of_the_target() -> None:
    text = type_file("synapse", "23ai")
    lines = [line for line in text.splitlines() if re.search(r"(?i)eventhandler(=|\..*\.type=)", line)]
    assert [line for line in lines if line[0] != "#"] == [
        "gg.handler.filewriter.eventHandler=parquet",
        "gg.eventhandler.parquet.type=parquet",
        "gg.eventhandler.parquet.eventHandler=abs",
        "gg.eventhandler.abs.type=abs",
        "gg.eventhandler.abs.eventHandler=synapse",
        "gg.eventhandler.synapse.type=synapse",
    ]


def test_a_release_decides_which_properties_are_in_the_file() -> None:
    old, new = type_file("s3", "19.1"), type_file("s3", "23.8")
    assert "accessKeyId" not in old and "purgeTargetPathOnStartup" not in type_file("s3", "23ai")
    assert "accessKeyId" in new and "purgeTargetPathOnStartup" in new
    assert "ggfmt.compatibility=26\n" in type_file("kafka")
    assert "ggfmt.compatibility=12.3.2\n" in type_file("flume")  # its last


def test_a_release_and_a_format_make_the_file_of_a_handler_with_that_format() -> None:
    code, printed = documents.called(["init", "xml", "--release", "19.1"])
    assert (code, printed) == (0, type_file("hdfs", "19.1", FORMATS["xml"]))
    assert "gg.handler.hdfs.format=xml\n" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kafka", "--release", "22"], "`22` is not a known release of GoldenGate\n  help: releases are `12.2`, "),
        (["s3", "--release", "12.2"], "release `12.2` does not have `filewriter`\n  help: it is there from 12.3.2.1"),
        (["flume", "--release", "23ai"], "release `23ai` does not have `flume`\n  help: it is there up to 12.3.2.1"),
        (["snowflake_streaming", "--release", "19.1"], "release `19.1` does not have `snowflake_streaming`"),
        (["delimitedtext_op", "--release", "12.3"], "release `12.3` does not have `delimitedtext_op`"),
    ],
)
def test_a_release_without_the_type(arguments: list[str], message: str) -> None:
    code, told = documents.called(["init", *arguments])
    assert code == 2
    assert told.startswith(f"error[GG565] {message}")


@pytest.mark.parametrize("name", ["pubsub", "redis", "mongodb", "cassandra", "jdbc"])
def test_a_release_that_is_not_known_to_have_the_type(name: str) -> None:
    code, told = documents.called(["init", name, "--release", "12.2.0.1"])
    assert code == 0
    assert f"no source says whether release `12.2.0.1` has `{name}`\n" in told
    assert documents.called(["init", name])[1].startswith("# Handlers of GoldenGate")


def test_a_new_parameter_file_has_what_decides_and_no_findings(here: Path) -> None:
    write = here / "rkafka.props"
    write.write_text("gg.handlerlist=k\n", encoding="utf-8")
    code, printed = documents.called(["init", "replicat", "-o", "rkafka.prm"])
    assert (code, printed) == (0, "")
    text = (here / "rkafka.prm").read_text(encoding="utf-8")
    assert lint(text.encode(), "rkafka.prm", Rules(for_run=True)) == ()
    assert [line for line in text.splitlines() if line and not line.startswith("--")] == [
        "REPLICAT rkafka",
        "TARGETDB LIBFILE libggjava.so SET property=dirprm/rkafka.props",
        "GROUPTRANSOPS 1000",
        "MAP *.*, TARGET *.*;",
    ]
    assert "-- IGNOREINSERTS\n" in text
    uncommented = re.sub(r"^-- (?=(?:IGNORE|INSERT|UPDATE|GETTR)[A-Z]+$)", "", text, flags=re.MULTILINE)
    (statement,) = parse_content(uncommented.encode(), "rkafka.prm")[0].maps
    assert statement.kinds == Kinds(False, False, False, True, True, True, True, True, True)


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
    proposed = {line.partition("=")[0] for line in FORMATS[name].proposed} - of_goldengate
    if is_later(FORMATS[name].since, "12.2") and not FORMATS[name].handler_type:
        proposed -= {"fileSuffix"}
        other -= {"fileNameMappingTemplate", "pathMappingTemplate"}
    assert proposed == other - {"type", "mode", "rootFilePath", "includeTokens"}
