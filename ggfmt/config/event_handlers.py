"""The event handlers of GoldenGate's File Writer, and what ggfmt does instead of each.

A File Writer names an event handler, which may name a further one. Each gets the file of the one before it when the
file is full: `parquet` and `orc` convert it, stores copy it, and others load it into a database (GoldenGate for Big
Data 12.3.2.1, 5.2 to 5.7, and the pages of later releases).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ggfmt.config.properties import Entry
from ggfmt.dataclasses import dataclass, field
from ggfmt.options.spec import Options
from ggfmt.options.templates import NameTemplate


class Work(str, Enum):
    CONVERT = "converts the file"
    COPY = "writes the file to the path of its templates, below the output directory or in the store"
    NONE = "does nothing: ggfmt keeps the files"


BUCKETS = ("bucketMappingTemplate", "containerMappingTemplate")  # the same template, of old and new stores


@dataclass(frozen=True)
class EventHandlerConfig:
    """An event handler of a chain that is to run.

    path     template of the directory of its files; None: that of the files before it
    file     template of their names; None: the name that the file has already
    deletes  whether its files are removed once those after it are written
    bucket   template of the bucket or container of a store
    account  of the store, where a bucket alone does not identify it
    region   of the store
    entries  the entry of every given property, by the name in the manual; not compared by `==`
    """

    name: str
    type: str
    work: Work
    options: Options | None = None
    path: NameTemplate | None = None
    file: NameTemplate | None = None
    deletes: bool = False
    bucket: NameTemplate | None = None
    account: str | None = None
    region: str | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False, repr=False)

    @property
    def bucket_property(self) -> str:
        return next((name for name in BUCKETS if name in self.entries), BUCKETS[0])
