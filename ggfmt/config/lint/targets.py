"""Handlers that a target makes itself (`gg.target`): what is known of them, and the File Writer that ggfmt runs.

GoldenGate for Big Data 21.1 and later. The format and the metadata of the files are the user's to name, because no
source has them for every target and release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ggfmt.config.handler_options import RunOptions
from ggfmt.config.properties import Entry
from ggfmt.config.property_table import FILE_WRITER, TARGETS, Target
from ggfmt.diagnostics.diagnostic import Diagnostic, suggestion
from ggfmt.java.text import trim, visible

TARGET = "GG146"  # the code of a target without the format and the metadata of its files

_TARGET, _FORMAT, _TEMPLATE = "gg.target", "ggfmt.target.format", "ggfmt.target.template"
_CONVERTED = ("parquet", "orc")
_CONTAINER = "avro_row_ocf"
_HANDLER = re.compile(r"gg\.handler\.([^.]+)\.", re.IGNORECASE)


class TargetHandlers:
    """The File Writer of a target, as more entries of the configuration.

    `entry` is that of `gg.target`; None if `gg.handlerlist` names handlers. `entries` is empty unless the file says
    what ggfmt is to write.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        last = {entry.key.lower(): entry for entry in entries}
        self.entry = None if "gg.handlerlist" in last else last.get(_TARGET)
        self.format = last.get(_FORMAT)
        self.template = last.get(_TEMPLATE)
        self.entries: list[Entry] = []
        if self.entry is not None and self.format is not None and self.template is not None:
            names = [match[1] for entry in entries if (match := _HANDLER.match(entry.key))]
            self.entries = list(_made(names[0] if names else FILE_WRITER, self.format, self.template, self.entry))

    @property
    def target(self) -> Target | None:
        return None if self.entry is None else TARGETS.get(trim(self.entry.value).lower())

    def findings(self, run_options: RunOptions) -> Iterator[Diagnostic]:
        """Yield GG146 for a target whose files are not described, GG123 for an unknown target."""
        if self.entry is None:
            return
        text = visible(trim(self.entry.value))
        target = self.target
        if target is None:
            help = suggestion(text, TARGETS)
            yield Diagnostic("GG123", f"`{text}` is not a target that ggfmt knows", self.entry.value_span, help)
        if self.entries:
            return
        message = f"GoldenGate makes the handlers of `{text}` itself, which ggfmt does not know"
        if target is not None:
            about = f"{target.doc[:1].lower()}{target.doc[1:].removesuffix('.')}"
            chain = " -> ".join(("File Writer", *target.chain))
            message = f"GoldenGate makes the handlers of `{text}` itself: {chain}; {about}"
        lacking = [name for name, entry in ((_FORMAT, self.format), (_TEMPLATE, self.template)) if entry is None]
        help = f"set {' and '.join(f'`{name}`' for name in lacking)} so that ggfmt writes the files of its staging area"
        yield Diagnostic(TARGET, message, self.entry.value_span, help)


def _made(name: str, format: Entry, template: Entry, target: Entry) -> Iterator[Entry]:
    chosen = trim(format.value)
    converted = chosen.lower() in _CONVERTED
    prefix = f"gg.handler.{name}."
    yield _entry(target, "gg.handlerlist", name)
    yield _entry(format, f"{prefix}format", _CONTAINER if converted else chosen)
    if trim(template.value):
        yield _entry(template, f"{prefix}format.metaColumnsTemplate", template.value)
    if converted:
        yield _entry(format, f"{prefix}eventHandler", chosen.lower())
        yield _entry(format, f"{prefix}finalizeAction", "delete")
        yield _entry(format, f"gg.eventhandler.{chosen.lower()}.type", chosen.lower())


def _entry(place: Entry, key: str, value: str) -> Entry:
    return replace(place, key=key, value=value)
