"""The suites of the tests: each test belongs to one, and only tests of some suites may start processes.

A test is `long` if it is marked so. It starts Spark (`spark`) if it is marked so or takes a session. It starts
processes or servers (`process`) if it, its fixtures or the functions of tests that they call use a module that does, or
if it is marked so: then ggfmt itself starts them. All others are `unit`, or `contract` in that folder, or `slow` if
`tests/slow.txt` names their module or function. There, to start something is a failure.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import pytest
from places import TESTS

SUITES = {
    "unit": "tests in one process, without Spark and servers",
    "contract": "the rules for every format, likewise",
    "slow": "tests in one process that take longer than others (tests/slow.txt)",
    "process": "tests that start processes or servers",
    "spark": "tests that start Spark",
    "long": "tests that take long, and have a shorter one beside them",
}
QUICK = "unit or contract"
SLOW = frozenset((TESTS / "slow.txt").read_text(encoding="utf-8").splitlines()[1:])
_STARTING = {"ThreadingHTTPServer", "launch_gateway", "multiprocessing", "pty", "socket", "subprocess"}
_STARTING_TESTS: dict[Any, bool] = {}
_STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "socket.connect"}


def suite_of(item: pytest.Function) -> str:
    for marked in ("long", "spark", "process"):
        if item.get_closest_marker(marked):
            return marked
    if "spark" in item.fixturenames:
        return "spark"
    if item.function not in _STARTING_TESTS:  # once for all parameters
        fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
        _STARTING_TESTS[item.function] = any(starts(function) for function in (item.obj, *fixtures))
    if _STARTING_TESTS[item.function]:
        return "process"
    module = item.path.relative_to(TESTS).as_posix()
    if module in SLOW or f"{module}::{item.originalname}" in SLOW:
        return "slow"
    return "contract" if module.startswith("contract/") else "unit"


@cache
def starts(function: Any) -> bool:
    """Whether a function of tests names something that starts processes or servers, or calls one that does."""
    return any(_STARTING & set(names(code)) for code in reached(function))


def reached(function: Any) -> set[CodeType]:
    """The code of a function or class, and of all functions and classes of tests that it names."""
    found: set[CodeType] = set()
    waiting = [function]
    while waiting:
        item = inspect.unwrap(waiting.pop())
        item = getattr(getattr(item, "hypothesis", None), "inner_test", getattr(item, "__func__", item))
        if inspect.isclass(item) and is_module(sys.modules.get(item.__module__)):
            waiting += [member for member in vars(item).values() if isinstance(member, FunctionType)]
        elif isinstance(item, FunctionType) and item.__code__ not in found and str(TESTS) in item.__code__.co_filename:
            found.add(item.__code__)
            words = set(names(item.__code__))
            named = [item.__globals__[name] for name in words & item.__globals__.keys()]
            named += [vars(other)[name] for other in named if is_module(other) for name in words & vars(other).keys()]
            waiting += named
    return found


def is_module(item: Any) -> bool:
    return inspect.ismodule(item) and str(getattr(item, "__file__", None)).startswith(str(TESTS))


def names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names(inner)


class Guard:
    """Lets each start of a process fail while a test of the suites runs that start none."""

    def __init__(self) -> None:
        self._suite = ""
        self._in_threads: list[str] = []
        self.has_started = False  # then something may ask, at any time, what an earlier test has started
        sys.addaudithook(self._audit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._suite = item.stash[_SUITE]
        try:
            return (yield)
        finally:
            self.has_started |= self._suite in ("process", "spark")
            self._suite = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """What a thread raises reaches no test."""
        self._in_threads.clear()
        found = yield
        if self._in_threads:
            pytest.fail(self._in_threads[0])
        return found

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        asks = event == "socket.connect" and self.has_started
        if event in _STARTS and self._suite in ("unit", "contract", "slow") and not asks:
            text = f"a test of the suite `{self._suite}` may not start anything: {arguments[:2]}"
            if threading.current_thread() is not threading.main_thread():
                self._in_threads.append(text)
            raise pytest.fail.Exception(text)


_SUITE = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Without names of tests the quick suites run; with them all but long ones. `-m` says otherwise."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    asked = config.option.markexpr
    if asked and asked != QUICK and "long" not in asked:
        asked = f"({asked}) and not long"  # a long test may have the mark of Spark, too
    config.option.markexpr = asked or ("not long" if named else QUICK)


def pytest_configure(config: pytest.Config) -> None:
    for name, description in SUITES.items():
        config.addinivalue_line("markers", f"{name}: {description}")
    config.pluginmanager.register(Guard(), "guard")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        assert isinstance(item, pytest.Function)
        item.stash[_SUITE] = suite_of(item)
        item.add_marker(item.stash[_SUITE])
