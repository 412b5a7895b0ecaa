"""The answer to what is asked of a table: its rows, and what could not be decided."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ggfmt.consolidation.asked import DELETED, STATE, UNRESOLVED, Asked, shown, unusable
from ggfmt.consolidation.current_rows import current_rows
from ggfmt.consolidation.images import same_key
from ggfmt.consolidation.keyless import check_whole, key_help, keyless_rows
from ggfmt.consolidation.net_changes import keyless_changes, net_changes
from ggfmt.consolidation.operations import KEYED, OF_BASE, TableOperations, steps
from ggfmt.consolidation.order import until
from ggfmt.consolidation.profile import Profile, place_of, profile, profile_by
from ggfmt.consolidation.rows import BY, NO_KEY, REASON, UNTOLD, Identified, found, identified
from ggfmt.consolidation.versions import versions


@dataclass(frozen=True)
class Consolidated:
    """What is known of a table.

    every    rows of all states, with `found` for each of `columns`, the marks of what was asked, and `STATE`, `REASON`
             (why a row is unresolved) and `UNTOLD` (how many of its columns no operation told) behind them
    listed   the operations of what could not be decided: `reason` and `seq`
    profile  what the operations are like
    """

    every: DataFrame
    listed: DataFrame
    profile: Profile
    asked: Asked
    columns: tuple[str, ...]

    def frame(self, strict: bool = False) -> DataFrame:
        """The rows that were asked for, with the marks that were. `strict`: to use the frame is an error where a row is
        unresolved."""
        state = F.col(STATE)
        if strict:
            message = F.concat(F.lit("a row is unresolved: "), F.col(REASON))
            every = self.every.withColumn(STATE, F.when(state == UNRESOLVED, F.raise_error(message)).otherwise(state))
            return replace(self, every=every).frame()
        wanted = self.every.where(state.isin(sorted(self.asked.states)))
        marks = (F.col(mark).alias(shown(mark)) for mark in self.asked.marks)
        values = (F.col(found(place)).alias(name) for place, name in enumerate(self.columns))
        return wanted.select(*values, *marks)


def consolidated(operations: TableOperations, asked: Asked, seen: Profile | None = None) -> Consolidated:
    """Consolidates the operations of a table. They are looked at now, once or twice, unless it is told what they are
    like (`seen`); the rows are found when the frames are used.

    UsageError GG551 for what makes no sense for them, GG552 for a table without a key whose operations do not show
    their whole rows.
    """
    frame = operations.with_base()
    if seen is None:
        seen = profile(operations, frame, asked)
    kind = seen.ordering.by
    if asked.as_of is not None:
        frame = frame.where(until(asked.as_of, kind))
    if not operations.key:
        return _keyless(operations, frame, seen, asked)
    lasting = _since_truncate(frame, seen)
    ever = identified(operations, frame if asked.kind == "history" else lasting, seen)
    rows = replace(ever, steps=_since_truncate(ever.steps, seen)) if asked.kind == "history" else ever
    now = current_rows(operations, rows, seen.partial, DELETED in asked.keep)
    every = now
    if asked.kind == "history":
        every = versions(operations, ever, seen.truncates)
    elif asked.kind == "changes":
        every = _changes(operations, frame, now, seen, asked)
    return _answer(operations, every, _listed(operations, lasting, rows, now, seen), seen, asked)


def _changes(operations: TableOperations, frame: DataFrame, now: DataFrame, seen: Profile, asked: Asked) -> DataFrame:
    since = F.lit(False) if asked.since is None else until(asked.since, seen.ordering.by)
    since |= F.col("seq") < 0
    then = profile_by(operations, frame.where(since), [seen.ordering.by], asked)
    earlier = identified(operations, _since_truncate(frame.where(since), then), then)
    rows = current_rows(operations, earlier, then.partial, False)
    ord = seen.ordering.column
    unseen = F.lit(not then.truncates)  # what a first operation says of the row before it
    if seen.truncates:
        unseen &= ord < place_of(seen.truncates[0], frame, ord)
    return net_changes(operations, rows, now, frame, since, unseen, ord)


def _since_truncate(frame: DataFrame, seen: Profile) -> DataFrame:
    """The operations after the last truncate: all others are of rows that it has taken."""
    if not seen.truncates:
        return frame
    ord = seen.ordering.column
    return frame.where(ord > place_of(seen.truncates[-1], frame, ord))


def _listed(
    operations: TableOperations, lasting: DataFrame, rows: Identified, now: DataFrame, seen: Profile
) -> DataFrame:
    """The operations of rows that are unresolved, and those that do not tell which row they are of."""
    by = [f"{BY}{place}" for place in range(len(rows.group))]
    reasons = now.where(F.col(STATE) == UNRESOLVED).select(*by, REASON)
    theirs = rows.steps.join(reasons, same_key(rows.group, by)).select(F.col(REASON).alias("reason"), "seq")
    without = steps(lasting, operations.key, seen.ordering.column).where(~F.col(KEYED))
    return theirs.unionAll(without.select(F.lit(NO_KEY).alias("reason"), "seq")).where(F.col("seq") != OF_BASE)


def _keyless(operations: TableOperations, frame: DataFrame, seen: Profile, asked: Asked) -> Consolidated:
    name = operations.table.full_name
    if asked.kind == "history":
        message = f"`{name}` has no key, so that versions of its rows cannot be told apart"
        raise unusable(message, key_help(name))
    lasting = _since_truncate(frame, seen)
    check_whole(operations, lasting)
    every = keyless_rows(operations, lasting)
    if asked.kind == "changes":
        since = F.lit(False) if asked.since is None else until(asked.since, seen.ordering.by)
        earlier = frame.where(since | (F.col("seq") < 0))
        then = profile_by(operations, earlier, [seen.ordering.by], asked)
        truncated = seen.truncates[-1:] != then.truncates[-1:]
        every = keyless_changes(operations, _since_truncate(earlier, then), lasting, truncated)
    nothing = frame.where(F.lit(False)).select(F.lit(NO_KEY).alias("reason"), "seq")
    return _answer(operations, every, nothing, seen, asked)


def _answer(
    operations: TableOperations, every: DataFrame, listed: DataFrame, seen: Profile, asked: Asked
) -> Consolidated:
    for mark in asked.marks:
        if shown(mark) in operations.columns:
            message = f"`{operations.table.full_name}` has a column `{shown(mark)}`, as a mark of the result is called"
            raise unusable(message, "rename it in the definitions, or ask for what has no such mark")
    of_kind = replace(asked, keep=frozenset()).marks
    values = (found(place) for place in range(len(operations.columns)))
    return Consolidated(every.select(*values, *of_kind, STATE, REASON, UNTOLD), listed, seen, asked, operations.columns)
