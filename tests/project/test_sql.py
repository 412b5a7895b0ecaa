"""SQL is put together of typed pieces: what mypy cannot see of it."""

from __future__ import annotations

import ast

from places import PACKAGE

_MODULE = PACKAGE / "model" / "sql.py"


def _calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [node for node in nodes if getattr(node.func, "id", getattr(node.func, "attr", "")) in names]


def test_only_one_module_makes_sql_of_text_and_templates_are_constants() -> None:
    templates = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path == _MODULE or ("model.sql" not in text and "import sql" not in text):
            continue
        tree = ast.parse(text)
        assert not _calls(tree, "Sql"), f"{path}: only `sql` and `joined` make SQL"
        for call in _calls(tree, "sql", "joined"):
            templates += 1
            made = [node for node in ast.walk(call.args[0]) if isinstance(node, (ast.JoinedStr, ast.BinOp))]
            assert not made and not _calls(call.args[0], "format", "join", "replace"), f"{path}:{call.lineno}"
    assert templates > 50
