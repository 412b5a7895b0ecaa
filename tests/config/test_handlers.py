"""What a handler file says, and what is said of a handler file: every rule with the exact text of its diagnostic."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import LINT
from strategies import examples

from ggfmt.config.handlers import Configuration, HandlerConfig, HandlerOptions, read_configuration
from ggfmt.config.lint.reading import lint
from ggfmt.config.properties import CHOSEN, entries_from_settings
from ggfmt.config.property_table import FORMAT_OWNERS, PROCESS
from ggfmt.diagnostics.diagnostic import ConfigurationError
from ggfmt.formats import FORMATS
from ggfmt.formats.goldengate.delimited import DelimitedTextOptions
from ggfmt.formats.goldengate.json import JsonOptions
from ggfmt.render.diagnostics import diagnostics_text


def sample(name: str) -> str:
    """A sample configuration of the manual (GoldenGate for Big Data 12.2, chapter 6), as printed, with a list."""
    return "gg.handlerlist=hdfs\n" + (LINT / f"manual_{name}.properties").read_text(encoding="utf-8")


Read = Callable[..., Configuration]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads one text as the file `a`, with `--set` settings and `--handler` names."""
    monkeypatch.chdir(tmp_path)

    def read_text(text: str, *settings: str, handlers: tuple[str, ...] = ()) -> Configuration:
        Path("a").write_text(text, encoding="utf-8")
        return read_configuration(["a"], settings, handlers)

    return read_text


def told(read: Read, text: str, *settings: str, handlers: tuple[str, ...] = ()) -> list[str]:
    """All findings for a text, errors or not, one line each."""
    try:
        diagnostics = read(text, *settings, handlers=handlers).diagnostics
    except ConfigurationError as error:
        diagnostics = error.diagnostics
    return list(map(str, diagnostics))


def only(configuration: Configuration) -> HandlerConfig:
    (handler,) = configuration.handlers
    return handler


def k(text: str) -> str:
    """A file with one handler `k` of format `json`; the given lines start at line 3."""
    return f"gg.handlerlist=k\ngg.handler.k.format=json\n{text}\n"


# The manual's samples


def test_delimited_sample(read: Read) -> None:
    configuration = read(sample("delimitedtext"))
    assert only(configuration).format == "delimitedtext"
    assert only(configuration).options == DelimitedTextOptions(encoding="UTF-8")
    assert diagnostics_text(configuration.diagnostics) == (
        "a:14:1: warning[GG102] `gg.handler.hdfs.format.kevValuePairDelimiter` is read as `keyValuePairDelimiter`\n"
        "  14 | gg.handler.hdfs.format.kevValuePairDelimiter=CDATA[,]\n"
        "     | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: write `gg.handler.hdfs.format.keyValuePairDelimiter`\n"
    )


def test_json_sample(read: Read) -> None:
    configuration = read(sample("json"))
    assert only(configuration).format == "json"
    assert only(configuration).options == JsonOptions(schema_directory="dirdef")
    assert told(read, sample("json")) == [
        "a:11:1: warning[GG102] `gg.handler.hdfs.format.treatAllColumnsAsString` is read as `treatAllColumnsAsStrings`;"
        " write `gg.handler.hdfs.format.treatAllColumnsAsStrings`"
    ]


HAFS = (
    "warning[GG101] `gg.handler.hafs.format.wrapMessageInGenericAvroMessage` belongs to no listed handler;"
    " did you mean `gg.handler.hdfs.format.wrapMessageInGenericAvroMessage`?"
)


def test_avro_row_sample(read: Read) -> None:
    assert told(read, sample("avro_row")) == [f"a:9:1: {HAFS}"]


def test_avro_operation_sample(read: Read) -> None:
    assert told(read, sample("avro_op")) == [
        "a:2:1: warning[GG101] `gg.hdfs.format` is not a property that ggfmt knows;"
        " did you mean `gg.handler.hdfs.format`?",
        "a:2:1: error[GG109] `gg.handler.hdfs.format` is missing, and `gg.hdfs.format` is not it;"
        " write `gg.handler.hdfs.format=avro_row`",
        f"a:8:1: {HAFS}",
    ]


def test_xml_sample(read: Read) -> None:
    assert told(read, sample("xml")) == []


# Which handlers


