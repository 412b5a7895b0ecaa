"""A new format needs its folder, its registry line, its contract, and nothing else.

The whole examples of the page `extending`, `toy_lines` and `toy_rows`, are written into a copy of the project, and
asked what every format is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pages
import pytest
from dialects import lines, read, transactions_of
from places import ROOT
from scanners import operations_taken, without_kernels

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import DialectOptions
from ggfmt.kernels import native

MODULES_OF_FORMAT = ("__init__", "read", "write")
REGISTRY = "ggfmt/formats/__init__.py"
ENTRIES = "ENTRIES: dict[str, FormatEntry] = {"
NAME = "toy_lines"
LAYERS = "test_a_module_imports_only_from_lower_layers"
ON_PAGE = "toy_rows"
CONTRACT = '''"""The contract of `toy_lines`."""

from __future__ import annotations

from hypothesis import strategies as st
from oracle import PlainOperation, row_image
from strategies import changes

from contract import Case, Contract


def shown(case: Case) -> list[PlainOperation]:
    """One image of each operation."""
    return [
        PlainOperation(
            item.op,
            None,
            None,
            row_image(item) if item.op == "D" else None,
            row_image(item) if item.op in "IU" else None,
            {},
        )
        for item in case.operations
    ]


CONTRACTS = {
    "toy_lines": Contract(
        st.builds(Case, changes(), st.fixed_dictionaries({"separator": st.sampled_from(["|", ";"])})),
        shown,
        records=[b"I|GG.T|ID=1|NAME=x%7Cy", b"U|GG.T|ID=1|NAME", b"D|GG.T|ID=1|NAME=", b"T|GG.T"],
        texts=False,
    )
}
'''
HANDLER = "gg.handlerlist=h\ngg.handler.h.format=toy_lines\ngg.handler.h.format.separator=;\n"


def saved_blocks() -> dict[str, str]:
    """The files that the page `extending` says to save, by their names there."""
    page = (ROOT / "ggfmt/docs/contribute/extending.md").read_text(encoding="utf-8")
    return {block.name: block.body for block in pages.blocks(page) if block.what == "saved"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more format."""
    root = tmp_path_factory.mktemp("project")
    for name in ("ggfmt", "tests", "samples", "conf"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("golden"))
    (root / "tests" / "golden").symlink_to(ROOT / "tests" / "golden")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root / name)
    for path, text in saved_blocks().items():
        file = root / ("ggfmt/formats" if "/" in path else "tests/contract") / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    registry = (root / REGISTRY).read_text(encoding="utf-8")
    page = (ROOT / "ggfmt/docs/contribute/extending.md").read_text(encoding="utf-8")
    lines = [f"    {line}" for line in re.findall(r'`("toy_\w+": FormatEntry\(.+\),)`', page)]
    assert len(lines) == 2 and registry.count(ENTRIES) == 1
    (root / REGISTRY).write_text(registry.replace(ENTRIES, "\n".join((ENTRIES, *lines))), encoding="utf-8")
    (root / "tests/contract" / f"{NAME}.py").write_text(CONTRACT, encoding="utf-8")
    (root / "toy.properties").write_text(HANDLER, encoding="utf-8")
    for name in (NAME, ON_PAGE):
        (root / "conf" / f"{name}.properties").write_text(ggfmt(root, "init", name), encoding="utf-8")
    return root


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
    )


def ggfmt(project: Path, *arguments: str) -> str:
    ended = python(project, "-m", "ggfmt", *arguments)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.long
def test_the_example_is_written_as_all_code_is(project: Path) -> None:
    modules = [f"{name}/{module}.py" for name in (NAME, ON_PAGE) for module in MODULES_OF_FORMAT]
    assert sorted(saved_blocks()) == sorted([f"{ON_PAGE}.py", *modules])
    written = [path for name in (NAME, ON_PAGE) for path in (f"ggfmt/formats/{name}", f"tests/contract/{name}.py")]
    for command in (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)):
        ended = python(project, "-m", *command, *written)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.long
