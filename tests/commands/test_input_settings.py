"""How the input was written: a format and its options are one pair, in every command and in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from runs import operation, write_lines

import ggfmt
from ggfmt.cli import main
from ggfmt.commands.arguments import input_settings
from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.formats import FORMATS, READ
from ggfmt.reading.recognition import with_defaults

WRITTEN = [name for name in READ if FORMATS[name].writes is not None]


def handler_file(folder: Path, name: str) -> Path:
    path = folder / f"{name}.properties"
    format = FORMATS[name]
    type = f"gg.handler.h.type={format.handler_type}\n" if format.handler_type else ""
    path.write_text(f"gg.handlerlist=h\n{type}gg.handler.h.format={name}\nggfmt.compatibility=12.2\n")
    return path


@pytest.mark.parametrize("written", WRITTEN)
def test_a_handler_of_another_format_is_an_error_of_usage(written: str, tmp_path: Path) -> None:
    config = handler_file(tmp_path, written)
    name, own = input_settings("auto", config, None)
    assert name == written
    assert input_settings(written, config, None) == (written, own)
    for other in READ:
        if FORMATS[other].options is FORMATS[written].options:
            continue
        with pytest.raises(UsageError, match=rf"GG565.*`{other}`.*writes `{written}`"):
            input_settings(other, config, None)


COMMANDS: dict[str, Callable[[Path, Path, Path], object]] = {
    "run": lambda source, config, out: ggfmt.convert(
        source, config, out, input_format="json", input_config=config, mode="overwrite"
    ),
    "preview": lambda source, config, out: ggfmt.preview(source, config, input_format="json", input_config=config),
    "consolidate": lambda source, config, out: ggfmt.consolidate(source, out, input_format="json", input_config=config),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_end_before_they_read(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "in.json", [operation(1)])
    config, out = handler_file(tmp_path, "xml"), tmp_path / "out"
    with pytest.raises(UsageError, match="GG565"):
        COMMANDS[command](source, config, out)
    words = [command, str(source), "--input-format", "json", "--input-config", str(config)]
    words += ["-c", str(config)] if command != "consolidate" else []
    assert main(words + (["-o", str(out)] if command != "preview" else [])) == 2
    assert "GG565" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "lines", "code"),
    [
        ("json", {"insertOpKey": "U"}, "GG103"),
        ("xml", {"deleteOpKey": "T"}, "GG103"),
        ("json", {"afterObjectName": "before"}, "GG410"),
        ("json", {"metaColumnsTemplate": "${optype[after]}"}, "GG410"),
        ("goldengate_streams_json", {"beforeImageName": "x", "afterImageName": "x"}, "GG410"),
    ],
)
def test_options_whose_messages_no_reader_understands_are_refused(name: str, lines: dict[str, str], code: str) -> None:
    _, source = input_settings(name, None, lines)
    with pytest.raises(UsageError, match=code):
        with_defaults(source, name)


def test_the_registry_of_schemas_is_an_option_of_the_format() -> None:
    _, source = input_settings("debezium_avro", None, ["schemaRegistry=old", "table=S.T"], Path("avsc"))
    assert source.given == {"schemaRegistry": "avsc", "table": "S.T"}
