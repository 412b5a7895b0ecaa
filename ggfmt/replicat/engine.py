"""COLMAP, FILTER and WHERE of a MAP: the operations and columns of a table that reach the handler.

The row image of an operation is its after image, or the before image of a delete. Conditions test the row image, and
COLMAP makes that of the target of it. In the before image of an update, the manual decides plain columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.images import differ, key_updates, unless_all, updates_from
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, Span, list_names
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef
from ggfmt.replicat.expressions import Compiler, column_named, refuse
from ggfmt.replicat.functions import FUNCTIONS, KEY_UPDATE, UPDATE_KINDS
from ggfmt.replicat.statements import (
    ColumnMapping,
    ColumnMatches,
    ColumnReference,
    Expression,
    MapStatement,
    WrittenName,
)
from ggfmt.replicat.values import (
    Evaluation,
    RowImages,
    ValueColumn,
    as_text,
    first_reason,
    number_texts,
)

_MISSING = pa.scalar(False)
_BEFORE_IMAGE = "no page says what an expression is in the before image of an update"


@dataclass(frozen=True, eq=False)
class CompiledColumn:
    """A column of the target: the place of a plain column of the source, an expression, or nothing."""

    name: str
    span: Span
    place: int | None = None
    evaluate: Evaluation | None = None


@dataclass(frozen=True, eq=False)
class CompiledMapping:
    """The columns and conditions of a MAP for one definition of its source.

    table        the definition of the target, with the name of `target`, or else of the source
    assumptions  what ggfmt assumes about the columns, for people
    filters      the kinds of operations that each condition tests, and the condition
    needs        what batches have to have: `tokens`, or nothing
    """

    table: TableDef
    columns: tuple[CompiledColumn, ...] | None
    filters: tuple[tuple[str, Evaluation], ...]
    reasons: dict[tuple[str, Span], int]
    assumptions: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()

    def apply(self, batch: ChangeBatch, before_images: bool | None = True) -> tuple[ChangeBatch, int, int]:
        """Return the mapped operations, how many a filter dropped, and how many lacked a column that it tests.

        `before_images`: before images of updates go into messages, or decide. A column with an expression is then
        undecided there; otherwise the before image lacks it. None: of
        key updates alone. Raises: Abend for an undecided value.
        """
        rows = RowImages(batch, self.reasons)
        missing = 0
        if self.filters:
            kept, missing = self._selected(rows)
            rows = rows if kept.true_count == len(batch) else rows.take(kept)
        return self._mapped(rows, before_images), len(batch) - len(rows.batch) - missing, missing

    def _selected(self, rows: RowImages) -> tuple[pa.BooleanArray, int]:
        kept, missing = pa.repeat(pa.scalar(True), len(rows.batch)), 0
        for kinds, evaluate in self.filters:
            tested = pc.and_(kept, pc.is_in(rows.batch.op, pa.array([*kinds], pa.string())))
            found = evaluate(rows)
            self._check(rows.batch, tested, found, None)
            if found.missing is not None:
                missing += pc.and_(tested, found.missing).true_count
            kept = pc.and_(kept, pc.or_(pc.invert(tested), found.values.fill_null(False)))
        return kept, missing

    def _mapped(self, rows: RowImages, before_images: bool | None) -> ChangeBatch:
        batch, old, new = rows.batch, rows.batch.before, rows.batch.after
        if self.columns is None:
            return batch if batch.table == self.table else replace(batch, table=self.table)
        updates = updates_from(batch)
        shared = old.columns is new.columns and (before_images is False or not updates.true_count)
        befores, afters = [], []
        for column in self.columns:
            if column.place is not None:
                before, after = old.columns[column.place], new.columns[column.place]
            elif column.evaluate is None:
                before = after = ImageColumn(pa.nulls(len(batch), pa.string()), pa.repeat(_MISSING, len(batch)))
            else:
                before, after = self._computed(rows, column, updates, before_images)
            befores.append(before)
            afters.append(after)
        after_columns = tuple(afters)
        before_columns = after_columns if shared else tuple(befores)
        mapped = replace(
            batch,
            table=self.table,
            before=Image(before_columns, old.exists),
            after=Image(after_columns, new.exists),
            key_update=self._key_updates(batch),
        )
        computed = next((column for column in self.columns if column.evaluate is not None), None)
        moved = key_updates(mapped) if before_images is None and computed is not None else None
        if computed is not None and moved is not None:
            self._stop(batch, moved, _BEFORE_IMAGE, computed.span, computed.name)
        return mapped

    def _computed(
        self, rows: RowImages, column: CompiledColumn, updates: pa.BooleanArray, before_images: bool | None
    ) -> tuple[ImageColumn, ImageColumn]:
        assert column.evaluate is not None
        batch, found = rows.batch, column.evaluate(rows)
        self._check(batch, None, found, column.name)
        is_key = column.name in self.table.primary_keys
        if updates.true_count and (before_images or is_key):
            self._stop(batch, updates, _BEFORE_IMAGE, column.span, column.name)
        present = None if found.missing is None else pc.invert(found.missing)
        after = ImageColumn(as_strings(found.values), None if present is None else unless_all(present))
        if not updates.true_count:
            return after, after
        there = pc.invert(updates) if present is None else pc.and_not(present, updates)
        return ImageColumn(as_strings(found.values), there), after

    def _key_updates(self, batch: ChangeBatch) -> pa.BooleanArray | None:
        """Return the reader's decision where the keys of source and target are of the same columns."""
        assert self.columns is not None
        places = {column.place for column in self.columns if column.name in self.table.primary_keys}
        return batch.key_update if places == {*batch.table.key_indices} else None

    def _check(
        self, batch: ChangeBatch, needed: pa.BooleanArray | None, found: ValueColumn, column: str | None
    ) -> None:
        """Raises: Abend if a value is undecided where it is needed; None: where the operation has a row."""
        if found.undecided is None:
            return
        needed = pc.not_equal(batch.op, "T") if needed is None else needed
        undecided = pc.and_(needed, found.undecided.is_valid())
        if undecided.true_count:
            row = pc.index(undecided, True).as_py()
            message, span = [*self.reasons][found.undecided[row].as_py()]
            self._stop(batch, undecided, message, span, column)

    def _stop(self, batch: ChangeBatch, where: pa.BooleanArray, message: str, span: Span, column: str | None) -> None:
        row = pc.index(where, True).as_py()
        place = replace(span, table=batch.table.full_name, field=column, position=batch.position[row].as_py())
        raise Abend("GG412", message, place, "change the expression so that it does not need this value")


