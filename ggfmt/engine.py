"""A run, from its request to its commit: request, inputs, outputs, job, tasks, commit.

This is the only walk through a run, whatever it writes: a `Sink` has what differs. A dry run ends after `prepare`.
Where Spark divides the walk between processes, as for frames, they take its steps one by one.
"""

from __future__ import annotations

import logging
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ggfmt import signals
from ggfmt.commit.commit import CommitPart, Participant, check_directories, lock_all, write_error, write_errors_stop
from ggfmt.commit.directory import latest_moment
from ggfmt.commit.names import counted, stamp
from ggfmt.commit.records import is_committed
from ggfmt.commit.store import FAILURES
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, CommittedWithErrors
from ggfmt.java.text import visible
from ggfmt.kafka import is_kafka
from ggfmt.location import Location, reason, remedy
from ggfmt.reading.checkpoint import Checkpoint, OutputTarget, open_checkpoint, warn_rejected_files_are_done
from ggfmt.reading.files import InputFile, check_inputs_unchanged
from ggfmt.reading.listing import NO_LIMITS, CommitLimits
from ggfmt.reading.progress import COMMITTING, LISTING, STARTING, ProgressCallback, ProgressTracker, Stopwatch
from ggfmt.reading.runner import InProcess, Runner, warn_without_kernels
from ggfmt.reading.scan import OperationSink as TaskSink
from ggfmt.reading.scan import ReadOutcome, Scan, ScanRequest, check_selection
from ggfmt.reading.splits import ReadJob
from ggfmt.reading.standard_input import ARGUMENT as STANDARD_INPUT
from ggfmt.reading.standard_input import DRY_RUN_MESSAGES, SpooledInputs, check_standard_input

if TYPE_CHECKING:
    from ggfmt.commit.interrupted import Interrupted

J = TypeVar("J", bound=ReadJob)
O = TypeVar("O", bound=ReadOutcome)  # noqa: E741
R = TypeVar("R")

KEPT_BYTES = 1 << 30  # of inputs: a run of less is soon done again

log = logging.getLogger("ggfmt")


@dataclass(frozen=True, kw_only=True)
class RunRequest(ScanRequest):
    mode: str = "error"
    quarantine: bool = False
    strict: bool = False
    checkpoint: str | None = None
    settle: float | None = None
    limits: CommitLimits = NO_LIMITS
    current_timestamp: datetime | None = None  # of the run; None: the time of the clock
    # Keep the results of tasks, and go on with an interrupted run; None: keep those of much input. False: remove what
    # interrupted runs have left.
    resume: bool | None = None


@dataclass
class Run:
    """The state of a run.

    moment       the time in names, in UTC
    mode         that of the request, or `append` if the checkpoint has runs
    scan         what the run reads; None for operations that are not read from inputs
    idle         why a run with a checkpoint has nothing to do
    earlier      how many commits of the request were before this one
    more         whether the request has another commit after this one
    decides      whether the commit has begun
    application  the id of Spark's application, None without Spark
    taken_up     what the run has left that this one goes on with
    """

    request: RunRequest
    id: str
    moment: datetime
    mode: str
    tracker: ProgressTracker = field(default_factory=lambda: ProgressTracker(None))
    runner: Runner = field(default_factory=InProcess)
    watch: Stopwatch = field(default_factory=Stopwatch)
    started: float = field(default_factory=time.perf_counter)
    checkpoint: Checkpoint | None = None
    scan: Scan | None = None
    idle: str | None = None
    earlier: int = 0
    more: bool = False
    decides: bool = False
    application: str | None = None
    taken_up: Interrupted | None = None

    @classmethod
    def of(cls, request: RunRequest, progress: ProgressCallback | None = None) -> Run:
        moment = request.current_timestamp or datetime.now(timezone.utc).replace(tzinfo=None)
        id = f"{stamp(moment)}-{uuid.uuid4().hex[:8]}"
        return cls(request, id, moment, request.mode, ProgressTracker(progress))

    @property
    def files(self) -> Sequence[InputFile]:
        return () if self.scan is None else self.scan.files

    def check_selection(self, names: Collection[str]) -> None:
        """As the function of this name, for the tables in the data."""
        may_lack = self.request.allow_empty or self.checkpoint is not None
        check_selection(self.request.selection, sorted(names), may_lack)


