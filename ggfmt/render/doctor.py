"""The findings of `ggfmt doctor` as text for a person (plain, or with color on a terminal) and as JSON.

ok       python    3.11.7 in `/usr/bin/python3`, on Linux x86_64
problem  java      Spark needs Java 17 or newer, and none was found in JAVA_HOME (unset), ...
                   help: `pip install 'ggfmt[java]'` or `apt-get install openjdk-17-jre-headless`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ggfmt.doctor.finding import Finding, State, worst
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import escape_surrogates, write_text
from ggfmt.render.wrapping import wrap_words

if TYPE_CHECKING:
    from rich.text import Text

_MIN_WIDTH = 30
_STYLES = {
    State.OK.value: "green",
    State.WARNING.value: "bold yellow",
    State.PROBLEM.value: "bold red",
    "name": "bold",
    "help": "cyan",
}
_STATE_WIDTH = max(len(state.value) for state in State)

_Piece = tuple[str, str]  # text, and the name of its style


def findings_text(findings: Sequence[Finding]) -> str:
    return "".join(text for text, _ in _pieces(findings, None))


def findings_rich(findings: Sequence[Finding], columns: int) -> Text:
    from rich.text import Text

    whole = Text(end="")
    for text, style in _pieces(findings, columns):
        whole.append(text, _STYLES.get(style))
    return whole


def findings_json(findings: Sequence[Finding]) -> str:
    document = [
        {
            "name": finding.name,
            "state": finding.state.value,
            "message": finding.message,
            "help": finding.help,
            "facts": finding.facts,
        }
        for finding in findings
    ]
    return json.dumps(_sound({"state": worst(findings).value, "findings": document}), indent=2) + "\n"


def print_findings(findings: Sequence[Finding], stream: TextIO) -> None:
    """Write the findings to a stream; in color and wrapped to its width if it is a terminal."""
    if not stream.isatty():
        write_text(findings_text(findings), stream)
        return
    from rich.console import Console

    console = Console(file=stream)
    console.print(findings_rich(findings, console.width), soft_wrap=True, end="")


def _pieces(findings: Sequence[Finding], columns: int | None) -> Iterator[_Piece]:
    width = max((len(finding.name) for finding in findings), default=0)
    margin = _STATE_WIDTH + width + 4
    for finding in findings:
        yield f"{finding.state.value:{_STATE_WIDTH}}  ", finding.state.value
        yield f"{finding.name.replace('_', ' '):{width}}  ", "name"
        yield _lines(finding.message, margin, columns), "message"
        if finding.help is not None:
            yield f"{'':{margin}}help: ", "help"
            yield _lines(finding.help, margin + len("help: "), columns), "message"
    yield f"{_sum(findings)}\n", worst(findings).value


def _lines(text: str, margin: int, columns: int | None) -> str:
    """Return the text from the column `margin` on, in lines of at most `columns`."""
    text = visible(text)
    if columns is not None:
        room = max(columns - margin, _MIN_WIDTH)
        text = f"\n{'':{margin}}".join(wrap_words(text, room))
    return f"{text}\n"


def _sum(findings: Sequence[Finding]) -> str:
    states = [finding.state for finding in findings]
    counts = []
    for state in (State.PROBLEM, State.WARNING):
        count = states.count(state)
        counts.append(f"{count or 'no'} {state.value}{'s' * (count != 1)}")
    return ", ".join(counts) + ("" if State.PROBLEM in states else ": everything that a run needs is available")


def _sound(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sound(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_sound(member) for member in value]
    return escape_surrogates(value)
