"""Names in the data are the data's: none steers a terminal, and none makes up a line of the log."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs import JSON_LINES, PIPES, operation, run_ggfmt, write_lines

from ggfmt import logs
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.render.diagnostics import diagnostics_text

FORGED = "Totals: 0 operations read"
NAME = f"GG.T\u2028{FORGED}\u202e\U000e0001"  # what the name of a table may have: no control character
ENDINGS = ("\n", "\r\n", "\x85", "\u2028", "\x0b")
HOSTILE = "".join(f"{end}{FORGED}" for end in ENDINGS) + "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\x00\x7f"


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("ggfmt")
    before = logger.handlers[:], logger.level, logger.propagate
    yield logger
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def hostile(folder: Path) -> Path:
    """A file with such a name in every place that a log, a summary or a warning may name."""
    names: dict[str, Any] = {f"C{HOSTILE}": "\U0001f600", f"M{HOSTILE}": None}
    records = [
        operation(1, NAME, **names),
        operation(2, NAME, "U", **names) | {f"X{HOSTILE}": 1, "tokens": {f"K{HOSTILE}": "v"}},
    ]
    return write_lines(folder / f"in{HOSTILE.replace(chr(0), '')}.json", records)


def assert_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert line.isprintable(), line
        assert not line.lstrip().startswith(FORGED)
    assert text.count("\\u001b") >= 1  # the name was shown, as escapes


@pytest.mark.parametrize("format", logs.FORMATS)
def test_a_log_shows_names_as_escapes(
    tmp_path: Path, format: str, log: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.set_up("trace", format)
    run_ggfmt([hostile(tmp_path)], tmp_path / "out", *JSON_LINES, *PIPES, "gg.handler.d.format.encoding=ISO-8859-1")
    text = capsys.readouterr().err
    if format == "json":
        entries = [json.loads(line) for line in text.splitlines()]
        assert text.isascii()
        text = "\n".join(entry["message"] for entry in entries)
    assert "unknown member" in text
    assert "[GG404]" in text
    assert_harmless(text)


def test_a_diagnostic_shows_names_as_escapes(tmp_path: Path) -> None:
    source = hostile(tmp_path)
    with source.open("ab") as file:
        file.write(json.dumps(operation(3, NAME, "X")).encode() + b"\n")
    with pytest.raises(Abend) as caught:
        run_ggfmt([source], tmp_path / "out")
    assert_harmless(diagnostics_text(caught.value.diagnostics))


def test_a_preview_shows_names_as_escapes(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "ggfmt", "preview", str(hostile(tmp_path)), "--set", "gg.handler.j.format=json"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert_harmless(done.stderr + done.stdout)
