"""What proves `ggfmt.consolidate` against SQLite: engines, and verdicts on the rows that they show.

An engine consolidates the files of many histories, each a table (`sql_histories`). `judge` compares the rows of one of
them with the state of the database. Where rows differ or are withheld, `row_interpretations` knows whether any reader
could do better.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pyarrow.parquet as pq
from row_interpretations import interpret
from rows_oracle import Change, Image, Key, Outcome, consolidate, key_of, until
from sql_histories import File, History, Row, State, delivered, time_text, write

import ggfmt

RIGHT, UNRESOLVED, GUESSED, WRONG = "right", "unresolved", "guessed", "wrong"

BEGINS_LATE = "begins in the middle"
TWO_ROWS = "nothing distinguishes two rows at one key"
MAY_BEGIN_LATE = "nothing says that the files do not begin in the middle"
LOOK_AHEAD = "may begin in the middle, and only later operations decide"
IN_TWO_FILES = "the two operations of a key update are in two files"
NOT_JUDGED = "too many interpretations to judge"


@dataclass
class Answer:
    """What an engine shows of each table: rows with all values as texts, and its uncertain rows as (reason, images).
    `columns` has the tables that are in the output."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    unresolved: dict[str, list[tuple[str, tuple[Image, ...]]]] = field(default_factory=lambda: defaultdict(list))


class Engine(Protocol):
    knows_start: bool

    def current(self, files: Sequence[File], folder: Path, second: int | None = None) -> Answer:
        """The current rows, or those at a second."""

    def resumed(self, parts: Sequence[Sequence[File]], folder: Path, checkpoint: bool) -> Answer:
        """The current rows after several runs, each of which continues the one before: with a checkpoint, or with the
        earlier result as the base."""

    def versions(self, files: Sequence[File], folder: Path) -> Answer:
        """All row versions: rows with `_from` and `_to`, seconds as texts; `_to` is None for a current row."""

    def changes(self, files: Sequence[File], folder: Path, since: int, second: int) -> Answer:
        """Net changes: rows with `_op`."""


# Engines


def _tables(files: Iterable[File]) -> dict[str, History]:
    return {one.table: one for file in files for one, _ in file}


class ModelEngine:
    """The sequential model; files are not written. `knows_start`: it knows whether files begin in the middle."""

    knows_start = False  # it may have histories of which that is not so

    def __init__(self, knows_start: bool = True) -> None:
        self._knows_start = knows_start

    def _outcome(self, one: History, changes: Sequence[Change]) -> Outcome:
        return model(one, changes, complete=self._knows_start and not one.is_late)

    def current(self, files: Sequence[File], folder: Path, second: int | None = None) -> Answer:
        changes = delivered(files)
        found = Answer()
        for name, one in _tables(files).items():
            items = changes[name] if second is None else until(changes[name], second)
            if any(item.op != "C" for item in items):
                self._add(found, one, self._outcome(one, items))
        return found

    @staticmethod
    def _add(answer: Answer, one: History, outcome: Outcome) -> None:
        answer.columns[one.table] = outcome.columns
        answer.rows[one.table] = [dict(row) for row in outcome.rows]
        answer.unresolved[one.table] = [(reason, (image,)) for reason, image in outcome.unresolved]

    def resumed(self, parts: Sequence[Sequence[File]], folder: Path, checkpoint: bool) -> Answer:
        found = Answer()
        for files in parts:
            changes = delivered(files)
            for name, one in _tables(files).items():
                lost = found.unresolved.pop(name, [])
                columns = found.columns.get(name, one.columns)
                items = changes[name]
                if set(columns) != set(one.columns):  # the files describe other columns than the base has
                    items = [Change("C", columns=one.columns), *items]
                outcome = consolidate(items, columns, one.key, base=found.rows[name])
                self._add(found, one, outcome)
                found.unresolved[name] += lost
        return found

    def versions(self, files: Sequence[File], folder: Path) -> Answer:
        changes = delivered(files)
        found = Answer()

        def second_of(item: Change | None) -> str | None:
            return None if item is None else str(item.second)

        for name, one in _tables(files).items():
            outcome = self._outcome(one, changes[name])
            self._add(found, one, outcome)
            found.rows[name] = [
                {**version.values, "_from": second_of(version.start), "_to": second_of(version.end)}
                for version in outcome.versions
            ]
        return found

    def changes(self, files: Sequence[File], folder: Path, since: int, second: int) -> Answer:
        was, now = self.current(files, folder, since), self.current(files, folder, second)
        for name, one in _tables(files).items():
            if not one.key:
                before, after = (Counter(map(_items, answer.rows[name])) for answer in (was, now))
                now.rows[name] = [{**dict(row), "_op": "I"} for row in (after - before).elements()]
                now.rows[name] += [{**dict(row), "_op": "D"} for row in (before - after).elements()]
                continue
            old, new = ({key_of(row, one.key): row for row in answer.rows[name]} for answer in (was, now))
            now.rows[name] = [{**row, "_op": "D"} for key, row in old.items() if key not in new]
            now.rows[name] += [
                {**row, "_op": "U" if key in old else "I"} for key, row in new.items() if old.get(key) != row
            ]
        return now