def compile_mapping(
    statement: MapStatement, table: TableDef, target: TableDef | None = None, update_kind: str | None = None
) -> CompiledMapping:
    """Compile a MAP for a definition of its source. `target`: its definition from TARGETDEFS. `update_kind`: the OPTYPE
    of updates in the trail, except of the key.

    Raises: ConfigurationError for what GoldenGate or ggfmt refuses, with its place in the file.
    """
    try:
        return _MappingCompiler(statement, table, target, update_kind).compile()
    except RecursionError:
        refuse("an expression is nested too deeply", statement.span)


class _MappingCompiler:
    def __init__(
        self, statement: MapStatement, table: TableDef, target: TableDef | None, update_kind: str | None
    ) -> None:
        self._update_kind = update_kind
        self._statement, self._source, self._target = statement, table, target
        self._expressions = Compiler(table, FUNCTIONS)
        self._assumptions: list[str] = []

    def compile(self) -> CompiledMapping:
        statement, expressions = self._statement, self._expressions
        if any((statement.matches.names, statement.matches.prefixes, statement.matches.suffixes)) and not self._target:
            refuse("COLMATCH needs the columns of the target", statement.span, "name them with TARGETDEFS", "GG160")
        filters = []
        for each in statement.filters:
            expressions.is_where = each.is_where
            filters.append((each.tested, self._evaluation(each.condition, True)))
        expressions.is_where = False
        plain = statement.columns is None and self._target is None
        pairs = [] if plain else self._columns()
        columns = self._source.columns if plain else tuple(column for column, _ in pairs)
        full_name = (self._target or self._source).full_name
        made = TableDef(full_name, tuple(replace(column, key=0) for column in columns))
        return CompiledMapping(
            made.with_keys(self._key(made, [compiled for _, compiled in pairs])),
            None if plain else tuple(compiled for _, compiled in pairs),
            tuple(filters),
            {},
            tuple(self._assumptions),
            frozenset(expressions.needs),
        )

    def _evaluation(self, expression: Expression, is_condition: bool = False) -> Evaluation:
        compiler = self._expressions
        compiler.uses_update_kind = False
        run = compiler.truth(expression) if is_condition else partial(as_text, compiler.compile(expression))
        if not compiler.uses_update_kind:
            return run
        known = self._update_kind
        return _of_any_update_kind(run, expression.span) if known is None else partial(_of_update_kind, run, known)

    def _columns(self) -> list[tuple[Column, CompiledColumn]]:
        """Return the columns of the target in their order, and where each comes from."""
        statement, definition = self._statement, self._target or self._source
        named: dict[str, ColumnMapping] = {}
        new: dict[str, str] = {}
        for pair in statement.columns or ():
            name = column_named(definition, pair.target)
            if name is None:
                if self._target is not None:
                    message = f"target {definition.full_name} has no column `{pair.target.text}` (OGG-00919)"
                    refuse(message, pair.span, f"columns: {list_names(definition.column_names)}", "GG160")
                alike = pair.target.text if pair.target.quoted else pair.target.text.casefold()
                name = new.setdefault(alike, pair.target.text)
            if name in named:
                refuse(f"COLMAP names column `{name}` twice", pair.span, "remove one", "GG160")
            named[name] = pair
        whole = self._target is not None or statement.defaults
        names = (*definition.column_names, *new.values()) if whole else named
        return [self._column(name, named.get(name)) for name in names]

    def _column(self, name: str, pair: ColumnMapping | None) -> tuple[Column, CompiledColumn]:
        definition, source = self._target or self._source, self._source
        known = next((column for column in definition.columns if column.name == name), None)
        if pair is None:
            place = self._default(name) if self._statement.defaults else None
            if place is None:
                self._assumptions.append(f"column `{name}` has no source, and is missing in messages")
            assert known is not None
            return known, CompiledColumn(name, self._statement.span, place)
        if isinstance(pair.value, ColumnReference) and pair.value.image == "AFTER":
            place = self._expressions.place(pair.value.name, pair.value.span)
            column = known if self._target and known else replace(source.columns[place], name=name)
            return column, CompiledColumn(name, pair.span, place)
        self._expressions.target_length = None if known is None else known.type.length
        self._expressions.target_kind = known.type.kind if self._target and known else None
        compiled = CompiledColumn(name, pair.span, evaluate=self._evaluation(pair.value))
        if self._target and known:
            return known, compiled
        made = self._expressions.compile(pair.value).kind
        type = STRING if made == "text" else SqlType(Kind.DOUBLE if made == "float" else Kind.NUMBER)
        of = "its expression" if known is None else "the column of the source with its name"
        type = type if known is None else known.type
        self._assumptions.append(f"column `{name}` has the type {type}, from {of} ({pair.span})")
        return Column(name, type), compiled

    def _default(self, name: str) -> int | None:
        """Return the place of the source's column that a column of the target gets without being named."""
        matches = self._statement.matches
        for target, source in matches.names:
            if target.casefold() == name.casefold():
                return self._expressions.place(WrittenName(source), self._statement.span)
        found = self._source.column_of(name)
        alike = [own for own in self._source.column_names if _bare(own, matches) == _bare(name, matches)]
        if found is None and len(alike) == 1:
            found = alike[0]
        return None if found is None else self._source.column_names.index(found)

    def _key(self, made: TableDef, columns: Sequence[CompiledColumn]) -> Sequence[str] | None:
        if self._statement.key:
            key = [column_named(made, name) for name in self._statement.key]
            if None in key:
                name = self._statement.key[key.index(None)].text
                help = f"columns: {list_names(made.column_names)}"
                refuse(f"the target has no column `{name}` of KEYCOLS", self._statement.span, help, "GG160")
            return [name for name in key if name]
        if self._target is not None:
            return self._target.stated_key
        if not columns:
            return self._source.stated_key
        by_place = {column.place: column.name for column in columns[::-1]}
        names = [
            name if name in made.column_names else by_place.get(self._source.column_names.index(name))
            for name in self._source.primary_keys
        ]
        if None in names:
            self._assumptions.append(f"table {made.full_name} has no key, because COLMAP omits a key column")
            return ()
        return [name for name in names if name] or self._source.stated_key


