"""What is asked of every format, by its contract and through the face that the engine uses: `RULES` by name.

Nothing is lost on the way through writer and reader but what the contract says; the same comes out wherever a file is
cut and whatever of it is asked for; and a damaged record is an operation, a reject with its place, or counted, and
harms no other.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from dialects import DATA, EVERYTHING, NOW, Read, chunk_bytes, chunks_of, discover, read, told, written
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import PlainOperation, row_image
from scanners import without_kernels
from strategies import examples, make_batch, slice_batch

from contract import Case, Contract, contract_of
from contract.shown import as_held
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.commands.inspection import SchemaKind
from ggfmt.formats import ENTRIES, FORMATS
from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.formats.api.reading import Discovery, Reader, Unroutable
from ggfmt.formats.api.writing import RowErrors
from ggfmt.model.table import Catalog, TableDef
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format


@dataclass(frozen=True)
class Rule:
    """A question, and of which contracts it is asked."""

    ask: Callable[[Contract], None]
    applies: Callable[[Contract], bool]


RULES: dict[str, Rule] = {}


def rule(applies: Callable[[Contract], bool] = lambda contract: True) -> Callable[..., None]:
    def add(ask: Callable[[Contract], None]) -> None:
        RULES[ask.__name__] = Rule(ask, applies)

    return add


# The parts of a question


def file_of(contract: Contract, case: Case) -> bytes:
    if contract.made is not None:
        return contract.made(case)
    return written(contract.name, case.changes, None, case.context, **case.options)


def settings_of(contract: Contract, case: Case) -> WriterSettings:
    return told(contract.name, case.context, **{**case.options, **case.told})


def needed(contract: Contract, case: Case) -> dict[str, TableDef]:
    """The definitions that a reader must be given, where the data do not have them."""
    table = contract.table(case)
    return {table.full_name: table} if FORMATS[contract.name].read_support.discovery is None else {}


def read_case(contract: Contract, case: Case, data: bytes, **others: Any) -> Read:
    trusted = others.pop("trusted", needed(contract, case))
    return read(contract.name, data, settings_of(contract, case), trusted=trusted, **others)


def needed_for_records(contract: Contract) -> dict[str, TableDef]:
    table = contract.table_of_records
    return {} if table is None else {table.full_name: table}


def known_tables(contract: Contract) -> dict[str, TableDef]:
    """The tables of the contract's records, as one who knows them would define them."""
    if FORMATS[contract.name].read_support.discovery is None:
        return needed_for_records(contract)
    found = discover(contract.name, contract.file(*contract.records), source_of_records(contract))
    return {table.full_name: table for table in (*found.tables, *(event.table for event in found.events))}


def source_of_records(contract: Contract) -> WriterSettings:
    return told(contract.name, **contract.told_of_records)


def accounted(found: Read) -> int:
    """How many records there were, at least."""
    return len(found.operations) + len(found.rejects) + sum(found.others.values()) + len(found.definitions)


def named(found: Read) -> list[tuple[str, PlainOperation]]:
    return [(table.full_name, operation) for table, operation in found.operations]


def is_part(few: Iterable[Any], many: Iterable[Any]) -> bool:
    """Whether the few are among the many, in their order."""
    rest = iter(many)
    return all(item in rest for item in few)


def check_names(contract: Contract, found: Read, data: bytes, source: WriterSettings) -> None:
    """No table has a name that is not in the data."""
    said = data + repr(source.options).encode()
    for table, _ in found.operations:
        for part in table.parts:
            assert not re.fullmatch(r"\w+", part, re.ASCII) or part.encode() in said, f"who told of {part}?"


# The declaration


