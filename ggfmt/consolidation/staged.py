"""Inputs read into staging: definitions looked for where they lack, and files read in one where they cannot be cut."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggfmt.consolidation.staging import StagedTable, Staging, gathered
from ggfmt.consolidation.tables import Table, Types, tables_of
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.engine.discovery import discover, discover_from_head
from ggfmt.engine.execution import needs_discovery, tell_of_kernels
from ggfmt.engine.inputs import PlannedInput
from ggfmt.engine.output.store import Store
from ggfmt.engine.plan import Job, Splits
from ggfmt.engine.progress import ProgressTracker
from ggfmt.engine.runner import Runner
from ggfmt.engine.steps import DISCOVERY, READING
from ggfmt.engine.task import inputs_to_reread
from ggfmt.java.text import visible
from ggfmt.options.table_keys import Keys

log = logging.getLogger("ggfmt")


@dataclass(frozen=True)
class Read:
    """All operations of the inputs, in staging: by table its definition, and its files."""

    job: Job
    tables: dict[str, Table]
    staged: dict[str, StagedTable]


@dataclass(frozen=True)
class Reading:
    """Reads inputs into `directory`, a path or URI that tasks reach, and which is theirs alone."""

    inputs: Sequence[PlannedInput]
    directory: str
    keys: Keys = ()
    types: Types = ()
    split_size: int | None = None
    known_keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def read(self, job: Job, runner: Runner, following: ProgressTracker | None = None) -> Read:
        """Abend for what cannot be read, or is no value of its column; UsageError GG551 as of `tables_of`."""
        following = following or ProgressTracker(None)
        job = replace(job, staging={self.directory: self.directory})
        store = Store(self.directory)
        splits = Splits(self.inputs, runner.parallelism, self.split_size)
        if not job.catalog.trusted:
            following.start_phase(DISCOVERY)
            job = discover_from_head(job, self.inputs) or discover(job, splits, runner, following)
        while True:
            try:
                tables = tables_of(job, self.keys, self.types, self.known_keys)
            except UsageError:
                if job.settled:
                    raise
                job = discover(job, splits, runner, following)  # what is named may be further on in the data
                continue
            store.make_directory("")
            told = following.start_tasks(READING, splits.sizes, runner.parallelism)
            outcomes = runner.run(Staging(job, tables, self.directory).stage, splits.all, told)
            crossed = {outcome.crossed for outcome in outcomes if outcome.crossed is not None}
            crossed = crossed or inputs_to_reread(splits.all, outcomes)
            if crossed:
                splits.read_whole(crossed)
            elif not job.settled and any(needs_discovery(job, outcome) for outcome in outcomes):
                log.info("the first records or the definitions do not show all: looking for tables in the data")
                job = discover(job, splits, runner, following)
            else:
                for outcome in outcomes:
                    if outcome.abend is not None:
                        raise Abend(outcome.abend)
                tell_of_kernels(outcomes)
                _tell_of_bare(job, tables)
                return Read(job, tables, gathered(outcomes))
            store.delete_tree("")


def _tell_of_bare(job: Job, tables: Collection[str]) -> None:
    """Says which tables have no columns, so that there is nothing to write for them."""
    for table in job.catalog.tables():
        if table.full_name not in tables and not job.catalog.trusted.get(table.full_name):
            log.warning("%s: no columns are known of it, and it is left out", visible(table.full_name))