def test_all_that_is_asked_of_formats_is_asked_of_a_new_one(project: Path) -> None:
    """All tests that have the formats as parameters, the contract and the pairs among them, and those of the layers;
    but those of the pages, which are written by hand."""
    left = ("test_documents.py", "test_new_format.py")
    files = sorted((project / "tests").rglob("test_*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.name not in left}
    asked = [str(path.relative_to(project)) for path, text in texts.items() if "FORMATS" in text or "MODULES" in text]
    ended = python(
        project,
        "-m",
        "pytest",
        "-o",
        "addopts=--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-rA",
        "-k",
        f"{NAME} or {ON_PAGE} or {LAYERS}",
        *asked,
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr
    for name in (NAME, ON_PAGE):
        for rule in ("round_trip", "cuts", "damaged_records", "projections", "recognised"):
            test = f"tests/contract/test_contract.py::test_a_format_keeps_its_contract[{name}-{rule}]"
            assert f"PASSED {test}" in ended.stdout
    assert f"PASSED tests/project/test_architecture.py::{LAYERS}" in ended.stdout


def test_commands_know_a_new_format(project: Path) -> None:
    assert re.search(rf"^{NAME} +yes +yes +Toy lines: one line", ggfmt(project, "formats"), re.MULTILINE)
    assert "separator" in ggfmt(project, "options", NAME)
    assert "Toy lines" in ggfmt(project, "explain", NAME)
    assert "separator" in ggfmt(project, "explain", "gg.handler.h.format.separator")
    ggfmt(project, "validate-config", "toy.properties")
    wrong = python(
        project, "-m", "ggfmt", "validate-config", "toy.properties", "--set", "gg.handler.h.format.separator=!"
    )
    assert wrong.returncode != 0
    shown = ggfmt(project, "preview", "samples/tcustord.json", "-c", "toy.properties")
    assert "I;GG.TCUSTORD;" in shown


def test_a_run_writes_a_new_format_and_reads_it(project: Path) -> None:
    program = """
import json, sys
from pathlib import Path
sys.path.insert(0, "tests/support")
from runs import content, run_ggfmt

toy = ("gg.handler.h.format=toy_lines",)
run_ggfmt([Path("samples/tcustord.json")], Path("one"), *toy)
run_ggfmt([Path("one/h")], Path("two"), *toy, input_format="auto", split_size=100)
print(json.dumps([content(Path(name), "h").decode() for name in ("one", "two")]))
"""
    ended = python(project, "-c", program)
    assert ended.returncode == 0, ended.stderr
    one, two = json.loads(ended.stdout.splitlines()[-1])
    assert one == two
    assert one.count("\n") == 14


@pytest.fixture
def toy_rows(monkeypatch: pytest.MonkeyPatch) -> str:
    """The dialect of the page `extending`, as a format."""
    page = (ROOT / "ggfmt/docs/contribute/extending.md").read_text(encoding="utf-8")
    code = next(
        block for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "ToyRow" in block
    )
    module = ModuleType("toy_rows")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, "extending.md", "exec"), module.__dict__)
    format = Format(name="toy_rows", doc="", options=DialectOptions, writes=None, reads=module.__name__)
    monkeypatch.setitem(FORMATS._made, format.name, format)
    return format.name


def test_one_declaration_of_a_record_serves_the_exact_reader_and_the_scanner(toy_rows: str) -> None:
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("insert", {"xid": 7}),
        ("update", {"comment": {}}),
        ("delete", {"xid": None}),
        ("insert", {"new": 1}),
    ]
    rows = [
        {"kind": kind, "table": "GG.T", "row": {"ID": str(number)}, "at": 1714979289123, "seq": number, **more}
        for number, (kind, more) in enumerate(kinds)
    ]
    data = lines(*rows, {"kind": "merge", "table": "GG.T"}, {"kind": "insert"})
    with operations_taken() as taken:
        found = read(toy_rows, data)
    assert [operation.op for operation in found.plain] == ["I", "U", "D", "I"]
    assert [operation.pos for operation in found.plain] == ["0", "1", "2", "3"]
    assert {operation.op_ts for operation in found.plain} == {"2024-05-06 07:08:09.123000"}
    assert found.plain[0].tokens == {"xid": "7"}
    assert found.members == {"new": 1}
    assert [reason.partition(" ")[0] for reason in found.reasons] == ["GG304", "GG305"]
    assert (taken.operations > 0) == (native is not None)
    with without_kernels():
        exact = read(toy_rows, data)
    assert (exact.plain, exact.reasons) == (found.plain, found.reasons)
    assert transactions_of(toy_rows, data) == ["7", None, None, None]