def test_handlers_come_in_the_order_of_the_list(read: Read) -> None:
    configuration = read(
        "gg.handlerlist = b , a,\ngg.handler.a.format=json\ngg.handler.b.mode=op\ngg.handler.c.format=nonsense\n"
    )
    assert [(handler.name, handler.format) for handler in configuration.handlers] == [
        ("b", "delimitedtext"),
        ("a", "json"),
    ]
    assert configuration.diagnostics == ()


def test_handler_picks_some_and_ignores_the_others(read: Read) -> None:
    text = "gg.handlerlist=b,a\ngg.handler.a.format=json\ngg.handler.b.format=nonsense\n"
    assert only(read(text, handlers=("a", "a"))).name == "a"
    assert told(read, text, handlers=("a", "c")) == [
        "error[GG105] `--handler` names `c`, which is not a handler; handlers are `b`, `a`"
    ]
    assert told(read, text.replace("=b", "=bb"), handlers=("bbb",)) == [
        "error[GG105] `--handler` names `bbb`, which is not a handler; handlers are `bb`, `a`; did you mean `bb`?"
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "gg.handler.a.format=json\ngg.handler.b.format=json",
            "a: error[GG105] `gg.handlerlist` is missing; add `gg.handlerlist=a,b`",
        ),
        ("", "a: error[GG105] `gg.handlerlist` is missing; add `gg.handlerlist` and name a handler"),
        ("gg.handlerlist= , ", "a:1:1: error[GG105] `gg.handlerlist` is empty; name the handlers to run"),
        (
            "gg.handlerlist=hdfs, kafka\ngg.handler.hdsf.type=hdfs\ngg.handler.kafka.type=flume",
            "a:1:16: error[GG104] `gg.handlerlist` names `hdfs`, but no property is `gg.handler.hdfs`;"
            " did you mean `hdsf`?",
        ),
        (
            "gg.handlerlist=k, x\ngg.handler.k.type=hdfs",
            "a:1:19: error[GG104] `gg.handlerlist` names `x`, but no property is `gg.handler.x`;"
            " add `gg.handler.x.format=delimitedtext`",
        ),
        (
            "gg.handlerlist=../x",
            "a:1:16: error[GG149] `../x` cannot be a handler's name;"
            " use letters, digits, `_` and `-`: the name becomes the name of a directory",
        ),
    ],
)
def test_no_handler(read: Read, text: str, finding: str) -> None:
    assert told(read, text) == [finding]


def test_nothing_given() -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_configuration([])
    assert str(raised.value) == (
        "error[GG105] `gg.handlerlist` is missing; give a file with `-c`, or `--set gg.handler.out.format=json`"
    )


def test_settings_alone_name_their_handlers() -> None:
    configuration = read_configuration(
        [], ["gg.handler.out.format=json", "gg.handler.out.format.jsonDelimiter=CDATA[\\n]"]
    )
    assert only(configuration).name == "out"
    assert only(configuration).options == JsonOptions(json_delimiter="\n")
    assert configuration.diagnostics == ()


@pytest.mark.parametrize("setting", ["gg.handler.text.format.lineDelimiter=;", "gg.handler.text.format=delimitedtext"])
def test_a_chosen_format_has_one_handler(setting: str) -> None:
    chosen = entries_from_settings(["gg.handler.json.format=json"], CHOSEN)
    configuration = read_configuration([], [setting], made=chosen)
    assert only(configuration).name == "json"
    (finding,) = configuration.diagnostics
    assert (finding.code, finding.help) == ("GG101", "handlers are `json`")


def test_a_file_that_is_given_twice_is_read_where_it_is_given_last(read: Read) -> None:
    read(k(""))
    Path("b").write_text("gg.handler.k.format=xml\n")
    configuration = read_configuration(["a", "b", "a"])
    assert only(configuration).format == "json"
    assert configuration.diagnostics == ()


def test_settings_and_later_files_override_in_silence(read: Read) -> None:
    configuration = read(k("gg.handler.k.format.prettyPrint=true"), "gg.handler.k.format.prettyPrint=false")
    assert only(configuration).options == JsonOptions()
    assert configuration.diagnostics == ()
    Path("b").write_text("gg.handler.k.includeTokens=true")
    assert only(read_configuration(["a", "b"])).handler == HandlerOptions(include_tokens=True)


