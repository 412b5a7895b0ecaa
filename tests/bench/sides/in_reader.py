"""ggfmt's reader of a format, in this process, over files whose tables are described: operations in columns, no more.

usage: in_reader.py FORMAT HANDLER_FILE DEFINITIONS DIRECTORY; HANDLER_FILE is the one that the files were written with,
or `-` for the defaults of the format.

The first file is read once before, so that modules are loaded. Prints how many operations there were.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from told import work

from ggfmt import kernels
from ggfmt.config.handlers import read_configuration
from ggfmt.definitions import load_definitions
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.formats.api.reading import Event, Reject
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog
from ggfmt.reading.discovery import find_definitions
from ggfmt.reading.recognition import PlannedInput, reader_of, source_of_handler
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest


class Undescribed(Exception):
    """A table is known from the data alone."""


def read(name: str, inputs: Sequence[PlannedInput], catalog: Catalog, source: WriterSettings) -> int:
    reader = reader_of(name, source)(catalog, Projection(), source)
    count = 0
    for item in inputs:
        with open(item.file.shown, "rb") as stream:
            for chunk in reader.chunks(stream, item.file.shown, 0, None, item.layout):
                count += operations(reader.read(chunk))
    return count + operations(reader.flush())


def operations(events: Iterable[Event]) -> int:
    count = 0
    for event in events:
        if isinstance(event, Reject):
            raise Undescribed if event.of_unknown_table else SystemExit(f"error: {event.diagnostic.message}")
        count += len(event) if isinstance(event, ChangeBatch) else 0
    return count


def main(name: str, handler: str, definitions: str, directory: str) -> None:
    source = WriterSettings(FORMATS[name].options())
    if handler != "-":
        _, source = source_of_handler(read_configuration([handler]))
    catalog = Catalog(load_definitions([definitions]))
    request = ScanRequest([directory], name, source)
    scan = Scan(request, request.list())
    inputs = scan.inputs
    try:
        read(name, inputs[:1], catalog, source)
    except Undescribed:
        found = find_definitions(name, catalog, scan.splits(1), InProcess(), None, source)
        catalog, source = catalog.with_tables(found.tables), replace(source, facts=found.facts)
    gc.disable()  # as tasks do, and their processes
    kernels.keep_memory()
    with work():
        count = read(name, inputs, catalog, source)
    print(count)


main(*sys.argv[1:])
