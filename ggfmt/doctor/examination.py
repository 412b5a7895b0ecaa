"""What this machine has of what a run needs: Python, ggfmt, Java, Spark, libraries, space, and the class archive."""

from __future__ import annotations

import logging
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ggfmt import kernels
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic
from ggfmt.doctor.cluster import ask_cluster
from ggfmt.doctor.finding import LIBRARIES, LITTLE_SPACE, Finding, State, load, size_text, try_directory
from ggfmt.spark.features import lacking
from ggfmt.spark.installations import Java, find_java, spark_home, spark_version
from ggfmt.spark.jvm import ClassArchive, cache_directory, can_have_archive, class_archive, user_name
from ggfmt.spark.session import SparkRunner
from ggfmt.spark.target import SparkSettings
from ggfmt.version import VERSION

log = logging.getLogger("ggfmt")

_NAMES_OF_SCRATCH = ("TMPDIR", "TEMP", "TMP")  # in Python's order


def check_python() -> Finding:
    version, path = platform.python_version(), sys.executable or None
    system = f"{platform.system()} {platform.machine()}"
    message = f"{version} in `{path}`, on {system}"
    return Finding("python", State.OK, message, facts={"version": version, "path": path, "system": system})


def check_ggfmt() -> Finding:
    path = str(Path(__file__).resolve().parents[1])
    return Finding("ggfmt", State.OK, f"{VERSION} in `{path}`", facts={"version": VERSION, "path": path})


def check_user() -> Finding:
    """Return the user: ggfmt gives Spark a name for one without a name, as containers have."""
    name = user_name()
    uid = os.getuid() if hasattr(os, "getuid") else None
    shown = f"{uid}, without a name" if name is None else name if uid is None else f"{name} ({uid})"
    return Finding("user", State.OK, shown, facts={"name": name, "uid": uid})


def _lacking(name: str, error: Abend, *facts: str) -> Finding:
    (diagnostic,) = error.diagnostics
    return Finding(name, State.PROBLEM, diagnostic.message, diagnostic.help, dict.fromkeys(facts))


def check_java(java_home: str | None) -> tuple[Finding, Java | None]:
    try:
        runtime = find_java(java_home)
    except Abend as error:
        return _lacking("java", error, "version", "home", "origin"), None
    facts = {"version": runtime.version, "home": str(runtime.home), "origin": runtime.origin}
    return Finding("java", State.OK, f"{runtime.version} in `{runtime.home}` ({runtime.origin})", facts=facts), runtime


def check_spark() -> tuple[Finding, Path | None]:
    try:
        home = spark_home()
    except Abend as error:
        return _lacking("spark", error, "version", "home"), None
    version = spark_version(home)
    facts = {"version": version, "home": str(home)}
    if version is None:
        message = f"pyspark in `{home}` is not a whole Spark: it has no `jars`"
        help = "pip install --force-reinstall pyspark, and take other Sparks out of PYTHONPATH"
        return Finding("spark", State.PROBLEM, message, help, facts), None
    lacks = lacking(version)
    return Finding("spark", State.OK, f"{version} in `{home}`{f': {lacks}' if lacks else ''}", facts=facts), home


def check_libraries() -> list[Finding]:
    findings = []
    for name, (package, *_) in LIBRARIES.items():
        library = load(name)
        facts = {"version": library.version}
        finding = Finding(name, State.OK, f"{library.version}", facts=facts)
        if library.problem is not None:
            message, help = f"{package} cannot be loaded: {library.problem}", f"pip install --force-reinstall {package}"
            finding = Finding(name, State.PROBLEM, message, help, facts)
        findings.append(finding)
    return findings


def check_kernels() -> Finding:
    """Check the native kernels; a run without them has the same results, and takes longer."""
    facts = {"native": kernels.native is not None, "reason": None if kernels.lack is None else kernels.lack.reason}
    if kernels.lack is not None:
        return Finding("kernels", State.WARNING, f"{kernels.state}: {kernels.COST}", kernels.lack.help, facts)
    message = kernels.state if kernels.native is not None else f"{kernels.state}: {kernels.COST}"
    return Finding("kernels", State.OK, message, facts=facts)