def test_a_handler_name_may_have_a_dot(read: Read) -> None:
    configuration = read("gg.handlerlist=my.handler\ngg.handler.my.handler.format=json\n")
    assert (only(configuration).name, only(configuration).format) == ("my.handler", "json")


# Which format


@pytest.mark.parametrize("format", ["json", "JSON", "Json", "  json  "])
def test_format_ids_are_matched_in_any_case(read: Read, format: str) -> None:
    assert only(read(f"gg.handlerlist=k\ngg.handler.k.format={format}")).format == "json"


@pytest.mark.parametrize("text", ["gg.handler.k.type=hdfs", "gg.handler.k.format=", "gg.handler.k.Format"])
def test_the_default_format(read: Read, text: str) -> None:
    assert only(read(f"gg.handlerlist=k\n{text}")).format == "delimitedtext"


@pytest.mark.parametrize(
    ("format", "message", "near"),
    [
        ("jsn", "[GG106] `jsn` is not a format", "; did you mean `json`?"),
        ("csv", "[GG149] `csv` is a format of the older Java adapter that ggfmt does not write", ""),
        ("xml2", "[GG149] `xml2` is a format of the older Java adapter that ggfmt does not write", ""),
        (
            "com.example.MyFormatter",
            "[GG149] `com.example.MyFormatter` is a Java class or a template, which ggfmt cannot run",
            "",
        ),
        ("sequencefile", "[GG149] `sequencefile` is a format of GoldenGate that ggfmt does not write", ""),
    ],
)
def test_unknown_formats(read: Read, format: str, message: str, near: str) -> None:
    written = ", ".join(f"`{name}`" for name, record in FORMATS.items() if record.writes)
    assert told(read, f"gg.handlerlist=k\ngg.handler.k.format={format}\ngg.handler.k.format.x=y") == [
        f"a:2:21: error{message}; formats are {written}{near}"
    ]


# Which properties


@pytest.mark.parametrize("name", ["prettyPrint", "PrettyPrint"])
def test_the_first_letter_may_have_either_case(read: Read, name: str) -> None:
    configuration = read(k(f"gg.handler.k.format.{name}=TRUE"))
    assert only(configuration).options == JsonOptions(pretty_print=True)
    assert configuration.diagnostics == ()


@pytest.mark.parametrize(
    "rest",
    [
        "formatter.prettyPrint",
        "Formatter.PrettyPrint",
        "format.prettyPrintformat.prettyPrint",
    ],
)
def test_other_names_of_a_property(read: Read, rest: str) -> None:
    text = k(f"gg.handler.k.{rest}=true")
    assert only(read(text)).options == JsonOptions(pretty_print=True)
    assert told(read, text) == [
        f"a:3:1: warning[GG102] `gg.handler.k.{rest}` is read as `prettyPrint`; write `gg.handler.k.format.prettyPrint`"
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "gg.handler.k.format.pretyPrint=true",
            "`gg.handler.k.format.pretyPrint` is not a property of `json`;"
            " did you mean `gg.handler.k.format.prettyPrint`?",
        ),
        ("gg.handler.k.format.qqq=true", "`gg.handler.k.format.qqq` is not a property of `json`"),
        (
            "gg.handler.k.format.includeTokens=true",
            "`gg.handler.k.format.includeTokens` is not a property of `json`;"
            " did you mean `gg.handler.k.includeTokens`?",
        ),
        (
            "gg.handler.k.prettyPrint=true",
            "`gg.handler.k.prettyPrint` is not a property of a handler;"
            " did you mean `gg.handler.k.format.prettyPrint`?",
        ),
        (
            "gg.handler.k.fileRollIntervall=1",
            "`gg.handler.k.fileRollIntervall` is not a property of a handler;"
            " did you mean `gg.handler.k.fileRollInterval`?",
        ),
        (
            "gg.handler.name.format.prettyPrint=true",
            "`gg.handler.name.format.prettyPrint` is never applied: it belongs to no listed handler;"
            " `name` is a placeholder for the name of a handler: write `gg.handler.k.format.prettyPrint`",
        ),
        ("gg.k.mode=op", "`gg.k.mode` is not a property that ggfmt knows; did you mean `gg.handler.k.mode`?"),
        ("gg.handler.k=json", "`gg.handler.k` is not a property that ggfmt knows; did you mean `gg.handler.k.format`?"),
        ("=x", "the value has no key"),
        (
            "gg.Handlers.k.mode=op",
            "`gg.Handlers.k.mode` is not a property that ggfmt knows; did you mean `gg.handler.k.mode`?",
        ),
        ("gg.handlerlists=k", "`gg.handlerlists` is not a property that ggfmt knows; did you mean `gg.handlerlist`?"),
    ],
)
def test_unknown_properties(read: Read, text: str, finding: str) -> None:
    assert told(read, k(text)) == [f"a:3:1: warning[GG101] {finding}"]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "fieldDelimiter=;",
            "GG110 a property of `delimitedtext` and `delimitedtext_op`, not of `json`; it has no effect",
        ),
        (
            "lineDelimiter=;",
            "GG110 a property of `delimitedtext`, `delimitedtext_op`, `avro_row` and `avro_op`, not of `json`; "
            "it has no effect",
        ),
        (
            "quote=x",
            "GG110 a property of `csv` and `fixed` of the Java adapter, not of `json`; it has no effect",
        ),
    ],
)
def test_properties_of_other_formats_and_releases(read: Read, text: str, finding: str) -> None:
    code, _, message = finding.partition(" ")
    key = f"gg.handler.k.format.{text.partition('=')[0]}"
    assert told(read, k(f"gg.handler.k.format.{text}")) == [f"a:3:1: warning[{code}] `{key}` is {message}"]


