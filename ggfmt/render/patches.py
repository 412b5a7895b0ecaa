"""A patch: its own bytes for a pipe or a file, or to be looked at on a terminal."""

from __future__ import annotations

from typing import TextIO

from ggfmt.java.text import visible

_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan", "-": "red", "+": "green"}


def print_patch(patch: bytes, stream: TextIO) -> None:
    """Write a patch to a stream; on a terminal with colour, and with an escape for what does not print."""
    if not stream.isatty():
        stream.flush()
        stream.buffer.write(patch)
        return
    from rich.console import Console
    from rich.text import Text

    text = Text(end="")
    for line in patch.decode("utf-8", "backslashreplace").split("\n")[:-1]:
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        text.append("".join(part if part == "\t" else visible(part) for part in line) + "\n", style)
    Console(file=stream).print(text, soft_wrap=True, end="")
