"""The beginning of the inputs: their first records, up to a number of bytes, as often as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa

from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.engine.files import InputFile, open_input, unreadable
from ggfmt.engine.inputs import detect_format, layout_of, reader_of, with_defaults
from ggfmt.engine.listing import list_inputs
from ggfmt.engine.standard_input import check_standard_input, lazy_standard_input
from ggfmt.formats.api.context import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout

FIRST_BYTES = 64 << 10  # of the smallest window
GROWTH = 4


class Head:
    """The first bytes of the inputs; an input is not touched before its turn comes. `held` ends with the use of it.

    After `chunks` have been read to their end, `read` says how many bytes there were (after decompression), and `whole`
    whether they were all.
    """

    def __init__(self, inputs: Sequence[str], input_format: str, source: WriterSettings, held: ExitStack) -> None:
        check_standard_input(inputs)
        self._files = list_inputs(inputs, standard_input=lazy_standard_input(held))
        self.input_format = detect_format(self._files)[0] if input_format == "auto" else input_format
        reader_of(self.input_format)  # which refuses an unknown format
        self.source = with_defaults(source, self.input_format)
        self.reader = reader_of(self.input_format, self.source)
        self.read = 0
        self.whole = True
        self._layouts: dict[int, Layout] = {}
        self._in_one: set[str] = set()

    def read_whole(self, file: str) -> None:
        """Reads a file in one from now on: a record of it lies over the end of a range."""
        self._in_one.add(file)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """The records that start in the first `size` bytes; more where a reader takes more than that at once."""
        self.read, self.whole = 0, True
        for index, file in enumerate(self._files):
            layout = self._layout(index, file)
            seekable = file.compression is None and file.opened is None
            ranged = layout.splittable and seekable and file.shown not in self._in_one
            part = self._ranges if ranged else self._stream
            for chunk in part(file, layout, size):
                yield replace(chunk, input=index)
            if not self.whole:
                return

    def _layout(self, index: int, file: InputFile) -> Layout:
        if index not in self._layouts:
            self._layouts[index] = layout_of(file, self.reader, self.source)
        return self._layouts[index]

    def _ranges(self, file: InputFile, layout: Layout, size: int) -> Iterator[Chunk]:
        """The file range by range: what a smaller window has in a chunk, a larger one has in the same."""
        start = 0
        while start < file.size:
            if self.read >= size:
                self.whole = False
                return
            end = FIRST_BYTES
            while end <= self.read:
                end *= GROWTH
            length = min(min(end, size) - self.read, file.size - start)
            yield from self._read(file, layout, start, length)
            start += length
            self.read += length

    def _stream(self, file: InputFile, layout: Layout, size: int) -> Iterator[Chunk]:
        for chunk in self._read(file, layout, 0, None):
            if self.read >= size:
                self.whole = False
                return
            self.read += len(chunk.data)
            yield chunk

    def _read(self, file: InputFile, layout: Layout, start: int, length: int | None) -> Iterator[Chunk]:
        try:
            with open_input(file) as stream:
                yield from self.reader.chunks(stream, file.shown, start, length, layout)
        except (OSError, pa.ArrowException) as error:
            raise Abend(unreadable(file.shown, error)) from None