def test_a_misprinted_format_is_no_reason_for_the_default(read: Read) -> None:
    assert told(read, "gg.handlerlist=k\ngg.handler.k.fromat=json") == [
        "a:2:1: warning[GG101] `gg.handler.k.fromat` is not a property of a handler;"
        " did you mean `gg.handler.k.format`?",
        "a:2:1: error[GG109] `gg.handler.k.format` is missing, and `gg.handler.k.fromat` is not it;"
        " write `gg.handler.k.format=json`",
    ]


def test_handlers_that_are_off_are_not_taken_for_misprints(read: Read) -> None:
    assert told(read, k("gg.handler.kk.type=kafka\ngg.handler.kk.mode=op")) == []
    assert told(read, k("gg.handler.other.mode=op\ngg.handler.other.filter=x")) == [
        "a:3:1: warning[GG101] `gg.handler.other.mode` belongs to no listed handler; handlers are `k`; this one has no "
        "`type` and no `format`"
    ]


def test_a_setting_for_a_handler_that_is_not_listed(read: Read) -> None:
    assert told(read, k(""), "gg.handler.other.mode=op") == [
        "--set:1:1: warning[GG101] `gg.handler.other.mode` belongs to no listed handler; handlers are `k`"
    ]


def test_keys_outside_our_scope_are_accepted_in_silence(read: Read) -> None:
    lines = ["gg.handler.k.type=hdfs"]
    for spec in PROCESS.own:
        value = next(iter(getattr(spec.kind, "words", ("true",))))
        lines += [f"{re.sub('<.*>', 'x', spec.name)}={value}"] if spec.name != "gg.target" else []
    assert told(read, k("\n".join(lines))) == []


@pytest.mark.parametrize("rest", ["format.prettyprint", "Format.PRETTYPRINT", "FORMAT.PrettyPrint"])
def test_the_case_of_a_name_does_not_matter(read: Read, rest: str) -> None:
    text = k(f"gg.handler.k.{rest}=true")
    assert only(read(text)).options == JsonOptions(pretty_print=True)
    assert told(read, text) == []


def test_a_handler_that_is_a_java_class_has_properties_of_its_own(read: Read) -> None:
    assert told(read, k("gg.handler.k.type=sample.SampleHandler\ngg.handler.k.address=host:10101")) == []


def test_duplicates(read: Read) -> None:
    text = k(
        "gg.handler.k.format.prettyPrint=no\ngg.handler.k.format.PrettyPrint=true\ngg.handlerList=k,k\n"
        "gg.handler.k.format=json"
    )
    assert only(read(text)).options == JsonOptions(pretty_print=True)
    assert told(read, text) == [
        "a:4:1: warning[GG107] `gg.handler.k.format.PrettyPrint` was given before, in line 3;"
        " remove one of them; the last one counts",
        "a:5:1: warning[GG102] `gg.handlerList` is read as `gg.handlerlist`",
        "a:5:1: warning[GG107] `gg.handlerList` was given before, in line 1; remove one of them; the last one counts",
        "a:5:16: warning[GG107] `k` is listed twice; remove one of them",
    ]
    assert [(finding.span.line, finding.code) for finding in lint(text.encode(), "a")][-1] == (6, "GG128")