class Sink(ABC, Generic[J, O, R]):
    """What a run writes to. A run calls the methods in the order in which they are here.

    outputs     the directories that take part in the commit; the first one decides it
    targets     what a checkpoint belongs to
    unfinished  what a run that was cut off has read, as the checkpoint records it, if this run has to end it first
    scratch     where tasks may divide records by table; None if the order of different tables matters
    rejected    the number of records that were set aside
    keeps       whether results of tasks may stay in staging, for a run that goes on with this one
    """

    outputs: Sequence[Participant] = ()
    targets: Sequence[OutputTarget] = ()
    unfinished: Sequence[Any] | None = None
    scratch: Location | None = None
    rejected: int = 0
    keeps = False

    @property
    def shown(self) -> str:
        """Where the output is, for people."""
        return ", ".join(output.root.shown for output in self.outputs)

    @property
    def root(self) -> Location:
        """Where tasks write, for an error of writing."""
        return self.outputs[0].root

    @abstractmethod
    def check(self, held: ExitStack, dry: bool = False) -> None:
        """Check what is asked before anything is touched, and find `outputs` and `targets`. Unless `dry`, `held` may
        get what the run needs for as long as it lasts."""

    @abstractmethod
    def open(self, run: Run) -> None:
        """Look at the outputs, once they are locked. Raises: UsageError GG501 if the mode of the run forbids it."""

    def go_on(self) -> None:
        """As that of what tasks write to; a run that goes on with an interrupted one calls it."""

    def runner(self, given: Runner) -> Runner:
        """Return the runner of the tasks, which may be another one in this process."""
        return given

    @abstractmethod
    def plan(self, run: Run) -> J:
        """Return the job of the scan. It is the last step before the run starts tasks."""

    @abstractmethod
    def tasks(self, run: Run) -> TaskSink[J, O]:
        """Return what tasks write to."""

    @abstractmethod
    def collect(self, run: Run, job: J, outcomes: list[O]) -> None:
        """Make the output of the outcomes of all tasks, which have ended well."""

    @abstractmethod
    def commit(self, run: Run, others: Sequence[CommitPart]) -> None:
        """Commit the output together with `others`. Raises: Abend if nothing was committed, else
        CommittedWithErrors."""

    @abstractmethod
    def report(self, run: Run) -> R:
        """Log the summary, and return the result of a run that is committed."""

    @abstractmethod
    def unchanged(self) -> R:
        """Return the result of a run that had nothing to do."""

    def added(self, before: R, after: R) -> R:
        """Return the result of commits that follow each other."""
        raise NotImplementedError

    def interrupted(self, run: Run) -> KeyboardInterrupt | CommittedWithErrors:
        what_happened = signals.interruption()
        there = f"{counted(run.earlier, 'commit')} before that stay" if run.earlier else "nothing was committed"
        return self._after_commit(run, "GG550", what_happened) or KeyboardInterrupt(f"{what_happened}; {there}")

    def failed(self, run: Run, error: OSError) -> Abend | CommittedWithErrors:
        """Return the error for a file of ggfmt's own that failed; of inputs and outputs, most errors have a place."""
        what_happened = f"a file cannot be read or written: {reason(error)}"
        problem = self._after_commit(run, "GG506", what_happened)
        if problem is not None:
            return problem
        place = str(error.filename or "") or self.shown
        return Abend("GG506", what_happened, place, remedy(error, "choose another directory"))

    def _after_commit(self, run: Run, code: str, what_happened: str) -> CommittedWithErrors | None:
        """Return the error of a run that is committed, or may be; None if nothing was committed in a directory."""
        if not run.decides or not self.outputs:
            return None
        message, help = f"{what_happened}, but the run is committed", "do not repeat the run: the output is complete"
        if run.more:
            help = "run again: the next run reads the files that are left"
        try:
            if not is_committed(self.outputs[0].store, run.id):
                return None
        except (Abend, *FAILURES) as error:
            message = f"{what_happened}, and ggfmt does not know whether the run is committed: {reason(error)}"
            help = "run `ggfmt verify` on the output directory"
        return CommittedWithErrors(code, message, self.outputs[0].root.shown, help)