def _bare(name: str, matches: ColumnMatches) -> str:
    """Return a name in one case, without the prefixes and suffixes of COLMATCH."""
    name = reduce(lambda text, prefix: text.removeprefix(prefix.casefold()), matches.prefixes, name.casefold())
    return reduce(lambda text, suffix: text.removesuffix(suffix.casefold()), matches.suffixes, name)


def _of_update_kind(run: Evaluation, kind: str, rows: RowImages) -> ValueColumn:
    moved = key_updates(rows.batch)
    return run(replace(rows, update_kind=kind if moved is None else pc.if_else(moved, KEY_UPDATE, kind)))


def _of_any_update_kind(run: Evaluation, span: Span) -> Evaluation:
    """Return an evaluation that is undecided where it depends on the OPTYPE of an update, of which several are
    possible."""
    kinds = f"{', '.join(UPDATE_KINDS[:-1])} or {UPDATE_KINDS[-1]}"
    message = f"the result depends on whether OPTYPE is {kinds}, which `ggfmt.updateOpType` can state"

    def evaluate(rows: RowImages) -> ValueColumn:
        if not pc.equal(rows.batch.op, "U").true_count:
            return run(rows)
        first, *others = (run(replace(rows, update_kind=kind)) for kind in UPDATE_KINDS)
        undecided = first.undecided
        for other in others:
            unlike = differ(_comparable(first), _comparable(other))
            undecided = first_reason(undecided, other.undecided, rows.mark(unlike, message, span))
        return ValueColumn(first.values, first.missing, undecided)

    return evaluate


def _comparable(result: ValueColumn) -> pa.StringArray:
    """Return texts that differ where values do, and for each of the states."""
    boolean = pa.types.is_boolean(result.values.type)
    texts = pc.cast(result.values, pa.string()) if boolean else number_texts(result.values)
    texts = pc.binary_join_element_wise("=", texts, "")
    if result.missing is None:
        return texts
    return pc.if_else(result.missing, "", texts)
