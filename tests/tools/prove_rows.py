"""Compare the rows of `ggfmt consolidate` with SQLite, on random histories.

usage: python tests/tools/prove_rows.py [--histories N] [--seed N] [--engine ggfmt|model] [--master URL]
                                        [--unknown-start] [--starts-empty] [--tables N] [--only NUMBER ...] [--current]
                                        [--show] [--kinds]

Each history is a table in SQLite, a few transactions, and the records that a source writes of them
(`tests/support/sql_histories.py`). Some hundred of them are the tables of one run of `ggfmt.consolidate`. The engine
`model` is the sequential model of the tests (`tests/support/rows_oracle.py`) and needs no files. With `--unknown-start`
the model does not know whether rows were there before the files.

Each history gets a verdict:

    right       all rows are as in SQLite, none is unresolved
    unresolved  no reader can know the rows that are withheld; the reason is printed
    guessed     the rows agree with the files, but so do others, and SQLite has these
    wrong       a row is not so, or is missing, or is withheld although it is certain

The tool follows every reading of the records (`tests/support/row_interpretations.py`) to know what is certain. The rows
are also compared with the model: a difference is one of the engine if the model is right.

For histories with a right verdict, further runs compare the rows at a second, the row versions, net changes, a run over
a base, and runs with a checkpoint. Of all histories, runs with a checkpoint over files that are cut anywhere, also
within a transaction, are compared with one run over these files. `--current` leaves all of these out. `--only` runs
some histories by number.

Prints counts, and with `--show` the smallest history of each kind that is unresolved or guessed. The smallest wrong
history of each kind is always printed. `--halves` checks current rows of histories whose key updates are a delete and
an insert, with these two in different files. With `--starts-empty`, the engine knows that files do not begin in the
middle, and may not withhold a row because of that; histories that do are left out. `--kinds` counts verdicts by key,
checks and recording. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from round_cuts import compare_rounds, cut_anywhere
from round_cuts import difference as rounds_difference
from rows_oracle import Change, until
from rows_proof import (
    GUESSED,
    MAY_BEGIN_LATE,
    RIGHT,
    UNRESOLVED,
    WRONG,
    Answer,
    Engine,
    GgfmtEngine,
    ModelEngine,
    Verdict,
    difference,
    is_certain,
    judge,
    judge_changes,
    judge_halves,
    judge_versions,
)
from sql_histories import File, History, deliver, deliver_by_key, delivered, history

MODEL_DIFFERS = "differs from the model"
ROUNDS = dict.fromkeys(("", "fewer operations unresolved", "other count: defaults", "other count: unset"), RIGHT)


@dataclass
class Report:
    """Counts of verdicts by check, and the smallest history of each kind that is not right."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], tuple[int, str]] = field(default_factory=dict)

    def add(self, check: str, one: History, changes: Sequence[Change], verdict: Verdict, answer: Answer) -> None:
        place = (check, verdict.word, verdict.reason)
        self.counts[place] += 1
        if check == "rows":
            self.kinds[one.kind, verdict.word] += 1
        if verdict.word != RIGHT and (place not in self.examples or len(changes) < self.examples[place][0]):
            self.examples[place] = len(changes), _shown(one, changes, verdict, answer)

    def fail(self, check: str, error: BaseException, names: Sequence[str]) -> None:
        place = (check, WRONG, f"failed: {type(error).__name__}")
        self.counts[place] += len(names)
        if place not in self.examples or len(names) < self.examples[place][0]:
            text = "".join(traceback.format_exception(error))
            self.examples[place] = len(names), f"{', '.join(names[:5])}\n{text}"

    @property
    def is_wrong(self) -> bool:
        return any(word == WRONG for _, word, _ in self.counts)

    def lines(self, show: bool) -> Iterator[str]:
        for (check, word, reason), example in sorted(self.examples.items()):
            if show or word == WRONG:
                yield f"== {check}: {word}, {reason}\n{example[1]}\n"
        for place, count in sorted(self.counts.items()):
            check, word, reason = place
            yield f"{count:8,} {check}: {word}{f' ({reason})' if reason else ''}"


def _shown(one: History, changes: Sequence[Change], verdict: Verdict, answer: Answer) -> str:
    lines = [f"{one.table}: {one.kind}; columns {one.columns}", verdict.detail]
    for item in changes:
        images = item.columns if item.op == "C" else f"{item.before} -> {item.after}"
        lines.append(f"  {item.op} tx {item.number} at {item.second}, position {item.position}: {images}")
    lines += [f"  shown {row}" for row in answer.rows.get(one.table, [])]
    lines += [f"  unresolved {lost}" for lost in answer.unresolved.get(one.table, [])]
    lines += [f"  SQLite {row}" for row in one.states[-1].rows]
    return "\n".join(lines)


