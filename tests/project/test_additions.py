"""What the pages of contributors add is all that it needs: formats, options, codes, lint rules and row formats.

All changes of the pages are made in a copy of the project. The formats `toy_lines` and `toy_rows` are asked there what
every format is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pages
import pytest
from dialects import lines, read, transactions_of
from places import ROOT
from runs import write_lines
from scanners import operations_taken, without_kernels

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DialectOptions, Format
from ggfmt.kernels import native

MODULES_OF_FORMAT = ("__init__", "read", "write")
NAME = "toy_lines"
LAYERS = "test_a_module_imports_only_from_lower_layers"
ON_PAGE = "toy_rows"
OF_ROWS = "toy_arrow"
CONTRACT_OF_TARGETS = "tests/contract/test_targets.py::test_a_target_keeps_its_contract"
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


TEXTS = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "ggfmt/docs/contribute").glob("*.md")}
_IN_FILE = re.compile(r"[Ii]n\s`([\w./-]+)`:|, `([\w./-]+)`:|of `([\w./-]+)`:")
PLACES = {
    "GG198.md": "ggfmt/docs/reference/codes",
    f"{ON_PAGE}.py": "tests/contract",
    f"rowfiles/{OF_ROWS}.py": "ggfmt",
    f"contract/targets/{OF_ROWS}.py": "tests",
}


def saved_blocks() -> dict[str, str]:
    """The files that pages say to save, by their names there."""
    return {block.name: block.body for text in TEXTS.values() for block in pages.blocks(text) if block.what == "saved"}


def changes_of(text: str) -> Iterator[tuple[str, str, str]]:
    """The changes of a page: a file, its lines, and what they become; "" for no lines: new ones at the end."""
    for block in pages.blocks(text):
        named = _IN_FILE.search(text[: block.start].rpartition("\n```")[0].rpartition("\n\n")[2])
        if named is not None and block.kind in ("diff", "python"):
            body = block.body.splitlines(keepends=True)
            kept = ["".join(line[1:] for line in body if line[0] != other) for other in "+-"]
            function = block.body[block.body.find("\n\n\n") :]
            yield next(filter(None, named.groups())), *(kept if block.kind == "diff" else ("", function))


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
        file = root / PLACES.get(path, "ggfmt/formats") / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name, old, new in (change for text in TEXTS.values() for change in changes_of(text)):
        text = (root / name).read_text(encoding="utf-8")
        assert not old or text.count(old) == 1, f"{name} has no such lines, or several times:\n{old}"
        (root / name).write_text(text.replace(old, new) if old else text + new, encoding="utf-8")
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
    assert sorted(saved_blocks()) == sorted([*PLACES, *modules])
    written = [path for name in (NAME, ON_PAGE) for path in (f"ggfmt/formats/{name}", f"tests/contract/{name}.py")]
    written += [f"{place}/{name}" for name, place in PLACES.items() if name.endswith(f"{OF_ROWS}.py")]
    written += ["ggfmt/rowfiles/formats.py"]
    for command in (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)):
        ended = python(project, "-m", *command, *written)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.long
def test_all_that_is_asked_of_formats_is_asked_of_a_new_one(project: Path) -> None:
    """All tests that have the formats as parameters, the contract and the pairs among them, and those of the layers;
    but those of the pages, which are written by hand."""
    left = ("test_documents.py", "test_additions.py")
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


def test_a_new_row_format_is_merged_compared_and_keeps_the_contract(project: Path) -> None:
    assert re.search(rf"iceberg\W+{OF_ROWS}", ggfmt(project, "consolidate", "--help"))
    changes = project / "changes"
    changes.mkdir()
    change = {"table": "GG.T", "op_ts": "2026-01-31 12:00:00.000000", "current_ts": "2026-01-31T12:00:00.000000"}
    for number, kind in enumerate(("I", "U")):
        operation = {**change, "op_type": kind, "pos": f"{number:020d}", "after": {"ID": "1", "V": kind}}
        (changes / f"{number}.json").write_text(json.dumps(operation))
        for to, more in ((OF_ROWS, ["--checkpoint", "seen"]), ("parquet", ["--mode", "overwrite"])):
            ggfmt(project, "consolidate", "changes", "-o", to, "--to", to, "--key", "ID", "--master", "none", *more)
        ggfmt(project, "compare", OF_ROWS, "parquet")
    (file,) = (project / OF_ROWS / "GG.T").iterdir()
    shutil.copy(file, project / "without_suffix")
    ggfmt(project, "compare", "without_suffix", str(file), "--key", "ID")
    options = ("-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-rA", "-k", f"{OF_ROWS}-")
    ended = python(project, "-m", "pytest", *options, "tests/contract/test_targets.py")
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr
    for rule in ("values_of_all_types", "quotes_in_names", "something_foreign_in_a_table"):
        assert f"PASSED {CONTRACT_OF_TARGETS}[{OF_ROWS}-{rule}]" in ended.stdout


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


def test_a_new_option_of_a_format_changes_its_messages(project: Path) -> None:
    assert "outputThreadId" in ggfmt(project, "options", "maxwell_json")
    record = {"table": "GG.T", "op_type": "I", "tokens": {"thread_id": "7"}, "after": {"ID": "1"}}
    write_lines(project / "thread.json", [record])
    handler = project / "maxwell.properties"
    handler.write_text("gg.handlerlist=h\ngg.handler.h.format=maxwell_json\n", encoding="utf-8")
    preview = ("preview", "thread.json", "-c", handler.name)
    assert '"thread_id":7' in ggfmt(project, *preview)
    assert "thread_id" not in ggfmt(project, *preview, "--set", "gg.handler.h.format.outputThreadId=false")


def test_a_new_option_of_a_command_is_one_of_the_program_too(project: Path) -> None:
    assert "--last-only" in ggfmt(project, "schema", "--help")
    for name in ("one", "two"):
        write_lines(project / f"{name}.json", [{"table": f"GG.{name}", "op_type": "I", "after": {"ID": "1"}}])
    both = ggfmt(project, "schema", "one.json", "two.json", "--kind", "json")
    last = ggfmt(project, "schema", "one.json", "two.json", "--kind", "json", "--last-only")
    assert "GG.one" in both and "GG.two" in both
    assert "GG.one" not in last and "GG.two" in last


def test_a_new_rule_reports_a_new_code(project: Path) -> None:
    page = saved_blocks()["GG198.md"]
    small, large = (
        "".join(line[1:] + "\n" for line in page.split("```")[1].splitlines()[1:] if line[0] != other) for other in "+-"
    )
    (project / "small.properties").write_text(small, encoding="utf-8")
    (project / "large.properties").write_text(large, encoding="utf-8")
    found = python(project, "-m", "ggfmt", "validate-config", "small.properties")
    assert "warning[GG198] `gg.handler.out.maxFileSize` makes many small files" in found.stdout
    assert "GG198" not in ggfmt(project, "validate-config", "large.properties")
    assert "many small files" in ggfmt(project, "explain", "GG198")


@pytest.fixture
def toy_rows(monkeypatch: pytest.MonkeyPatch) -> str:
    """The dialect of the page `add-a-format`, as a format."""
    code = saved_blocks()["toy_rows/read.py"]
    module = ModuleType("toy_rows")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, "add-a-format.md", "exec"), module.__dict__)
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
