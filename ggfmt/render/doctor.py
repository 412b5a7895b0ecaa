"""The findings of `ggfmt doctor` as text for a person (plain, or with color on a terminal) and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from ggfmt.doctor.finding import Finding, State, worst
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import Piece, escape_surrogates, plain, print_styled
from ggfmt.render.wrapping import wrap_words

_MIN_WIDTH = 30
_STYLES = {
    State.OK.value: "green",
    State.WARNING.value: "bold yellow",
    State.PROBLEM.value: "bold red",
    "name": "bold",
    "help": "cyan",
}
_STATE_WIDTH = max(len(state.value) for state in State)


def findings_text(findings: Sequence[Finding]) -> str:
    return plain(_pieces(findings, None))


def findings_json(findings: Sequence[Finding]) -> str:
    document = {"state": worst(findings).value, "findings": [asdict(finding) for finding in findings]}
    return json.dumps(_sound(document), indent=2) + "\n"


def print_findings(findings: Sequence[Finding], stream: TextIO) -> None:
    print_styled(lambda columns: _pieces(findings, columns), _STYLES, stream)


def _pieces(findings: Sequence[Finding], columns: int | None) -> Iterator[Piece]:
    width = max((len(finding.name) for finding in findings), default=0)
    margin = _STATE_WIDTH + width + 4
    for finding in findings:
        yield f"{finding.state.value:{_STATE_WIDTH}}  ", finding.state.value
        yield f"{finding.name.replace('_', ' '):{width}}  ", "name"
        yield _lines(finding.message, margin, columns), "message"
        if finding.help is not None:
            yield f"{'':{margin}}help: ", "help"
            yield _lines(finding.help, margin + len("help: "), columns), "message"
    states = [finding.state for finding in findings]
    counted = [(states.count(state), state.value) for state in (State.PROBLEM, State.WARNING)]
    total = ", ".join(f"{count or 'no'} {word}{'s' * (count != 1)}" for count, word in counted)
    complete = "" if State.PROBLEM in states else ": everything that a run needs is available"
    yield f"{total}{complete}\n", worst(findings).value


def _lines(text: str, margin: int, columns: int | None) -> str:
    """Return the text from the column `margin` on, in lines of at most `columns`."""
    text = visible(text)
    if columns is not None:
        room = max(columns - margin, _MIN_WIDTH)
        text = f"\n{'':{margin}}".join(wrap_words(text, room))
    return f"{text}\n"


def _sound(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sound(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_sound(member) for member in value]
    return escape_surrogates(value)
