"""Settings of the linter: `ggfmt.toml`, `[tool.ggfmt]` in a `pyproject.toml`, and the command line.

As with ruff, the settings of a file are those of the nearest directory above it that has any, `ggfmt.toml` before
`pyproject.toml`; directories farther up do not count. An option of the command line replaces the setting of the same
name, except that `extend-ignore` and the codes ignored by file are added.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from ggfmt.config import in_ci
from ggfmt.config.lint.reading import ALL, FileIgnores, Rules, unknown
from ggfmt.config.settings_file import FILE_NAME, OF_LINTER, OF_RUNS, parse_toml
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, list_names, suggestion
from ggfmt.lazy import lazy_regex

_SHARED_FILE = "pyproject.toml"
_TABLE = lazy_regex(rb"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*\"?ggfmt\"?[ \t]*[\].]", re.MULTILINE)


@dataclass(frozen=True)
class ReportedFindings:
    """The findings to report, according to one place; None for a setting that the place does not have."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_ignore: tuple[str, ...] = ()
    by_file: tuple[FileIgnores, ...] = ()
    machine: bool | None = None
    exclude: tuple[FileIgnores, ...] = ()

    def under(self, other: ReportedFindings) -> ReportedFindings:
        return ReportedFindings(
            self.select if other.select is None else other.select,
            self.ignore if other.ignore is None else other.ignore,
            (*self.extend_ignore, *other.extend_ignore),
            (*self.by_file, *other.by_file),
            self.machine if other.machine is None else other.machine,
            (*self.exclude, *other.exclude),
        )

    def rules(self, path: str) -> Rules:
        path = os.path.abspath(path)
        never = (code for ignores in self.by_file if ignores.hold_for(path) for code in ignores.codes)
        machine = not in_ci() if self.machine is None else self.machine
        ignore = (*(self.ignore or ()), *self.extend_ignore)
        return Rules((ALL,) if self.select is None else self.select, ignore, tuple(never), machine)


class Settings:
    """The settings of files; each directory is read once. `isolated`: only those of the command line."""

    def __init__(self, command_line: ReportedFindings, isolated: bool = False) -> None:
        self._command_line = command_line
        self._isolated = isolated
        self._found: dict[str, ReportedFindings] = {}

    def rules(self, path: str) -> Rules:
        """Return the rules for a file. Raises: UsageError with every GG133 of its settings."""
        return self._of(path).under(self._command_line).rules(path)

    def is_excluded(self, path: str) -> bool:
        """Return whether `exclude` fits a file, or a directory above it. Raises: UsageError as `rules`."""
        return any(glob.hold_for(os.path.abspath(path)) for glob in self._of(path).exclude)

    def _of(self, path: str) -> ReportedFindings:
        directory = os.path.dirname(os.path.abspath(path))
        return ReportedFindings() if self._isolated else self._above(directory)

    def _above(self, directory: str) -> ReportedFindings:
        if directory not in self._found:
            found = _read(directory)
            parent = os.path.dirname(directory)
            if found is None:
                found = ReportedFindings() if parent == directory else self._above(parent)
            self._found[directory] = found
        return self._found[directory]


def command_line(
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    extend_ignore: Sequence[str] | None,
    machine: bool | None,
) -> ReportedFindings:
    """Return the choice of a command line. Raises: UsageError with a GG133 for each invalid code."""
    problems: list[Diagnostic] = []
    codes: list[tuple[str, ...] | None] = []
    for option, given in (("--select", select), ("--ignore", ignore), ("--extend-ignore", extend_ignore)):
        listed = [code.strip() for text in given or () for code in text.split(",") if code.strip()]
        codes.append(tuple(listed) if given else None)
        if option == "--select" and given and not listed:
            problems.append(Diagnostic("GG133", "`--select` names no code", Span(), f"write `{ALL}` for all"))
        for code in listed:
            help = unknown(code)
            if help is not None:
                problems.append(Diagnostic("GG133", f"`{option}` names `{code}`, which is not a code", Span(), help))
    if problems:
        raise UsageError.of(*problems)
    return ReportedFindings(codes[0], codes[1], codes[2] or (), (), machine)


def _read(directory: str) -> ReportedFindings | None:
    paths = (os.path.join(directory, name) for name in (FILE_NAME, _SHARED_FILE))
    return next((choice for path in paths if os.path.isfile(path) and (choice := _read_file(path)) is not None), None)


