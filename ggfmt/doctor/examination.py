"""What this machine has of what a run needs: Python, ggfmt, Java, Spark, libraries, and space."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from ggfmt import kernels
from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.doctor.cluster import ask_cluster
from ggfmt.doctor.finding import LIBRARIES, LITTLE_SPACE, Finding, State, load, size_text, try_directory
from ggfmt.spark.features import lacking
from ggfmt.spark.installations import ClientOnly, find_java, spark_home, spark_version
from ggfmt.spark.jvm import user_name
from ggfmt.spark.target import SparkSettings
from ggfmt.version import VERSION

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


def check_java(java_home: str | None, needed: bool = True) -> Finding:
    """Check Java. It is not `needed` where there is no Spark to start."""
    try:
        runtime = find_java(java_home)
    except Abend as error:
        finding = _lacking("java", error, "version", "home", "origin")
        return finding if needed else replace(finding, state=State.OK, message="none is needed", help=None)
    facts = {"version": runtime.version, "home": str(runtime.home), "origin": runtime.origin}
    return Finding("java", State.OK, f"{runtime.version} in `{runtime.home}` ({runtime.origin})", facts=facts)


def check_spark() -> Finding:
    try:
        home = spark_home()
    except Abend as error:
        finding = _lacking("spark", error, "version", "home")
        return replace(finding, state=State.WARNING) if isinstance(error, ClientOnly) else finding
    version = spark_version(home)
    lacks = "" if version is None else lacking(version)
    facts = {"version": version, "home": str(home)}
    return Finding("spark", State.OK, f"{version} in `{home}`{f': {lacks}' if lacks else ''}", facts=facts)


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
        return Finding(
            "scratch", State.PROBLEM, (error.strerror or str(error)).lower(), help, {"path": None, "free_bytes": None}
        )
    directory = try_directory(path)
    facts = {"path": path, "free_bytes": directory.free}
    if directory.free is None:
        message = f"`{path}` cannot be written: {directory.problem}"
        return Finding("scratch", State.PROBLEM, message, help, facts)
    message = f"`{path}`, {size_text(directory.free)} free"
    if directory.free < LITTLE_SPACE:
        return Finding("scratch", State.WARNING, f"{message}, which is little", help, facts)
    if named is not None and os.path.abspath(os.environ[named]) != path:
        message = f"{named} names `{os.environ[named]}`, which cannot be written; `{path}` is used instead"
        return Finding("scratch", State.WARNING, message, help, facts)
    return Finding("scratch", State.OK, message, facts=facts)


# All findings of `ggfmt doctor`, in the order of its screen.


def examine(settings: SparkSettings) -> list[Finding]:
    """Return what this machine has and, if `settings` name a master or a server, what its cluster has. Raises:
    UsageError GG520 if they name both, GG524 for an invalid address of a server."""
    spark = check_spark()
    java = check_java(settings.java_home, needed=spark.state is not State.WARNING)
    findings = [check_python(), check_ggfmt(), check_user(), java, spark]
    findings += [*check_libraries(), check_kernels(), check_scratch()]
    if settings.master is not None or settings.remote is not None:
        findings += ask_cluster(settings)
    return findings
