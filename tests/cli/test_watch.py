"""`validate-config --watch` in a terminal: a check after each change, and the exit code of the last one."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import call

RIGHT = "gg.handlerlist=a\ngg.handler.a.format=json\n"
WRONG = RIGHT.replace("json", "jsn")


def shown(terminal: int, pattern: str) -> str:
    text, end = "", time.monotonic() + 60
    while not re.search(pattern, text):
        ready, _, _ = select.select([terminal], [], [], max(end - time.monotonic(), 0))
        assert ready, f"{pattern} did not come: {text!r}"
        text += os.read(terminal, 65536).decode()
    return text


def test_files_and_settings_are_checked_again_after_each_change(tmp_path: Path) -> None:
    file, settings = tmp_path / "a.properties", tmp_path / "ggfmt.toml"
    file.write_text(WRONG)
    terminal, follower = pty.openpty()
    command = [sys.executable, "-m", "ggfmt", "validate-config", "a.properties", "--watch"]
    environment = {**{name: value for name, value in os.environ.items() if name != "CI"}, "TERM": "xterm"}
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, cwd=tmp_path, env=environment, start_new_session=True
    )
    os.close(follower)
    try:
        assert "GG106" in shown(terminal, "Ctrl-C ends")
        file.write_text(RIGHT)
        assert "no findings" in shown(terminal, "Ctrl-C ends")
        settings.write_text("exclude = 1\n")
        assert "GG133" in shown(terminal, "Ctrl-C ends")
        settings.unlink()
        assert "no findings" in shown(terminal, "Ctrl-C ends")
        file.unlink()
        assert "GG100" in shown(terminal, "Ctrl-C ends")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 2
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.mark.parametrize("option", [[], ["--fix"], ["--add-ignore"], ["--write-baseline", "b.json"]])
def test_it_needs_a_terminal_and_writes_nothing(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text(WRONG)
    ended = call("validate-config", tmp_path / "a.properties", "--watch", *option)
    assert ended.exit_code == 2
    assert "--watch" in ended.output
    assert (tmp_path / "a.properties").read_text() == WRONG
