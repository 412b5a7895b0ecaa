"""A bounded mutation run: small changes of ggfmt's modules, and whether a test notices each.

usage: python tests/tools/mutation.py --record [--suites M] [TEST ...]
       python tests/tools/mutation.py [--sample N] [--seed S] [--threshold P] [--exclude PART] [MODULE ...]

The first command runs the quick tests, or those of the suites M, and records in `.mutation/` which test executes which
line; with TEST, it records these and keeps the rest. The second command makes mutants. A mutant is one module with
one thing in it changed: a comparison, a boolean, a number or a word, an operator, what is returned, two arguments that
change places, a call, an exception or a jump that is left out. Tests that execute the line run against it in a copy of
the tree, and stop at the first failure (`Record.guards` says which). A mutant that they pass has survived: either no
test pins that place, or the change changes nothing (`EQUIVALENT` says why).

Left alone are texts for people (any text with a space in it), annotations, docstrings, assertions, decorators, and
lines that none of the recorded tests executes. Exit status 1 if fewer than P per cent (90) of the mutants that change
something are killed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import math
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from coverage import CoverageData
from places import ROOT
from suites import QUICK

RECORD = ROOT / ".mutation"
GUARDS_SECONDS = 30.0  # of processor time, for the tests of one mutant
SLOW_SECONDS = 3.0  # of processor time, for one test
SIDE_BY_SIDE = 2
MEMORY = 6 << 30
_COPIED = ("ggfmt", "tests", "samples", "conf", "README.md", "CHANGELOG.md", "pyproject.toml")
# The processor time that a mutant may take is this, and three times what the tests take without it; what waits for ever
# is ended by the clock.
_BASE_SECONDS = 60.0
_WAITS_SECONDS = 900.0

_COMPARISONS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}

# Changes that change nothing: module, line, the line that takes its place; and why no test can notice.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "ggfmt/formats/records/rows.py",
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=False)',
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=True)',
    ): "whether the garbage collector looks at rows is a matter of time",
    (
        "ggfmt/formats/json/files.py",
        r'while guess > 0 and not data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n")):',
        r'while guess > 0 and (data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n"))):',
    ): "a guess is proven before it is used: a worse one takes time",
    (
        "ggfmt/reading/rejects.py",
        'self._handler, self._kind, "", self._split, 0, location, self.size, 0, self._count, digest, None, None',
        'self._handler, self._kind, "", self._split, 1, location, self.size, 0, self._count, digest, None, None',
    ): "a split has one file of rejects of a kind, so that its number decides nothing",
    (
        "ggfmt/sinks/messages/run.py",
        "totals.steps = added(totals.steps, run.watch.seconds)",
        "totals.steps = added(run.watch.seconds, totals.steps)",
    ): "a sum is the same in both orders",
    (
        "ggfmt/config/refusals.py",
        'elif byte_order_mark(getattr(options, "encoding", "UTF-8")):',
        "elif byte_order_mark(getattr(options, \"encoding\", 'UTF-8X')):",
    ): "as UTF-8, a charset that is none has no byte order mark",
    (
        "ggfmt/java/regex.py",
        '"Cntrl": CodePoints.of((0, 31), (127, 127)),',
        '"Cntrl": CodePoints.of((127, 127), (0, 31)),',
    ): "a set of characters is the same in any order",
}

# Calls whose arguments may change places, or where any test would show it if they did.
_SYMMETRIC = ("min", "max", "and_", "or_", "and_kleene", "or_kleene", "equal", "not_equal", "add", "multiply")
_AS_GOOD = frozenset(("isinstance", "getattr", "setattr", "cast", *_SYMMETRIC))


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes of `module` from `start` to `end` become `new`."""

    module: str
    line: int
    kind: str
    function: str
    start: int
    end: int
    new: str
    before: str  # the lines that change
    after: str
    at_import: bool  # whether importing the module executes it, and not a call

    @property
    def place(self) -> str:
        return f"{self.module}:{self.line}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the mutant in `EQUIVALENT`, wherever its lines move to."""
        return self.module, self.before.strip(), self.after.strip()

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    @property
    def difference(self) -> str:
        lines = [
            *(f"    - {line}" for line in self.before.split("\n")),
            *(f"    + {line}" for line in self.after.split("\n")),
        ]
        return "\n".join(lines)