def batches(histories: Sequence[History], size: int) -> Iterator[list[History]]:
    """Histories of one format of records each."""
    for debezium in (False, True):
        several = [one for one in histories if one.recording.is_debezium == debezium]
        yield from (several[start : start + size] for start in range(0, len(several), size))


class Proof:
    """Checks of batches of histories with one engine."""

    def __init__(self, engine: Engine, report: Report) -> None:
        self._engine, self._report = engine, report
        self._compares = not isinstance(engine, ModelEngine)

    def check(self, histories: Sequence[History], random: Random, others: bool) -> None:
        files = deliver(histories, random)
        changes = delivered(files)
        answer = self._attempt("rows", histories, lambda folder: self._engine.current(files, folder))
        if answer is None:
            if len(histories) > 1:  # find the history that fails
                middle = len(histories) // 2
                self.check(histories[:middle], random, others)
                self.check(histories[middle:], random, others)
            return
        right = []
        for one in histories:
            items = changes[one.table]
            verdict = judge(one, items, one.states[-1], answer)
            if verdict.reason == MAY_BEGIN_LATE and self._engine.knows_start:
                verdict = replace(verdict, word=WRONG)
            self._report.add("rows", one, items, verdict, answer)
            if verdict.word == RIGHT and not one.is_late:
                right.append(one)
        if self._compares:
            self._compare(histories, files, changes, answer)
        if others:
            self._check_others([file for file in _only(files, right) if file], right, answer, random)
        if others and self._compares:
            self._check_rounds(histories, random)

    def _attempt(self, check: str, histories: Sequence[History], run: Callable[[Path], Answer]) -> Answer | None:
        if not histories:
            return None
        with tempfile.TemporaryDirectory() as folder:
            try:
                return run(Path(folder))
            except Exception as error:
                if len(histories) == 1 or check != "rows":
                    self._report.fail(check, error, [one.table for one in histories])
                return None

    def _compare(
        self, histories: Sequence[History], files: list[File], changes: dict[str, list[Change]], answer: Answer
    ) -> None:
        model = ModelEngine().current(files, Path())
        for one in histories:
            items = changes[one.table]
            differs = difference(one, answer, model)
            if differs:
                of_model = judge(one, items, one.states[-1], model)
                reason = f"{MODEL_DIFFERS}, which is {of_model.word}"
                self._report.add("model", one, items, Verdict(GUESSED, reason, differs), answer)
            else:
                self._report.add("model", one, items, Verdict(RIGHT), answer)

    def _check_others(
        self,
        files: Sequence[File],
        right: Sequence[History],
        current: Answer,
        random: Random,
    ) -> None:
        timed = [one for one in right if one.recording.times != "none"]
        of_timed = [file for file in _only(files, timed) if file]
        since, second = sorted(random.randrange(8) for _ in range(2))
        engine = self._engine
        answer = self._attempt("as of", timed, lambda folder: engine.current(of_timed, folder, second))
        if answer is not None:
            for one in timed:
                items = until(one.changes, second)
                self._report.add("as of", one, items, judge(one, items, one.state_at(second), answer), answer)
        keyed = [one for one in timed if one.key]
        of_keyed = [file for file in _only(files, keyed) if file]
        answer = self._attempt("versions", keyed, lambda folder: engine.versions(of_keyed, folder))
        if answer is not None:
            for one in keyed:
                verdict = judge_versions(one, one.changes, answer, current)
                self._report.add("versions", one, one.changes, verdict, answer)
        answer = self._attempt("changes", timed, lambda folder: engine.changes(of_timed, folder, since, second))
        if answer is not None:
            for one in timed:
                if not one.is_altered and all(is_certain(one, until(one.changes, at)) for at in (since, second)):
                    verdict = judge_changes(one, answer, since, second)
                    self._report.add("changes", one, one.changes, verdict, answer)
        self._check_resumed("base", right, [random.randrange(8)], random)
        self._check_resumed("checkpoint", right, sorted(random.sample(range(8), 2)), random)

    def _check_rounds(self, histories: Sequence[History], random: Random) -> None:
        """A run for each file, and one over all. At a position without a key, operations may have come before."""
        several = [one for one in histories if one.key or not one.recording.positions]
        files = cut_anywhere(several, random.randrange(2, 6), random)
        keys = ";".join(f"{one.table}={','.join(one.key)}" for one in several if one.key)
        with tempfile.TemporaryDirectory() as folder:
            try:
                whole, rounds = compare_rounds(files, keys or None, Path(folder), starts_empty=self._engine.knows_start)
            except Exception as error:
                self._report.fail("rounds", error, [one.table for one in several])
                return
        for one in several:
            if one.table in whole:
                found = rounds_difference(whole[one.table], rounds[one.table], one.key)
                word = ROUNDS.get(found, UNRESOLVED if found == "withheld rows" else WRONG)
                verdict = Verdict(word, found, f"{rounds[one.table].rows}, in one run {whole[one.table].rows}")
                self._report.add("rounds", one, one.changes, verdict, Answer())

    def _check_resumed(self, check: str, right: Sequence[History], marks: Sequence[int], random: Random) -> None:
        """Several runs over the transactions up to each mark, each over the result of the one before."""
        parts = list(_parts(right, marks, random))
        answer = self._attempt(check, right, lambda folder: self._engine.resumed(parts, folder, check == "checkpoint"))
        if answer is None:
            return
        for one in right:
            if all(is_certain(one, [item for item in one.changes if item.number <= mark]) for mark in marks):
                self._report.add(check, one, one.changes, judge(one, one.changes, one.states[-1], answer), answer)


