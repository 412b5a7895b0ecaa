"""Kernels of `columnar` work on columns: a loop over the values of one is an exception that says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from places import PACKAGE

COLUMNAR = PACKAGE / "columnar"

# What makes Python values of a column, and what hands its argument on item by item.
_VALUES = {"to_pylist", "non_null_values", "map_items"}
_THROUGH = {"enumerate", "zip", "map", "filter", "reversed", "sorted", "list", "tuple", "set", "iter"}
# Names of modules and helpers whose calls give arrays.
_ARROW = {"pc", "pa"}
_ARRAYS = {"narrow", "as_strings", "texts", "join", "join_binary", "from_buffers", "int64s"}

# By module and function why the loop is there. A function that has none any more leaves the list.
EXCEPTIONS = {
    ("typed", "_without_exponents"): "decimals that Arrow prints with an exponent",
    ("avro", "exact_longs"): "numbers that Arrow does not read, such as `3E0`",
    ("avro", "_decimals_singly"): "numbers of more than 18 digits or with an exponent",
    ("strings", "kernel"): "functions of one value: once for each that is different",
    ("columns", "raw_column"): "strings of JSON, which may have escapes",
    ("json_text", "_on_one_line"): "JSON that is laid out over lines",
    ("images", "delete_insert"): "only where updates of keys become two operations",
    ("replacement", "_by_distinct_value"): "Java's regular expressions: once for each value that is different",
    ("typed", "as_text"): "bytes, whose Base64 Arrow does not make",
    ("typed", "_one_by_one"): "numbers that Arrow does not read",
    ("typed", "_lists"): "JSON arrays, which are decoded as one JSON text",
    ("typed", "_one_list_each"): "only where one of the JSON arrays is wrong",
}


def loops(source: str) -> Iterator[tuple[str, int]]:
    """The functions, with the line, that loop over the values of a column."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        inner = {
            id(node)
            for other in functions
            if other is not function and _within(other, function)
            for node in _nodes(other)
        }
        arrays = _arrays(function)
        for node in _nodes(function):
            if id(node) in inner:
                continue
            for over in _looped_over(node):
                if _of_values(over, arrays):
                    yield function.name, over.lineno
            if isinstance(
                node, (ast.For, ast.comprehension, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
            ):
                yield from ((function.name, call.lineno) for call in _scalars(node, arrays))


def _within(one: ast.AST, other: ast.AST) -> bool:
    return any(node is one for node in ast.walk(other))


def _nodes(function: ast.AST) -> list[ast.AST]:
    return list(ast.walk(function))


def _arrays(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Names that are arrays or their values: parameters of such types, and results of calls that return them."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {
        argument.arg
        for argument in arguments
        if argument.annotation is not None
        and ast.unparse(argument.annotation).startswith("pa.")
        and "Array" in ast.unparse(argument.annotation)
    }
    for node in _nodes(function):
        if isinstance(node, ast.Assign) and _of_values(node.value, set()):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _gives_array(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in _ARROW and function.attr != "scalar"
    return isinstance(function, ast.Name) and function.id in _ARRAYS


def _looped_over(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, (ast.For, ast.comprehension)):
        yield node.iter
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map":
        yield from node.args[1:]


def _of_values(node: ast.expr, arrays: set[str]) -> bool:
    """Whether what is looped over are the values of a column."""
    if isinstance(node, ast.Name):
        return node.id in arrays
    if isinstance(node, ast.Subscript):
        return _of_values(node.value, arrays)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _VALUES:
        return True
    return _gives_array(node) or (name in _THROUGH and any(_of_values(argument, arrays) for argument in node.args))


def _scalars(loop: ast.AST, arrays: set[str]) -> Iterator[ast.Call]:
    """Calls in a loop that take a single value out of an array, as `values[row].as_py()`."""
    for node in _nodes(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "as_py":
            taken = node.func.value
            if isinstance(taken, ast.Subscript) and isinstance(taken.value, ast.Name) and taken.value.id in arrays:
                yield node


def found() -> dict[tuple[str, str], int]:
    return {
        (path.stem, function): line
        for path in sorted(COLUMNAR.glob("*.py"))
        for function, line in loops(path.read_text(encoding="utf-8"))
    }


def test_loops_over_values_are_those_that_are_explained() -> None:
    lines = found()
    new = [
        f"columnar/{module}.py:{lines[module, function]}: {function}" for module, function in lines.keys() - EXCEPTIONS
    ]
    assert not new, f"loops over the values of a column, which Arrow or a kernel should do: {', '.join(sorted(new))}"
    assert not EXCEPTIONS.keys() - lines, "take out of EXCEPTIONS what does not loop any more"


@pytest.mark.parametrize(
    "body",
    [
        "for row, text in enumerate(texts): text.cast(kind)",
        "[text.as_py() for text in texts]",
        "[f(value) for value in texts.to_pylist()]",
        "pa.array(map(f, texts.to_pylist()))",
        "pa.array(map(f, non_null_values(texts)))",
        "for a, b in zip(other.to_pylist(), rows): pass",
        "made = pc.if_else(mask, texts, other)\n    return {value for value in made}",
        "for row in range(len(texts)): texts[row].as_py()",
        "for value in pc.unique(texts): pass",
    ],
)
def test_a_loop_over_values_is_found(body: str) -> None:
    assert list(loops(f"def kernel(texts: pa.StringArray, rows: list[int]) -> None:\n    {body}\n"))


def test_a_loop_over_columns_is_none() -> None:
    source = "def kernel(columns: list[pa.Array[Any]]) -> None:\n    [pc.is_valid(column) for column in columns]\n"
    assert not list(loops(source))
