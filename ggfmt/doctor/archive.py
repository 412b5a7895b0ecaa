"""The class archive: whether there is one that fits, and making one."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.doctor.finding import Finding, State, size_text
from ggfmt.spark.class_archive import ClassArchive, cache_directory, can_have_archive, class_archive
from ggfmt.spark.java_home import Java
from ggfmt.spark.session import SparkRunner, SparkSettings

_ELSEWHERE = "export XDG_CACHE_HOME with a directory that can be written and has room"
_LARGEST = 200_000_000
_MAKES = "`ggfmt doctor --class-archive` makes one"

log = logging.getLogger("ggfmt")


def find_archive(java: Java | None, home: Path | None) -> Finding:
    """The archive for this Java and the Spark at `home`; None is one that is missing."""
    if java is None or home is None:
        return _finding(State.OK, "not looked for: there is no Java or no Spark", status="unknown")
    archive = class_archive(java, home)
    if archive is None:
        return _finding(State.OK, f"none: {_obstacle(java)[0]}", status="impossible")
    file = archive.file
    if file is not None:
        return _present(file, f"{_size(file)} in `{file}`")
    if archive.damaged:
        message = f"an archive in `{archive.directory}` lacks a part, and Spark starts without it"
        return _finding(State.WARNING, message, f"{_MAKES} anew", "stale")
    if archive.others:
        message = "there is one for another Java or another Spark only, and Spark starts without it"
        help = f"{_MAKES} for these; remove what you do not need from `{archive.directory}`"
        return _finding(State.WARNING, message, help, "stale")
    return _finding(State.OK, "none; Spark starts without it", f"{_MAKES}, and Spark starts faster", "absent")


def make_archive(java: Java | None, home: Path | None) -> Finding:
    """Make the archive by a small job on a Spark of its own, in the place of an earlier one; where it is, how large."""
    if java is None or home is None:
        return _finding(State.PROBLEM, "not made: there is no Java or no Spark", status="unknown")
    archive = class_archive(java, home)
    if archive is None:
        reason, help = _obstacle(java)
        return _finding(State.PROBLEM, f"not made: {reason}", help, "impossible")
    log.info(
        "making the class archive for Spark in %s on the Java in %s: it takes 10 seconds and more", home, java.home
    )
    clock = time.monotonic()
    try:
        file = _make(archive, java)
    except Abend as error:
        (diagnostic,) = error.diagnostics
        return _finding(State.PROBLEM, f"not made: {diagnostic.message}", diagnostic.help, "absent")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"not made: `{archive.directory}` cannot be written: {reason}"
        return _finding(State.PROBLEM, message, _ELSEWHERE)
    took = time.monotonic() - clock
    message = f"made in {took:.0f} seconds: {_size(file)} in `{file}`; Spark starts with it from now on"
    return _present(file, message, f"`rm {shlex.quote(str(file))}` removes it")


def _make(archive: ClassArchive, java: Java) -> Path:
    archive.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(archive.directory).free
    if free < _LARGEST:
        message = f"{size_text(free)} are free in `{archive.directory}`, and it takes up to {size_text(_LARGEST)}"
        raise Abend(Diagnostic("GG506", message, help=_ELSEWHERE))
    draft = archive.directory / f"{archive.name}.{os.getpid()}"
    try:
        session = SparkRunner(SparkSettings("local[2]", java_home=str(java.home), archive_to=draft))
        with session:
            session.run(_nothing, [0, 1])
        if not draft.exists():
            help = f"see the log file `{session.log_path}`"
            raise Abend(Diagnostic("GG503", "Java ended without it", help=help))
        return archive.keep(draft)
    finally:
        draft.unlink(missing_ok=True)


def _nothing(item: int, attempt: int) -> None:
    pass


def _obstacle(java: Java) -> tuple[str, str]:
    """Why there can be no archive for this Java, and what to do."""
    if cache_directory() is None:
        return "this user has no home directory", _ELSEWHERE
    if not can_have_archive(java):
        return (
            "this Java lacks the archive of its own classes that one builds on",
            "name a whole Java with `--java-home`, for example of `apt-get install openjdk-17-jre-headless`",
        )
    return "the files of Java or Spark cannot be read", "check who may read them"


def _size(file: Path) -> str:
    return size_text(file.stat().st_size)


def _present(file: Path, message: str, help: str | None = None) -> Finding:
    facts: Mapping[str, object] = {"status": "present", "path": str(file), "bytes": file.stat().st_size}
    return Finding("class_archive", State.OK, message, help, facts)


def _finding(state: State, message: str, help: str | None = None, status: str = "absent") -> Finding:
    return Finding("class_archive", state, message, help, {"status": status, "path": None, "bytes": None})