def check_scratch() -> Finding:
    """Check the directory of temporary files, where a run and its Spark have their logs and sockets."""
    named = next((name for name in _NAMES_OF_SCRATCH if os.environ.get(name)), None)
    help = "set TMPDIR to a writable directory with free space"
    try:
        path = tempfile.gettempdir()
    except OSError as error:
        facts: dict[str, object] = dict.fromkeys(("path", "free_bytes"))
        return Finding("scratch", State.PROBLEM, (error.strerror or str(error)).lower(), help, facts)
    finding = _room("scratch", path, State.PROBLEM, help)
    if finding.state is State.OK and named is not None and os.path.abspath(os.environ[named]) != path:
        message = f"{named} names `{os.environ[named]}`, which cannot be written; `{path}` is used instead"
        return Finding("scratch", State.WARNING, message, help, finding.facts)
    return finding


def check_cache() -> Finding:
    help = "set XDG_CACHE_HOME to a writable directory; only the class archive needs it"
    directory = cache_directory()
    if directory is None:
        message, facts = "this user has no home directory", dict.fromkeys(("path", "free_bytes"))
        return Finding("cache", State.WARNING, message, help, facts)
    return _room("cache", str(directory), State.WARNING, help)


def _room(name: str, path: str, bad: State, help: str) -> Finding:
    """Check whether a directory, or its nearest existing parent, can be written."""
    present = path
    while not os.path.lexists(present):
        present = os.path.dirname(present)
    directory = try_directory(present)
    facts = {"path": path, "free_bytes": directory.free}
    if directory.free is None:
        return Finding(name, bad, f"`{present}` cannot be written: {directory.problem}", help, facts)
    message = f"`{path}`, {size_text(directory.free)} free"
    if directory.free < LITTLE_SPACE:
        return Finding(name, State.WARNING, f"{message}, which is little", help, facts)
    return Finding(name, State.OK, message, facts=facts)


# The class archive: whether there is one that fits, and how it is made.

_ELSEWHERE = "set XDG_CACHE_HOME to a writable directory with free space"
_LARGEST = 200_000_000
_MAKES = "`ggfmt doctor --class-archive` makes one"


def find_archive(java: Java | None, home: Path | None) -> Finding:
    if java is None or home is None:
        return _finding(State.OK, "not looked for: Java or Spark is missing", status="unknown")
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
        message = "the existing one is for another Java or Spark, and Spark starts without it"
        help = f"{_MAKES} for these; remove what you do not need from `{archive.directory}`"
        return _finding(State.WARNING, message, help, "stale")
    return _finding(State.OK, "none; Spark starts without it", f"{_MAKES}, and Spark starts faster", "absent")


def make_archive(java: Java | None, home: Path | None) -> Finding:
    """Make the archive by a small job on a new Spark, replacing an earlier one."""
    if java is None or home is None:
        return _finding(State.PROBLEM, "not made: Java or Spark is missing", status="unknown")
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
    """Return why there can be no archive for this Java, and what to do."""
    if cache_directory() is None:
        return "this user has no home directory", _ELSEWHERE
    if not can_have_archive(java):
        return (
            "this Java lacks its default class archive, which the archive for Spark extends",
            "name a complete Java with `--java-home`, for example from `apt-get install openjdk-17-jre-headless`",
        )
    return "the files of Java or Spark cannot be read", "check who may read them"


def _size(file: Path) -> str:
    return size_text(file.stat().st_size)


def _present(file: Path, message: str, help: str | None = None) -> Finding:
    facts: Mapping[str, object] = {"status": "present", "path": str(file), "bytes": file.stat().st_size}
    return Finding("class_archive", State.OK, message, help, facts)


def _finding(state: State, message: str, help: str | None = None, status: str = "absent") -> Finding:
    return Finding("class_archive", state, message, help, {"status": status, "path": None, "bytes": None})


# All findings of `ggfmt doctor`, in the order of its screen.


def examine(settings: SparkSettings, *, archive: bool = False) -> list[Finding]:
    """Return what this machine has and, if `settings` name a master, what its cluster has."""
    java, runtime = check_java(settings.java_home)
    spark, home = check_spark()
    findings = [check_python(), check_ggfmt(), check_user(), java, spark, *check_libraries()]
    findings += [check_kernels(), check_scratch(), check_cache()]
    findings.append((make_archive if archive else find_archive)(runtime, home))
    if settings.master is not None:
        findings += ask_cluster(settings)
    return findings
