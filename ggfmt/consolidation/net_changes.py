"""Net changes between two moments: for each key whether its row came, changed or went."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import CURRENT, DELETED, STATE, UNRESOLVED
from ggfmt.consolidation.asked import OP as OP_MARK
from ggfmt.consolidation.images import any_of, same_key
from ggfmt.consolidation.keyless import WEIGHT, counted, repeated
from ggfmt.consolidation.operations import KEYED, MOVES, OP, ORD, TableOperations, new_key, old_key, steps
from ggfmt.consolidation.rows import OVERTAKEN_ROW, REASON, UNTOLD, found

_WAS, _EARLY, _UNSEEN = "__was", "__early", "__unseen"


def net_changes(
    operations: TableOperations,
    earlier: DataFrame,
    later: DataFrame,
    every: DataFrame,
    since: Column,
    unseen: Column,
    ord: Column,
) -> DataFrame:
    """The changes from `earlier` to `later` rows (see `current_rows`), with `found`, `OP_MARK`, `STATE`, `REASON` and
    `UNTOLD`. `every` has all operations, and `ord` is their order. `since` says whether one is counted
    among the earlier, and `unseen` whether the first of a key tells if its row was there before."""
    keys = [found(operations.columns.index(name)) for name in operations.key]
    seen = _seen(operations, every, since, unseen, ord, keys)
    before, after = _at_their_keys(earlier, "b"), _at_their_keys(later, "a")
    touched = seen.select(*keys).unionAll(before.select(*(F.col(f"b{key}") for key in keys))).distinct()
    rows = _joined(_joined(_joined(touched, seen, keys, ""), before, keys, "b"), after, keys, "a")
    was = F.col(f"b{STATE}").isNotNull() | F.coalesce(F.col(_WAS), F.lit(False))
    now = F.col(f"a{STATE}").isNotNull()
    differs = any_of(
        ~F.col(f"b{found(place)}").eqNullSafe(F.col(f"a{found(place)}")) for place in range(len(operations.columns))
    )
    certain = F.coalesce(F.col(f"b{STATE}") == CURRENT, F.lit(False))
    op = (
        F.when(~was & now, "I")
        .when(was & ~now, "D")
        .when(was & now & (differs | ~certain | (F.col(f"a{STATE}") == UNRESOLVED)), "U")
    )
    gone = F.col(OP_MARK) == "D"
    rows = rows.withColumn(OP_MARK, op).where(F.col(OP_MARK).isNotNull())
    values = {}
    for place in range(len(operations.columns)):
        name = found(place)
        own = F.when(gone, F.col(f"b{name}")).otherwise(F.col(f"a{name}"))
        values[f"__w{place}"] = F.col(name) if name in keys else own
    reason = F.when(~gone, F.col(f"a{REASON}"))
    state = F.when(reason.isNull(), CURRENT).otherwise(UNRESOLVED)
    untold = F.coalesce(F.when(~gone, F.col(f"a{UNTOLD}")), F.lit(0))
    return rows.select(
        *(column.alias(found(place)) for place, column in enumerate(values.values())),
        OP_MARK,
        state.alias(STATE),
        reason.alias(REASON),
        untold.alias(UNTOLD),
    )


def _at_their_keys(rows: DataFrame, prefix: str) -> DataFrame:
    """The rows that are there, one for each key, with a prefix to all names."""
    there = (F.col(STATE) != DELETED) & ~F.coalesce(F.col(REASON) == OVERTAKEN_ROW, F.lit(False))
    return rows.where(there).select(*(F.col(name).alias(f"{prefix}{name}") for name in rows.columns))


def _joined(rows: DataFrame, others: DataFrame, keys: list[str], prefix: str) -> DataFrame:
    if not prefix:
        others = others.select(*(F.col(key).alias(f"s{key}") for key in keys), _WAS)
        prefix = "s"
    return rows.join(others, same_key(keys, (f"{prefix}{key}" for key in keys)), "left")


def _seen(
    operations: TableOperations, every: DataFrame, since: Column, unseen: Column, ord: Column, keys: list[str]
) -> DataFrame:
    """The keys that later operations are of, and whether the first of them says that a row was there before (`_WAS`).
    It does not where earlier ones have shown it."""
    every = steps(every.withColumns({_EARLY: since, _UNSEEN: unseen}), operations.key, ord).where(KEYED)
    new, old = ([F.col(of(n)).alias(key) for n, key in enumerate(keys)] for of in (new_key, old_key))
    at_new = every.select(*new, ORD, _EARLY, ((F.col(OP) != "I") & ~F.col(MOVES) & F.col(_UNSEEN)).alias(_WAS))
    at_old = every.where(MOVES).select(*old, ORD, _EARLY, F.col(_UNSEEN).alias(_WAS))
    first = F.min(F.struct(ORD, _WAS)).getField(_WAS)
    seen = (
        at_new.unionAll(at_old)
        .groupBy(*keys)
        .agg((first & ~F.bool_or(_EARLY)).alias(_WAS), F.bool_and(_EARLY).alias(_EARLY))
    )
    return seen.where(~F.col(_EARLY)).select(*keys, _WAS)


def keyless_changes(operations: TableOperations, earlier: DataFrame, later: DataFrame, truncated: bool) -> DataFrame:
    """What came and what went, each row as often as it did. The frames have operations up to either moment. Where the
    table was `truncated` between them, what went before without having come is over."""
    columns = [found(place) for place in range(len(operations.columns))]
    after, before = counted(operations, later), counted(operations, earlier)
    if truncated:
        before = before.where(F.col(WEIGHT) > 0)
    before = before.withColumn(WEIGHT, -F.col(WEIGHT))
    both = after.unionAll(before.select(*after.columns)).groupBy(*columns).agg(F.sum(WEIGHT).alias(WEIGHT))
    rows = both.where(F.col(WEIGHT) != 0).withColumns(
        {
            OP_MARK: F.when(F.col(WEIGHT) > 0, "I").otherwise("D"),
            STATE: F.lit(CURRENT),
            REASON: F.lit(None).cast("string"),
            UNTOLD: F.lit(0),
        }
    )
    return repeated(rows)