# Which values


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("gg.handler.k.format.prettyPrint=yes", "3:33 cannot be `yes`; legal values are `true`, `false`"),
        ("gg.handler.k.mode=all", "3:19 cannot be `all`; legal values are `tx`, `op`"),
        (
            "gg.handler.k.maxFileSize = 1x",
            "3:28 cannot be `1x`; give a number of bytes from 1, with an optional suffix `k`, `m`, `g` or `t`, such as "
            "`64m` or `1.1g`",
        ),
        ("gg.handler.k.rootFilePath=", "3:27 is not a path; give a path"),
        (
            "gg.handler.k.fileSuffix=/x",
            "3:25 cannot be `/x`; give any string of 64 bytes or less, without `/` and control characters",
        ),
        (
            "gg.handler.k.format.insertOpKey=\\ud800",
            "3:33 cannot be `\ud800`; give both halves of the surrogate pair",
        ),
    ],
)
def test_illegal_values(read: Read, text: str, finding: str) -> None:
    place, _, message = finding.partition(" ")
    key = text.partition("=")[0].strip()
    code = "GG149" if "fileSuffix" in key else "GG103"
    assert told(read, k(text)) == [f"a:{place}: error[{code}] `{key}` {message}"]


def test_an_illegal_value_is_shown_in_its_place(read: Read) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read("gg.handlerlist=k\ngg.handler.k.format.pkUpdateHandling=del-insert")
    assert diagnostics_text(raised.value.diagnostics) == (
        "a:2:38: error[GG103] `gg.handler.k.format.pkUpdateHandling` cannot be `del-insert`\n"
        "  2 | gg.handler.k.format.pkUpdateHandling=del-insert\n"
        "    |                                      ^^^^^^^^^^\n"
        "  help: legal values are `abend`, `update`, `delete-insert`; did you mean `delete-insert`?\n"
    )


def test_empty_values(read: Read) -> None:
    handler = only(
        read(
            "gg.handlerlist=k\ngg.handler.k.mode=\ngg.handler.k.maxFileSize=\ngg.handler.k.includeTokens\n"
            "gg.handler.k.fileSuffix=\ngg.handler.k.format.encoding=\ngg.handler.k.format.nullValueRepresentation=\n"
        )
    )
    assert handler.handler == HandlerOptions(file_suffix="")
    assert handler.options == DelimitedTextOptions(null_value_representation="")


def test_blanks_need_cdata(read: Read) -> None:
    handler = only(
        read(
            "gg.handlerlist=k\ngg.handler.k.format.lineDelimiter=\\n\n"
            "gg.handler.k.format.fieldDelimiter= CDATA[ \\t]\\u0001\n"
        )
    )
    assert handler.options == DelimitedTextOptions(line_delimiter="", field_delimiter=" \t")


def test_handler_properties(read: Read) -> None:
    handler = only(
        read(
            k(
                "gg.handler.k.type=hdfs\ngg.handler.k.mode=OP\ngg.handler.k.includetokens=true\n"
                "gg.handler.k.rootFilePath=/ogg\ngg.handler.k.fileSuffix=.json\ngg.handler.k.partitionByTable=false\n"
                "gg.handler.k.maxFileSize=2m\ngg.handler.k.schemaFilePath=/schemas\n"
                "gg.handler.k.rollOnMetadataChange=false\n"
            )
        )
    )
    assert handler.handler == HandlerOptions("hdfs", "op", True, "/ogg", ".json", False, 2 << 20, "/schemas", False)


def test_every_finding_of_every_file_is_told_at_once_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("gg.handlerlist=k\ngg.handler.k.mode=x\nfoo=\\u1\nbar=1\n")
    Path("b").write_text("gg.handler.k.includeTokens=x\n")
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["a", "missing", "b"], ["gg.handler.k.partitionByTable=x", "y"])
    places = [(str(finding.span), finding.code) for finding in raised.value.diagnostics]
    assert places == [
        ("a:2:19", "GG103"),
        ("a:3:5", "GG108"),
        ("missing", "GG100"),
        ("b:1:28", "GG103"),
        ("--set:1:31", "GG103"),
        ("--set:2:1", "GG108"),
    ]