def execute(
    request: RunRequest,
    sink: Sink[J, O, R],
    start: Callable[[], AbstractContextManager[Runner]],
    progress: ProgressCallback | None = None,
) -> R:
    """Run a request. `start` starts the runner, after all other checks.

    `progress` is called on this thread or one of the runner's. Raises: Abend if the data prevents a commit, UsageError
    or ConfigurationError for a wrong request. After a signal: KeyboardInterrupt, or CommittedWithErrors GG550.
    """
    return _execute(Run.of(request, progress), sink, start)


def execute_in_steps(
    request: RunRequest,
    make: Callable[[], Sink[J, O, R]],
    start: Callable[[], AbstractContextManager[Runner]],
    progress: ProgressCallback | None = None,
) -> R:
    """Run a request in as many commits as it needs, each with a sink of its own: the commit that an earlier run has
    begun, and one for each part of the inputs that its limits allow. Otherwise as `execute`."""
    done: R | None = None
    with _SharedRunner(start) as shared:
        while True:
            sink, run = make(), Run.of(request, progress)
            run.earlier = shared.walks
            shared.walks += 1
            try:
                result = _execute(run, sink, shared)
            except Exception:
                if run.earlier:
                    log.warning("%s before the error stay", counted(run.earlier, "commit"))
                raise
            done = result if done is None else sink.added(done, result)
            if not run.more:
                return done


class _SharedRunner:
    """A runner on Spark that goes on from one walk to the next. An error ends it before outputs are unlocked."""

    def __init__(self, start: Callable[[], AbstractContextManager[Runner]]) -> None:
        self._start, self._held = start, ExitStack()
        self._runner: Runner | None = None
        self.walks = 0

    def __call__(self) -> AbstractContextManager[Runner]:
        if self._runner is not None:
            return self._lent(self._runner)
        waiting = self._start()
        return waiting if isinstance(waiting, InProcess) else self._lent(None, waiting)

    @contextmanager
    def _lent(self, runner: Runner | None, waiting: AbstractContextManager[Runner] | None = None) -> Iterator[Runner]:
        try:
            if waiting is not None:
                runner = self._runner = self._held.enter_context(waiting)
            assert runner is not None
            yield runner
        except BaseException:
            self._held.close()
            raise

    def __enter__(self) -> _SharedRunner:
        return self

    def __exit__(self, *exception: object) -> None:
        self._held.close()


def _execute(run: Run, sink: Sink[J, O, R], start: Callable[[], AbstractContextManager[Runner]]) -> R:
    try:
        if run.earlier:
            signals.resume()
        result = _walk(run, sink, start)
        signals.suspend()  # the run is committed: a later signal must not say otherwise
        return result
    except KeyboardInterrupt:
        raise sink.interrupted(run) from None
    except BrokenPipeError:  # the reader of the command has ended
        raise
    except OSError as error:
        raise sink.failed(run, error) from None


def _walk(run: Run, sink: Sink[J, O, R], start: Callable[[], AbstractContextManager[Runner]]) -> R:
    with ExitStack() as held:
        run.tracker.start_phase(LISTING)
        job = prepare(run, sink, held)
        run.watch.lap(LISTING)
        scan, checkpoint = run.scan, run.checkpoint
        assert scan is not None
        if run.idle is not None:
            log.info("nothing to do: %s", run.idle)
            if checkpoint is not None:
                checkpoint.record_renewed(run.id)
            return sink.unchanged()
        warn_without_kernels()
        waiting = start()
        if not isinstance(waiting, InProcess):
            run.tracker.start_phase(STARTING)
        run.runner = sink.runner(held.enter_context(waiting))
        run.watch.lap(STARTING)
        # Spark measures no input of Python tasks, and a description cannot be changed once the job has started.
        shown = f"{visible(sink.shown)}, from {counted(len(scan.files), 'file')} ({scan.size:,} bytes)"
        run.application = run.runner.name_jobs(lambda: f"{run.id} {run.tracker.step} → {shown}")
        if run.request.resume is not None and not sink.keeps:
            log.warning("`--resume` and `--fresh` need an output directory: they have no effect")
        if sink.keeps and (run.request.resume or run.taken_up is not None or scan.size >= KEPT_BYTES):
            from ggfmt.resumption import keep_results

            asked, outputs = run.request, sink.outputs
            with write_errors_stop(sink.root):
                run.runner, keeping = keep_results(asked, run.id, run.moment, run.runner, outputs, run.taken_up)
            held.enter_context(keeping)
        try:
            tasks = sink.tasks(run)
            # No name for the outcomes: there may be many, and the commit does not need them.
            sink.collect(run, *scan.run(job, tasks, run.runner, run.tracker, run.watch, scratch=sink.scratch))
        except (Abend, OSError) as error:
            check_inputs_unchanged(scan.files)  # if a file was cut meanwhile, half a record is no mistake in the data
            if isinstance(error, Abend):
                raise
            # Of a task in this process: an unreadable input is part of its outcome.
            raise Abend.of(write_error(sink.root, error)) from None
        run.watch.lap(None)
        others = [] if checkpoint is None else [checkpoint.part(run.id, sink.targets, scan.inputs)]
        check_inputs_unchanged(scan.files)  # last, so that the checkpoint records what the run has read
        run.tracker.start_phase(COMMITTING)
        run.decides = True
        sink.commit(run, others)
        run.watch.lap(COMMITTING)
    result = sink.report(run)
    if checkpoint is not None and sink.rejected:
        warn_rejected_files_are_done()
    return result