class Mutator(ast.NodeVisitor):
    """Collects the mutants of a module."""

    def __init__(self, module: str, source: bytes) -> None:
        self.module = module
        self.found: list[Mutant] = []
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._functions: list[str] = []
        self._calls = 0  # functions around a node
        self.visit(ast.parse(source))

    # Places

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _add(self, kind: str, start: int, end: int, new: str) -> None:
        first, last = self._source.rfind(b"\n", 0, start) + 1, self._source.find(b"\n", end)
        last = len(self._source) if last < 0 else last
        head, tail = self._source[first:start].decode(), self._source[end:last].decode()
        line, function = self._source.count(b"\n", 0, start) + 1, ".".join(self._functions)
        before = self._source[first:last].decode()
        after, at_import = head + new + tail, self._calls == 0
        self.found.append(Mutant(self.module, line, kind, function, start, end, new, before, after, at_import))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(kind, self._start(node), self._end(node), new)

    def _operator(self, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """The operator between two operands, where parentheses and line ends may be as well."""
        start, end = self._end(left), self._start(right)
        edge = r"\b" if old.isalpha() else ""
        match = re.search(f"{edge}{re.escape(old)}{edge}".encode().replace(rb"\ ", rb"\s+"), self._source[start:end])
        if match is not None:
            self._add(kind, start + match.start(), start + match.end(), new)

    # What is left alone

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # before Python 3.12 nothing in it has a place

    def visit_keyword(self, node: ast.keyword) -> None:
        strict = node.arg == "strict" and isinstance(node.value, ast.Constant) and node.value.value is True
        if not strict:  # `zip(..., strict=True)` is an assertion too
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not (isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"):
            self.generic_visit(node)

    def _body(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self._functions.append(node.name)
        if isinstance(node, ast.FunctionDef):
            self.visit(node.args)
        called = isinstance(node, ast.FunctionDef)
        self._calls += called
        for statement in node.body:
            self.visit(statement)
        self._calls -= called
        self._functions.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not any(isinstance(name, ast.Name) and name.id == "abstractmethod" for name in node.decorator_list):
            self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._body(node)

    # What is changed

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._operator("comparison", left, right, *_COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator("boolean", left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace("boolean", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = (ast.JoinedStr, ast.List, ast.Tuple)
        joins = any(
            isinstance(side, texts) or (isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)))
            for side in (node.left, node.right)
        )
        if type(node.op) in _OPERATORS and not joins:  # texts cannot be subtracted: any test would show it
            self._operator("operator", node.left, node.right, *_OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _OPERATORS:
            old, new = _OPERATORS[type(node.op)]
            for other in (f"{new}=", "="):
                self._operator("operator", node.target, node.value, f"{old}=", other)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace("constant", node, repr(not value))
        elif isinstance(value, int):
            self._replace("constant", node, repr(value + 1))
        elif isinstance(value, str) and not re.search(r"\S \S", value):
            self._replace("constant", node, repr(value + "X"))
        elif isinstance(value, bytes):
            self._replace("constant", node, repr(value + b"X"))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._replace("return", node.value, "None")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if len(node.args) >= 2 and called not in _AS_GOOD:
            first, second = node.args[:2]
            texts = self._text(first), self._text(second)
            if not any(isinstance(item, ast.Starred) for item in (first, second)) and texts[0] != texts[1]:
                between = self._source[self._end(first) : self._start(second)].decode()
                self._add("arguments", self._start(first), self._end(second), texts[1] + between + texts[0])
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._replace("left out", node, "None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace("left out", node, "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace("left out", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace("left out", node, "pass")

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        """A condition is turned round, unless it is one whose operator is changed."""
        if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.NamedExpr)):
            self._replace("condition", test, f"(not {self._text(test)})")


def mutants_of(module: str) -> list[Mutant]:
    return Mutator(module, (ROOT / module).read_bytes()).found


def compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.applied((ROOT / mutant.module).read_bytes()), mutant.module, "exec")
    except SyntaxError:
        return False
    return True


class Record:
    """Which test executes which line, as `--record` has found it."""

    def __init__(self, directory: Path) -> None:
        self.seconds: dict[str, float] = {}
        for file in directory.glob("seconds.*.json"):
            self.seconds |= json.loads(file.read_text(encoding="utf-8"))
        self._data = CoverageData(str(directory / "lines"))
        self._data.read()
        measured = {f"/{file}".rpartition("/ggfmt/")[2]: file for file in self._data.measured_files()}
        self._files = {f"ggfmt/{module}": file for module, file in measured.items()}
        self._lines: dict[str, dict[int, set[str]]] = {}
        self.digests: dict[str, str] = json.loads((directory / "digests.json").read_text(encoding="utf-8"))
        self.commit = (directory / "commit").read_text(encoding="utf-8")

    @cached_property
    def _tests_of_files(self) -> Counter[str]:
        return Counter(test.partition("::")[0] for test in self.seconds)

    @property
    def modules(self) -> list[str]:
        """The modules that tests execute, by their paths."""
        return sorted(self._files)

    def lines(self, module: str) -> dict[int, set[str]]:
        """The tests that execute each line of a module; those that are executed by its import alone have none."""
        if module not in self._lines:
            by_line = self._data.contexts_by_lineno(self._files[module])
            self._lines[module] = {line: set(tests) & self.seconds.keys() for line, tests in by_line.items()}
        return self._lines[module]

    def executing(self, mutant: Mutant) -> set[str]:
        """The tests that execute the lines of a mutant."""
        own = range(mutant.line, mutant.line + mutant.before.count("\n") + 1)
        return self.executing_lines(mutant.module, own, mutant.at_import)

    def executing_lines(self, module: str, own: Collection[int], at_import: bool = False) -> set[str]:
        """The tests that execute one of the lines; if an import executes them, all that use the module.

        An import is recorded for the test that happens to be the first of its process.
        """
        lines = self.lines(module)
        found = set().union(*(lines.get(line, set()) for line in own))
        if (at_import or not found) and any(line in lines for line in own):
            found = set().union(*lines.values())
        return found

    def guards(self, mutant: Mutant) -> list[str]:
        """The tests that run against a mutant."""
        return self.spread(self.executing(mutant))

    def spread(self, tests: Collection[str], limit: float = GUARDS_SECONDS) -> list[str]:
        """Of tests some of each file, as many as take `limit` seconds of processor time.

        Files most of whose tests are among them come first, for they are about the matter; of a file the quick ones.
        Slow tests come last: one of them may take as long as all others.
        """
        files: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            files.setdefault(test.partition("::")[0], []).append(test)
        ordered = sorted(files, key=lambda file: (-len(files[file]) / self._tests_of_files[file], file))
        turns = (test for turn in zip_longest(*(files[file] for file in ordered)) for test in turn if test)
        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(turns, key=lambda test: self.seconds[test] > SLOW_SECONDS):
            if chosen and seconds + self.seconds[test] > limit:
                continue
            chosen.append(test)
            seconds += self.seconds[test] + 0.01
        return chosen


def record(directory: Path, tests: Sequence[str], suites: str = QUICK) -> None:
    """Run the tests of some suites, or those that are named, and record what they execute."""
    if not tests:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(exist_ok=True)
    environment = {**os.environ, "GGFMT_RECORD": str(directory), "PYTHONPATH": str(Path(__file__).parent)}
    options = ["-p", "mutation_record", "-p", "no:cacheprovider", "-m", suites]
    ended = subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=ROOT, env=environment, check=False)
    if ended.returncode:
        raise SystemExit("tests fail as they are")
    combine(directory)


def combine(directory: Path) -> None:
    """Make one record of what several processes have recorded, with the digests of the modules."""
    whole = CoverageData(str(directory / "lines"))
    whole.read()
    for part in sorted(directory.glob("lines.*")):
        data = CoverageData(str(part))
        data.read()
        whole.update(data)
        part.unlink()
    whole.write()
    digests = {str(path.relative_to(ROOT)): digest(path) for path in (ROOT / "ggfmt").rglob("*.py")}
    (directory / "digests.json").write_text(json.dumps(digests), encoding="utf-8")
    (directory / "commit").write_text(commit(), encoding="utf-8")


def commit() -> str:
    """The commit that is checked out, or one of the working tree if that is changed."""
    for command in (["stash", "create"], ["rev-parse", "HEAD"]):
        ended = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.stdout:
            return ended.stdout.strip()
    return ""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Place:
    """A copy of the tree in which the tests run against one mutant at a time."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / ROOT.name
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, self.root / name)
        shared = ROOT.parent / "shared"
        if shared.exists():
            (directory / "shared").symlink_to(shared)
        temporary = directory / "tmp"
        temporary.mkdir()
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "TMPDIR": str(temporary),
            "HOME": str(temporary),
        }
        subprocess.run([sys.executable, "-m", "compileall", "-q", "ggfmt"], cwd=self.root, check=True)
        # Python distinguishes compiled files by their seconds and sizes, which a mutant may share with its module.
        self._environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def run(self, tests: Sequence[str], limit: float = _WAITS_SECONDS) -> bool:
        """Whether the tests pass within `limit` seconds of processor time."""
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not spark and not long", "--tb=line"]
        command = [sys.executable, "-m", "pytest", *options, *tests]

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))

        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=limited,
        )
        try:
            self.shown, _ = process.communicate(timeout=_WAITS_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.shown, _ = process.communicate()
        return process.returncode == 0

    def survives(self, mutant: Mutant, guards: Sequence[str], limit: float) -> bool:
        """Whether the tests pass with a mutant as they do without it."""
        path = self.root / mutant.module
        source = path.read_bytes()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        path.write_bytes(mutant.applied(source))
        try:
            return self.run(guards, limit)
        finally:
            path.write_bytes(source)


def chosen(recorded: Record, modules: Sequence[str], sample: int | None, seed: int) -> list[Mutant]:
    """A sample of the mutants that a recorded test executes, in the order of the draw: a run that is ended early is a
    sample too."""
    every = [mutant for module in modules for mutant in mutants_of(module)]
    random.Random(seed).shuffle(every)
    executed = (mutant for mutant in every if recorded.executing(mutant) and compiles(mutant))
    return list(executed if sample is None else islice(executed, sample))


def matching(wanted: Sequence[str], excluded: Sequence[str], modules: Sequence[str]) -> list[str]:
    """The modules that are named, by a path or a part of one, less those that are excluded; all if none is named."""
    found = [
        module
        for module in modules
        if (not wanted or any(part in module for part in wanted)) and not any(part in module for part in excluded)
    ]
    if not found:
        raise SystemExit(f"no test executes a module named {' or '.join(wanted) or 'so'}")
    return found


@contextlib.contextmanager
def places(count: int) -> Iterator[queue.Queue[Place]]:
    with tempfile.TemporaryDirectory(prefix="mutation-") as directory:
        free: queue.Queue[Place] = queue.Queue()
        for number in range(count):
            (Path(directory) / str(number)).mkdir()
            free.put(Place(Path(directory) / str(number)))
        yield free


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a module or a part of its path (all); or a test")
    parser.add_argument("--record", action="store_true", help="record which test executes which line")
    parser.add_argument("--suites", default=QUICK, metavar="M", help=f"what to record, as for pytest -m ({QUICK})")
    parser.add_argument("--exclude", action="append", default=[], metavar="PART", help="leave out modules of that path")
    parser.add_argument("--sample", type=int, metavar="N", help="that many mutants, drawn by the seed (all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--threshold", type=float, default=90.0, metavar="P", help="least per cent killed (90)")
    parser.add_argument("--list", action="store_true", help="print the mutants with their tests and run none")
    arguments = parser.parse_args()
    if arguments.record:
        record(RECORD, arguments.names, arguments.suites)
        return 0
    if not (RECORD / "digests.json").exists():
        raise SystemExit("there is no record of what tests execute; `--record` makes it")
    recorded = Record(RECORD)
    modules = matching(arguments.names, arguments.exclude, recorded.modules)
    stale = [module for module in modules if recorded.digests.get(module) != digest(ROOT / module)]
    if stale:
        raise SystemExit(f"the record is older than {', '.join(stale)}; `--record` makes it again")
    mutants = chosen(recorded, modules, arguments.sample, arguments.seed)
    if arguments.list:
        for mutant in mutants:
            print(
                f"{mutant.place}: {mutant.kind}\n{mutant.difference}\n    {' '.join(recorded.guards(mutant)[:3])} ..."
            )
        return 0
    with places(SIDE_BY_SIDE) as free:
        return judged(mutants, recorded, free, arguments.threshold)


def judged(mutants: Sequence[Mutant], recorded: Record, free: queue.Queue[Place], threshold: float) -> int:
    killers: set[str] = set()

    def one(mutant: Mutant) -> tuple[Mutant, str]:
        guards = recorded.guards(mutant)
        place = free.get()
        try:
            limit = 3 * sum(recorded.seconds[test] for test in guards) + _BASE_SECONDS
            survives = place.survives(mutant, guards, limit)
            if not survives:
                failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", place.shown, re.MULTILINE)
                killers.add(failed[1] if failed and failed[1] in guards else guards[0])
        finally:
            free.put(place)
        same = mutant.key in EQUIVALENT
        word = "killed" if not survives else "equivalent" if same else "SURVIVED"
        print(f"{word:10} {mutant.place} {mutant.kind}, {len(guards)} tests", flush=True)
        return mutant, word

    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        results = list(threads.map(one, mutants))
    # All at once: one start of pytest takes as long as most of these tests.
    place = free.get()
    if killers and not place.run(sorted(killers)):
        raise SystemExit(f"a test fails without a mutant\n{place.shown}")
    return told(results, threshold)


def told(results: Sequence[tuple[Mutant, str]], threshold: float) -> int:
    """Print the survivors and the figures; the exit status."""
    results = sorted(results, key=lambda result: (result[0].module, result[0].start))
    for mutant, word in results:
        if word == "SURVIVED":
            print(f"\n{mutant.place}: {mutant.kind} in {mutant.function or 'the module'}")
            print(mutant.difference)
    words = Counter(word for _, word in results)
    print()
    for module in dict.fromkeys(mutant.module for mutant, _ in results):
        counts = Counter(word for mutant, word in results if mutant.module == module)
        print(f"{counts['killed']:4} of {counts['killed'] + counts['SURVIVED']:4} killed in {module}")
    changing = words["killed"] + words["SURVIVED"]
    share = 100 * words["killed"] / changing if changing else 100.0
    print(f"{words['killed']} of {changing} killed ({share:.1f} %), {words['equivalent']} that change nothing")
    return 0 if share >= threshold else 1


if __name__ == "__main__":
    sys.exit(main())
