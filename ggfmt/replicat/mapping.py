"""The MAPs of a Replicat's parameter file: which a table has, and what they make of its definition and operations."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations_with_replacement, compress
from os.path import basename
from typing import Any, NoReturn

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import counts_by_value
from ggfmt.dataclasses import dataclass, field, fields, is_dataclass, replace
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.model.change import ChangeBatch, Image
from ggfmt.model.table import TableDef, join_name, name_parts, split_name
from ggfmt.replicat.account import EXCLUDED, FILTERED, IGNORED, INCOMPLETE, REACHED, TRUNCATES, UNNAMED
from ggfmt.replicat.engine import CompiledMapping, compile_mapping
from ggfmt.replicat.statements import Call, ColumnReference, Kinds, MapStatement, ObjectName, ReplicatFile, parts_of

log = logging.getLogger("ggfmt")

_GROUP_OPERATIONS = 1000  # of GROUPTRANSOPS where it is not given


def place_of(span: Span) -> str:
    return f"{basename(span.file or '')}:{span.line}"


def _refuse(statement: MapStatement, message: str, help: str, table: str | None = None) -> NoReturn:
    raise ConfigurationError.of(Diagnostic("GG597", message, replace(statement.span, table=table), help))


# Names


def matches(name: ObjectName, table: str) -> bool:
    """Return whether a name with wildcards names a table, which must have as many parts."""
    parts = name_parts(table)
    pairs = zip(name.parts, parts, strict=False)
    return len(name.parts) == len(parts) and all(own.pattern.fullmatch(part) for own, part in pairs)


def target_name(statement: MapStatement, table: str) -> str:
    """Return the name of the target of a table. Parts pair from the right, and `*` is the whole part of the source."""
    parts, names = name_parts(table)[::-1], []
    for number, name in enumerate(reversed(statement.target.parts)):
        if "?" in name.text:
            _refuse(statement, "`?` is a wildcard of a source, not of a target", "write `*`, or the name")
        if "*" in name.text and number >= len(parts):
            help = "name the container in the source, or a container without `*` in the target"
            _refuse(statement, "a wildcard of TARGET has no part of the source (OGG-02645)", help, table)
        names.append(name.text.replace("*", parts[number]) if "*" in name.text else name.text)
    found = join_name(*reversed(names))
    try:
        split_name(found)
    except ValueError as error:
        _refuse(statement, f"the name of the target `{found}` {error}", "give another TARGET", table)
    return found


def _may_meet(names: Iterable[ObjectName]) -> bool:
    """Return whether two targets may get the same name: they have as many parts, and the same where none is wild.
    Names are grouped by the parts that are wild, so that groups are compared, and not names."""
    groups: dict[tuple[bool, ...], list[tuple[str, ...]]] = {}
    for name in names:
        groups.setdefault(tuple(part.is_wild for part in name.parts), []).append(name.folded)
    for one, other in combinations_with_replacement(groups, 2):
        if len(one) == len(other):
            exact = [not (a or b) for a, b in zip(one, other, strict=True)]
            found = [tuple(compress(name, exact)) for name in groups[one]]
            others = {tuple(compress(name, exact)) for name in groups[other]}
            if len(others) < len(found) if one == other else not others.isdisjoint(found):
                return True
    return False


def _merges(statement: MapStatement) -> bool:
    """Return whether a MAP may give one name to two tables."""
    source, target = statement.source.parts[::-1], statement.target.parts[::-1]
    return any(
        name.is_wild and (number >= len(target) or "*" not in target[number].text) for number, name in enumerate(source)
    )


@dataclass(frozen=True)
class TableMap:
    """A MAP of a table, and the name of its target."""

    statement: MapStatement
    target: str

    @property
    def place(self) -> str:
        return place_of(self.statement.span)

    @property
    def tested(self) -> list[tuple[str, Span]]:
        """The columns that its conditions test."""
        found = parts_of(self.statement.filters)
        return [(each.name.text, each.span) for each in found if isinstance(each, ColumnReference)]


@dataclass(frozen=True)
class Replicat:
    """A parameter file as a run obeys it.

    targets  the definitions of TARGETDEFS, by name
    strict   whether an operation that is dropped for a missing column stops the run
    before_images  whether messages show the before images of updates; None: those of key updates
    update_kind  the OPTYPE of updates in the trail, except of the key; None: unknown
    """

    file: ReplicatFile
    targets: Mapping[str, TableDef] = field(default_factory=dict)
    strict: bool = False
    before_images: bool | None = True
    update_kind: str | None = None

    @property
    def file_name(self) -> str:
        return self.file.file

    @property
    def shown(self) -> str:
        """The name of the file, and a digest of what decides on operations."""
        import hashlib

        decisive = self.file.maps, self.file.excludes, self.file.allows_duplicates, self.update_kind, self.group
        tables = sorted((name, table.fingerprint) for name, table in self.targets.items())
        digest = hashlib.sha256(repr((_plain(decisive), tables)).encode()).hexdigest()
        return f"{basename(self.file.file)} {digest[:16]}"

    @cached_property
    def joins(self) -> bool:
        """Whether two tables may have one target, so that their operations must stay in order."""
        maps = self.file.maps
        return any(map(_merges, maps)) or _may_meet(statement.target for statement in maps)

    def join(self, tables: Collection[str]) -> bool:
        targets = Counter(target for table in tables for target in {own.target for own in self.maps_of(table)})
        return any(count > 1 for count in targets.values())

    @property
    def group(self) -> tuple[int, int | None]:
        given = self.file.group_operations
        return _GROUP_OPERATIONS if given is None else given, self.file.max_operations

    @cached_property
    def needs_tokens(self) -> bool:
        return any(isinstance(each, Call) and each.name in ("TOKEN", "GETENV") for each in parts_of(self.file.maps))

    def needs_images(self, tables: Iterable[TableDef]) -> bool:
        if any(_reads_before_images(each) for each in parts_of(self.file.maps)):
            return True
        if not self.targets and not any(each.columns or each.key for each in self.file.maps):
            return False
        return any(self._may_move_key(own, table) for table in tables for own in self.maps_of(table.full_name))

    def _may_move_key(self, own: TableMap, source: TableDef) -> bool:
        """Return whether an update of the source's key may be none of the target's, or the other way round."""
        statement, key = own.statement, {name.casefold() for name in source.primary_keys}
        if statement.key and {name.text.casefold() for name in statement.key} != key:
            return True
        named = {pair.target.text.casefold() for pair in statement.columns or ()}
        leaves_out = statement.columns is not None and not statement.defaults
        return self.target_of(own.target) is not None or leaves_out or not key.isdisjoint(named)

    def names(self, table: str) -> bool:
        """Return whether operations of a table may reach the handler."""
        return self._reason(table) is None

    def reason(self, table: str) -> tuple[str, str]:
        """Return why no operation of a table reaches the handler, after the place."""
        return self._reason(table) or ("", UNNAMED)

    def _reason(self, table: str) -> tuple[str, str] | None:
        if table not in self._reasons:
            excluded = [(place_of(name.span), EXCLUDED) for name in self.file.excludes if matches(name, table)]
            is_named = any(True for _ in self._named(table))
            self._reasons[table] = excluded[0] if excluded else None if is_named else ("", UNNAMED)
        return self._reasons[table]

    def _named(self, table: str) -> Iterator[MapStatement]:
        """Yield the MAPs that name a table, in order. Files have thousands of MAPs, nearly all with an exact part."""
        parts, found = [part.casefold() for part in name_parts(table)], list[int]()
        for exact, places in self._places.items():
            if len(exact) == len(parts):
                found += places.get(tuple(compress(parts, exact)), ())
        for place in sorted(found):
            if matches(self.file.maps[place].source, table):
                yield self.file.maps[place]

    @cached_property
    def _places(self) -> Mapping[tuple[bool, ...], Mapping[tuple[str, ...], Sequence[int]]]:
        """The places of MAPs, by which parts of their sources are exact, and by those parts."""
        places: dict[tuple[bool, ...], dict[tuple[str, ...], list[int]]] = {}
        for place, statement in enumerate(self.file.maps):
            exact = tuple(not part.is_wild for part in statement.source.parts)
            parts = tuple(compress(statement.source.folded, exact))
            places.setdefault(exact, {}).setdefault(parts, []).append(place)
        return places

    @cached_property
    def _reasons(self) -> dict[str, tuple[str, str] | None]:
        return {}

    def maps_of(self, table: str) -> list[TableMap]:
        """Return the MAPs that a table goes through, in order. Raises: ConfigurationError GG597 where two MAPs have one
        target, and no page says which of them decides."""
        found: list[TableMap] = []
        for statement in self._named(table) if self.names(table) else ():
            own = TableMap(statement, target_name(statement, table))
            same = [each for each in found if each.target.casefold() == own.target.casefold()]
            for each in same:
                self._check_twins(each, own, table)
            if not same or self.file.allows_duplicates:
                found.append(own)
        return found

    def _check_twins(self, one: TableMap, other: TableMap, table: str) -> None:
        by_name = one.statement.source.is_exact != other.statement.source.is_exact
        unclear = self.file.allows_duplicates or not one.statement.does_as(other.statement)
        if (by_name and unclear) or one.target != other.target:
            message = f"the MAP has the target `{other.target}`, as the MAP in line {one.statement.span.line} has"
            help = "which of them decides is not known: leave out one, or exclude the table from one"
            _refuse(other.statement, message, help, table)

    def log_assumptions(self, tables: Iterable[MappedTable]) -> None:
        """Log once what ggfmt assumes about the columns of targets."""
        for table in tables:
            for each in table.assumptions:
                if (table.place, each) not in self._said:
                    self._said.add((table.place, each))
                    log.info("%s: assumed: %s", visible(table.place), visible(each))

    @cached_property
    def _said(self) -> set[tuple[str, str]]:
        return set()

    def target_of(self, name: str) -> TableDef | None:
        """Return the definition of a target; upper and lower case may differ."""
        alike = self._alike.get(name.casefold(), ())
        return self.targets.get(name) or (alike[0] if len(alike) == 1 else None)

    @cached_property
    def _alike(self) -> Mapping[str, Sequence[TableDef]]:
        """The definitions of targets by their names in one case."""
        alike: dict[str, list[TableDef]] = {}
        for name, table in self.targets.items():
            alike.setdefault(name.casefold(), []).append(table)
        return alike


def _reads_before_images(part: Any) -> bool:
    is_call = isinstance(part, Call) and part.name in ("BEFORE", "BEFOREAFTER")
    return is_call or (isinstance(part, ColumnReference) and part.image == "BEFORE")


def _plain(value: Any) -> Any:
    """Return the fields that count in comparisons, so that places do not."""
    if is_dataclass(value):
        return type(value).__name__, *(_plain(getattr(value, each.name)) for each in fields(value) if each.compare)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


# Definitions and operations


class MappedTable:
    """A MAP of one definition of a table.

    table        the definition of the target
    assumptions  what ggfmt assumes about its columns
    """

    def __init__(self, replicat: Replicat, own: TableMap, source: TableDef) -> None:
        """Raises: ConfigurationError for what the table or ggfmt does not have."""
        statement, target = own.statement, replicat.target_of(own.target)
        _check(statement, source.full_name)
        self.place, self._kinds = own.place, statement.kinds
        kinds = statement.kinds
        become_inserts = kinds.insert_all or kinds.insert_updates
        self._before_images = False if become_inserts else replicat.before_images
        self._compiled: CompiledMapping | None = None
        self.assumptions: tuple[str, ...] = ()
        self.table = replace(source, full_name=own.target)
        if source.columns:
            compiled = compile_mapping(statement, source, target, replicat.update_kind)
            self.table = replace(compiled.table, full_name=own.target)
            self._compiled, self.assumptions = replace(compiled, table=self.table), compiled.assumptions
        # Where columns are mapped, the mapping decides.
        is_plain = self._compiled is None or self._compiled.columns is None
        self._has_same_key = not is_plain or {*self.table.primary_keys} == {*source.primary_keys}

    def apply(self, batch: ChangeBatch) -> tuple[ChangeBatch, Counter[str]]:
        """Return the operations that reach the target, and how many did and did not, by fate."""
        kinds, fates = self._kinds, Counter[str]()
        taken = {"I": kinds.inserts, "U": kinds.updates, "D": kinds.deletes, "T": kinds.truncates}
        found = counts_by_value(batch.op)
        for op, count in found.items():
            if not taken[op]:
                fates[TRUNCATES if op == "T" else IGNORED] += count
        if fates:
            kept = pc.is_in(batch.op, pa.array([op for op, is_taken in taken.items() if is_taken], pa.string()))
            batch = batch.take(pc.cast(pc.indices_nonzero(kept), pa.int64()))
        if len(batch) and self._compiled is not None:
            batch, fates[FILTERED], fates[INCOMPLETE] = self._compiled.apply(batch, self._before_images)
        if len(batch):
            if self._compiled is None or not self._has_same_key:
                batch = replace(batch, table=self.table, key_update=batch.key_update if self._has_same_key else None)
            batch = self._converted(batch, found)
            fates[REACHED] += len(batch)
        return batch, +fates

    def _converted(self, batch: ChangeBatch, found: Mapping[str, int]) -> ChangeBatch:
        """Return operations of other kinds, as INSERTALLRECORDS and its like say. An insert has the row and no before
        image. A delete that becomes an update has its row in both images, an insert that becomes one only after it."""
        new = _new_kinds(self._kinds)
        if not new.keys() & found.keys():
            return batch
        changed = pc.is_in(batch.op, pa.array([*new], pa.string()))
        become = pc.is_in(batch.op, pa.array([op for op, kind in new.items() if kind == "I"], pa.string()))
        op = pc.if_else(changed, pc.if_else(become, pa.scalar("I"), pa.scalar("U")), batch.op)
        row, count = batch.row_image(), len(batch)
        exists = pc.if_else(changed, row.exists_mask(count), batch.after.exists_mask(count))
        before = Image(batch.before.columns, pc.and_not(batch.before.exists_mask(count), become))
        key_update = None if batch.key_update is None else pc.and_not(batch.key_update, changed)
        return replace(batch, op=op, before=before, after=Image(row.columns, exists), key_update=key_update)


def _new_kinds(kinds: Kinds) -> dict[str, str]:
    """Return by kind the kind that operations become."""
    inserts = {"U": kinds.insert_all or kinds.insert_updates, "D": kinds.insert_all or kinds.insert_deletes}
    updates = {"D": kinds.update_deletes, "I": kinds.update_inserts}
    return {op: "I" for op, given in inserts.items() if given} | {op: "U" for op, given in updates.items() if given}


def _check(statement: MapStatement, table: str) -> None:
    kinds = statement.kinds
    if kinds.update_deletes and (kinds.insert_all or kinds.insert_deletes):
        help = "which of them decides is not known: leave out one of them"
        _refuse(statement, "UPDATEDELETES holds together with INSERTDELETES or INSERTALLRECORDS", help, table)
    if kinds.update_inserts and (kinds.insert_all or kinds.insert_updates):
        help = "whether an operation changes twice is not known: leave out one of them"
        _refuse(statement, "UPDATEINSERTS holds together with INSERTUPDATES or INSERTALLRECORDS", help, table)