def model(one: History, changes: Sequence[Change], complete: bool) -> Outcome:
    return consolidate(changes, one.columns, one.key, complete=complete)


class GgfmtEngine:
    """The public API; `master` is `none` or one of Spark. `knows_start`: tables start empty, and it knows that."""

    def __init__(self, master: str, seed: int, knows_start: bool = False) -> None:
        self._master, self._seed, self.knows_start = master, seed, knows_start

    def _run(self, files: Sequence[File], folder: Path, **options: Any) -> Answer:
        write(files, folder / "in", Random(f"files {self._seed}"))
        return _answer(self._consolidate(folder / "in", folder / "out", _tables(files), options))

    def _consolidate(self, inputs: Path, output: Path, tables: dict[str, History], options: dict[str, Any]) -> Path:
        keys = ";".join(f"{name}={','.join(one.key)}" for name, one in tables.items() if one.key)
        options = {"starts_empty": self.knows_start, **options}
        ggfmt.consolidate(inputs, output, master=self._master, key=keys or None, **options)
        return output

    def current(self, files: Sequence[File], folder: Path, second: int | None = None) -> Answer:
        return self._run(files, folder, **({} if second is None else {"as_of": _moment(second)}))

    def resumed(self, parts: Sequence[Sequence[File]], folder: Path, checkpoint: bool) -> Answer:
        tables = _tables(file for files in parts for file in files)
        output: Path | None = None
        for number, files in enumerate(parts):
            if not files:
                continue
            # With a checkpoint, each run reads the same directory, which has more files each time.
            inputs = folder / ("in" if checkpoint else f"in-{number}")
            write(files, inputs, Random(f"files {self._seed} {number}"), 1000 * number)
            if checkpoint:
                options: dict[str, Any] = {"checkpoint": folder / "checkpoint"}
                output = self._consolidate(inputs, folder / "out", tables, options)
            else:
                options = {} if output is None else {"base": output}
                output = self._consolidate(inputs, folder / f"out-{number}", tables, options)
        return Answer() if output is None else _answer(output)

    def versions(self, files: Sequence[File], folder: Path) -> Answer:
        found = self._run(files, folder, history=True)
        for rows in found.rows.values():
            for row in rows:
                open_ended = row["_valid_to_ts"] is None and row["_valid_to_position"] is None
                row["_from"], row["_to"] = _second(row["_valid_from_ts"]), _second(row["_valid_to_ts"])
                assert open_ended or row["_to"] is not None
                for name in [name for name in row if name.startswith("_valid") or name == "_op"]:
                    del row[name]
        return found

    def changes(self, files: Sequence[File], folder: Path, since: int, second: int) -> Answer:
        return self._run(files, folder, changes=True, since=_moment(since), as_of=_moment(second))


def _moment(second: int) -> str:
    return time_text(second).replace(" ", "T")


