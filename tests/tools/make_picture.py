"""Makes `ggfmt/docs/terminal.svg`, the picture of the README: real commands on a pseudo terminal, and what they print.

python tests/tools/make_picture.py [FILE]
"""

from __future__ import annotations

import argparse
import html
import io
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pages
from places import ROOT
from rich.console import Console
from rich.text import Text
from terminal import on_terminal

PICTURE = ROOT / "ggfmt" / "docs" / "terminal.svg"
COMMANDS = (
    "ggfmt samples",
    "ggfmt validate-config samples/mistakes.properties",
    "ggfmt -q run samples/shop/changes --to delimitedtext -o - | grep ORDERS | cut -c 1-100",
    "ggfmt -q consolidate samples/shop/changes -o rows",
    "ggfmt compare rows samples/shop/export",
)
_WIDTH = 110
_TEXT = re.compile(r"<text [^>]*>([^<]*)</text>")
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)  # from another host: the picture loads nothing


def picture() -> str:
    """Run the commands and return the picture."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            _, shown = on_terminal(["bash", "-c", command], directory, (40, _WIDTH), GGFMT_MASTER="none", PATH=path)
            shown = pages.settled(shown.replace("\r\n", "\n"), directory).rstrip("\n")
            if shown:
                console.print(Text.from_ansi(shown))
    return _FONTS.sub("", console.export_svg(title="ggfmt", unique_id="ggfmt"))


def words(picture: str) -> list[str]:
    """Return the words that a picture shows, in order; rich may set each of its releases in another way."""
    return html.unescape(" ".join(_TEXT.findall(picture))).split()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the picture of the README.")
    parser.add_argument("file", type=Path, nargs="?", default=PICTURE)
    parser.parse_args().file.write_text(picture(), encoding="utf-8")
