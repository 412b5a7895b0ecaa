"""Long output in a pager, as git shows it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from ggfmt import signals
from ggfmt.lazy import lazy_regex
from ggfmt.render.terminal import AsciiOutput, columns_of, is_interactive, rows_of, text_width, write_text

_VARIABLES = ("GGFMT_PAGER", "PAGER")
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}  # those of git: colors, no clearing of the screen
_SHELL = lazy_regex(r"[|&;<>()$`\\\"'*?\[#~=%]")
_NOT_STARTED = (126, 127)  # exit codes of a shell that cannot start a program
_STYLE = lazy_regex(r"\x1b\[[0-9;]*m")


@contextmanager
def paged() -> Iterator[None]:
    """Show standard output in a pager, if it is longer than the terminal; after an error, as it is."""
    screen = sys.stdout
    command = find_pager(screen)
    if command is None:
        yield
        return
    collected = _CollectedOutput(screen)
    sys.stdout = collected
    try:
        yield
    except BaseException:
        sys.stdout = screen
        write_text(collected.getvalue(), screen, is_data=True)
        raise
    sys.stdout = screen
    text = collected.getvalue()
    columns, rows = columns_of(screen), rows_of(screen)
    heights = (max(-(-text_width(line) // columns), 1) for line in _STYLE.sub("", text).splitlines())
    is_longer = rows is not None and sum(heights) >= rows  # the last row is for the prompt
    if not is_longer or not _show(text, command, screen):
        write_text(text, screen, is_data=True)


def find_pager(stream: TextIO | None) -> str | None:
    """Return `GGFMT_PAGER`, `PAGER` or `less`; None without a terminal, or for an empty variable or `cat`."""
    if stream is None or not is_interactive(stream) or rows_of(stream) is None:
        return None
    for variable in _VARIABLES:
        command = os.environ.get(variable)
        if command is not None:
            return None if command.strip() in ("", "cat") else command
    from shutil import which

    return "less" if which("less") else None


class _CollectedOutput(io.StringIO):
    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen
        self.passes_on_data = isinstance(screen, AsciiOutput)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._screen.encoding or "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._screen.fileno()


def _show(text: str, command: str, screen: TextIO) -> bool:
    import shlex
    import subprocess

    screen.flush()
    encoding = "utf-8" if isinstance(screen, AsciiOutput) else screen.encoding or "utf-8"
    environment = {**_DEFAULTS, **os.environ}
    if encoding.lower().replace("-", "") == "utf8":
        environment.setdefault("LESSCHARSET", "utf-8")
    # A shell that Ctrl-C ends would leave its pager behind, so there is one only if the command needs it.
    called: str | Sequence[str] = command if _SHELL.search(command) else shlex.split(command)
    pager = None
    with signals.interrupts_left_to_child():
        try:
            try:
                with signals.deferred():  # a signal in the middle of a start would leave the pager behind
                    pager = subprocess.Popen(
                        called, shell=isinstance(called, str), stdin=subprocess.PIPE, env=environment
                    )
            except OSError:
                return False
            assert pager.stdin is not None
            with suppress(OSError):  # the user has quit the pager, or it reads no input
                pager.stdin.write(text.encode(encoding, "backslashreplace"))
            with suppress(OSError):
                pager.stdin.close()
            return pager.wait() not in _NOT_STARTED
        except BaseException:
            if pager is not None:
                pager.terminate()
                pager.wait()
            raise
