"""Every format keeps its contract: `contract` declares them, `contract.rules` has what is asked."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from contract import Contract, contract_of
from contract.rules import RULES, rules_of
from ggfmt.formats import FORMATS


@pytest.mark.parametrize(
    ("name", "rule"),
    [pytest.param(name, rule, id=f"{name}-{rule}") for name in FORMATS for rule in rules_of(name)],
)
def test_a_format_keeps_its_contract(name: str, rule: str) -> None:
    RULES[rule].ask(contract_of(name))


def test_a_format_whose_contract_cannot_be_loaded_is_one_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "contract.canal", ModuleType("contract.canal"))
    assert rules_of("canal_json") == ["declared"]
    with pytest.raises(AttributeError, match="CONTRACTS"):
        contract_of("canal_json")
    assert len(rules_of("maxwell_json")) > 10


def test_rules_are_asked_of_those_that_they_apply_to() -> None:
    contracts: dict[str, Contract] = {name: contract_of(name) for name in FORMATS}
    for title in ("damaged_records", "members", "recorded", "recognised"):
        assert any(RULES[title].applies(contract) for contract in contracts.values())
    assert all(len(rules_of(name)) >= len(RULES) - 6 for name in FORMATS)