@rule()
def declared(contract: Contract) -> None:
    """The parts that the declaration names are there, and it names those that are there."""
    format = FORMATS[contract.name]
    assert re.fullmatch(r"[a-z0-9_]+", contract.name)
    assert format.doc
    assert format.schema_kind in (None, *get_args(SchemaKind))
    assert format.options.parse({}) == format.options()
    if format.reads is not None:
        assert issubclass(format.read_support.reader, Reader)
        assert format.read_support.discovery is None or issubclass(format.read_support.discovery, Discovery)
    if format.writes is not None:
        options = format.options()
        assert isinstance(format.write_support.projection(options), Projection)
    found = read(
        contract.name,
        contract.file(*contract.records),
        source_of_records(contract),
        trusted=needed_for_records(contract),
    )
    assert found.reasons == []
    assert len(found.operations) > 1, "a record is damaged among others"


# There and back


@rule()
def round_trip(contract: Contract) -> None:
    @examples(150)
    @given(contract.cases)
    def is_read_back(case: Case) -> None:
        found = read_case(contract, case, file_of(contract, case))
        assert found.reasons == []
        assert found.plain == as_held(contract.shown(case))
        expected = contract.table(case)
        for table, operation in found.operations:
            assert table.full_name == expected.full_name
            assert set(table.column_names) <= set(expected.column_names)
            if operation.op != "T":
                assert contract.told(case, table) == contract.told(case, expected)

    is_read_back()


@rule()
def definitions(contract: Contract) -> None:
    """A definition that the user gives decides what columns are, and takes nothing away."""

    @examples(40)
    @given(contract.cases)
    def read_by_definition(case: Case) -> None:
        expected, case = contract.table(case), replace(case, defined=True)
        found = read_case(contract, case, file_of(contract, case), trusted={expected.full_name: expected})
        assert found.reasons == []
        assert found.plain == as_held(contract.shown(case))
        known = set(expected.columns)
        for table, _ in found.operations:
            assert known.issuperset(table.columns)

    read_by_definition()


@rule(lambda contract: FORMATS[contract.name].writes is not None)
def batches(contract: Contract) -> None:
    """A message does not depend on those that are formatted with it."""
    format = FORMATS[contract.name]

    @examples(60)
    @given(contract.cases, st.data())
    def formats_alike(case: Case, data: st.DataObject) -> None:
        batch = make_batch(case.changes)
        options = format.options.parse(case.options)
        formatter = format.write_support.formatter(batch.table, options, case.context, Clock(NOW))

        def messages(part: Any) -> list[Any]:
            made: pa.Array[Any] = formatter.format(formatter.arrange(part)[0])
            listed: list[Any] = made.to_pylist()
            return listed

        cut = data.draw(st.integers(0, len(batch)))
        parts = (slice_batch(batch, 0, cut), slice_batch(batch, cut, len(batch)))
        assert [message for part in parts for message in messages(part)] == messages(batch)
        assert messages(slice_batch(batch, cut, cut)) == []

    formats_alike()


@rule()
def truncates(contract: Contract) -> None:
    """A truncate comes back as one, or is refused where the contract says that it has no form."""

    @examples(20)
    @given(contract.cases)
    def truncate(case: Case) -> None:
        kept = [operation for operation in case.operations if operation.op == "I"]
        changes = replace(case.changes, operations=[*kept, PlainOperation("T", None, None, None, None, {})])
        case = replace(case, changes=changes)
        if contract.truncates:
            assert [item.op for item in read_case(contract, case, file_of(contract, case)).plain][-1] == "T"
            return
        with pytest.raises(RowErrors) as error:
            file_of(contract, case)
        assert [(row, diagnostic.code) for row, diagnostic in error.value.rows] == [(len(kept), "GG408")]

    truncate()


# The same however it is read

_MAX_SPLITS = 12
_SIZES = st.one_of(st.integers(1, 60), st.integers(61, 3000))


