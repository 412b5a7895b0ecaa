"""Runs the pages: every command and program of a page, in its order, in one fresh directory for each page.

    pages.py [TOPIC ...]          run these pages, or all, and write what is printed into them
    pages.py --check [TOPIC ...]  run them, and say which print something else

Blocks of `bash` and `python` are run. A block after a paragraph with "as `NAME`:" at its end is saved as that file. A
block of text after `<!-- output -->` is what the last block that ran has printed; `<!-- output 1:8 -->` keeps these
lines, as a slice of Python. A line of a shell block that ends with `# exit code N` ends with that code, and all others
with 0. A block is not run if the paragraph before it starts with "Not run here:", with the reason; a test runs some of
these with servers. Commands run without Spark (GGFMT_MASTER), unless the page has `<!-- needs spark VERSION -->`, with
the lowest one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from places import ROOT

DOCS = ROOT / "ggfmt" / "docs"
_BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<kind>[\w-]*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
_NEEDS_SPARK = re.compile(r"^<!-- needs spark ([0-9.]+) -->$", re.MULTILINE)
_NOT_RUN = re.compile(r"Not run here: (.*)\.")
_SAVED = re.compile(r"as `([\w./-]+)`:")
_OUTPUT = re.compile(r"<!-- output(?: (-?\d*):(-?\d*))? -->")
_EXIT_CODE = re.compile(r"^(.*?)(?: &&)? +# exit code (\d+)$", re.MULTILINE)
# What differs from run to run, and what stands for it. A time of today becomes this one, in the form that it has.
_TIME = "2026-01-31 18:30:51.447000"
_CHANGING = (
    (re.compile(r"(?m)^[0-9:]{8} (?=[A-Z]+ )"), "18:30:51 "),
    (re.compile(r"  in [0-9.]+ s$", re.MULTILINE), "  in 0.2 s"),
    (re.compile(r"(?<![\w.])[0-9.]+ s(?: |$)(?=after|of CPU)"), "0.2 s "),
)
_LOOP = """
import sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    code = sys.stdin.read(int(line))
    try:
        exec(compile(code, "page", "exec"), names)
        state = "done"
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        state = "failed"
    print("--- the program is", state, flush=True)
