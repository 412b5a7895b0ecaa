"""`ggfmt explain`: every word has its meaning, every example is true."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import loaded
from offenders import check_each
from terminal import ESCAPE, on_terminal
from typer.testing import CliRunner

from ggfmt.cli import app
from ggfmt.config.handler_options import KafkaOptions
from ggfmt.config.handlers import read_configuration
from ggfmt.config.properties import parse_properties
from ggfmt.config.property_table import KEYS
from ggfmt.config.symbols import (
    PropertySymbol,
    find_symbol,
    nearest,
    option_sets,
    titles,
)
from ggfmt.diagnostics.codes import CODES
from ggfmt.formats import FORMATS
from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
from ggfmt.options.spec import OptionSpec
from ggfmt.options.value_types import Bool, Charset, Choice, Int, NamePart, Size, Text, ValueType
from ggfmt.options.value_types import Path as PathKind
from ggfmt.render.reference import (
    explain,
    explanation_json,
    explanation_markdown,
    explanation_text,
)
from ggfmt.sinks.messages.example import example


def is_applied(word: str) -> bool:
    """Whether ggfmt applies a property, so that it has an example."""
    found = find_symbol(word)
    if not isinstance(found, PropertySymbol):
        return False
    variant = found.variants[0]
    return bool(variant.spec.attr) or variant.owners[0] in (KEYS,)


PROPERTIES = [word for word, _ in titles() if is_applied(word)]
OF_FILES = (KafkaOptions, ParquetOptions, OrcOptions)
CHANGE_NO_MESSAGE = {spec.name for options in OF_FILES for spec in options.specs()} | {
    "bom",
    "eventHandler",
    "finalizeAction",
    "fileRenameMappingTemplate",
    "movePathMappingTemplate",
    "fileNameMappingTemplate",
    "pathMappingTemplate",
    "enableTimestampLogicalType",
    "mapLargeNumbersAsStrings",
    "mapOracleNumbersAsStrings",
    "maxPrecision",
    "oracleNumberScale",
    "compressionCodec",
    "disableEscaping",
    "enableFieldDescriptorHeaders",
    "fileSuffix",
    "generateSchema",
    "groupName",
    "variables",
    *(spec.name for spec in KEYS.own),
    "maxFileSize",
    "mode",
    "partitionByTable",
    "rollOnMetadataChange",
    "rootFilePath",
    "schemaDirectory",
    "schemaFilePath",
    "uncovered",
    "type",
    "versionSchemas",
}


def property_word(word: str) -> PropertySymbol:
    found = find_symbol(word)
    assert isinstance(found, PropertySymbol)
    return found


def shown(word: str) -> str:
    found = find_symbol(word)
    assert found is not None
    return explanation_text(explain(found, word))


# What a word means


@pytest.mark.parametrize("word", ["GG103", "gg103", "Gg103", " GG103 "])
def test_a_code_is_found_in_any_case(word: str) -> None:
    assert find_symbol(word) == CODES["GG103"]


@pytest.mark.parametrize(
    "word",
    [
        "pkUpdateHandling",
        "PKUPDATEHANDLING",
        "format.pkUpdateHandling",
        "Format.PkUpdateHandling",
        "gg.handler.x.format.pkUpdateHandling",
        "GG.HANDLER.x.FORMAT.pkupdatehandling",
        "gg.handler.x.format.pkUpdateHandlingformat.pkUpdateHandling",
        "gg.handler.x.format.pkUpdateHandling=update",
        "formatter.pkUpdateHandling",
    ],
)
def test_a_property_is_found_however_it_is_written(word: str) -> None:
    found = property_word(word)
    assert found.key == "gg.handler.<name>.format.pkUpdateHandling"
    assert [variant.formats for variant in found.variants] == [
        ("delimitedtext", "json_row", "avro_row", "avro_row_ocf")
    ]


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("includeTokens", "gg.handler.<name>.includeTokens"),
        ("gg.handler.x.includetokens", "gg.handler.<name>.includeTokens"),
        ("avroCodec", "gg.handler.<name>.avroCodec"),
        ("gg.eventhandler.x.region", "gg.eventhandler.<name>.region"),
        ("format", "gg.handler.<name>.format"),
        ("gg.handler.x.format", "gg.handler.<name>.format"),
        ("ggfmt.compatibility", "ggfmt.compatibility"),
        ("compatibility", "ggfmt.compatibility"),
        ("gg.handlerlist", "gg.handlerlist"),
        ("gg.schemareplaceregex12", "gg.schemareplaceregex"),
        ("gg.transform.t1.matcher.tableregex", "gg.transform.<name>.matcher.tableRegex"),
        ("gg.transforms", "gg.transforms"),
        ("matcher.tableRegex", "gg.transform.<name>.matcher.tableRegex"),
        ("replaceregex", "gg.transform.<name>.converter.replaceRegex"),
        ("matcher", "gg.transform.<name>.matcher"),
        ("kevValuePairDelimiter", "gg.handler.<name>.format.keyValuePairDelimiter"),
    ],
)
def test_the_key_of_a_property(word: str, key: str) -> None:
    assert property_word(word).key == key


@pytest.mark.parametrize(
    ("word", "renamed"), [("mode", False), ("Mode", False), ("MODE", True), ("iso8601Forma", True)]
)
def test_whether_a_name_is_the_property_s_own(word: str, renamed: bool) -> None:
    assert property_word(word).renamed is renamed


def test_a_format_is_found_in_any_case() -> None:
    for name in FORMATS:
        found = find_symbol(name.upper())
        assert isinstance(found, tuple)
        assert [owner.name for owner in found] == [name]


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        ("metacols", ["formats       csv, fixed", "from Java adapter", "in ggfmt      refused, because it changes"]),
        ("sequencefile", ["which the HDFS handler writes. ggfmt does not have the format."]),
        ("fixed", ["a format", "from Java adapter"]),
        (
            "gg.handler.k.blockingSend",
            ["Wait for the acknowledgement", "handlers      kafka", "in ggfmt      no effect"],
        ),
        ("hbase", ["a type of handlers", "without a formatter"]),
        ("gg.log", ["`jdk`, `log4j`, `logback`", "in ggfmt      no effect"]),
        ("hsync", ["handlers      hdfs", "in ggfmt      no effect"]),
        ("filter", ["in ggfmt      refused, because it changes messages"]),
    ],
)
def test_what_ggfmt_does_not_use(word: str, texts: list[str]) -> None:
    assert [text for text in texts if text not in shown(word)] == []


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("GG5099", "GG509"),
        ("pkUpdateHandlin", "pkUpdateHandling"),
        ("gg.handler.x.format.jsonDelimeter", "jsonDelimiter"),
        ("gg.handler.x.includeToken", "includeTokens"),
        ("avro_rw", "avro_row"),
        ("zzzzzz", None),
    ],
)
def test_an_unknown_word(word: str, near: str | None) -> None:
    assert find_symbol(word) is None
    assert nearest(word) == near


def test_every_word_is_explained_in_every_form() -> None:
    def check(word: str) -> None:
        found = find_symbol(word)
        assert found is not None
        explanation = explain(found, word)
        text = explanation_text(explanation)
        assert text.endswith("\n")
        assert "\x1b" not in text
        assert all(line == line.rstrip() and (line.isprintable() or not line) for line in text.splitlines())
        assert explanation_markdown(explanation).startswith(f"## {explanation.title}\n\n")
        assert json.loads(explanation_json(explanation)) == explanation.data

    check_each((word for word, _ in titles()), check)


def test_every_option_of_every_set_can_be_explained() -> None:
    words = {word for word, _ in titles()}
    for sets in option_sets().values():
        assert {spec.name for specs in sets.values() for spec in specs} <= words


# The values of examples


SPECS = {
    (f"{prefix}{name}", spec.name): spec
    for name, sets in option_sets().items()
    for prefix, specs in sets.items()
    for spec in specs
    if spec.attr
}


def test_an_example_value_is_legal_and_not_the_default() -> None:
    def check(where: tuple[str, str]) -> None:
        spec = SPECS[where]
        (entry,) = parse_properties(f"key={spec.example_text}", "f").entries
        assert spec.value(entry.value) != spec.default

    check_each(SPECS, check)


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        (Bool(), True, "false"),
        (Bool(), False, "true"),
        (Int(3), 3, "4"),
        (Int(3), 7, "3"),
        (Size(), 1 << 30, "64m"),
        (Size(), 64 << 20, "1m"),
        (Text(), "X", "Y"),
        (NamePart(), ".txt", ".json"),
        (PathKind(), None, "./out"),
        (Charset(), "UTF-8", "UTF-16BE"),
        (Charset(), "UTF-16BE", "UTF-8"),
        (Choice({"a": "first", "b": "second"}), "a", "b"),
        (Choice({"a": "first", "b": "second"}), "b", "a"),
    ],
)
def test_an_example_value_by_kind(kind: ValueType[object], default: object, shown: str) -> None:
    assert OptionSpec("x", "x", kind, default, "", "", ()).example_text == shown


def test_an_example_shows_what_the_property_changes() -> None:
    def check(word: str) -> None:
        made = example(property_word(word))
        if any(variant.spec.since for variant in property_word(word).variants):  # many others are for reading
            assert bool(made.operation) is (word not in CHANGE_NO_MESSAGE)
        assert made.before != made.after or not made.operation
        assert re.fullmatch(
            rf"(gg\.(event)?handler\.out\.(format\.)?|ggfmt\.)?{re.escape(word.replace('<name>', 'out'))}=.+",
            made.lines[-1],
        )
        if len(made.lines) > 1:  # with a handler
            lines = [*made.lines, *([] if "ggfmt." in made.lines[-1] else ["ggfmt.compatibility=12.2"])]
            assert {finding.code for finding in read_configuration([], lines).diagnostics} <= {"GG109", "GG111"}

    check_each(PROPERTIES, check)


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("generateSchema", ("gg.handler.out.format=json", "gg.handler.out.format.generateSchema=false")),
        ("groupName", ("gg.handler.out.format=delimitedtext", "ggfmt.groupName=rep1")),
        ("beforePrefix", ("gg.handler.out.format.beforePrefix=X",)),  # its formats are only read
        ("maxFileSize", ("gg.handler.out.maxFileSize=64m",)),
        ("gg.transforms", ("gg.transforms=blanks",)),
    ],
)
def test_an_example_has_the_format_that_the_property_needs(word: str, lines: tuple[str, ...]) -> None:
    assert example(property_word(word)).lines == lines


def test_the_example_takes_the_handler_s_name_from_the_key() -> None:
    assert example(property_word("gg.handler.k1.format.prettyPrint")).lines == (
        "gg.handler.k1.format=json",
        "gg.handler.k1.format.prettyPrint=true",
    )


def test_a_property_that_needs_another_is_shown_with_it() -> None:
    made = example(property_word("keyValueDelimiter"))
    assert made.lines[1:] == ("gg.handler.out.includeTokens=true", "gg.handler.out.format.keyValueDelimiter=:")
    assert "L=206080450" in made.before[0]
    assert "L:206080450" in made.after[0]


# The text


def test_a_property_in_full() -> None:
    assert shown("pkUpdateHandling") == (
        "gg.handler.<name>.format.pkUpdateHandling\n"
        "\n"
        "How to handle an update that changes the primary key.\n"
        "\n"
        "  formats       delimitedtext, json_row, avro_row, avro_row_ocf\n"
        "  legal values  `abend`          stop the run\n"
        "                `update`         write an update\n"
        "                `delete-insert`  write a delete of the before image and an insert of the after image\n"
        "  default       `abend`\n"
        "  releases      all\n"
        "  aliases       `pkUpdateHandlingformat.pkUpdateHandling`\n"
        "  other keys    `gg.handler.<name>.pkUpdateHandling`\n"
        "\n"
        "For example:\n"
        "  gg.handler.out.format=delimitedtext\n"
        "  gg.handler.out.format.pkUpdateHandling=update\n"
        "\n"
        "An update of the primary key without the last line:\n"
        "  error[GG402] an update changes the primary key; set `pkUpdateHandling` to `update` or `delete-insert`\n"
        "\n"
        "The same with the last line:\n"
        "  U\\u0001GG.TCUSTORD\\u00012013-06-02 22:14:36.000000\\u00012015-09-18T13:39:35.447000"
        "\\u000100000000000000001447\\u0001JANE\\u0001PLANE\\u00011\\n\n"
    )


def test_a_name_of_two_properties() -> None:
    assert "  other keys    `gg.handler.<name>.format.mode`\n" in shown("mode")
    assert "other keys" not in shown("gg.handler.x.mode")
    assert shown("gg.handler.<name>.mode").startswith("gg.handler.<name>.mode\n")


def test_a_property_that_formats_differ_in() -> None:
    assert shown("lineDelimiter").split("\n\n")[1] == (
        "  formats       delimitedtext, delimitedtext_op, avro_row, avro_op\n"
        "  meaning       delimitedtext, delimitedtext_op: The text after each message.\n"
        "                avro_row, avro_op: The text after each message, in UTF-8. Messages can contain it. "
        "If empty, nothing separates messages.\n"
        "  legal values  any string\n"
        "  default       delimitedtext, delimitedtext_op: `CDATA[\\n]`\n"
        "                avro_row, avro_op: empty\n"
        "  releases      all"
    )


def test_the_releases_that_have_a_property() -> None:
    assert "  releases      12.2.0.1 to 19.1\n" in shown("includeOpType")
    assert "  releases      from 12.3.1.1\n" in shown("genericWrapperUseFingerprint")
    assert shown("iso8601Format").count("Write a `T`") == 1  # formats differ in when it ended, not in what it does


def test_what_each_release_changes() -> None:
    text = shown("ggfmt.compatibility")
    for line in (
        "  12.2          numbers are doubles; a NUMBER without precision is text, as it is in the trail\n",
        "  12.3          whole numbers are long integers, and a NUMBER without precision is a double\n",
        "                wrappers name schemas by fingerprint\n",
        "  23            no change in messages\n",
    ):
        assert text.count(line) == 1
    assert "`genericWrapperUseFingerprint`" in text
    (last,) = [line for line in text.splitlines() if "last release with: " in line]
    assert "`includeOpType`" in last
    assert "`includePrimaryKeys`" in last


def test_a_misprint_is_told() -> None:
    assert shown("iso8601Forma").startswith(
        "gg.handler.<name>.format.iso8601Format\n\n`iso8601Forma` is read as `iso8601Format`.\n\nWrite a `T`"
    )


@pytest.mark.parametrize("name", ["a/b", "_ggfmt", "h\xf0t"])
def test_a_key_below_any_handler_is_explained(name: str) -> None:
    assert "Write each message over several lines" in shown(f"gg.handler.{name}.format.prettyPrint")


def test_a_code_of_a_run_says_so() -> None:
    text = shown("GG124")
    assert "  severity  note of a run; `validate-config` without `--for-run`: note\n" in text
    assert "  question  what does ggfmt not do of the handler file?\n" in text
    assert "question" not in shown("GG205")


def test_a_code_in_full() -> None:
    assert shown("gg103") == (
        "GG103: an illegal value\n"
        "\n"
        f"{CODES['GG103'].explanation}\n"
        "\n"
        "  severity  error\n"
        "  question  would GoldenGate accept the handler file, and do what its author means?\n"
        "  page      `ggfmt docs check-handler-files`\n"
        "\n"
        "Before:\n"
        "  gg.handlerlist=out\n"
        "  gg.handler.out.format=avro_row\n"
        "  gg.handler.out.format.pkUpdateHandling=del-insert\n"
        "\n"
        "After:\n"
        "  gg.handlerlist=out\n"
        "  gg.handler.out.format=avro_row\n"
        "  gg.handler.out.format.pkUpdateHandling=delete-insert\n"
    )


def test_a_code_in_markdown() -> None:
    found = find_symbol("GG304")
    assert found is not None
    assert explanation_markdown(explain(found, "GG304")) == (
        "## GG304: an unknown operation type\n"
        "\n"
        f"{CODES['GG304'].explanation}\n"
        "\n"
        "* severity: error\n"
        "* page: `ggfmt docs handle-bad-records`\n"
        "\n"
        "Before:\n"
        "\n"
        "```text\n"
        '{"table":"GG.TCUSTORD","op_type":"TRUNC"}\n'
        "```\n"
        "\n"
        "After:\n"
        "\n"
        "```text\n"
        '{"table":"GG.TCUSTORD","op_type":"T"}\n'
        "```\n"
    )


# The command


def test_an_unknown_word_ends_with_2_and_a_suggestion() -> None:
    result = CliRunner().invoke(app, ["explain", "pkUpdateHandlin"], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "`pkUpdateHandlin` is not a code, a property or a format; did you mean `pkUpdateHandling`?" in result.output
    result = CliRunner().invoke(app, ["explain", "zzzzzz"], env={"COLUMNS": "200"})
    assert (
        "`zzzzzz` is not a code, a property or a format; give a code such as `GG103`, a property or a format"
        in result.output
    )


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_command_prints_every_form(form: str) -> None:
    found = find_symbol("GG101")
    assert found is not None
    explanation = explain(found, "GG101")
    forms = {"text": explanation_text, "json": explanation_json, "markdown": explanation_markdown}
    result = CliRunner().invoke(app, ["explain", "GG101", "--output-format", form])
    assert result.exit_code == 0
    assert result.stdout == forms[form](explanation)


def test_a_terminal_shows_colour_and_the_same_text(tmp_path: Path) -> None:
    status, told = on_terminal([sys.executable, "-m", "ggfmt", "explain", "pkUpdateHandling"], tmp_path, (100, 200))
    assert status == 0
    assert ESCAPE in told
    assert re.sub(r"\x1b\[[0-9;]*m", "", told).replace("\r\n", "\n") == shown("pkUpdateHandling")


def test_a_stream_that_lacks_a_character_shows_an_escape() -> None:
    from ggfmt.render.reference import print_explanation

    found = find_symbol("GG404")
    assert found is not None
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_explanation(explain(found, "GG404"), stream)
    stream.seek(0)
    assert "# PRODUCT is CAF\\xc9\n" in stream.read()


@pytest.mark.parametrize("arguments", [["explain", "GG103"], ["explain", "gg.log"], ["--version"]], ids=" ".join)
def test_what_formats_nothing_does_not_load_arrow(arguments: list[str]) -> None:
    assert "pyarrow" not in loaded(arguments)


def test_titles_are_words_once() -> None:
    def names() -> Iterator[str]:
        yield from (word for word, _ in titles())

    assert len(set(names())) == len(list(names()))
    assert set(CODES) | set(FORMATS) <= set(names())


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("parquet", "a type of event handlers of the File Writer"),
        ("fabric_lakehouse", "a target, whose handlers GoldenGate makes itself"),
        ("gg.eventhandler.x.stripeSize", "event handlers orc"),
    ],
)
def test_event_handlers_and_targets(word: str, text: str) -> None:
    assert text in " ".join(shown(word).split())


@pytest.mark.parametrize(
    ("word", "title", "form"),
    [
        ("MAP", "MAP: a parameter of a Replicat", "MAP source, TARGET target"),
        ("colmap", "COLMAP: an option of MAP of a Replicat", "COLMAP ([USEDEFAULTS,]"),
        ("INSERTALLRECORDS", "INSERTALLRECORDS: a parameter and an option of MAP of a Replicat", "INSERTALLRECORDS"),
        ("@strcat", "@STRCAT: a function of a Replicat", "@STRCAT (text, …)"),
        ("DDL", "DDL: a parameter of a Replicat", "DDL [INCLUDE"),
        ("@DDL", "@DDL: a function of a Replicat", "@DDL (…)"),
        ("IGNOREDELETES", "GETDELETES: a parameter of a Replicat", "GETDELETES | IGNOREDELETES"),
    ],
)
def test_a_word_of_a_parameter_file(word: str, title: str, form: str) -> None:
    found = find_symbol(word)
    assert found is not None
    explanation = explain(found, word)
    assert explanation.title == title
    assert explanation_text(explanation).split("form ", 1)[1].strip().startswith(form)
    assert json.loads(explanation_json(explanation))["source"]


def test_a_word_of_a_handler_file_is_not_one_of_a_parameter_file() -> None:
    assert isinstance(find_symbol("filter"), PropertySymbol)
    assert not isinstance(find_symbol("FILTER"), PropertySymbol)
    assert [nearest(word) for word in ("GETTRUNCATE", "@STRCATT", "colmapp")] == ["GETTRUNCATES", "@STRCAT", "COLMAP"]


@pytest.mark.parametrize(
    ("word", "title", "text"),
    [
        ("delete-insert", "delete-insert", "write a delete of the before image and an insert of the after image"),
        ("ABEND", "abend", "stop the run"),
        ("local_quorum", "LOCAL_QUORUM", "Choose how many replicas"),
        ("19.1", "GoldenGate for Big Data 19.1", "first with event handlers  `command`, `redshift`, `adw`"),
        ("12.3.2.1.1", "GoldenGate for Big Data 12.3.2.1", "last with event handlers"),
        ("23AI", "GoldenGate for Big Data 23ai", "ggfmt.compatibility=23"),
        ("CDATA", "GG114: trimmed white space", "CDATA[...]"),
        ("CDATA[|]", "GG114: trimmed white space", "CDATA[...]"),
        ("rootFilePath", "gg.handler.<name>.rootFilePath", "replaced by"),
        ("gg.eventhandler.x.type", "gg.eventhandler.<name>.type", "`parquet`"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_value_a_release_and_what_replaced_a_property(word: str, title: str, text: str, form: str) -> None:
    symbol = find_symbol(word)
    assert symbol is not None
    explanation = explain(symbol, word)
    assert explanation.title == title
    assert text in explanation_text(explanation)
    result = CliRunner().invoke(app, ["explain", word, "--output-format", form])
    assert result.exit_code == 0
    if form == "json":
        assert json.loads(result.output)["kind"] in ("value", "release", "code", "property")


@pytest.mark.parametrize("word", ["11.2", "1", "99ai", "12.3.x", "delete-inserts"])
def test_a_word_that_only_looks_like_a_release_or_a_value(word: str) -> None:
    assert find_symbol(word) is None
