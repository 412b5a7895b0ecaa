"""What formats are told beside their own options: by the handler, by the run, and of whoever wrote an input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Context:
    """What a format is told beside its own options, by the handler and by the run.

    `release` is the release of GoldenGate whose mapping of types is followed (`ggfmt.compatibility`), `codec` the
    compression of object container files. `variables` has the texts that templates of the handler name.
    `timestamp_mask` is the mask of times in columns (`gg.format.timestamp`), empty if there is none.
    """

    include_tokens: bool = False
    release: str = "12.2"
    codec: str = "null"
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    timestamp_mask: str = ""


@dataclass(frozen=True)
class Projection:
    """What the formatters of a run ask of the reader, so that it decodes no more.

    `row_only`: the before image of an update is asked for only as far as a primary key update must be seen.
    `in_order`: tables share a file, so that no operation may be held back over the end of a chunk or over a metadata
    change event.
    """

    row_only: bool = False
    key_updates: bool = False
    tokens: bool = False
    in_order: bool = False

    def __or__(self, other: Projection) -> Projection:
        return Projection(
            self.row_only and other.row_only,
            self.key_updates or other.key_updates,
            self.tokens or other.tokens,
            self.in_order or other.in_order,
        )


@dataclass(frozen=True)
class WriterSettings:
    """How the input was written, where it does not say so itself: by the options and the context of the handler that
    wrote it; `options` None stands for a format's defaults. `facts` is what the discovery pass learned of the whole
    input besides its tables; `given` has options as texts by name, which override the others."""

    options: Any = None
    context: Context = field(default_factory=Context)
    facts: Mapping[Any, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


DEFAULT_SETTINGS = WriterSettings()