def prepare(run: Run, sink: Sink[J, O, R], held: ExitStack, dry: bool = False) -> J:
    """Check everything that can be checked before the run, and return the job. `held` unlocks the outputs.

    `dry`: write and lock nothing, and leave standard input. Raises: UsageError or ConfigurationError for a wrong
    request, Abend if an input cannot be read or an output written.
    """
    request = run.request
    check_standard_input(request.inputs, request.checkpoint)
    sink.check(held, dry)
    # Before the listing: the inputs may contain files that an earlier run has begun to commit.
    open_outputs(run, sink, held, dry)
    if dry:
        request = replace(request, inputs=[given for given in request.inputs if given != STANDARD_INPUT])
    spooled = SpooledInputs(held, request.topics, limit=DRY_RUN_MESSAGES if dry else None)
    if run.checkpoint is not None and any(map(is_kafka, request.inputs)):  # its records may be millions
        spooled.ends, spooled.begun = run.checkpoint.offsets(sink.unfinished)
        spooled.marks = run.checkpoint.marks
    files = request.list(spooled)
    if run.checkpoint is not None:
        with write_errors_stop(run.checkpoint.root, run.checkpoint.what):
            limits = NO_LIMITS if dry else request.limits
            chosen = run.checkpoint.choose(files, request.settle, sink.unfinished, limits)
        files, run.idle = chosen.files, None if chosen.files else str(chosen)
        run.more = sink.unfinished is not None or chosen.later > 0
    run.scan = scan = Scan(request, files)
    scan.may_lack |= run.checkpoint is not None and run.checkpoint.last_run is not None
    scan.open_all()
    job = sink.plan(run)
    if files and not scan.size:
        log.warning("the input is empty: %s of 0 bytes", counted(len(files), "file"))
    if run.idle is None and not dry:
        log.info("input format %s: %s", scan.input_format, visible(scan.reason))
    return job


def open_outputs(run: Run, sink: Sink[J, O, R], held: ExitStack, dry: bool = False) -> None:
    """Lock the outputs of a run, and look at what is there; `held` unlocks them."""
    asked = run.request
    asked.limits.check(asked.inputs, asked.checkpoint)
    run.checkpoint = open_checkpoint(asked.checkpoint, asked.settle, asked.mode, sink.outputs, asked.selection)
    participants = [*sink.outputs, *filter(None, [run.checkpoint])]
    if dry:
        check_directories(participants)
    else:
        lock_all(participants, run.id, held)
    if run.checkpoint is not None:
        with write_errors_stop(run.checkpoint.root, run.checkpoint.what):
            run.mode = run.checkpoint.bind(sink.targets, sink.outputs, asked.mode)
    with write_errors_stop(sink.root):
        if sink.keeps and not dry and any(output.interrupted for output in sink.outputs):
            from ggfmt.resumption import take_up

            found = take_up(asked, sink.outputs, latest_moment(sink.outputs))
            if found is not None:
                run.id, run.taken_up = found
                run.moment = datetime.fromisoformat(run.taken_up.moment)
                for participant in participants:
                    participant.run, participant.keeps = run.id, participant is not run.checkpoint
                    participant.process = run.taken_up.processes
                sink.go_on()
        sink.open(run)