def _read_file(path: str, extending: tuple[str, ...] = ()) -> ReportedFindings | None:
    """Return the settings of a file; None without any. `extending`: the files that extend it."""
    shared = os.path.basename(path) == _SHARED_FILE
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        # A file of another program is not parsed: it may even be invalid.
        if shared and not _TABLE.search(content):
            return None
        return _SettingsParser(path, content.decode("utf-8-sig"), extending).choice(shared)
    except OSError as error:
        place = extending[-1] if extending else path
        named = f"`{path}`, which `extend` names," if extending else "the file"
        raise UsageError("GG133", f"{named} cannot be read: {error.strerror}", place) from None
    except UnicodeDecodeError:
        raise UsageError("GG133", "the file is not UTF-8", path) from None


class _SettingsParser:
    def __init__(self, path: str, text: str, extending: tuple[str, ...]) -> None:
        self.path = path
        self.text = text
        self.extending = (*extending, path)
        self.problems: list[Diagnostic] = []

    def choice(self, shared: bool) -> ReportedFindings | None:
        """Return the settings; None if the file has those of runs alone. `shared`: in a table of `pyproject.toml`."""
        table: Any = parse_toml(self.text, self.path, "GG133")
        for name in ("tool", "ggfmt") if shared else ():
            table = table.get(name, {}) if isinstance(table, dict) else {}
        if not isinstance(table, dict):
            self._report("tool.ggfmt", "is not a table")
            table = {}
        readers = (self._codes, self._codes, self._codes, self._by_file, self._switch, self._globs, self._extended)
        known: dict[str, Callable[[str, Any], Any]] = dict(zip(OF_LINTER, readers, strict=True))
        if not shared:
            of_runs = table.keys() & OF_RUNS
            table = {name: value for name, value in table.items() if name not in of_runs}
            if of_runs and not table:
                return None
        values = {}
        for name, value in table.items():
            read = known.get(name)
            if read is None:
                help = suggestion(name, known) or f"settings are {list_names(known)}"
                self._report(name, "is not a setting of the linter", help)
            else:
                values["by_file" if name == "per-file-ignores" else name.replace("-", "_")] = read(name, value)
        if self.problems:
            raise UsageError.of(*self.problems)
        base = values.pop("extend", None) or ReportedFindings()
        own = ReportedFindings(**values)
        return base.under(own)

    def _codes(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
            self._report(name, "is not a list of codes", f'write `{name.split(".")[0]} = ["GG101"]`')
            return ()
        for code in value:
            help = unknown(code)
            if help is not None:
                self._report(name, f"names `{code}`, which is not a code", help, code)
        return tuple(value)

    def _by_file(self, name: str, value: Any) -> tuple[FileIgnores, ...]:
        if not isinstance(value, dict):
            self._report(name, "is not a table of globs", f'write `{name} = {{ "old/*.properties" = ["GG101"] }}`')
            return ()
        directory = os.path.dirname(self.path)
        return tuple(FileIgnores(directory, glob, self._codes(glob, codes)) for glob, codes in value.items())

    def _globs(self, name: str, value: Any) -> tuple[FileIgnores, ...]:
        if not isinstance(value, list) or not all(isinstance(glob, str) for glob in value):
            self._report(name, "is not a list of globs", f'write `{name} = ["old/*"]`')
            return ()
        ends = ("", "/*")  # a file, and all below a directory
        return tuple(
            FileIgnores(os.path.dirname(self.path), glob.rstrip("/") + end, ()) for glob in value for end in ends
        )

    def _extended(self, name: str, value: Any) -> ReportedFindings | None:
        path = os.path.join(os.path.dirname(self.path), value) if isinstance(value, str) else ""
        if not path:
            self._report(name, "is not the path of a settings file", f'write `{name} = "../{FILE_NAME}"`')
        elif any(os.path.realpath(path) == os.path.realpath(known) for known in self.extending):
            self._report(name, "goes back to a file that it extends", "name another file")
        else:
            return _read_file(path, self.extending)
        return None

    def _switch(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self._report(name, "is neither `true` nor `false`")
        return bool(value)

    def _report(self, name: str, problem: str, help: str | None = None, word: str | None = None) -> None:
        self.problems.append(Diagnostic("GG133", f"`{name}` {problem}", self._place(word or name), help))

    def _place(self, word: str) -> Span:
        """Find a word, whose place the parser does not report."""
        match = re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", self.text)
        if match is None:
            return Span(self.path)
        before = self.text[: match.start()]
        line = before.count("\n")
        column = match.start() - (before.rfind("\n") + 1)
        return Span(self.path, line + 1, column + 1, len(word), self.text.split("\n")[line])
