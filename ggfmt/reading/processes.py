"""A runner without Spark for all cores: this process and others that it starts run tasks side by side.

Processes and not threads, because kernels that make messages and the code around them hold the lock of the interpreter:
two threads take three quarters of the time of one.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Generic, NoReturn, TypeVar

from ggfmt import kernels, location, signals
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.machine import available_cores
from ggfmt.reading.runner import InProcess, TaskCallback, interrupts, no_memory

T = TypeVar("T")
R = TypeVar("R")

MAX_ATTEMPTS = 4  # of a task, as Spark has it
_READY = b"ready"
_POLL_SECONDS = 0.2
_PARENT_SECONDS = 0.1
_STOP_SECONDS = 10.0
_GRACE_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1  # of Linux
_FOR_ALL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENAMETOOLONG}

log = logging.getLogger("ggfmt")


class WorkerGone(Exception):
    """The process of a worker has ended."""


class Worker:
    """Another process, which runs one task after the other. A fork starts in milliseconds, with everything loaded; a
    new interpreter takes a third of a second, and can be started beside threads of any kind."""

    def __init__(self, fork: bool) -> None:
        self._connection, there = multiprocessing.Pipe()
        self._task: bytes | None = None
        self._is_ready = False
        self._lock = threading.Lock()  # after its end, the number of the process may be that of another one
        self._status: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        parent = os.getpid()
        # Linux kills the process when the thread ends that has started it.
        bound = threading.current_thread() is threading.main_thread()
        with signals.deferred(), there:
            if fork:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which ours survive
                    self.pid = os.fork()
                if not self.pid:
                    _begin_fork(there, parent, bound)
                return
            code = (
                f"import sys; sys.path[:] = {[path for path in sys.path if isinstance(path, str)]!r}; "
                f"from ggfmt.reading.processes import begin; begin({there.fileno()}, {parent}, {bound})"
            )
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=null, stdout=null, pass_fds=[there.fileno()]
            )
            self.pid = self._process.pid

    def is_ready(self) -> bool:
        if not self._is_ready:
            try:
                self._is_ready = self._connection.recv_bytes() == _READY
            except (EOFError, OSError):
                return False
        return True

    def call(self, task: bytes, item: object, attempt: int) -> Any:
        """Return the result of a pickled task, or raise its exception. Raises: WorkerGone."""
        try:
            # Each worker gets a task once.
            self._connection.send_bytes(pickle.dumps((None if task is self._task else task, item, attempt)))
            self._task = task
            done, value = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise WorkerGone from None
        if done:
            return value
        raise value

    def kill(self) -> None:
        """Kill the process. A thread that waits for it gets WorkerGone."""
        with self._lock:
            if self._status is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def end(self) -> str:
        """Kill the process if it still runs after a moment, and return how it has ended. No thread may wait for it."""
        if not self._wait(_PARENT_SECONDS):
            self.kill()
            self._wait(_STOP_SECONDS)
        self._connection.close()
        return "was killed" if self._status is None else _ending(self._status)

    def _wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._lock:
                self._status = self._ended() if self._status is None else self._status
            if self._status is not None:
                return True
            time.sleep(0.001)
        return False

    def _ended(self) -> int | None:
        """Return the exit code of the process, negative for a signal; None as long as it runs."""
        if self._process is not None:
            return self._process.poll()
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        return os.waitstatus_to_exitcode(status) if pid else None


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


# The other side.


def begin(descriptor: int, parent: int, bound: bool) -> NoReturn:
    from ggfmt.unused_modules import hide_unused_modules

    hide_unused_modules()
    kernels.keep_memory()
    _serve(Connection(descriptor), parent, bound)


def _begin_fork(connection: Connection, parent: int, bound: bool) -> NoReturn:
    """Serve as a worker in a fork, which keeps nothing open: no lock, no pipe, and no socket of another worker."""
    try:
        gc.freeze()  # files among the garbage of the parent must not close those of this process
        null, kept = os.open(os.devnull, os.O_RDWR), connection.fileno()
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.closerange(3, kept)
        os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
        _serve(connection, parent, bound)
    finally:
        os._exit(1)


def _serve(connection: Connection, parent: int, bound: bool) -> NoReturn:
    """Run tasks as they come, and return their results, until there are no more. Log lines of tasks reach no one, as
    those of tasks on Spark. If `bound`, the process ends with the thread that started it."""
    if bound:
        _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal: the parent decides
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    log.handlers[:] = [logging.NullHandler()]
    log.propagate = False
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    task: Callable[[Any, int], object] | None = None
    try:
        connection.send_bytes(_READY)
        while True:
            packed, item, attempt = pickle.loads(connection.recv_bytes())
            if packed is not None:
                task = pickle.loads(packed)
            assert task is not None
            answer: tuple[bool, object]
            try:
                answer = True, task(item, attempt)
            except BaseException as error:
                answer = False, _portable(error)
            connection.send_bytes(pickle.dumps(answer))
    except (EOFError, OSError):
        os._exit(0)
    finally:
        os._exit(1)


def _portable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with_parent() -> None:
    """Let Linux kill this process with its parent, even if this process is stopped and cannot watch it."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch(parent: int) -> NoReturn:
    """End this process with its parent, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(1)


# This side.


class InProcesses(InProcess):
    """Runs tasks in this and further processes, `processes` in all, by default one for each core. A task whose process
    was killed, or that an error of a store ended, runs again, up to `MAX_ATTEMPTS` times."""

    def __init__(self, processes: int | None = None) -> None:
        super().__init__()
        # A program that is frozen, or has Python within, has no interpreter to start.
        alone = os.name != "posix" or not sys.executable or getattr(sys, "frozen", False)
        self.parallelism = 1 if alone else processes or available_cores()
        self._workers: list[Worker] = []

    def __enter__(self) -> InProcesses:
        if signals.is_installed():  # by the command line: the process is not of a user's program
            kernels.keep_memory()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def run(
        self,
        task: Callable[[T, int], R],
        items: Sequence[T],
        progress: TaskCallback | None = None,
        received: Callable[[R], None] | None = None,
    ) -> list[R]:
        """Raises: Abend GG505 if memory runs out, or the processes of a task are killed; other exceptions as they are.
        Of several tasks that fail, the first one counts."""
        count = self._start(min(self.parallelism, len(items)) - 1)
        if not count:
            return super().run(task, items, progress, received)
        tasks: _Tasks[T, R] = _Tasks(items, progress, received, self._attempts, count)
        packed = pickle.dumps(task)
        threads = [
            threading.Thread(target=self._feed, args=(tasks, packed, number), name="ggfmt-task", daemon=True)
            for number in range(count)
        ]
        try:
            with interrupts() as came:
                with signals.deferred():
                    for thread in threads:
                        thread.start()
                while (taken := tasks.take(here=True)) is not None:
                    tasks.settle(taken, partial(task, taken.item, taken.attempt))
                    signals.check()
                    if came:
                        raise KeyboardInterrupt
                while not tasks.wait(_POLL_SECONDS):
                    signals.check()
                    if came:
                        raise KeyboardInterrupt
        except BaseException:
            tasks.stop()
            with signals.deferred():
                for worker in self._workers:
                    worker.kill()
                _join(threads)
                self._end()
            raise
        with signals.deferred():
            self._leave(threads)
        return tasks.results()

    def _leave(self, threads: Sequence[threading.Thread]) -> None:
        """Wait for the threads of workers. All tasks are done, so that one that is not ready yet is not needed."""
        late = []
        for worker, thread in zip(self._workers, threads, strict=False):
            thread.join(_GRACE_SECONDS)
            if thread.is_alive():
                worker.kill()
                late.append(worker)
        _join(threads)  # nothing may be closed that a thread reads
        for worker in late:
            worker.end()
        self._workers = [worker for worker in self._workers if worker not in late]

    def _start(self, count: int) -> int:
        """Start processes up to this number, as far as the system allows it; return how many of them there are."""
        # Only the command line knows which threads its process has. Clients of stores have some.
        fork = sys.platform == "linux" and signals.is_installed() and not location.has_clients()
        with signals.deferred():
            try:
                while len(self._workers) < count:
                    self._workers.append(Worker(fork))
            except OSError as error:
                log.info("%s processes run tasks; no more processes can be started: %s", len(self._workers) + 1, error)
        return min(count, len(self._workers))

    def _feed(self, tasks: _Tasks[Any, Any], packed: bytes, number: int) -> None:
        """Give tasks to one worker; a new one takes the place of a worker that has died."""
        try:
            while self._workers[number].is_ready() and (taken := tasks.take(here=False)) is not None:
                worker = self._workers[number]
                try:
                    tasks.settle(taken, partial(worker.call, packed, taken.item, taken.attempt))
                except WorkerGone:
                    if tasks.stopped:
                        return
                    ending = worker.end()
                    with contextlib.suppress(OSError):  # then the worker that has died is not ready
                        self._workers[number] = Worker(fork=False)  # a fork beside a task may never get a lock
                    tasks.give_back(taken, ending)
                except BaseException:  # it is among the failures of the tasks, and ends the run there
                    return
        finally:
            tasks.lose_worker()

    def _end(self) -> None:
        with signals.deferred():
            workers, self._workers = self._workers, []
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.end()


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:  # it was started
            thread.join()


@dataclass(frozen=True)
class _Taken(Generic[T]):
    """A task that runs: the number of its item, and how many runs of it there were before."""

    number: int
    item: T
    attempt: int
    before: int


@dataclass
class _Tasks(Generic[T, R]):
    """The tasks of one call, which several threads take. They are taken in order."""

    items: Sequence[T]
    progress: TaskCallback | None
    received: Callable[[R], None] | None
    attempts: Iterator[int]
    workers: int
    stopped: bool = False
    _ending: str = ""
    # for other processes only: what killed one may kill this one
    _again: deque[tuple[int, int]] = field(default_factory=deque)
    _running: int = 0
    _done: dict[int, R] = field(default_factory=dict)
    _failures: dict[int, BaseException] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._new = deque(range(len(self.items)))

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock. An interrupt in the middle of Python's code for it would leave it locked."""
        with signals.deferred(), self._changed:
            yield

    def take(self, here: bool) -> _Taken[T] | None:
        """Return a task to run, in this process if `here`. None if there is none for this process, or none at all."""
        with self._lock():
            while not (self.stopped or self._failures):
                if self._again and not here:
                    number, before = self._again.popleft()
                elif self._new:
                    number, before = self._new.popleft(), 0
                elif here or not self._running:
                    return None
                else:
                    self._changed.wait()  # a task that runs may have to run again
                    continue
                self._running += 1
                return _Taken(number, self.items[number], next(self.attempts), before)
            return None

    def settle(self, taken: _Taken[T], run: Callable[[], R]) -> None:
        """Run a task and keep its result or exception. Raises: WorkerGone; an interrupt or exit, which is kept too."""
        try:
            result = run()
        except WorkerGone:
            raise
        except BaseException as error:
            self._fail(taken, error, may_pass=_may_pass(error))
        else:
            try:
                with self._lock():
                    self._done[taken.number] = result
                    if self.received is not None:
                        self.received(result)
                    if self.progress is not None:
                        self.progress(len(self._done), len(self.items))
            except BaseException as error:  # of a callback: the task is done, and does not run again
                self._fail(taken, error, may_pass=False)
        self._leave()

    def _fail(self, taken: _Taken[T], error: BaseException, may_pass: bool) -> None:
        """Let a task run again, or keep its exception. Raises an interrupt or an exit."""
        with self._lock():
            if may_pass and taken.before + 1 < MAX_ATTEMPTS:
                log.info("a task runs again: %s", error)
                self._again.append((taken.number, taken.before + 1))
            else:
                self._failures[taken.number] = error
        if not isinstance(error, Exception):
            self._leave()
            raise error

    def give_back(self, taken: _Taken[T], ending: str) -> None:
        with self._lock():
            self._ending = ending
            if taken.before + 1 < MAX_ATTEMPTS and self.workers:
                log.warning("a process that ggfmt started %s; its task runs again in another process", ending)
                self._again.append((taken.number, taken.before + 1))
            else:
                self._failures[taken.number] = _killed(ending)
        self._leave()

    def lose_worker(self) -> None:
        """Take note that a worker takes no more tasks. Without any, nothing runs what killed one."""
        with self._lock():
            self.workers -= 1
            if not self.workers:
                for number, _ in self._again:
                    self._failures[number] = _killed(self._ending)
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._lock():
            self._running -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait for the tasks that run; return whether all are done, or none goes on after a failure."""
        with self._lock():
            if self._running or (self._again and not self._failures):
                self._changed.wait(seconds)
            return not self._running and (bool(self._failures) or not self._again)

    def stop(self) -> None:
        with self._lock():
            self.stopped = True
            self._changed.notify_all()

    def results(self) -> list[R]:
        for number in sorted(self._failures):
            error = self._failures[number]
            if isinstance(error, MemoryError):
                raise no_memory() from None
            raise error
        return [self._done[number] for number in range(len(self.items))]


def _may_pass(error: BaseException) -> bool:
    """Return whether an exception may be none when the task runs again, as errors of stores are."""
    return isinstance(error, OSError) and error.errno not in _FOR_ALL


def _killed(ending: str) -> Abend:
    help = "if memory ran out (see the system log, `dmesg`), run with fewer processes: `--master 'none[1]'`"
    return Abend("GG505", f"a task failed: its process {ending} more than once", help=help)