"""


class PageError(Exception):
    """A block of a page that fails, or a page with a mistake in its form; the text says which and why."""


@dataclass(frozen=True)
class Block:
    """A fenced block. `start` and `end` are those of its body in the page; `what` is what to do with it.

    `name` is that of a saved file, or why a block is not run; `lines` are the first and the last line of an output that
    are shown.
    """

    kind: str
    body: str
    start: int
    end: int
    what: Literal["shown", "run", "saved", "output", "not run"]
    name: str = ""
    lines: tuple[int | None, int | None] = (None, None)


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    for match in _BLOCK.finditer(text):
        paragraph = text[: match.start()].rstrip("\n").rpartition("\n\n")[2].replace("\n", " ")
        kind, body, place = match["kind"], match["body"], match.span("body")
        output, saved = _OUTPUT.fullmatch(paragraph), _SAVED.search(paragraph)
        if output is not None:
            first, last = (int(word) if word else None for word in output.groups())
            yield Block(kind, body, *place, "output", lines=(first, last))
        elif reason := _NOT_RUN.fullmatch(paragraph):
            yield Block(kind, body, *place, "not run", name=reason[1])
        elif saved is not None and paragraph.endswith(saved[0]):
            yield Block(kind, body, *place, "saved", name=saved[1])
        else:
            yield Block(kind, body, *place, "run" if kind in ("bash", "python") else "shown")


def needed_spark(text: str) -> tuple[int, ...] | None:
    """Return the lowest version of Spark that a page needs; None if it needs none."""
    match = _NEEDS_SPARK.search(text)
    return None if match is None else tuple(map(int, match[1].split(".")))


def script(body: str) -> str:
    """Return the lines of a shell block as a script that ends where a line has another exit code than is written."""

    def with_code(match: re.Match[str]) -> str:
        command, code = match.groups()
        return f'code=0; {command} || code=$?; test "$code" = {code} || {{ echo "exit code $code"; exit 99; }}'

    joined = re.sub(r"\\\n\s*", "", body)
    return "set -euo pipefail\n" + _EXIT_CODE.sub(with_code, joined)


def settled(text: str, directory: Path) -> str:
    """Return what was printed with what differs from run to run replaced."""
    text = text.replace(os.path.realpath(directory), "/data").replace(str(directory), "/data")
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    today = date.today()
    days = "|".join(str(today + timedelta(days)) for days in (-1, 0, 1))
    return re.sub(rf"(?:{days})[T _]\d\d[:-]\d\d[:-]\d\d(?:\.\d{{1,6}})?", _fixed_time, text)


def _fixed_time(match: re.Match[str]) -> str:
    digits = iter(re.sub(r"\D", "", _TIME))
    return re.sub(r"\d", lambda _: next(digits), match[0])


def replaced(text: str, words: Mapping[str, str]) -> str:
    """Return a text with these words in place of others."""
    for word, other in words.items():
        text = text.replace(word, other)
    return text


def shown(printed: str, lines: tuple[int | None, int | None]) -> str:
    """Return the lines of an output that a page shows, with dots for those it leaves out."""
    first, last = lines
    every = [line.rstrip() for line in printed.splitlines()]
    kept = every[slice(first, last)]
    if first and len(every[slice(last)]) > len(kept):
        kept.insert(0, "...")
    if last is not None and len(every[slice(first, None)]) > len(every[slice(first, last)]):
        kept.append("...")
    return "".join(f"{line}\n" for line in kept)


class _Interpreter:
    """The Python of a page: its examples run in one process, and see what those before them made."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment,
            text=True,
        )

    def run(self, code: str) -> tuple[bool, str]:
        """Return whether a program ended without an error, and what it printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{len(code)}\n{code}")
        self._process.stdin.flush()
        printed: list[str] = []
        for line in self._process.stdout:
            if line.startswith("--- the program is "):
                return line.endswith("done\n"), "".join(printed)
            printed.append(line)
        return False, "".join(printed)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def environment_of(text: str, home: Path, programs: Path | None = None) -> dict[str, str]:
    """Return the variables of the processes of a page: those of a new user of this machine. `programs`: a directory
    with a `ggfmt` that counts instead of the installed one."""
    kept = ("LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME", "JAVA_HOME", "PYSPARK_PYTHON", "COVERAGE_PROCESS_START")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    places = [programs, Path(sys.executable).parent] if programs else [Path(sys.executable).parent]
    environment |= {"PATH": ":".join([*map(str, places), os.environ["PATH"]]), "HOME": str(home)}
    environment |= {"COLUMNS": "100", "TERM": "dumb", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"}
    if needed_spark(text) is None:
        environment["GGFMT_MASTER"] = "none"
    return environment


def run_page(
    text: str,
    directory: Path,
    reason: str = "",
    places: Mapping[str, str] | None = None,
    programs: Path | None = None,
) -> str:
    """Run a page in a directory, and return it with what its blocks print; PageError for the first one that fails.

    Its current directory is `work`, which may have files. Blocks that are not run for this `reason` are run too, with
    other `places` than the page has.
    """
    directory = directory.resolve()
    work, home = directory / "work", directory / "home"
    work.mkdir(exist_ok=True)
    home.mkdir()
    environment = environment_of(text, home, programs)
    interpreter: _Interpreter | None = None
    places = places or {}
    parts, done, printed, unknown = [], 0, None, False
    try:
        for block in blocks(text):
            if block.what == "saved":
                file = work / block.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.body, encoding="utf-8")
            elif block.what == "not run" and block.name != reason:
                unknown = True
            elif block.what == "output" and not unknown:
                if printed is None:
                    raise PageError("an output that follows no command")
                parts += [text[done : block.start], shown(printed, block.lines)]
                done = block.end
            elif block.what in ("run", "not run"):
                unknown, body = False, replaced(block.body, places)
                if block.kind == "python":
                    interpreter = interpreter or _Interpreter(work, environment)
                    succeeded, printed = interpreter.run(body)
                else:
                    ended = subprocess.run(
                        ["bash", "-c", script(body)],
                        cwd=work,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        timeout=600,
                        check=False,
                    )
                    succeeded, printed = ended.returncode == 0, ended.stdout.decode("utf-8", "replace")
                printed = settled(replaced(printed, {real: place for place, real in places.items()}), work)
                if not succeeded:
                    raise PageError(f"this fails:\n{body}\n{printed}")
    finally:
        if interpreter is not None:
            interpreter.close()
    return "".join((*parts, text[done:]))


def page_files(topics: Sequence[str] = ()) -> dict[str, Path]:
    """Return the files of these pages, or of all that have something to run, by topic."""
    found = {file.stem: file for file in sorted(DOCS.rglob("*.md"))}
    if topics:
        return {topic: found[topic] for topic in topics}
    return {
        topic: file
        for topic, file in found.items()
        if any(block.what == "run" for block in blocks(file.read_text(encoding="utf-8")))
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Run pages, and write what is printed into them.")
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages print something else")
    parser.add_argument("topic", nargs="*", help="default: all pages")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.topic) - {file.stem for file in DOCS.rglob("*.md")}):
        parser.error(f"no page has the topic {', '.join(unknown)}")
    code = 0
    for topic, file in page_files(given.topic).items():
        text = file.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as directory:
            try:
                made = run_page(text, Path(directory))
            except PageError as error:
                print(f"{topic}: {error}", file=sys.stderr)
                code = 1
                continue
        if given.check and made != text:
            print(f"{topic}: it prints something else; run `python tests/tools/pages.py {topic}`", file=sys.stderr)
            code = 1
        elif made != text:
            file.write_text(made, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
