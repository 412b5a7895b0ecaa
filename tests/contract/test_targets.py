"""Every target keeps its contract: `contract.targets` declares them, `contract.targets.rules` has what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar

import mariadb
import pytest
from kafka_broker import kafka_broker
from postgres import Server, server_or_skip

from contract import targets
from contract.targets import Target, files
from contract.targets.rules import RULES

__all__ = ["kafka_broker"]

MODULES = [import_module(f"{targets.__name__}.{found.name}") for found in iter_modules(targets.__path__)]
TARGETS: list[type[Target]] = [target for module in MODULES for target in getattr(module, "TARGETS", ())]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with server_or_skip() as started:
        yield started


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[mariadb.Server]:
    with mariadb.server_or_skip() as started:
        yield started


def _asked() -> Iterator[Any]:
    for target in TARGETS:
        for name, rule in RULES.items():
            if rule.applies(target) and (rule.of_place or not target.store):
                marks = [pytest.mark.process] if target.server or rule.process else []
                if target.is_long or (rule.process and not target.kills):
                    marks = [pytest.mark.long]
                yield pytest.param(target, name, id=f"{target.name}-{name}", marks=marks)


class Boaster(files.RowFiles):
    """A target that declares losses that do not happen."""

    name = to = "json"
    loses: ClassVar = {"case": "GG999", "quotes": "GG206"}
    foreign = dropped = "GG999"


@pytest.mark.parametrize(
    "rule",
    [
        "missing_null_and_empty",
        "columns_in_two_cases",
        "quotes_in_names",
        "something_foreign_in_a_table",
        "a_table_that_was_dropped",
    ],
)
def test_a_loss_that_does_not_happen_is_a_failure(rule: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        RULES[rule].ask(Boaster(tmp_path / "target"))


@pytest.mark.parametrize(("target", "rule"), list(_asked()))
def test_a_target_keeps_its_contract(
    target: type[Target], rule: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue(target.server) if target.server else None
    for name, value in getattr(server, "environment", {}).items():
        monkeypatch.setenv(name, value)
    RULES[rule].ask(target(tmp_path / "target", server))
