"""The findings of `ggfmt doctor` as text for a person (plain, or with color on a terminal) and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TextIO

from ggfmt.doctor.finding import Finding, State, worst
from ggfmt.java.text import visible
from ggfmt.render.diagnostics import Piece, escape_surrogates, plain, print_styled
from ggfmt.render.wrapping import indented

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
    return json.dumps(escape_surrogates(document), indent=2) + "\n"


def print_findings(findings: Sequence[Finding], stream: TextIO) -> None:
    print_styled(lambda columns: _pieces(findings, columns), _STYLES, stream)


def _pieces(findings: Sequence[Finding], columns: int | None) -> Iterator[Piece]:
    width = max((len(finding.name) for finding in findings), default=0)
    margin = _STATE_WIDTH + width + 4
    for finding in findings:
        yield f"{finding.state.value:{_STATE_WIDTH}}  ", finding.state.value
        yield f"{finding.name.replace('_', ' '):{width}}  ", "name"
        yield f"{indented(visible(finding.message), margin, columns)}\n", "message"
        if finding.help is not None:
            yield f"{'':{margin}}help: ", "help"
            yield f"{indented(visible(finding.help), margin + len('help: '), columns)}\n", "message"
    states = [finding.state for finding in findings]
    counted = [(states.count(state), state.value) for state in (State.PROBLEM, State.WARNING)]
    total = ", ".join(f"{count or 'no'} {word}{'s' * (count != 1)}" for count, word in counted)
    complete = "" if State.PROBLEM in states else ": everything that a run needs is available"
    yield f"{total}{complete}\n", worst(findings).value
