"""The files to check: those that files, directories, globs and `-` on a command line name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import BinaryIO

from ggfmt.config.foreign_files import ENDINGS, describe_foreign, find_nearby
from ggfmt.config.lint.reading import PARAMETER_ENDING, is_checked, is_parameter_file
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic

STANDARD_INPUT = "-"

NAME_OF_STANDARD_INPUT = "<stdin>"


@dataclass(frozen=True)
class HandlerFile:
    name: str
    path: str | None
    content: bytes = field(repr=False)

    @cached_property
    def has_properties(self) -> bool:
        return is_checked(self.content, self.name)


@dataclass(frozen=True)
class HandlerFiles:
    """The files of the arguments, each file once, in order; and the names of files without keys of GoldenGate.

    `findings`: a GG100 for each argument without a file, and for each file that cannot be read or checked.
    """

    found: tuple[HandlerFile, ...]
    passed_over: tuple[str, ...]
    findings: tuple[Diagnostic, ...]


def find_sources(
    arguments: Sequence[str],
    standard_input: BinaryIO,
    name_of_standard_input: str = NAME_OF_STANDARD_INPUT,
    pass_over: bool = False,
) -> HandlerFiles:
    """Return the files that the arguments name, and their content.

    A directory stands for the `*.properties`, `*.props` and `*.prm` files below it. A Replicat's parameter file brings
    the handler file that it names. In directories and globs, files without a
    key of GoldenGate are skipped, because other programs have such names too; `pass_over`: named files are skipped
    likewise.
    """
    return _Search(standard_input, name_of_standard_input, pass_over).sources(arguments)


@dataclass
class _Search:
    standard_input: BinaryIO
    name_of_standard_input: str
    pass_over: bool
    found: dict[str, HandlerFile | None] = field(default_factory=dict)
    findings: list[Diagnostic] = field(default_factory=list)

    def sources(self, arguments: Sequence[str]) -> HandlerFiles:
        for argument in arguments:
            known = len(self.findings)
            if not self._take(argument) and len(self.findings) == known:
                kind = "directory has no handler file" if os.path.isdir(argument) else "pattern fits no file"
                help = f"a handler file ends in {' or '.join(f'`{ending}`' for ending in ENDINGS)} and has `gg.` keys"
                self._report(f"the {kind}", argument, help if os.path.isdir(argument) else None)
        for source in list(self.found.values()):
            if source is not None and source.path is not None and is_parameter_file(source.name):
                self._take_pair(source)
        files = [source for source in self.found.values() if source is not None]
        ours = tuple(source for source in files if source.has_properties)
        reported = {finding.span.file for finding in self.findings}
        others = (source.name for source in files if not source.has_properties and source.name not in reported)
        return HandlerFiles(ours, tuple(others), tuple(dict.fromkeys(self.findings)))

    def _take_pair(self, source: HandlerFile) -> None:
        from ggfmt.replicat.parse import parse_content, properties_file

        replicat = parse_content(source.content, source.name)[0]
        named = properties_file(replicat) if source.has_properties else None
        if named is not None and not isinstance(named, Diagnostic):
            self._file(str(named))

    def _take(self, argument: str) -> bool:
        if argument == STANDARD_INPUT:
            if argument not in self.found:
                self.found[argument] = HandlerFile(self.name_of_standard_input, None, self.standard_input.read())
            self._check_named(self.found[argument])
            return True
        if os.path.lexists(argument) or not glob.has_magic(argument):
            found = self._take_path(argument)
            if not os.path.isdir(argument):
                self._check_named(self.found.get(os.path.realpath(argument)))
            return found
        paths = sorted(glob.glob(argument, recursive=True), key=_by_name)
        taken = [self._take_path(path) for path in paths]
        return any(taken)

    def _check_named(self, source: HandlerFile | None) -> None:
        if source is None or source.has_properties or self.pass_over:
            return
        message, help = describe_foreign(source.content)
        if is_parameter_file(source.name):
            from ggfmt.config.lint.parameter_files import is_of_others

            if is_of_others(source.content):
                return
            message, help = "this is not the parameter file of a Replicat", "give the file that has REPLICAT and MAP"
        self._report(message, source.name, help)

    def _take_path(self, path: str) -> bool:
        if os.path.isdir(path):
            members = [self._file(member) for member in self._members(path)]
            return any(source is None or source.has_properties for source in members)
        self._file(path)
        return True

    def _file(self, path: str) -> HandlerFile | None:
        real = os.path.realpath(path)
        if real not in self.found:
            self.found[real] = None
            try:
                with open(path, "rb") as stream:
                    self.found[real] = HandlerFile(path, path, stream.read())
            except OSError as error:
                self._report_unreadable(error, find_nearby(path) if isinstance(error, FileNotFoundError) else None)
        return self.found[real]

    def _members(self, directory: str) -> Iterator[str]:
        paths = []
        for parent, directories, names in os.walk(directory, onerror=self._report_unreadable):
            directories[:] = [name for name in directories if not name.startswith(".")]
            for name in names:
                path = os.path.join(parent, name)
                # A pipe, for example, may never have data. A broken link is reported.
                is_file = os.path.isfile(path) or not os.path.exists(path)
                if name.endswith((*ENDINGS, PARAMETER_ENDING)) and not name.startswith(".") and is_file:
                    paths.append(path)
        yield from sorted(paths, key=_by_name)

    def _report_unreadable(self, error: OSError, help: str | None = None) -> None:
        kind = "directory" if isinstance(error.filename, str) and os.path.isdir(error.filename) else "file"
        self._report(f"the {kind} cannot be read: {error.strerror}", error.filename, help)

    def _report(self, message: str, name: str, help: str | None = None) -> None:
        self.findings.append(Diagnostic("GG100", message, name, help))


def _by_name(path: str) -> list[str]:
    return path.split(os.sep)


def relative_name(name: str, directory: str | None = None) -> str | None:
    """Return a file relative to a directory, or to the working directory; None if the file is not below it."""
    relative = os.path.relpath(name, directory or os.curdir)
    return None if relative.split(os.sep)[0] == os.pardir else relative