def _only(files: Sequence[File], histories: Sequence[History]) -> Iterator[File]:
    names = {one.table for one in histories}
    return ([(one, item) for one, item in file if one.table in names] for file in files)


def _parts(histories: Sequence[History], marks: Sequence[int], random: Random) -> Iterator[list[File]]:
    """Files with the transactions up to each mark, and those of the rest; what belongs to one key is in order."""
    for end in (*marks, None):
        several = []
        for one in histories:
            done = _divided(one, end)[0]
            if any(item.op != "C" for item in done.changes):
                several.append(done)
        histories = [rest for rest in (_divided(one, end)[1] for one in histories) if rest.changes]
        yield deliver(several, random)


def _divided(one: History, mark: int | None) -> tuple[History, History]:
    """A history up to a transaction, and the rest. A change of columns is of the operation that follows it."""
    place = 0
    for number, item in enumerate(one.changes, 1):
        if item.op != "C" and (mark is None or item.number <= mark):
            place = number
    older, newer = one.changes[:place], one.changes[place:]
    defined = [item.columns for item in older if item.columns is not None]
    return replace(one, changes=older), replace(one, changes=newer, columns=defined[-1] if defined else one.columns)


def prove(engine: Engine, numbers: Sequence[int], seed: int, tables: int = 300, others: bool = True) -> Report:
    """Check histories by number, and report."""
    report = Report()
    proof = Proof(engine, report)
    told = [one for one in (history(seed, number) for number in numbers) if one is not None]
    if engine.knows_start:
        told = [one for one in told if not one.is_late]
    for place, batch in enumerate(batches(told, tables)):
        proof.check(batch, Random(f"deliver {seed} {place}"), others)
    return report


def prove_halves(engine: Engine, numbers: Sequence[int], seed: int, tables: int = 300) -> Report:
    """Check histories whose key updates are two operations, in files as partitions of a topic have them."""
    report = Report()
    told = [one for one in (history(seed, number, of_halves=True) for number in numbers) if one is not None]
    told = [one for one in told if not (engine.knows_start and one.is_late)]
    for place, several in enumerate(batches(told, tables)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                files = deliver_by_key(several, Random(f"deliver {seed} {place}"))
                answer = engine.current(files, Path(folder))
            except Exception as error:
                report.fail("halves", error, [one.table for one in several])
                continue
        for one in several:
            report.add("halves", one, one.changes, judge_halves(one, answer), answer)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=20_000, help="how many (default 20,000)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (default 1)")
    parser.add_argument("--engine", choices=("ggfmt", "model"), default="ggfmt", help="default: ggfmt")
    parser.add_argument(
        "--unknown-start", action="store_true", help="the model does not know whether files begin in the middle"
    )
    parser.add_argument("--starts-empty", action="store_true", help="ggfmt knows that files do not begin in the middle")
    parser.add_argument("--master", default="none", help="of `ggfmt.consolidate` (default none)")
    parser.add_argument("--tables", type=int, default=300, help="in one run (default 300)")
    parser.add_argument("--only", type=int, nargs="+", help="histories by number")
    parser.add_argument("--current", action="store_true", help="check the current rows alone")
    parser.add_argument("--halves", action="store_true", help="key updates are two operations, in two files")
    parser.add_argument("--show", action="store_true", help="show unresolved and guessed histories too")
    parser.add_argument("--kinds", action="store_true", help="count verdicts by kind of history")
    options = parser.parse_args()
    started = time.monotonic()
    engine: Engine = (
        ModelEngine(not options.unknown_start)
        if options.engine == "model"
        else GgfmtEngine(options.master, options.seed, options.starts_empty)
    )
    numbers = options.only or range(options.histories)
    if options.halves:
        report = prove_halves(engine, numbers, options.seed, options.tables)
    else:
        report = prove(engine, numbers, options.seed, options.tables, not options.current)
    for line in report.lines(options.show):
        print(line)
    if options.kinds:
        for (kind, word), count in sorted(report.kinds.items()):
            print(f"{count:8,} {word}: {kind}")
    print(f"{time.monotonic() - started:.0f} seconds", file=sys.stderr)
    return int(report.is_wrong)


if __name__ == "__main__":
    sys.exit(main())
