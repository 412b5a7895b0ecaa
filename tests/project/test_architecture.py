"""The layers of the design hold: who may import whom, who may use which library, how large a module may be.

The tests mirror the packages.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from places import PACKAGE, TESTS

# The modules directly below `ggfmt`, and what each may import besides itself. The bare package has the names for
# programs, which it loads when they are used.
LAYERS: dict[str, set[str]] = {
    "arrow": set(),
    "machine": set(),
    "diagnostics": set(),
    "java": set(),
    "kafka": {"arrow", "diagnostics", "java"},
    "model": {"arrow"},
    "logs": {"java"},
    "docs": set(),
    "kernels": set(),
    "options": {"diagnostics", "java"},
    "location": {"diagnostics", "machine"},
    "out_of_memory": set(),
    "scratch": {"signals"},
    "signals": set(),
    "summary": {"java"},
    "version": set(),
    "unused_modules": set(),
    "spark": {"diagnostics", "kernels", "machine", "scratch", "signals", "unused_modules"},
}
LAYERS["columnar"] = LAYERS["options"] | {"arrow", "kernels", "model", "options"}
LAYERS["formats"] = LAYERS["columnar"] | {"columnar", "kafka"}
LAYERS["replicat"] = LAYERS["columnar"] | {"columnar"}
LAYERS["definitions"] = LAYERS["formats"] | {"formats"}
LAYERS["config"] = LAYERS["definitions"] | {"definitions", "kafka", "replicat"}
LAYERS["commit"] = LAYERS["columnar"] | {"columnar", "location", "signals"}
LAYERS["reading"] = LAYERS["config"] | {"commit", "config", "location", "machine"}
LAYERS["reading"] |= {"scratch", "signals", "unused_modules"}
LAYERS["resumption"] = LAYERS["reading"] | {"reading", "version"}
LAYERS["engine"] = LAYERS["resumption"] | {"resumption"}
LAYERS["sinks"] = LAYERS["engine"] | {"engine", "summary", "version"}
LAYERS["rowfiles"] = LAYERS["commit"] | {"commit"}
LAYERS["database"] = LAYERS["rowfiles"] | {"definitions", "rowfiles"}
LAYERS["comparison"] = LAYERS["sinks"] | {"database", "rowfiles", "sinks"}
LAYERS["doctor"] = LAYERS["commit"] | {"commit", "kafka", "spark", "version"}
LAYERS["frames"] = LAYERS["sinks"] | {"sinks", "spark"}
LAYERS["rows"] = (LAYERS["frames"] - {"sinks"}) | {"database", "frames", "rowfiles"}
LAYERS["render"] = LAYERS["comparison"] | {"comparison", "doctor", "docs", "logs", "signals"}
LAYERS["commands"] = LAYERS["comparison"] | {"comparison", "frames", "spark", "rows"}
LAYERS["cli"] = LAYERS["render"] | {"render", "commands", "spark", "logs", "out_of_memory"}
LAYERS["__main__"] = {"cli", "out_of_memory", "signals", "unused_modules"}
LAYERS["ggfmt"] = {"cli", "commands", "comparison", "diagnostics", "frames", "rows", "sinks", "version"}
for layers in LAYERS.values():
    layers |= {"dataclasses", "lazy"}
LAYERS |= {"dataclasses": set(), "lazy": set()}

# The packages of `formats` that several systems share, from the lowest; all others are systems. What a package below
# `goldengate` shares with its neighbors is beside them.
SHARED = ("api", "avro", "json", "mysql", "connect", "records", "csv", "postgresql")

# Which modules may use a library; a name stands for all modules below it. pyarrow is for all but errors and options.
LIBRARIES: dict[str, set[str]] = {
    "pyspark": {"spark", "frames", "rows"},
    "py4j": {"spark"},
    "typer": {"cli"},
    "rich": {"cli", "render"},
    "lsprotocol": {"cli.lsp"},
    "pygls": {"cli.lsp"},
    "javaproperties": {"config.properties"},
    "lxml": {"formats.goldengate.xml.records"},
    "fastavro": {
        "formats.goldengate.avro",
        "formats.goldengate.container_files.columns",
        "formats.qlik.avro_read",
        "comparison.files",
        "rowfiles.writers",
        "formats.connect.avro_write",
        "formats.records.connect_avro",
    },
    "msgspec": {"columnar", "formats", "commit", "reading", "sinks", "definitions", "frames", "rows.readers"},
    "adbc_driver_postgresql": {"database.postgresql"},
    "pymysql": {"database.sql_connection", "rows.targets.mariadb_state"},
    "sqlalchemy": {"database.sql_connection"},
    "confluent_kafka": {"kafka"},
    "tomli": {"config.settings_file"},
    "typing_extensions": {"options.spec"},  # for type checkers alone, which bring it along
    "deltalake": {"rows.targets.delta"},
    "pyroaring": {"rowfiles.deleted_rows"},
    "pyiceberg": {"rows.targets.iceberg", "rows.targets.iceberg_deletes"},
    "pyarrow": {
        "arrow",
        "model",
        "columnar",
        "formats",
        "definitions",
        "kafka",
        "location",
        "commit",
        "reading",
        "sinks",
        "frames",
        "replicat",
    }
    | {"spark.attached", "comparison", "database", "replicat", "rowfiles", "rows"},
}

# Folders of tests/ that mirror no package.
OTHER_TESTS = {"bench", "consumers", "contract", "end_to_end", "fuzz", "golden", "lint", "project", "support", "tools"}

IMPORT_OF_TESTS = re.compile(r" *(?:from|import) (?:\w+\.)*test_")

MAX_LINES = 800
HEAVY = {"pyspark", "py4j", "pandas", "confluent_kafka"}


def name_of(path: Path) -> str:
    """`reading.files` for ggfmt/reading/files.py, `formats` for ggfmt/formats/__init__.py, `ggfmt` for itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "ggfmt"


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports(name: str) -> tuple[str, ...]:
    """All that a module imports anywhere, also inside of functions; of `from package import module` the module."""
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[str]:
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


