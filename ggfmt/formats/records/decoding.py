"""How the records of a dialect are found, recognized and decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, BinaryIO, ClassVar

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json import dumps
from ggfmt.formats.json import files as json_files
from ggfmt.formats.json.repeated import EVERY, Once, repeated_error, repeated_in_lines, repeated_member
from ggfmt.formats.json.values import parse
from ggfmt.formats.records import roles
from ggfmt.formats.records.members import MemberDecoder

WRONG_MEMBER = "the record has a member of the wrong type: "


class Decoding:
    """The part of a dialect that decodes records. The defaults fit the JSON files of all dialects.

    record     the type that ggfmt decodes a JSON record into, unless the dialect has its own decoder. If the type is a
               struct, it declares the roles of members, and the decoder skips and counts members that it does not
               declare.
    reads_text  the records in files are JSON, which the scanner of a discovery can pass over
    """

    record: Any = None
    reads_text: ClassVar[bool] = True

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        """Return why the start of a file looks like this dialect, by the first record that does; None if none does."""
        reason = next(filter(None, map(cls.sniff, json_files.head_objects(head))), None)
        return reason and f"a record has {reason}"

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        """Return the reason why the members of a record look like this dialect, or None if they do not.

        The reason completes the sentence "a record has ...".
        """
        return None

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        return dumps.find_layout(head, whole)

    @staticmethod
    def chunks(stream: BinaryIO, file: str, start: int, length: int | None, layout: Layout) -> Iterator[Chunk]:
        return dumps.chunks(stream, file, start, length, layout)

    @staticmethod
    def spans(chunk: Chunk) -> Sequence[tuple[int, int]]:
        """Return start and end of each record in the data of a chunk, in bytes."""
        return json_files.record_spans(chunk)

    @cached_property
    def decoder(self) -> Any:
        """The decoder of one JSON record (`decode`) and of all of a chunk (`decode_lines`). None: a tombstone."""
        return MemberDecoder(self.record) if roles.is_struct(self.record) else msgspec.json.Decoder(self.record | None)

    @cached_property
    def once(self) -> Once:
        """The members that a JSON record may have only once; of all others, the last one counts."""
        return roles.once_of(self.record) if roles.is_struct(self.record) else EVERY

    def passed_over(self, record: Any) -> Sequence[str]:
        """Return the names of the members of a record that mean nothing to the dialect.

        The record is the argument of the last call of `changes`.
        """
        return self.decoder.passed_over(record) if isinstance(record, msgspec.Struct) else ()

    def decoded(self, chunk: Chunk) -> Iterator[Any] | None:
        """Return an iterator over the decoded records of a chunk, one per span; None if the records are JSON objects.

        A record that cannot be decoded is a Diagnostic. If only decoding finds the spans, `chunk.spans` is an empty
        list at first. The iterator then appends each span before it yields the record.
        """
        return None

    def opened(self, chunk: Chunk) -> Chunk:
        """Return the chunk in the form that the dialect decodes."""
        return chunk

    def as_json(self, chunk: Chunk) -> Chunk:
        """Return a chunk with JSON of its records for the scanner; a record that only `decoded` reads is no JSON."""
        return chunk

    def decoded_records(self, chunk: Chunk) -> tuple[Chunk, Iterable[Any]]:
        """Return a chunk, cut into records if that was necessary, and its decoded records.

        A tombstone is None. A record that cannot be decoded is a Diagnostic.
        """
        chunk = self.opened(chunk)
        records = self.decoded(chunk) or self._all_at_once(chunk)
        if records is not None:
            return chunk, records
        chunk = chunk.settled()
        return chunk, (self.record_at(chunk, start, end) for start, end in self.spans(chunk))

    def _all_at_once(self, chunk: Chunk) -> Sequence[Any] | None:
        """Decode all records of a chunk; None if one does not fit the dialect, or if the chunk is already cut."""
        if chunk.spans is not None:
            return None
        try:
            if not chunk.data.isascii():
                str(chunk.data, "utf-8")  # the decoder does not check skipped and raw members
            records: list[Any] = self.decoder.decode_lines(chunk.data)
        except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
            return None
        for index, name in repeated_in_lines(chunk.data, self.once):
            records[index] = repeated_error(name)
        return records

    def record_at(self, chunk: Chunk, start: int, end: int) -> Any:
        """Return a decoded record of a JSON chunk, as `decoded_records` has it."""
        record = chunk.data[start:end]
        try:
            if not record.isascii():
                str(record, "utf-8")
            decoded = self.decoder.decode(record)
        except (ValueError, RecursionError) as error:
            return _malformed(record, chunk.last and end == len(chunk.data), str(error))
        name = repeated_member(record, self.once)
        return decoded if name is None else repeated_error(name)


def _malformed(record: bytes, last: bool, reason: str) -> Diagnostic | None:
    members = parse(record, last)
    if members is None or isinstance(members, Diagnostic):
        return members
    return Diagnostic("GG308", f"{WRONG_MEMBER}{msgspec_reason(reason)}")


def msgspec_reason(error: str) -> str:
    """Return what msgspec says about a wrong member, as a part of a sentence."""
    what, _, place = error.partition(" - at ")
    where = f" at {place}" if place else ""
    return f"{what[:1].lower()}{what[1:]}{where}"
