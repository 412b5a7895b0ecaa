"""What sinks see of tables and operations: `--columns` and `--mask` come first, and then the MAPs of a Replicat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, Span, list_names
from ggfmt.formats.api.reading import EVERY_TABLE_OF, Drop, Event, SchemaChange
from ggfmt.model.change import ChangeBatch, merge_in_order
from ggfmt.model.selection import TableSelection, is_named
from ggfmt.model.table import Catalog, TableDef
from ggfmt.options.value_types import Keys
from ggfmt.replicat.account import INCOMPLETE, REACHED, READ, TRUNCATES, Fate
from ggfmt.replicat.mapping import MappedTable, Replicat

_ONE_DEFINITION = "give the tables one definition: name it in TARGETDEFS, or give theirs by `--definitions`"


class View:
    """The step between a reader and a sink. `account` takes what becomes of operations by MAPs."""

    def __init__(self, selection: TableSelection, account: Counter[Fate] | None = None) -> None:
        self._selection = selection
        self._maps = cast("Replicat | None", selection.maps)
        self._account: Counter[Fate] = Counter() if account is None else account
        self._known: dict[str, tuple[TableDef, list[MappedTable]]] = {}

    def tables(self, table: TableDef) -> list[TableDef]:
        """Return the definitions of what is shown of a table. Raises: ConfigurationError for a MAP that cannot be."""
        shown = self._masked(table)
        if self._maps is None:
            return [shown]
        return [own.table for own in self._mapped(shown)] if self._selection.selects(table.full_name) else []

    def _masked(self, table: TableDef) -> TableDef:
        if not self._selection.hides:
            return table
        from ggfmt.reading.masks import masked_table

        return masked_table(table, self._selection)

    def check(self, tables: Collection[TableDef], keys: Keys, may_lack: bool) -> None:
        """Check masks, lists of columns and MAPs against all definitions. Raises: UsageError as `check_masks`;
        ConfigurationError GG597, also for tables with one target and several definitions."""
        if self._selection.hides:
            from ggfmt.reading.masks import check_masks

            check_masks(self._selection, tables, keys, may_lack)
        if self._maps is None:
            return
        found: dict[str, dict[str, set[TableDef]]] = {}
        for table in (each for each in tables if each.columns and self._selection.selects(each.full_name)):
            maps = self._mapped(self._masked(table))
            self._maps.log_assumptions(maps)
            for own in (each.table for each in maps):
                found.setdefault(own.full_name, {}).setdefault(table.full_name, set()).add(own)
                if any(each.table.full_name == own.full_name and each.table != own for each in maps):
                    raise ConfigurationError.of(_several(own.full_name, [table.full_name]))
        for target, sources in found.items():
            if len(sources) > 1 and len(set().union(*sources.values())) > 1:
                raise ConfigurationError.of(_several(target, sources))

    def _check_tests(self, table: TableDef) -> None:
        """Raises: ConfigurationError GG597 for a condition on a masked column, which the Replicat tests as it is."""
        assert self._maps is not None
        masks = {mask.column for mask in self._selection.masks if is_named(mask.table, table.full_name)}
        for own in self._maps.maps_of(table.full_name) if masks else ():
            for name, span in own.tested:
                column = next((each for each in masks if each.casefold() == name.casefold()), None)
                if column is not None:
                    message = f"a condition tests the column `{column}`, whose values `--mask` replaces"
                    help = "leave out the mask or the condition"
                    raise ConfigurationError.of(
                        Diagnostic("GG597", message, replace(span, table=table.full_name), help)
                    )

    def routes(self, tables: Collection[TableDef]) -> Iterator[str]:
        """Yield for each selected table where its operations go, and by which line of the parameter file."""
        for name in dict.fromkeys(table.full_name for table in tables):
            if self._maps is not None and self._selection.has_patterns_for(name):
                found = [f"{own.target} by {own.place}" for own in self._maps.maps_of(name)]
                place, what = self._maps.reason(name)
                yield f"{name}: {', '.join(found) or ' by '.join(filter(None, (what, place)))}"

    def leave_out(self, table: str, records: int) -> None:
        """Count records of a table that no MAP takes."""
        assert self._maps is not None
        self._account[Fate(table, *self._maps.reason(table))] += records

    def _mapped(self, table: TableDef) -> list[MappedTable]:
        assert self._maps is not None
        known = self._known.get(table.full_name)
        if known is None or known[0] != table:
            self._check_tests(table)
            maps = [MappedTable(self._maps, own, table) for own in self._maps.maps_of(table.full_name)]
            self._known[table.full_name] = known = table, maps
        return known[1]

    def events(self, events: Iterator[Event], catalog: Catalog) -> Iterator[Event]:
        if self._selection.hides:
            from ggfmt.reading.masks import masked_events

            events = masked_events(events, self._selection, catalog)
        try:
            yield from events if self._maps is None else self._mapped_events(events, catalog)
        except ConfigurationError as error:  # of a MAP, for a table that only the data has
            raise Abend.of(*error.diagnostics) from None

    def _mapped_events(self, events: Iterator[Event], catalog: Catalog) -> Iterator[Event]:
        """Yield events of targets. If tables have one target, the operations of a chunk are in order there."""
        assert self._maps is not None
        waiting: dict[str, list[ChangeBatch]] = {}
        for event in events:
            if isinstance(event, ChangeBatch) and self._maps.joins:
                for batch in self._batches(event):
                    waiting.setdefault(batch.table.full_name, []).append(batch)
            elif isinstance(event, ChangeBatch):
                yield from self._batches(event)
            else:
                if isinstance(event, (SchemaChange, Drop)):
                    yield from _merged(waiting)
                    waiting = {}
                yield from self._drops(event, catalog) if isinstance(event, Drop) else (event,)
        yield from _merged(waiting)

    def _batches(self, batch: ChangeBatch) -> Iterator[ChangeBatch]:
        assert self._maps is not None
        name = batch.table.full_name
        self._account[Fate(name, "", READ)] += len(batch)
        for own in self._mapped(batch.table):
            mapped, fates = own.apply(batch)
            for what, count in fates.items():
                self._account[Fate(name, own.place, what)] += count
            if fates[INCOMPLETE] and self._maps.strict:
                message = f"{own.place} drops an operation, since a column is missing that FILTER or WHERE tests"
                help = "test the column first: `(c = @PRESENT AND c > 1)`; or leave out `--strict`"
                raise Abend("GG598", message, Span(table=name), help)
            if len(mapped):
                yield mapped

    def _drops(self, drop: Drop, catalog: Catalog) -> Iterator[Drop]:
        """Yield what a statement empties of targets. It counts as a truncate, which a Replicat ignores by default."""
        assert self._maps is not None
        name = drop.truncate.table.full_name
        known = (table.full_name for table in catalog.tables())
        named = [each for each in known if each.startswith(name[:-1])] if name.endswith(EVERY_TABLE_OF) else [name]
        for table in filter(self._selection.selects, named):
            self._account[Fate(table, "", READ)] += 1
            for own in self._maps.maps_of(table):
                is_taken = own.statement.kinds.truncates
                self._account[Fate(table, own.place, REACHED if is_taken else TRUNCATES)] += 1
                if is_taken:
                    yield Drop(replace(drop.truncate, table=TableDef(own.target)))


def _merged(waiting: Mapping[str, Sequence[ChangeBatch]]) -> Iterator[ChangeBatch]:
    """Yield a batch for each target, in an order that does not depend on chunks."""
    for target, batches in sorted(waiting.items()):
        if any(batch.table != batches[0].table for batch in batches):
            raise Abend.of(_several(target, ()))
        yield merge_in_order(batches)


def _several(target: str, sources: Collection[str]) -> Diagnostic:
    tables = f": {list_names(sources)}" if sources else ""
    return Diagnostic(
        "GG597", f"tables with several definitions have one target{tables}", Span(table=target), _ONE_DEFINITION
    )
