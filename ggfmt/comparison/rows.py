"""Comparison of rows of two sides in memory.

Rows are matched by the numbers that Arrow gives to values (`dictionary_encode`): the first value is 0, and each new one
the next number. If each row of A has a key of its own, the number of a key of B is the number of the row in A.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import narrow, non_null_values, numbered
from ggfmt.columnar.hashes import row_codes
from ggfmt.comparison.kinds import ANY, STRING
from ggfmt.comparison.values import Common, as_common, common_type, name_infinite
from ggfmt.dataclasses import dataclass, field

_LONG = pa.int64()
COUNT = pa.field("count", _LONG)  # the last column of whole rows: how many equal rows each stands for

Row = dict[str, Any]


@dataclass(frozen=True)
class TablePair:
    a: str
    b: str
    type_a: pa.DataType
    type_b: pa.DataType
    by_characters: bool = False

    @property
    def type(self) -> pa.DataType:
        return STRING if self.by_characters else common_type(self.type_a, self.type_b)


@dataclass(frozen=True)
class RowExample:
    """A row that is missing (only in A), extra (only in B) or different: its key, and its values on each side. A
    different row has only the columns that differ. `rows`: the number of equal rows."""

    kind: str
    key: Row
    a: Row | None
    b: Row | None
    rows: int = 1


@dataclass
class DifferenceCounts:
    """Counts of a comparison, and examples."""

    equal: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    # in how many different rows each column of the pairs differs
    by_column: dict[int, int] = field(default_factory=dict)
    # an example of each of these columns, with its values alone
    column_examples: dict[int, RowExample] = field(default_factory=dict)
    # how many equal values of each column are written in two ways, in rows that were matched by key
    respelled: dict[int, int] = field(default_factory=dict)
    respelled_examples: dict[int, RowExample] = field(default_factory=dict)  # an example of each of these columns
    respelled_rows: int = 0  # how many rows are equal as whole rows, and written in two ways
    repeated: list[int] = field(default_factory=lambda: [0, 0])  # the number of keys that each side has more than once
    examples: list[RowExample] = field(default_factory=list)


class RowComparison:
    """Compares rows of `pairs`, of which the first `keys` are the key, and sums up the result. `examples`: how many of
    each kind to keep. Batches have the columns of the pairs, in order."""

    def __init__(self, pairs: Sequence[TablePair], keys: int, examples: int) -> None:
        self.found = DifferenceCounts()
        self._pairs = pairs
        self._keys = keys
        self._left = dict.fromkeys(("missing", "extra", "different"), examples)
        self._types = [pair.type for pair in pairs]

    def common(self, batch: pa.RecordBatch, column: int) -> Common:
        return as_common(batch.column(column), self._types[column])

    def compare_keyed_rows(self, a: pa.RecordBatch, b: pa.RecordBatch) -> None:
        """Compare rows with a key. Rows of a repeated key are compared as whole rows."""
        (a, keys_a), (b, keys_b) = self._with_keys(a, "missing"), self._with_keys(b, "extra")
        codes = _codes(keys_a, keys_b)
        of_a, of_b = codes.slice(0, len(a)), codes.slice(len(a))
        repeated = [_repeated(of_a), _repeated(of_b)]
        if any(map(len, repeated)):
            for number, keys in enumerate(repeated):
                self.found.repeated[number] += len(keys)
            alike = pa.concat_arrays(repeated)
            in_a, in_b = (pc.is_in(of_side, value_set=alike) for of_side in (of_a, of_b))
            self.compare_whole_rows(with_counts(a.filter(in_a)), with_counts(b.filter(in_b)))
            alone_a, alone_b = pc.invert(in_a), pc.invert(in_b)
            a, b = a.filter(alone_a), b.filter(alone_b)
            codes = _codes([of_a.filter(alone_a)], [of_b.filter(alone_b)])
            of_a, of_b = codes.slice(0, len(a)), codes.slice(len(a))
        there = pc.less(of_b, len(a))
        rows_a, rows_b = of_b.filter(there), pc.indices_nonzero(there)
        if len(rows_b) < len(b):
            self._add_unmatched("extra", with_counts(b.filter(pc.invert(there))))
        if len(rows_a) < len(a):
            self._add_unmatched("missing", with_counts(a.filter(pc.invert(pc.is_in(of_a, value_set=rows_a)))))
        self._compare_pairs(
            a if rows_a.equals(of_a) else a.take(rows_a), b if len(rows_b) == len(b) else b.take(rows_b)
        )

    def _with_keys(self, batch: pa.RecordBatch, kind: str) -> tuple[pa.RecordBatch, list[pa.Array[Any]]]:
        """Return rows and keys in common types, without keys that are no value of the other side's type."""
        keys = [self.common(batch, at) for at in range(self._keys)]
        values = [values for values, _ in keys]
        odd = _any(mask for _, mask in keys)
        if odd is None:
            return batch, values
        self._add_unmatched(kind, with_counts(batch.filter(odd)))
        usual = pc.invert(odd)
        return batch.filter(usual), [array.filter(usual) for array in values]

    def _compare_pairs(self, a: pa.RecordBatch, b: pa.RecordBatch) -> None:
        differing = {}
        for at in range(len(self._pairs)):
            if self._types[at] == ANY:
                differs = self._differ_as_values(a, b, at)
            elif at < self._keys:
                continue
            else:
                differs = _differ(self.common(a, at), self.common(b, at))
            count = pc.sum(differs).as_py()
            if count:
                self._count_column(self.found.by_column, self.found.column_examples, a, b, at, differs)
                differing[at] = differs
        different = _any(differing.values())
        count = 0 if different is None else pc.sum(different).as_py()
        self.found.different += count
        self.found.equal += len(a) - count
        if different is None:
            return
        for row in non_null_values(pc.indices_nonzero(different)[: self._left["different"]]):
            columns = [at for at, differs in differing.items() if differs[row].as_py()]
            of_a, of_b = (self._row(batch, row, columns) for batch in (a, b))
            self._keep(RowExample("different", self._row(a, row, range(self._keys)), of_a, of_b))

    def _differ_as_values(self, a: pa.RecordBatch, b: pa.RecordBatch, at: int) -> pa.BooleanArray:
        """Return in which rows two columns of texts differ, and count the equal values in two spellings."""
        written = _differ((a.column(at), None), (b.column(at), None))
        rows = pc.indices_nonzero(written)
        if not len(rows):
            return written
        sides = (as_common(batch.column(at).take(rows), self._types[at]) for batch in (a, b))
        differs = pc.replace_with_mask(written, written, _differ(*sides))
        self._count_column(self.found.respelled, self.found.respelled_examples, a, b, at, pc.and_not(written, differs))
        return differs

    def _count_column(
        self,
        counts: dict[int, int],
        examples: dict[int, RowExample],
        a: pa.RecordBatch,
        b: pa.RecordBatch,
        at: int,
        rows: pa.BooleanArray,
    ) -> None:
        count = pc.sum(rows).as_py()
        if not count:
            return
        counts[at] = counts.get(at, 0) + count
        if at not in examples:
            (row,) = non_null_values(pc.indices_nonzero(rows)[:1])
            key = self._row(a, row, range(self._keys))
            examples[at] = RowExample("different", key, self._row(a, row, [at]), self._row(b, row, [at]))

    def compare_whole_rows(self, a: pa.RecordBatch, b: pa.RecordBatch) -> None:
        """Compare whole rows, with a last column for how many equal rows each stands for. Most equal rows are written
        alike. Only the others are compared by what their texts mean."""
        is_any = ANY in self._types
        a, b = self._without_equal(a, b, as_written=is_any)
        if is_any and len(a) and len(b):
            before = self.found.equal
            a, b = self._without_equal(a, b)
            self.found.respelled_rows += self.found.equal - before
        self._add_unmatched("missing", a)
        self._add_unmatched("extra", b)

    def _without_equal(
        self, a: pa.RecordBatch, b: pa.RecordBatch, as_written: bool = False
    ) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Count equal rows. Return the rows of each side that are left, each once, with their counts."""
        if not len(a) + len(b):  # Arrow 18 crashes on columns without a chunk
            return a, b
        counts = [batch.column(len(self._pairs)) for batch in (a, b)]
        nothing = [pa.repeat(pa.scalar(0, _LONG), len(batch)) for batch in (a, b)]
        sums = pa.concat_arrays([counts[0], nothing[1]]), pa.concat_arrays([nothing[0], counts[1]])
        groups = _groups(self._codes_of_wholes(a, b, as_written), *sums)
        self.found.equal += pc.sum(pc.min_element_wise(groups["a_sum"], groups["b_sum"])).as_py() or 0
        more = pc.subtract(groups["a_sum"], groups["b_sum"])
        of_b = pc.subtract(groups["row_max"], pa.scalar(len(a), _LONG))
        return _left_over(a, groups["row_min"], more), _left_over(b, of_b, pc.negate(more))

    def _codes_of_wholes(self, a: pa.RecordBatch, b: pa.RecordBatch, as_written: bool = False) -> pa.Int64Array:
        """Return numbers for rows, equal for equal rows. `as_written`: no other spelling of a text is equal to it."""
        sides = [[self._value(batch, at, as_written) for at in range(len(self._pairs))] for batch in (a, b)]
        codes = _codes(*([values for values, _ in side] for side in sides))
        odd = [_any(mask for _, mask in side) for side in sides]
        if odd == [None, None]:
            return codes
        # A text that is not a value equals nothing: each such row gets a number of its own.
        masks = (
            pa.repeat(False, len(batch)) if mask is None else mask for mask, batch in zip(odd, (a, b), strict=True)
        )
        own = pc.subtract(-1, numbered(len(codes)))
        return pc.if_else(pa.concat_arrays(masks), own, codes)

    def _value(self, batch: pa.RecordBatch, at: int, as_written: bool) -> Common:
        return (batch.column(at), None) if as_written and self._types[at] == ANY else self.common(batch, at)

    def _add_unmatched(self, kind: str, batch: pa.RecordBatch) -> None:
        """Count rows of one side, with a last column for how many equal rows each stands for."""
        counts, is_extra = batch.column(len(self._pairs)), kind == "extra"
        setattr(self.found, kind, getattr(self.found, kind) + (pc.sum(counts).as_py() or 0))
        for row, count in enumerate(non_null_values(counts[: self._left[kind]])):
            values = self._row(batch, row, range(len(self._pairs)), is_extra)
            key = self._row(batch, row, range(self._keys), is_extra)
            self._keep(RowExample(kind, key, None if is_extra else values, values if is_extra else None, count))

    def _keep(self, example: RowExample) -> None:
        self._left[example.kind] -= 1
        self.found.examples.append(example)

    def _row(self, batch: pa.RecordBatch, row: int, columns: Iterable[int], of_b: bool = False) -> Row:
        return {self._pairs[at].b if of_b else self._pairs[at].a: _value(batch.column(at)[row]) for at in columns}


def with_counts(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.repeat(pa.scalar(1, _LONG), len(batch))], schema=batch.schema.append(COUNT)
    )


def _codes(a: Sequence[pa.Array[Any]], b: Sequence[pa.Array[Any]]) -> pa.Int64Array:
    """Return numbers for the rows of both sides: equal rows have equal numbers, a new row the next one."""
    return row_codes([pa.concat_arrays(columns) for columns in zip(a, b, strict=True)])


def _groups(codes: pa.Int64Array, a: pa.Array[Any], b: pa.Array[Any]) -> pa.Table:
    table = pa.table({"code": codes, "a": a, "b": b, "row": numbered(len(codes))})
    return table.group_by("code", use_threads=False).aggregate(
        [("a", "sum"), ("b", "sum"), ("row", "min"), ("row", "max")]
    )


def _left_over(batch: pa.RecordBatch, rows: pa.ChunkedArray[Any], counts: pa.ChunkedArray[Any]) -> pa.RecordBatch:
    """Return the rows with these numbers and counts, if their counts are positive."""
    there = pc.greater(counts, 0)
    left = batch.take(rows.filter(there).combine_chunks())
    return left.set_column(batch.num_columns - 1, COUNT, counts.filter(there).combine_chunks())


def _repeated(codes: pa.Int64Array) -> pa.Int64Array:
    counts = pc.value_counts(codes)
    return narrow(counts.field("values"), pa.Int64Array).filter(pc.greater(counts.field("counts"), 1))


def _differ(a: Common, b: Common) -> pa.BooleanArray:
    """Return in which rows two columns differ; NULL equals NULL."""
    differs = pc.not_equal(a[0], b[0])
    if differs.null_count:
        differs = pc.if_else(differs.is_valid(), differs, pc.xor(a[0].is_null(), b[0].is_null()))
    found = _any(mask for mask in (differs, a[1], b[1]))
    assert found is not None
    return found


def _any(masks: Iterable[pa.BooleanArray | None]) -> pa.BooleanArray | None:
    found = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else pc.or_(found, mask)
    return found


def _value(scalar: pa.Scalar[Any]) -> Any:
    try:
        return name_infinite(scalar) or scalar.as_py()
    except UnicodeDecodeError:
        return scalar.cast(pa.binary()).as_py()
    except (ValueError, OverflowError):  # a time outside the years 1 to 9999
        return scalar.cast(pa.string()).as_py()
