"""What `ggfmt verify` found, as text for a person and as JSON for a program."""

from __future__ import annotations

import json
from typing import Any, TextIO

from ggfmt.commit.names import counted
from ggfmt.java.text import visible
from ggfmt.render.diagnostics.text import diagnostics_json, print_diagnostics, tally, write_text
from ggfmt.sinks.messages.verification import Verification


def verification_json(found: Verification) -> str:
    messages: dict[str, dict[str, int]] = {}
    for (handler, table), count in sorted(found.messages.items()):
        messages.setdefault(handler, {})[table] = count
    document: dict[str, Any] = {
        "runs": found.runs,
        "files": found.files,
        "bytes": found.size,
        "messages": messages,
        "rejects": dict(sorted(found.rejects.items())),
        "findings": json.loads(diagnostics_json(found.findings)),
    }
    return json.dumps(document, indent=2) + "\n"


def print_verification(found: Verification, stream: TextIO) -> None:
    """The findings, the messages of each table, and the sum in the last line."""
    print_diagnostics(found.findings, stream)
    lines = []
    for (handler, table), count in sorted(found.messages.items()):
        of = f"table {visible(table)}" if table else "all tables"
        lines.append(f"handler {handler}, {of}: {counted(count, 'message')}")
    lines += [f"handler {handler}: {counted(count, 'reject')}" for handler, count in sorted(found.rejects.items())]
    runs, files = counted(found.runs, "run"), counted(found.files, "file")
    lines.append(f"{runs}, {files}, {found.size:,} bytes: {tally(found.findings)}")
    write_text("".join(f"{line}\n" for line in lines), stream)
