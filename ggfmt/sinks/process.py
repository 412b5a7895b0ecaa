"""What the parameter file of a Replicat says to a command: its handler file, definitions and MAPs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, MissingFileError
from ggfmt.java.text import visible

if TYPE_CHECKING:
    from ggfmt.config.handlers import Configuration
    from ggfmt.formats.api.format import WriterSettings
    from ggfmt.model.selection import TableMaps
    from ggfmt.model.table import TableDef
    from ggfmt.replicat.statements import GivenParameter, ReplicatFile

log = logging.getLogger("ggfmt")


def log_findings(findings: Sequence[Diagnostic]) -> None:
    for finding in findings:
        log.warning("%s", visible(str(finding)))


class ReplicatProcess:
    """What the file of `--replicat` says to a command; without one, all is as other options say. `warn` gets its
    findings."""

    def __init__(self, given: str | None, warn: Callable[[Sequence[Diagnostic]], None] = log_findings) -> None:
        self._given, self._warn = given, warn

    @cached_property
    def _file(self) -> ReplicatFile | None:
        """Raises: ConfigurationError for a file that is not one."""
        if self._given is None:
            return None
        from ggfmt.diagnostics.codes import Severity
        from ggfmt.replicat.parse import read_parameters, stops_run

        found, findings = read_parameters(self._given)
        findings = [finding for finding in findings if finding.severity is not Severity.NOTE]
        if any(finding.severity is Severity.ERROR or stops_run(finding) for finding in findings):
            raise ConfigurationError.of(*findings)
        if not found.maps:
            message = "the file has no MAP, so that no operation reaches the handler"
            raise ConfigurationError("GG597", message, found.file, "give the parameter file of a Replicat")
        self._warn(findings)
        return found

    @property
    def group(self) -> str | None:
        """The name of the group, for templates."""
        return None if self._file is None else self._file.group

    def config(self, files: list[str]) -> list[str]:
        """Return the handler files: those given, or the one that the file names. Raises: MissingFileError."""
        file = self._file
        if file is None:
            return files
        if not files:
            from ggfmt.replicat.parse import properties_file

            return [_existing(properties_file(file), "give it with `-c`; ")]
        if file.properties is not None and os.path.basename(file.properties) not in map(os.path.basename, files):
            log.warning("%s names `%s`, but `-c` is used", visible(file.file), visible(file.properties))
        return files

    def definitions(self, given: dict[str, TableDef], source: WriterSettings) -> dict[str, TableDef]:
        """Return the definitions of the source's tables: those given, and those of SOURCEDEFS."""
        named = () if self._file is None else self._file.source_definitions
        return self._load(named, source) | given

    def maps(
        self,
        source: WriterSettings,
        configuration: Configuration | None = None,
        strict: bool = False,
        before_images: bool = False,
    ) -> TableMaps | None:
        """Return the MAPs. `configuration`: the handlers of messages, which may show before images, as everything
        does with `before_images`."""
        if self._file is None:
            return None
        from ggfmt.replicat.mapping import Replicat
        from ggfmt.sinks.messages.pipeline import HandlerSettings

        handlers = () if configuration is None else configuration.handlers
        shown = {HandlerSettings.of(each, configuration.run).shows_before_images for each in handlers if configuration}
        shows = True if before_images or True in shown else None if None in shown else False
        targets = self._load(self._file.target_definitions, source)
        kind = self._update_op_type() if configuration is None else configuration.run.update_op_type
        return Replicat(self._file, targets, strict, shows, kind)

    def _update_op_type(self) -> str | None:
        """Return the word for updates that the handler file states, for commands that read no handlers."""
        from ggfmt.config.properties import read_properties
        from ggfmt.replicat.parse import properties_file

        assert self._file is not None
        found = properties_file(self._file)
        entries = () if isinstance(found, Diagnostic) else read_properties(os.fspath(found)).entries
        return next((each.value.strip() for each in entries[::-1] if each.key == "ggfmt.updateOpType"), None)

    def _load(self, given: Sequence[GivenParameter], source: WriterSettings) -> dict[str, TableDef]:
        if self._file is None or not given:
            return {}
        from ggfmt.replicat.parse import find_definitions

        return load_definitions([_existing(find_definitions(each, self._file.file)) for each in given], source)


def _existing(found: Path | Diagnostic, help: str = "") -> str:
    """Return the path of a file that a parameter file names. Raises: MissingFileError GG597."""
    if isinstance(found, Diagnostic):
        raise MissingFileError("GG597", found.message, found.span, f"{help}{found.help}")
    return os.fspath(found)
