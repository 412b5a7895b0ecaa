"""The layers of the design hold: who may import whom, who may use which library, how large a module may be."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ggfmt"

# The modules directly below `ggfmt`, and what each may import besides itself. The bare package holds the version.
LAYERS: dict[str, set[str]] = {
    "examples": set(),
    "codes": {"examples"},
    "errors": {"codes"},
    "model": set(),
    "logs": set(),
    "options": {"codes", "errors"},
}
LAYERS["columnar"] = LAYERS["options"] | {"model", "options"}
LAYERS["formats"] = LAYERS["columnar"] | {"columnar"}
LAYERS["definitions"] = LAYERS["formats"] | {"formats"}
LAYERS["config"] = LAYERS["definitions"] | {"definitions"}
LAYERS["engine"] = LAYERS["config"] | {"config", "ggfmt"}
LAYERS["render"] = LAYERS["engine"] | {"engine"}
LAYERS["cli"] = LAYERS["render"] | {"render", "logs"}
LAYERS["__main__"] = {"cli"}
LAYERS["ggfmt"] = set()

# Which modules may use a library; a name stands for all modules below it. pyarrow is for all but errors and options.
LIBRARIES: dict[str, set[str]] = {
    "pyspark": {"engine.spark"},
    "py4j": {"engine.spark"},
    "typer": {"cli"},
    "rich": {"cli", "render", "options.reference"},
    "javaproperties": {"config.properties"},
    "lxml": {"formats.gg_xml_records"},
    "fastavro": {
        "formats.gg_avro_plan",
        "formats.gg_avro_read",
        "formats.gg_avro_show",
        "formats.gg_avro_write",
        "formats.qlik_avro_read",
    },
    "msgspec": {"columnar", "formats", "engine", "definitions"},
    "pyarrow": {"model", "columnar", "formats", "definitions", "engine"},
}

MOST_LINES = 400
HEAVY = {"pyspark", "py4j", "pandas"}


def name_of(path: Path) -> str:
    """`engine.run` for ggfmt/engine/run.py, `formats` for ggfmt/formats/__init__.py, `ggfmt` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "ggfmt"


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
DIALECTS = [name.partition(".")[2] for name in MODULES if name.startswith("formats.")]


def imports(name: str) -> Iterator[str]:
    """All that a module imports anywhere, also inside of functions; of `from package import module` the module."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner.removeprefix("ggfmt.") in MODULES else node.module


def own_imports(name: str) -> set[str]:
    """The modules of ggfmt that a module imports, as in `MODULES`."""
    found = (item for item in imports(name) if item.partition(".")[0] == "ggfmt")
    return {item.removeprefix("ggfmt.") for item in found}


def libraries(name: str) -> set[str]:
    roots = {item.partition(".")[0] for item in imports(name)}
    return roots - set(sys.stdlib_module_names) - {"ggfmt", "__future__"}


def belongs_to(name: str, places: set[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_from_lower_layers(name: str) -> None:
    layer = name.partition(".")[0]
    assert layer in LAYERS, f"{layer} is no layer of the design"
    used = {module.partition(".")[0] for module in own_imports(name)}
    assert used <= LAYERS[layer] | {layer}


@pytest.mark.parametrize("name", MODULES)
def test_a_library_is_used_only_where_it_belongs(name: str) -> None:
    assert {library for library in libraries(name) if not belongs_to(name, LIBRARIES.get(library, set()))} == set()


def test_every_library_of_the_table_is_a_dependency_that_is_used() -> None:
    used = {library for name in MODULES for library in libraries(name)}
    assert used == set(LIBRARIES)


def dialect_of(module: str) -> str | None:
    """The dialect that a module below `formats` belongs to, by `FORMATS` or its name; None for what all share."""
    source = (PACKAGE / "formats" / "__init__.py").read_text(encoding="utf-8")
    registered = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "ggfmt.formats"
        for alias in node.names
    }
    return next((name for name in registered if module == name or module.startswith(f"{name}_")), None)


def test_there_are_dialects_to_keep_apart() -> None:
    assert {dialect_of(module) for module in DIALECTS} >= {None, "gg_json", "gg_delimited"}


@pytest.mark.parametrize("module", DIALECTS)
def test_a_dialect_does_not_know_the_others(module: str) -> None:
    own = dialect_of(module)
    for used in own_imports(f"formats.{module}"):
        assert used != "formats", "a format does not look formats up"
        head, _, other = used.partition(".")
        assert head != "formats" or dialect_of(other) in (None, own)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_can_be_read_in_one_go(name: str) -> None:
    lines = MODULES[name].read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_LINES


def test_every_module_says_what_it_is() -> None:
    silent = [name for name, path in MODULES.items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert [name for name in silent if name != "__main__"] == []


@pytest.mark.parametrize(
    "arguments",
    [[], ["--version"], ["--help"], ["run", "--help"], ["formats"], ["options", "json"], ["options", "handler"]],
    ids=" ".join,
)
def test_what_needs_no_spark_does_not_load_it(arguments: list[str]) -> None:
    program = (
        "import json, sys\n"
        "import ggfmt.cli\n"
        "sys.argv = ['ggfmt', *json.loads(sys.argv[1])]\n"
        "try:\n"
        "    len(sys.argv) > 1 and ggfmt.cli.main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, json.dumps(arguments)], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    assert "ggfmt" in loaded
    assert loaded & HEAVY == set()