def _second(text: Any) -> str | None:
    if text is None:
        return None
    found = datetime.fromisoformat(str(text))
    start = datetime.fromisoformat(time_text(0)).replace(tzinfo=timezone.utc)
    return str(int((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp() - start.timestamp()))


def _answer(output: Path) -> Answer:
    """Read an output; the files of a table are Parquet."""
    found = Answer()
    for directory in sorted(path for path in output.iterdir() if path.is_dir() and not path.name.startswith("_")):
        for path in sorted(directory.glob("*.parquet")):
            table = pq.read_table(path)
            found.columns[directory.name] = tuple(table.column_names)
            found.rows[directory.name] += [{n: _text(v) for n, v in row.items()} for row in table.to_pylist()]
    for path in sorted((output / "_unresolved").glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            images = tuple(dict(row[name]) for name in ("before", "after") if row[name] is not None)
            found.unresolved[row["table"]].append((row["reason"], images))
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _items(row: Image) -> tuple[Any, ...]:
    return tuple(sorted(row.items()))


# Verdicts


@dataclass(frozen=True)
class Verdict:
    """What became of a history.

    right; unresolved: rows are withheld that no reader can know; guessed: the rows agree with the files, but are not
    those of the database; wrong. `reason` says why, `detail` shows the rows.
    """

    word: str
    reason: str = ""
    detail: str = ""


def judge(one: History, changes: Sequence[Change], state: State, answer: Answer) -> Verdict:
    """Compare the rows of a history with the state of the database after the changes."""
    shown = answer.rows.get(one.table, [])
    lost = answer.unresolved.get(one.table, [])
    if one.table in answer.columns and {*answer.columns[one.table]} != {*_columns(one, changes)}:
        return Verdict(WRONG, "other columns", f"{answer.columns[one.table]}, expected {_columns(one, changes)}")
    names = [name for name in _columns(one, changes) if name in state.columns]
    if not one.key:
        return _judge_without_key(one, changes, state, shown, lost)
    by_key = {_key(row, one): row for row in shown}
    if len(by_key) < len(shown):
        return Verdict(WRONG, "two rows with one key")
    expected = {_key(row, one): _part(row, names) for row in state.rows}
    complete = not one.is_late
    needed = {
        key: row for (key, row), rid in zip(expected.items(), state.ids, strict=True) if rid in one.touched or complete
    }
    other = {key: row for key, row in by_key.items() if _part(row, names) != expected.get(key)}
    missing = {key for key in needed if key not in by_key}
    if not other and not missing and not lost:
        return Verdict(RIGHT)
    possible = interpret(changes, one.columns, one.key, complete)
    if possible is None and not (complete and not lost):
        return Verdict(UNRESOLVED, NOT_JUDGED)
    reason = TWO_ROWS if complete else BEGINS_LATE
    if possible is None:
        return Verdict(GUESSED, NOT_JUDGED)
    for key, row in other.items():
        if not possible.may_have(key, row):
            return Verdict(WRONG, "a row that is not so", f"{row}, in the database {expected.get(key)}")
    of_lost = {key_of(image, one.key) for _, images in lost for image in images}
    for key in missing:
        if possible.is_certain(key) and possible.may_have(key, needed[key]):
            word = "withheld" if key in of_lost else "missing"
            excuse = _excuse(one, changes, key) if key in of_lost else None
            if excuse is not None:
                return Verdict(UNRESOLVED, excuse)
            return Verdict(WRONG, f"a row that is certain is {word}", str(needed[key]))
        if key not in of_lost and not other and possible.may_have(key, None):
            return Verdict(GUESSED, TWO_ROWS, f"no row for {needed[key]}")
        if key not in of_lost and not other:
            return Verdict(WRONG, "a row is neither shown nor unresolved", str(needed[key]))
    if other:
        return Verdict(GUESSED, TWO_ROWS, "; ".join(f"{row} for {expected.get(key)}" for key, row in other.items()))
    excuses = {_excuse(one, changes, key) for key in of_lost if key is not None}
    if possible.all_certain and excuses <= {None}:
        return Verdict(WRONG, "unresolved, but everything is certain", str(lost))
    if possible.all_certain:
        return Verdict(UNRESOLVED, sorted(excuse for excuse in excuses if excuse is not None)[0])
    return Verdict(UNRESOLVED, reason)


def judge_halves(one: History, answer: Answer) -> Verdict:
    """Compare the rows of a history whose key updates are two operations in two files: an engine that does not put them
    together may withhold rows, but must not show others."""
    verdict = judge(one, one.changes, one.states[-1], answer)
    withheld = "a row that is certain is withheld", "unresolved, but everything is certain"
    return Verdict(UNRESOLVED, IN_TWO_FILES, verdict.detail) if verdict.reason in withheld else verdict


def _excuse(one: History, changes: Sequence[Change], key: Key) -> str | None:
    """Why an engine may withhold a row that is certain: nothing says that the files do not begin in the middle, or only
    later operations decide, and the model does not look ahead either. None: it has to show the row."""
    possible = interpret(changes, one.columns, one.key, complete=False)
    if possible is None:
        return NOT_JUDGED
    if not possible.is_certain(key) and not one.is_late:
        return MAY_BEGIN_LATE
    outcome = model(one, changes, complete=False)
    shown = {_key(row, one) for row in outcome.rows}
    lost = {key_of(image, one.key) for _, image in outcome.unresolved}
    return LOOK_AHEAD if key not in shown or key in lost else None


def _judge_without_key(
    one: History, changes: Sequence[Change], state: State, shown: Sequence[Row], lost: Sequence[Any]
) -> Verdict:
    names = [name for name in _columns(one, changes) if name in state.columns]
    found, expected = (Counter(_items(_part(row, names)) for row in rows) for rows in (shown, state.rows))
    if not one.is_late:
        if found == expected and not lost:
            return Verdict(RIGHT)
        return Verdict(WRONG, "rows without a key differ", f"{found - expected} too many, {expected - found} missing")
    before = Counter(_items(_part(row, names)) for row in one.states[one.first - 1].rows)
    if found - expected:
        return Verdict(WRONG, "a row without a key that is not so", str(found - expected))
    if expected - found - before:
        return Verdict(WRONG, "a row without a key is missing", str(expected - found - before))
    return Verdict(UNRESOLVED, BEGINS_LATE) if lost else Verdict(RIGHT)


def _columns(one: History, changes: Sequence[Change]) -> tuple[str, ...]:
    """The columns that the files show in the end."""
    defined = [item.columns for item in changes if item.op == "C" and item.columns is not None]
    return defined[-1] if defined else one.columns


def _key(row: Image, one: History) -> Key:
    return tuple(row[name] for name in one.key)


def _part(row: Image, names: Iterable[str]) -> Row:
    return {name: row[name] for name in names}


def is_certain(one: History, changes: Sequence[Change]) -> bool:
    """Whether the files leave no doubt about the table, also for a reader that does not know whether rows were there
    before."""
    if one.is_late or (one.key and model(one, changes, complete=False).unresolved):
        return False
    possible = interpret(changes, one.columns, one.key, True) if one.key else None
    return not one.key or (possible is not None and possible.all_certain)


def difference(one: History, first: Answer, second: Answer) -> str:
    """How two engines differ on a table; empty if they do not."""
    rows, others = (Counter(_items(row) for row in answer.rows.get(one.table, [])) for answer in (first, second))
    parts = [
        f"only {name}: {dict(key)}"
        for name, more in (("one", rows - others), ("the other", others - rows))
        for key in more
    ]
    return "; ".join(parts)


# Other results


def judge_versions(one: History, changes: Sequence[Change], versions: Answer, current: Answer) -> Verdict:
    """Open versions are the current rows, and the versions at each second are the rows of the database then."""
    rows = versions.rows.get(one.table, [])

    def values(row: Row) -> tuple[Any, ...]:
        return _items({name: value for name, value in row.items() if name not in ("_from", "_to")})

    lasting = Counter(_items(_without_dropped(row, one)) for row in rows if row["_to"] is None)
    if lasting != Counter(map(_items, current.rows.get(one.table, []))):
        return Verdict(WRONG, "open versions are not the current rows", str(lasting))
    if one.is_altered:
        return Verdict(RIGHT)
    for second in sorted({item.second for item in changes if item.second is not None}):
        if not is_certain(one, until(changes, second)):
            continue
        then = Counter(values(row) for row in rows if _holds(row, second))
        expected = Counter(map(_items, one.state_at(second).rows))
        if then != expected:
            return Verdict(WRONG, "versions at a second", f"at {second}: {then}, in the database {expected}")
    return Verdict(RIGHT)


def _without_dropped(row: Row, one: History) -> Row:
    """The columns that the table has in the end; a history has all that it ever had."""
    return {name: row[name] for name in one.states[-1].columns}


def _holds(row: Mapping[str, Any], second: int) -> bool:
    start = 0 if row["_from"] is None else int(row["_from"])
    return start <= second and (row["_to"] is None or int(row["_to"]) > second)


def judge_changes(one: History, answer: Answer, since: int, second: int) -> Verdict:
    """Net changes between two seconds, applied to the rows of the first, give those of the other."""
    found = [(dict(row), row.pop("_op")) for row in [dict(row) for row in answer.rows.get(one.table, [])]]
    was, expected = (Counter(map(_items, one.state_at(moment).rows)) for moment in (since, second))
    if one.key:
        rows = {_key(row, one): dict(row) for row in one.state_at(since).rows}
        for row, op in sorted(found, key=lambda pair: pair[1] != "D"):
            row.pop("_op")
            if (_key(row, one) in rows) != (op in ("U", "D")):
                return Verdict(WRONG, "a net change of another kind", f"{op} {row}")
            rows.pop(_key(row, one), None)
            if op != "D":
                rows[_key(row, one)] = row
        was = Counter(map(_items, rows.values()))
    else:
        for row, op in found:
            row.pop("_op")
            was[_items(row)] += -1 if op == "D" else 1
        was = +was
    if was != expected:
        return Verdict(WRONG, "net changes", f"from {since} to {second}: {was}, in the database {expected}")
    return Verdict(RIGHT)
