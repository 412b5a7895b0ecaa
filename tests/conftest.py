"""What every test gets: the profiles of hypothesis, and modules of tests side by side.

`ggfmt` draws the same few examples every time, so that a run is red for what has changed and not by chance; `thorough`
(`pytest --hypothesis-profile=thorough`) draws many new ones. Tests give a weight instead of a count (`examples`).
"""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings
from skips import fail_in_ci
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

# Tests start hundreds of Pythons. Where nothing that is compiled is kept, as in many containers, each of them would
# compile ggfmt again, which takes as long as what most of them do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as commands do
sys.dont_write_bytecode = False

SHARED_MEMORY = Path("/dev/shm")
MIN_FREE_BYTES = 6_000_000_000  # a run of the tests has up to one GB in its directories, and some GB in processes


def use_shared_memory() -> None:
    """Let `tmp_path` be in memory: tests make and remove some hundred thousand files, and a disk takes longer for most
    of them than ggfmt does.

    Not where pytest already has another root for them, where memory is short, or where no program may run.
    """
    try:
        found = os.statvfs(SHARED_MEMORY)
        memory = Path("/proc/meminfo").read_text(encoding="utf-8")
    except (AttributeError, OSError):  # no Linux
        return
    available = re.search(r"^MemAvailable: +([0-9]+) kB$", memory, re.MULTILINE)
    free = min(found.f_bavail * found.f_frsize, int(available[1]) << 10 if available else 0)
    if free >= MIN_FREE_BYTES and not found.f_flag & os.ST_NOEXEC and os.access(SHARED_MEMORY, os.W_OK):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED_MEMORY))


use_shared_memory()

# Typer would make all commands again for each call of `CliRunner.invoke`, which takes longer than most tests.
vars(typer.testing)["_get_command"] = cache(typer.main.get_command)

pytest.register_assert_rewrite("contract", "dialects")  # what they assert is shown as in tests
pytest_plugins = ("suites", "progress", "stores", "s3_server")

LENIENT = settings(
    deadline=None,  # the machine may be shared
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.register_profile("ggfmt", LENIENT, max_examples=14, derandomize=True, database=None)
settings.register_profile("thorough", LENIENT, max_examples=300, print_blob=True)
settings.load_profile("ggfmt")


@pytest.fixture(autouse=True, scope="session")
def without_syncing() -> Iterator[None]:
    """Runs do not wait for the disk, which takes longer than most of them; those in processes of their own do."""
    from ggfmt.commit import store

    store.durable = False
    yield
    store.durable = True


@pytest.fixture(autouse=True)
def untouched_log() -> None:
    """The log as programs find it: a test or a fixture of a module that calls a command in this process sets it up."""
    log = logging.getLogger("ggfmt")
    log.setLevel(logging.NOTSET)
    log.propagate, log.handlers[:] = True, []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as at a terminal: what a script starts in the background ignores it, and so would what that starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


_sessions = ExitStack()  # the shared Spark session, while there is one


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session that modules of frames and of rows share: they run one after the other in one process, and
    it stops after the last of them."""
    from frame_session import frame_session

    return _sessions.enter_context(frame_session())


@cache
def shares_session(path: Path) -> bool:
    """Whether a module takes the shared session; one that has a fixture `spark` of its own does not."""
    text = path.read_text(encoding="utf-8")
    return "spark: SparkSession" in text and "def spark(" not in text


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if nextitem is None or not shares_session(nextitem.path):
            _sessions.close()


class Scheduling(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
    """A module of tests goes to one process; all modules that share a session go to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return "shared session" if shares_session(self.config.rootpath / module) else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    return Scheduling(config, log) if config.getvalue("dist") == "loadscope" else None


MAX_WORKERS = 4  # each may start a Spark, of up to a gigabyte


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes share the modules of tests (`-n auto`); 0 for a single file, whose tests run in this one."""
    from suites import QUICK

    named = [argument.partition("::")[0] for argument in config.args]
    modules = len(set(named)) if all(name.endswith(".py") for name in named) else MAX_WORKERS
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waiting = 0 if config.option.markexpr == QUICK else cpus  # others wait for a third of their time
    workers = min(modules, cpus + waiting, MAX_WORKERS)
    return workers if workers > 1 else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The modules that share a session come first, then others that start Spark: they take longest, and a process that
    ends late waits for no other."""
    slow = {item.path for item in items if item.get_closest_marker("spark")}
    items.sort(key=lambda item: (not shares_session(item.path), item.path not in slow))


def pytest_collection_finish() -> None:
    """What was collected stays: thousands of tests and parameters need not be looked through for garbage again."""
    gc.collect()
    gc.freeze()