def test_an_unreadable_file_is_not_also_blamed_for_what_it_lacks() -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_configuration(["/does/not/exist"])
    assert [finding.code for finding in raised.value.diagnostics] == ["GG100"]


# What comes of it


def test_handlers_compare_hash_and_pickle_and_know_their_places(read: Read) -> None:
    first = only(read(k("gg.handler.k.format.PrettyPrint=true")))
    second = only(read("\n" + k("gg.handler.k.format.prettyPrint=true")))
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first
    assert str(first.place("format.prettyPrint")) == "a:3:33"
    assert str(first.place("format")) == "a:2:21"
    assert str(first.place("format.encoding")) == ""


def test_no_property_is_told_as_lacking_that_the_format_has() -> None:
    for name, format in FORMATS.items():
        lacking = {spec.name for spec in FORMAT_OWNERS[name].own if spec.changes}
        assert format.writes is None or not lacking & set(format.options.specs().names)


def test_every_format_reads_its_own_defaults(read: Read) -> None:
    for name, format in FORMATS.items():
        if format.writes is None:
            continue
        lines = [
            f"gg.handler.k.format.{spec.name}={spec.default_text}"
            for spec in format.options.specs()
            if spec.default_text and format.since not in spec.disputed
        ]
        release = "21" if format.since == "19.1" else format.since  # whose metadata are known
        lines = ["gg.handlerlist=k", f"gg.handler.k.format={name}", f"ggfmt.compatibility={release}", *lines]
        configuration = read("\n".join(lines))
        assert only(configuration).options == format.options()
        assert {finding.code for finding in configuration.diagnostics} <= {"GG111"}  # metadata that ended before


PIECES = st.sampled_from(
    [
        "gg.handlerlist",
        "gg.handler.",
        "k",
        ".format",
        "json",
        ".prettyPrint",
        ".maxFileSize",
        "=",
        ",",
        "\n",
        "\\",
        "\\u",
        "\\ud800",
        " ",
    ]
)


@examples(300)
@given(
    st.lists(PIECES | st.text()).map("".join) | st.text(),
    st.lists(st.text(), max_size=2),
    st.lists(st.text(), max_size=2),
)
def test_any_text_is_a_configuration_or_a_configuration_error(
    read: Read, text: str, sets: list[str], handlers: list[str]
) -> None:
    try:
        found = read("gg.handlerlist=k\n" * (len(text) % 2) + text, *sets, handlers=tuple(handlers)).diagnostics
    except ConfigurationError as error:
        found = error.diagnostics
        assert found
    diagnostics_text(found).encode()


def test_a_handler_name_must_not_collide_with_the_directories_beside_it(read: Read) -> None:
    assert told(read, "gg.handlerlist=_ggfmt\ngg.handler._ggfmt.format=json\n") == [
        "a:1:16: error[GG149] `_ggfmt` cannot be a handler's name;"
        " use letters, digits, `_` and `-`: the name becomes the name of a directory"
    ]


def test_the_release_is_chosen_by_a_property_of_ggfmt(read: Read) -> None:
    assert read(k("")).run.compatibility == "12.2"
    for text, release in (
        ("12.3", "12.3"),
        ("12.3.1.1", "12.3"),
        ("12.3.2.1.1", "12.3.2"),
        ("19.1.0.0.4", "19.1"),
        ("21c", "21"),
        ("21.1", "21"),
        ("23AI", "23"),
    ):
        template = "gg.handler.k.format.metaColumnsTemplate=${optype}"
        assert read(k(f"{template}\nggfmt.compatibility={text}")).run.compatibility == release
    assert told(read, k("ggfmt.compatibility=13\nggfmt.compatability=12.3")) == [
        "a:3:21: error[GG103] `ggfmt.compatibility` cannot be `13`; "
        "legal values are `12.2`, `12.3`, `12.3.2`, `19.1`, `21`, `23`, `26`; "
        "did you mean `12.3`?",
        "a:4:1: warning[GG101] `ggfmt.compatability` is not a property of ggfmt; did you mean `ggfmt.compatibility`?",
    ]
