"""Members of JSON records that mean nothing to a dialect: they are passed over, and counted by name.

Records are decoded by a class that refuses members that it does not name. Once one is met, a class is made that names
it too, so that a file in which every record has it is read as fast as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Raw

from ggfmt.formats.json.values import plain_name, raw_members

MAX_LEARNED = 200  # names; where there are more, the members of each record are looked at

_FIRST_BYTES = 1 << 14
_NOT_THERE = Raw(b"")
_objects = msgspec.json.Decoder(dict[str, Raw] | None)
_raws = msgspec.json.Decoder(Raw)
_Getter = tuple[Callable[[Any], Any], str]  # what gets the value of a member, and the full name of the member
_Place = tuple[str, ...]  # the names of the members that lead to an object


class MemberDecoder:
    """Decodes records of a struct class, of which all members have defaults, and the structs in them.

    `counts` tells of which records members are counted.
    """

    def __init__(self, record: type[Any], counts: Callable[[Any], bool] = lambda record: True) -> None:
        self._record = record
        self._counts = counts
        self._learned: dict[_Place, list[str]] = {}
        self._found: list[_Getter] = []  # for the latest class of records
        self._found_by_class: dict[type[Any], list[_Getter]] = {}
        self._singly = self._met = False
        lenient = msgspec.defstruct(record.__name__, [], bases=(record,), dict=True, gc=True)
        self._lenient = msgspec.json.Decoder(lenient | None)
        self._strict = self._make()

    def learned(self, *place: str) -> Sequence[str] | None:
        """The names of unknown members that were met in an object; None if there are too many, or odd ones."""
        return None if self._singly else self._learned.get(place, ())

    def decode(self, data: Any) -> Any:
        """One record, None for null; ValueError or RecursionError if it is none."""
        try:
            return self._strict.decode(data)
        except msgspec.ValidationError:
            return self._passing_over([self._lenient.decode(data)], partial(_objects.decode_lines, data))[0]

    def decode_lines(self, data: bytes) -> list[Any]:
        """Records one after the other."""
        records: list[Any]
        try:
            records = self._strict.decode_lines(data)
            return records
        except msgspec.ValidationError:
            pass
        try:
            self._lenient_lines(data[: data.find(b"\n", _FIRST_BYTES) + 1])  # most likely with all names that there are
            records = self._strict.decode_lines(data)
        except msgspec.DecodeError:
            records = self._lenient_lines(data)
        return records

    def _lenient_lines(self, data: bytes) -> list[Any]:
        return self._passing_over(self._lenient.decode_lines(data), partial(_objects.decode_lines, data))

    def passed_over(self, record: Any) -> Sequence[str]:
        """The full names of the members of a decoded record that its class does not know."""
        if not self._met:
            return ()
        own = getattr(record, "__dict__", None)
        if own is not None:
            names: Sequence[str] = own.get("passed_over", ())
            return names
        found = self._found_by_class[record.__class__]
        return [name for get, name in found if (value := get(record)) is not None and value is not _NOT_THERE]

    def count_passed_over(self, records: Sequence[Any]) -> Mapping[str, int]:
        """Count `passed_over` of records that are all of one class."""
        if not self._met or not records:
            return {}
        found = self._found_by_class.get(records[0].__class__)
        if found is None:
            return Counter(name for record in records for name in self.passed_over(record))
        return {name: _count_present(map(get, records)) for get, name in found}

    def _passing_over(self, records: list[Any], objects: Callable[[], Iterable[Any]]) -> list[Any]:
        """Takes note, in records that were decoded leniently, of what is unknown in them."""
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
        made = self._class(self._record, (), ())
        self._found_by_class[made] = self._found
        return msgspec.json.Decoder(made | None)

    def _class(self, record: type[Any], place: _Place, attributes: _Place) -> type[Any]:
        """A class that names what was learned too, and refuses all else."""
        fields: list[Any] = []
        renamed = {}
        for name, (attribute, nested) in _fields(record).items():
            if nested is not None:
                own = self._class(nested, (*place, name), (*attributes, attribute))
                fields.append((attribute, own | None, None))
                renamed[attribute] = name
        for number, name in enumerate(self._learned.get(place, ())):
            fields.append((f"x{number}", Raw, _NOT_THERE))
            renamed[f"x{number}"] = name
            get = partial(_member, attributes, f"x{number}") if attributes else attrgetter(f"x{number}")
            self._found.append((get, ".".join((*place, name))))
        return msgspec.defstruct(
            record.__name__, fields, bases=(record,), rename=renamed, forbid_unknown_fields=True, gc=False
        )


class KeepingDecoder(MemberDecoder):
    """Decodes records of a struct class that has a member `raw`, renamed to what no record has. Those that are not
    `known` by their members have the whole record there."""

    def __init__(self, record: type[Any], known: Callable[[Any], bool]) -> None:
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


def _count_present(values: Iterable[Any]) -> int:
    return sum(value is not None and value is not _NOT_THERE for value in values)


def _member(attributes: _Place, last: str, record: Any) -> Any:
    for name in attributes:
        record = getattr(record, name)
        if record is None:
            return None
    return getattr(record, last)


def _unknown(record: type[Any], members: dict[str, Raw], place: _Place) -> Iterator[tuple[_Place, str]]:
    """The members of an object that a class, or a class for one of its own objects, does not know."""
    fields = _fields(record)
    for name, value in members.items():
        if name not in fields:
            yield place, name
            continue
        _, nested = fields[name]
        if nested is not None and bytes(value) != b"null":
            yield from _unknown(nested, raw_members(value), (*place, name))


_by_class: dict[type[Any], dict[str, tuple[str, type[Any] | None]]] = {}


def _fields(record: type[Any]) -> dict[str, tuple[str, type[Any] | None]]:
    """By the names of members the attributes of a class, and the classes of the structs in them."""
    fields = _by_class.get(record)
    if fields is None:
        own = msgspec.structs.fields(record)
        fields = _by_class[record] = {field.encode_name: (field.name, _struct_in(field.type)) for field in own}
    return fields


def _struct_in(kind: Any) -> type[Any] | None:
    """The class of structs in a type such as `Meta | None`, which may have annotations."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return next((one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