@cache
def names_from(name: str) -> set[str]:
    """The names that a module imports from modules of ggfmt, as `reading.files.InputFile`."""
    nodes = (node for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))) if isinstance(node, ast.ImportFrom))
    return {f"{node.module}.{alias.name}".removeprefix("ggfmt.") for node in nodes for alias in node.names}


def libraries(name: str) -> set[str]:
    roots = {item.partition(".")[0] for item in imports(name)}
    return roots - set(sys.stdlib_module_names) - {"ggfmt", "__future__"}


def belongs_to(name: str, places: set[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def test_a_module_imports_only_from_lower_layers() -> None:
    layers = {name: name.partition(".")[0] for name in MODULES}
    assert set(layers.values()) - LAYERS.keys() == set(), "no layer of the design"
    used = {name: {module.partition(".")[0] for module in own_imports(name)} for name in MODULES}
    above = {name: used[name] - LAYERS[layer] - {layer} for name, layer in layers.items()}
    assert {name: layers for name, layers in above.items() if layers} == {}


def test_each_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_one_module_has_the_walk_of_a_run() -> None:
    steps = {
        "commit.commit.check_directories",
        "commit.commit.lock_all",
        "reading.checkpoint.open_checkpoint",
        "reading.checkpoint.warn_rejected_files_are_done",
        "reading.runner.warn_without_kernels",
    }
    taken = {step: [name for name in MODULES if step in names_from(name)] for step in steps}
    assert taken == {step: ["engine"] for step in steps}


@pytest.mark.parametrize("package", ["commit", "reading", "engine", "sinks", "frames", "rowfiles", "rows"])
def test_modules_import_each_other_in_no_circle(package: str) -> None:
    left = {name: own_imports(name) for name in MODULES if belongs_to(name, {package})}
    while ends := [name for name, used in left.items() if not used & (left.keys() - {name})]:
        for name in ends:
            del left[name]
    assert sorted(left) == []


def test_a_library_is_used_only_where_it_belongs() -> None:
    used = [(name, library) for name in MODULES for library in libraries(name)]
    assert [place for place in used if not belongs_to(place[0], LIBRARIES.get(place[1], set()))] == []


def test_every_library_of_the_table_is_a_dependency_that_is_used() -> None:
    used = {library for name in MODULES for library in libraries(name)}
    assert used == set(LIBRARIES)


def system_of(name: str) -> str:
    """The package of `formats` that a module belongs to: of those that have several formats, the one below them."""
    parts = name.split(".")[1:]
    inner = ".".join(parts[:2])
    return inner if f"formats.{inner}" in PACKAGES and parts[0] not in SHARED else parts[0]


PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
OF_FORMATS = [name for name in MODULES if name.startswith("formats.")]
SYSTEMS = {system_of(name) for name in OF_FORMATS} - set(SHARED)


def test_a_system_is_a_package() -> None:
    assert {f"formats.{place}" for place in SYSTEMS | set(SHARED)} <= PACKAGES
    assert {"canal", "goldengate.json"} <= SYSTEMS


def may_know(name: str, used: str) -> bool:
    """Whether a module of `formats` may import another one."""
    own, other = system_of(name), system_of(used)
    if own in SHARED:
        return other in SHARED[: SHARED.index(own) + 1]
    return other in (*SHARED, own, own.partition(".")[0])


def test_a_system_does_not_know_the_others_and_what_they_share_does_not_know_them() -> None:
    used = [(name, other) for name in OF_FORMATS for other in own_imports(name)]
    assert [place for place in used if place[1] == "formats"] == [], "a format does not look formats up"
    assert [place for place in used if place[1].startswith("formats.") and not may_know(*place)] == []


def test_declarations_load_neither_arrow_nor_decoders() -> None:
    program = (
        "import sys, ggfmt.rowfiles.formats; from ggfmt.formats import FORMATS; list(FORMATS.values())\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(ended.stdout.split())
    assert "ggfmt" in loaded
    assert loaded & {*HEAVY, "pyarrow", "msgspec", "lxml", "fastavro"} == set()


def test_a_module_can_be_read_in_one_go() -> None:
    lines = {name: path.read_text(encoding="utf-8").count("\n") for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_every_module_says_what_it_is() -> None:
    silent = [name for name, path in MODULES.items() if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert [name for name in silent if name != "__main__"] == []


def test_tests_are_where_their_package_is() -> None:
    for file in sorted(TESTS.rglob("test_*.py")):
        folder = file.parent.relative_to(TESTS)
        if folder.parts[:1] and folder.parts[0] not in OTHER_TESTS:
            assert (PACKAGE / folder / "__init__.py").exists(), f"{file} tests no package"
        elif not folder.parts:
            assert (PACKAGE / f"{file.stem.removeprefix('test_')}.py").exists(), f"{file} tests no module"
    assert {path.name for path in TESTS.iterdir() if path.is_dir()} >= OTHER_TESTS
    tested = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    assert {name for name in PACKAGES if "." not in name} - {"ggfmt"} <= tested


def test_what_tests_share_is_in_support() -> None:
    """Tests are not imported: their modules have the same name in several folders."""
    for file in TESTS.rglob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if IMPORT_OF_TESTS.match(line)] == [], file


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--version"],
        ["--help"],
        ["run", "--help"],
        ["formats"],
        ["options", "json"],
        ["options", "handler"],
        ["doctor"],
        ["docs"],
        ["docs", "GG205"],
        ["init", "json"],
        ["compare", "samples/rows.csv", "samples/dump.txt", "--key", "ID", "--csv-option", "b.dialect=mysql"],
        ["run", "samples/tcustord.json", "-c", "conf/json.properties", "-o", "OUT", "--master", "none"],
        ["consolidate", "samples/tcustord.json", "--key", "CUST_CODE", "-o", "OUT", "--master", "none"],
    ],
    ids=" ".join,
)
def test_what_needs_no_spark_does_not_load_it(arguments: list[str], tmp_path: Path) -> None:
    arguments = [str(tmp_path) if argument == "OUT" else argument for argument in arguments]
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
        [sys.executable, "-c", program, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=PACKAGE.parent,
    )
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    assert "ggfmt" in loaded
    by_arrow = {"pandas"} if "pyarrow" in loaded else set()  # which looks for it where it is installed
    assert loaded & HEAVY <= by_arrow
