"""Unknown members of JSON records: the decoder skips members that mean nothing to a dialect, and counts them by name.

The decoder uses a strict struct class, which rejects unknown members. When the decoder finds an unknown member, it
makes a new class that declares this member too. So it is just as fast if each record of a file has the member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.formats.json.values import plain_name, raw_members
from ggfmt.formats.records import roles

MAX_LEARNED = 200  # names; if there are more, the decoder looks at the members of each record

_FIRST_BYTES = 1 << 14
_NOT_THERE = Raw(b"")
_objects = msgspec.json.Decoder(dict[str, Raw] | None)
_raws = msgspec.json.Decoder(Raw)
_Getter = tuple[Callable[[Any], Any], str]  # a function that returns the value of a member, and its full name
_Place = tuple[str, ...]  # the names of the members that lead to an object


class MemberDecoder:
    """A decoder of records of a struct class, and of the structs in them. All members must have defaults.

    `counts` returns whether the decoder counts the unknown members of a record.
    """

    def __init__(self, record: type[msgspec.Struct], counts: Callable[[Any], bool] = lambda record: True) -> None:
        self._record = record
        self._counts = counts
        self._learned: dict[_Place, list[str]] = {}
        self._found: list[_Getter] = []  # for the latest class of records
        self._found_by_class: dict[type[msgspec.Struct], list[_Getter]] = {}
        self._singly = self._met = False
        self._lenient, *self._without_learned = _first_decoders(record)
        self._strict = self._make()

    def learned(self, *place: str) -> Sequence[str] | None:
        """Return the names of the unknown members so far in the object at a place of the record.

        Return None if there are more than `MAX_LEARNED` in all objects, or if a class cannot declare one of them.
        """
        return None if self._singly else self._learned.get(place, ())

    def decode(self, data: Any) -> Any:
        """Return one decoded record, or None for null. Raises: ValueError or RecursionError."""
        try:
            return self._strict.decode(data)
        except msgspec.ValidationError:
            return self._passing_over([self._lenient.decode(data)], partial(_objects.decode_lines, data))[0]

    def decode_lines(self, data: bytes) -> list[Any]:
        """Return the decoded records of lines; null becomes None. Raises: ValueError or RecursionError."""
        records: list[Any]
        try:
            records = self._strict.decode_lines(data)
            return records
        except msgspec.ValidationError:
            pass
        try:
            # The first records most likely have all unknown names of the data.
            self._lenient_lines(data[: data.find(b"\n", _FIRST_BYTES) + 1])
            records = self._strict.decode_lines(data)
        except msgspec.DecodeError:
            records = self._lenient_lines(data)
        return records

    def _lenient_lines(self, data: bytes) -> list[Any]:
        return self._passing_over(self._lenient.decode_lines(data), partial(_objects.decode_lines, data))

    def passed_over(self, record: Any) -> Sequence[str]:
        if not self._met:
            return ()
        own = getattr(record, "__dict__", None)
        if own is not None:
            names: Sequence[str] = own.get("passed_over", ())
            return names
        found = self._found_by_class[record.__class__]
        return [name for get, name in found if (value := get(record)) is not None and value is not _NOT_THERE]

    def _passing_over(self, records: list[Any], objects: Callable[[], Iterable[Any]]) -> list[Any]:
        """Set `passed_over` of leniently decoded records, learn the unknown members, and return the records."""
        if not any(record is not None and self._counts(record) for record in records):
            return records
        met: dict[tuple[_Place, str], None] = {}
        for record, members in zip(records, objects(), strict=True):
            if record is not None and self._counts(record):
                unknown = list(_unknown(self._record, members, ()))
                met.update(dict.fromkeys(unknown))
                self._met = True
                record.passed_over = [".".join((*place, name)) for place, name in unknown]
        if not self._singly:
            self._learn(met)
        return records

    def _learn(self, met: Iterable[tuple[_Place, str]]) -> None:
        for place, name in met:
            names = self._learned.setdefault(place, [])
            if name not in names:
                names.append(name)
        every = [name for names in self._learned.values() for name in names]
        # A class cannot have a member with such a name.
        self._singly = len(every) > MAX_LEARNED or any(plain_name(name) != name for name in every)
        if self._singly:
            self._learned, self._found = {}, []
        self._strict = self._make()

    def _make(self) -> Any:
        self._found = []
        if self._learned:
            made = _strict_class(self._record, self._learned, self._found)
            decoder = msgspec.json.Decoder(made | None)
        else:
            made, decoder = self._without_learned
        self._found_by_class[made] = self._found
        return decoder


class KeepingDecoder(MemberDecoder):
    """A decoder that keeps the JSON text of records that are not `known` by their members, in their member `raw`.

    The struct class must rename `raw` to a name that no record contains. `decode_lines` may set `raw` in other records
    too.
    """

    def __init__(self, record: type[msgspec.Struct], known: Callable[[Any], bool]) -> None:
        super().__init__(record, known)
        self._known = known

    def decode(self, data: Any) -> Any:
        record = super().decode(data)
        if record is not None and not self._known(record):
            record.raw = Raw(bytes(data))
        return record

    def decode_lines(self, data: bytes) -> list[Any]:
        records = super().decode_lines(data)
        if any(record is not None and not self._known(record) for record in records):
            for record, raw in zip(records, _raws.decode_lines(data), strict=True):
                if record is not None:
                    record.raw = raw
        return records


def _member(attributes: _Place, last: str, record: Any) -> Any:
    for name in attributes:
        record = getattr(record, name)
        if record is None:
            return None
    return getattr(record, last)


def _unknown(record: type[msgspec.Struct], members: dict[str, Raw], place: _Place) -> Iterator[tuple[_Place, str]]:
    """Yield place and name of each member that a class does not declare, in an object and in the objects inside it."""
    fields = _fields(record)
    for name, value in members.items():
        if name not in fields:
            yield place, name
            continue
        _, nested = fields[name]
        if nested is not None and bytes(value) != b"null":
            yield from _unknown(nested, raw_members(value), (*place, name))


@lru_cache(maxsize=256)
def _first_decoders(record: type[msgspec.Struct]) -> tuple[Any, type[msgspec.Struct], Any]:
    """Return what needs no learned names: the lenient decoder, the strict class, and the strict decoder.

    Each file and each task has decoders, and a class takes milliseconds to make: it is made once for each record class.
    """
    lenient = msgspec.defstruct(record.__name__, [], bases=(record,), dict=True, gc=True)
    strict = _strict_class(record, {}, [])
    return msgspec.json.Decoder(lenient | None), strict, msgspec.json.Decoder(strict | None)


def _strict_class(
    record: type[msgspec.Struct],
    learned: Mapping[_Place, Sequence[str]],
    found: list[_Getter],
    place: _Place = (),
    attributes: _Place = (),
) -> type[msgspec.Struct]:
    """Return a strict class that also declares the learned members, and add their getters to `found`."""
    fields: list[Any] = []
    renamed = {}
    for name, (attribute, nested) in _fields(record).items():
        if nested is not None:
            own = _strict_class(nested, learned, found, (*place, name), (*attributes, attribute))
            fields.append((attribute, own | None, None))
            renamed[attribute] = name
    for number, name in enumerate(learned.get(place, ())):
        fields.append((f"x{number}", Raw, _NOT_THERE))
        renamed[f"x{number}"] = name
        get = partial(_member, attributes, f"x{number}") if attributes else attrgetter(f"x{number}")
        found.append((get, ".".join((*place, name))))
    return msgspec.defstruct(
        record.__name__, fields, bases=(record,), rename=renamed, forbid_unknown_fields=True, gc=False
    )


@lru_cache(maxsize=256)
def _fields(record: type[msgspec.Struct]) -> dict[str, tuple[str, type[msgspec.Struct] | None]]:
    """Return the attribute of each member of a class by the member's name, and the struct class in it or None."""
    return {field.name: (field.attribute, field.struct) for field in roles.fields_of(record)}
