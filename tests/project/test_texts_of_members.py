"""No value of unknown type becomes a text by `str`: an object of a record would become Python's notation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from places import ROOT

MODULES = sorted((ROOT / "ggfmt" / "formats").rglob("*.py"))
_UNKNOWN = {"Any", "object"}


def _is_unknown(annotation: ast.expr | None) -> bool:
    """Whether a type does not say what `str` makes of its values."""
    if annotation is None:
        return False
    return any(isinstance(node, ast.Name) and node.id in _UNKNOWN for node in ast.walk(annotation))


def _declared(scope: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.arg):
            yield node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, (ast.Name, ast.Attribute)):
            yield ast.unparse(node.target), node.annotation


def _known_calls(scope: ast.AST, name: str) -> set[int]:
    """The calls where `isinstance` says the type of a name."""
    return {
        id(call)
        for choice in ast.walk(scope)
        if isinstance(choice, (ast.If, ast.IfExp)) and f"isinstance({name}," in ast.unparse(choice.test)
        for part in (choice.body if isinstance(choice.body, list) else [choice.body])
        for call in ast.walk(part)
    }


def texts_of_unknown_values(module: str) -> list[str]:
    """The calls of `str` for names and members whose declared type is unknown, with their lines."""
    tree = ast.parse(module)
    members = {
        name
        for scope in ast.walk(tree)
        if isinstance(scope, ast.ClassDef)
        for item in scope.body
        if isinstance(item, ast.AnnAssign)
        for name, kind in _declared(item)
        if _is_unknown(kind)
    }
    found = {}
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.FunctionDef, ast.Lambda)):
            unknown = {name for name, kind in _declared(scope) if _is_unknown(kind)}
            for call in ast.walk(scope):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "str" and len(call.args) == 1:
                    (value,) = call.args
                    if id(call) in _known_calls(scope, ast.unparse(value)):
                        continue
                    named = isinstance(value, ast.Name) and value.id in unknown
                    if named or (isinstance(value, ast.Attribute) and value.attr in members):
                        found[call.lineno] = f"line {call.lineno}: {ast.unparse(call)}"
    return list(found.values())


def test_no_value_of_unknown_type_becomes_a_text() -> None:
    found = {str(module): texts_of_unknown_values(module.read_text(encoding="utf-8")) for module in MODULES}
    assert {module: texts for module, texts in found.items() if texts} == {}


def test_such_texts_are_found() -> None:
    found = texts_of_unknown_values(
        "class Block:\n    pos: Annotated[Any, slot()] = None\n    row: int\n"
        "def position(block: Block) -> str:\n    return str(block.pos) + str(block.row)\n"
        "def text(value: Any, number: int) -> str:\n    return str(value) + str(number)\n"
        "def name(value: Any) -> str:\n    return str(value) if isinstance(value, int) else ''\n"
    )
    assert found == ["line 5: str(block.pos)", "line 7: str(value)"]