@rule()
def cuts(contract: Contract) -> None:
    """It does not matter where a file is cut into splits, and splits into chunks; nor for the discovery."""
    discovers = FORMATS[contract.name].read_support.discovery is not None

    @examples(50)
    @given(contract.cases, _SIZES, _SIZES)
    def reads_alike(case: Case, size: int, chunk: int) -> None:
        data, source = file_of(contract, case), settings_of(contract, case)
        size = max(size, len(data) // _MAX_SPLITS)
        whole = read_case(contract, case, data)
        with chunk_bytes(max(chunk, len(data) // _MAX_SPLITS)):
            assert read_case(contract, case, data, size=size) == whole
            assert not discovers or discover(contract.name, data, source, size) == discover(contract.name, data, source)

    reads_alike()
    source, trusted = source_of_records(contract), needed_for_records(contract)
    data = contract.file(*contract.records)
    whole = read(contract.name, data, source, trusted=trusted)
    edge = len(contract.file(*contract.records[: contract.base + 1]))
    for size in {*(1 + len(data) // parts for parts in (1, 2, 3, 5, 8, 13)), *range(edge - 2, edge + 3)}:
        with chunk_bytes(size):
            assert read(contract.name, data, source, size=size, trusted=trusted) == whole


@rule()
def projections(contract: Contract) -> None:
    """A reader that returns less returns the same values for what it returns."""

    @examples(60)
    @given(contract.cases, st.booleans(), st.booleans())
    def tells_the_same(case: Case, tokens: bool, in_order: bool) -> None:
        data = file_of(contract, case)
        full = read_case(contract, case, data)
        asked = Projection(row_only=True, key_updates=True, tokens=tokens, in_order=in_order)
        narrow = read_case(contract, case, data, projection=asked)
        assert [_row(item) for item in narrow.plain] == [_row(item) for item in full.plain]
        assert [item.tokens for item in narrow.plain] == [item.tokens if tokens else {} for item in full.plain]
        assert narrow.key_updates == full.key_updates
        assert (narrow.places, narrow.definitions) == (full.places, full.definitions)
        assert read_case(contract, case, data, projection=replace(EVERYTHING, in_order=True)) == full

    tells_the_same()


def _row(item: PlainOperation) -> tuple[Any, ...]:
    return item.op, item.op_ts, item.pos, dict(row_image(item))


@rule()
def transactions(contract: Contract) -> None:
    """Operations have the ids of their transactions if these are requested, with kernels and without, and nothing else
    changes."""

    @examples(60)
    @given(contract.cases, st.lists(st.sampled_from([None, "7", "18"]), min_size=1, max_size=4), st.booleans())
    def have_their_ids(case: Case, ids: Sequence[str | None], row_only: bool) -> None:
        case = _with_transactions(contract, case, ids)
        data = file_of(contract, case)
        full = read_case(contract, case, data)
        expected = replace(full, transactions=[_transaction(contract, item) for item in full.plain])
        asked = replace(EVERYTHING, transactions=True)
        assert read_case(contract, case, data, projection=asked) == expected
        narrow = read_case(contract, case, data, projection=Projection(row_only=row_only, transactions=True))
        assert narrow.transactions == expected.transactions
        assert not any(item.tokens for item in narrow.plain)
        with without_kernels():
            assert read_case(contract, case, data, projection=asked) == expected

    have_their_ids()


def _with_transactions(contract: Contract, case: Case, ids: Iterable[str | None]) -> Case:
    """The case with one of the ids in each operation, as the token that counts last; None adds no token."""
    operations = [
        item if text is None else replace(item, tokens={**item.tokens, contract.transactions[-1]: text})
        for item, text in zip(case.operations, cycle(ids if contract.transactions else [None]), strict=False)
    ]
    return replace(case, changes=replace(case.changes, operations=operations))


def _transaction(contract: Contract, item: PlainOperation) -> str | None:
    return next((text for name in contract.transactions if (text := item.tokens.get(name))), None)


@rule()
def places(contract: Contract) -> None:
    """An operation, and a reject, has the place of its record, with all of its frame or some."""
    broken = b"{]" if contract.texts else b"\x01"
    records = [*contract.records, broken, *contract.records[contract.base :]]
    frames, offset = [], len(contract.head)
    for record in records:
        frame = contract.frame(record)
        start = offset + frame.index(record)
        frames.append((range(offset, start + 1), range(start + len(record), offset + len(frame) + 1)))
        offset += len(frame)

    def number(first: int, last: int) -> int:
        (place,) = (place for place, (starts, ends) in enumerate(frames) if first in starts and last in ends)
        return place

    source = source_of_records(contract)
    found = read(contract.name, contract.file(*records), source, trusted=needed_for_records(contract))
    numbers = [number(*place) for place in found.places]
    assert numbers == sorted(numbers)
    assert len(contract.records) not in numbers
    if contract.isolated:
        (reject,) = found.rejects
        offset = reject.diagnostic.span.offset or 0
        assert number(offset, offset + len(reject.record)) == len(contract.records)


@rule(lambda contract: bool(ENTRIES[contract.name].marks))
def recognised(contract: Contract) -> None:
    """A file of the format is taken for it, of the contract's records as of what is written."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"

        def taken_for(data: bytes) -> str:
            path.write_bytes(data)
            return detect_format(list_inputs([str(path)]))[0]

        assert taken_for(contract.file(*contract.records)) == contract.name

        @examples(20)
        @given(contract.cases)
        def is_taken_for_itself(case: Case) -> None:
            assume(case.operations and contract.alone(case))
            assert taken_for(file_of(contract, case)) == contract.name

        is_taken_for_itself()


# Damage

_BYTES = st.one_of(st.sampled_from(b'"{}[],:0x\xff\n <>|=\0'), st.integers(0, 255))


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """The bytes with some of them changed, left out or added."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["change", "change", "leave out", "add"]))
        if kind == "change":
            data[place : place + 1] = bytes([draw(_BYTES)])
        elif kind == "leave out":
            del data[place : place + draw(st.integers(1, 5))]
        else:
            data[place:place] = bytes(draw(st.lists(_BYTES, min_size=1, max_size=4)))
    return bytes(data)


@rule()
def damaged_files(contract: Contract) -> None:
    """Whatever bytes a file has: operations and rejects with places, which `read` checks."""
    source = source_of_records(contract)
    good, trusted = contract.file(*contract.records), needed_for_records(contract)

    @examples(150)
    @given(st.one_of(damaged(good), st.lists(_BYTES, max_size=200).map(bytes)))
    def reads(data: bytes) -> None:
        check_names(contract, read(contract.name, data, source, trusted=trusted), data, source)

    reads()


@rule(lambda contract: contract.isolated)
def damaged_records(contract: Contract) -> None:
    """A damaged record is an operation, a reject or counted, and harms no other."""
    harmless = _neighbours(contract)

    @examples(200)
    @given(st.integers(contract.base, len(contract.records) - 1), st.data())
    def harms_no_other(place: int, data: st.DataObject) -> None:
        harmless(place, data.draw(damaged(contract.records[place])))

    harms_no_other()


_JUNK = ["null", "0", "-1.5", '""', '"x"', "true", "[]", "{}", "[1]", '{"a":1}', "9" * 30, '"8"', '"{}"', '[{"a":[1]}]']


@rule(lambda contract: contract.texts)
def members(contract: Contract) -> None:
    """A record of which members are gone, or have other values, is an operation, a reject or counted, and harms no
    other."""
    harmless = _neighbours(contract)

    @examples(200)
    @given(st.integers(contract.base, len(contract.records) - 1), st.data())
    def harm_no_other(place: int, data: st.DataObject) -> None:
        record = json.loads(contract.records[place])
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from(_paths(record) or [()]))
            target = record
            for step in path[:-1]:
                target = target[step]
            if path and data.draw(st.booleans()):
                del target[path[-1]]
            elif path:
                target[path[-1]] = json.loads(data.draw(st.sampled_from(_JUNK)))
        harmless(place, json.dumps(record).encode())

    harm_no_other()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all members of a value and of those below it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [found for key, item in items for found in _paths(item, (*path, key))]


_TYPES: list[Any] = [None, 7, "x", {}, {"a": [{}]}, [], [1], True]
_AT_ONCE = 12  # more odd records in a file would pause the scanner
_MAX_DEPTH = 6
_GROUPS = 240
_ASKED = [
    EVERYTHING,
    Projection(row_only=True, key_updates=True),
    replace(EVERYTHING, transactions=True),
    Projection(row_only=True, in_order=True),
]


@rule(lambda contract: contract.texts)
def odd_members(contract: Contract) -> None:
    """A record of which one member is there twice, in another place or of another type harms no record that follows,
    whether its values were met before or not; and it is read alike with kernels, without them and by the router."""
    source, trusted, records = source_of_records(contract), known_tables(contract), contract.records
    groups: list[list[bytes]] = []
    met: set[Any] = set()
    for record in map(json.loads, records[contract.base :]):
        names = (path for path in _paths(record) if len(path) <= _MAX_DEPTH and isinstance(path[-1], str))
        paths = [path for path in names if all(isinstance(step, str) or step == 0 for step in path)]
        new = {path: (path, type(_value_at(record, path))) for path in paths}
        groups += [group for path in paths if new[path] not in met for group in _odd_records(record, path)]
        met.update(new.values())
    # Of many, each second, fourth or seventh: of each path some of the ways to be odd, of which there are fifteen.
    groups = groups[:: next(step for step in (1, 2, 4, 7, 11, 13) if len(groups) <= step * _GROUPS)]
    for start in range(0, len(groups), _AT_ONCE):
        odd = [record for group in groups[start : start + _AT_ONCE] for record in group]
        turn = start // _AT_ONCE
        given, asked = turn % 3 > 0, _ASKED[turn // 2 % len(_ASKED)]
        data = contract.file(*records[: None if turn % 2 else contract.base], *odd, *records)
        found = read(contract.name, data, source, trusted=trusted if given else {}, projection=asked)
        _check_routes(contract, data, source, found)
        with without_kernels():
            again = read(contract.name, data, source, trusted=trusted if given else {}, projection=asked)
            assert not _first_difference(again, found, data)
            assert again == found
            _check_routes(contract, data, source, found)
        expected = named(read(contract.name, contract.file(*records), source, trusted=trusted, projection=asked))
        assert not given or named(found)[-len(expected) :] == expected


def _first_difference(one: Read, other: Read, data: bytes) -> list[Any]:
    """Return the first record that two readers read in different ways, and what they read; nothing without one."""
    found = []
    for each in (one, other):
        records: dict[int, Any] = {start: each.operations[place] for place, (start, _) in enumerate(each.places)}
        records |= {r.diagnostic.span.offset or 0: str(r.diagnostic) for r in each.rejects}
        found.append(records)
    place = min((place for place in {*found[0], *found[1]} if found[0].get(place) != found[1].get(place)), default=None)
    return [] if place is None else [data[place:].split(b"\n")[0][-900:], *(records.get(place) for records in found)]


def _check_routes(contract: Contract, data: bytes, source: WriterSettings, found: Read) -> None:
    """The router of the format finds the tables that the reader found."""
    router = FORMATS[contract.name].read_support.by(source).router
    if router is None:
        return
    routing = router(Catalog({table.full_name: table for table, _ in found.operations}), source)
    tables = {start: table.full_name for (table, _), (start, _) in zip(found.operations, found.places, strict=True)}
    for chunk in chunks_of(contract.name, data, source):
        try:
            routed = routing.route(chunk)
        except Unroutable:
            return
        starts = [start for start, _ in routed.spans] if routed.starts is None else non_null_values(routed.starts)
        for start, number in zip(starts, non_null_values(routed.tables), strict=True):
            name = routing.tables[number]
            assert tables.get(chunk.offset + start, name) == name


def _odd_records(record: Any, path: Sequence[Any]) -> list[list[bytes]]:
    """A record of which the member at a path is odd, for each way of being odd; after a member with two values, the
    records that have either."""
    groups, value = [], _value_at(record, path)
    name, escaped = json.dumps(path[-1]), f'"\\u{ord(path[-1][0]):04x}{path[-1][1:]}"'
    for pair in ((value, _changed(value)), (_changed(value), value)):
        first, second = (json.dumps(one) for one in pair)
        single = [_dumped(record, path, [f"{name}:{one}"]) for one in (first, second)]
        groups += [
            [_dumped(record, path, [f"{name}:{first}", f"{name}:{second}"]), *single],
            [_dumped(record, path, [f"{name}:{first}", f"{escaped}:{second}"]), *single],
            [_dumped(record, path, [f"{name}:{first}"], [f"{name}:{second}"]), *single],
        ]
    groups.append([_dumped(record, path, [], [f"{name}:{json.dumps(value)}"])])
    return [*groups, *([_dumped(record, path, [f"{name}:{json.dumps(other)}"])] for other in _TYPES)]


def _value_at(record: Any, path: Sequence[Any]) -> Any:
    for step in path:
        record = record[step]
    return record


def _changed(value: Any) -> Any:
    """A value like this one, with other texts and numbers."""
    if isinstance(value, dict):
        return {name: _changed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_changed(item) for item in value]
    return value + "x" if isinstance(value, str) else value + 1 if type(value) in (int, float) else value


def _dumped(value: Any, path: Sequence[Any], members: Sequence[str], last: Sequence[str] = ()) -> bytes:
    """JSON of a record with these members instead of the one at a path, and more at the end of its object."""

    def text(value: Any, path: Sequence[Any] | None) -> str:
        if isinstance(value, dict):
            own = [
                text_of
                for name, item in value.items()
                for text_of in (
                    members
                    if path is not None and [*path] == [name]
                    else [f"{json.dumps(name)}:{text(item, path[1:] if path and path[0] == name else None)}"]
                )
            ]
            more = last if path is not None and len(path) == 1 else ()
            return "{" + ",".join([*own, *more]) + "}"
        if isinstance(value, list):
            items = (text(v, path[1:] if path and path[0] == n else None) for n, v in enumerate(value))
            return "[" + ",".join(items) + "]"
        return json.dumps(value)

    return text(value, path).encode()


def _neighbours(contract: Contract) -> Callable[[int, bytes], None]:
    """Checks that another record in the place of a good one harms none of the others. Definitions are given, so that no
    damaged value decides what a column is."""
    source = source_of_records(contract)
    trusted, records = known_tables(contract), contract.records

    def check(place: int, record: bytes) -> None:
        data = contract.file(*records[:place], record, *records[place + 1 :])
        found = read(contract.name, data, source, trusted=trusted)
        others = read(contract.name, contract.file(*records[:place], *records[place + 1 :]), source, trusted=trusted)
        assert is_part(named(others), named(found))
        # A record that goes over two lines is one where both are read together, and two where they are not.
        if b"\n" not in record:
            size = len(contract.file(*records[:place])) + 1  # the next split starts within the damaged record
            assert read(contract.name, data, source, size=size, trusted=trusted) == found
        assert accounted(found) > accounted(others) or not record.strip()
        check_names(contract, found, data, source)

    return check


# Other people's messages


@rule(lambda contract: bool(contract.recorded))
def recorded(contract: Contract) -> None:
    """Recorded files are read whole, the same wherever they are cut and whatever is asked for, and are identified."""
    if not DATA.is_dir():
        pytest.skip("the recorded messages are not there")
    for file in contract.recorded:
        data, source = (DATA / file.path).read_bytes(), told(contract.name, **file.options)
        found = read(contract.name, data, source)
        assert "".join(item.op for item in found.plain) == file.operations
        assert (found.others, found.reasons) == (file.others, list(file.reasons))
        assert read(contract.name, data, source, size=1 + len(data) // 3) == found
        narrow = read(contract.name, data, source, projection=Projection(row_only=True, tokens=True))
        assert [_row(item) for item in narrow.plain] == [_row(item) for item in found.plain]
        if found.operations and ENTRIES[contract.name].marks:
            assert detect_format(list_inputs([str(DATA / file.path)]))[0] == contract.name


def rules_of(name: str) -> list[str]:
    """The rules that are asked of a format: of one whose contract cannot be loaded the first alone, which says why."""
    try:
        contract = contract_of(name)
    except Exception:
        return [next(iter(RULES))]
    return [title for title, rule in RULES.items() if rule.applies(contract)]
