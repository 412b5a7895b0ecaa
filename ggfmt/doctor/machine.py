"""What this machine has: Python, ggfmt, Java, Spark, libraries, and room to write. Nothing is started."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from ggfmt import kernels
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.doctor.checks import LIBRARIES, load, try_directory
from ggfmt.doctor.finding import LITTLE_SPACE, Finding, State, size_text
from ggfmt.spark.class_archive import cache_directory
from ggfmt.spark.home import spark_home, spark_version
from ggfmt.spark.java_home import Java, find_java
from ggfmt.version import VERSION

_NAMES_OF_SCRATCH = ("TMPDIR", "TEMP", "TMP")  # in Python's order


def python() -> Finding:
    version, path = platform.python_version(), sys.executable or None
    system = f"{platform.system()} {platform.machine()}"
    message = f"{version} in `{path}`, on {system}"
    return Finding("python", State.OK, message, facts={"version": version, "path": path, "system": system})


def ggfmt() -> Finding:
    path = str(Path(__file__).resolve().parents[1])
    return Finding("ggfmt", State.OK, f"{VERSION} in `{path}`", facts={"version": VERSION, "path": path})


def user() -> Finding:
    """Who runs this. Java asks the system for the user's name, and Spark does not start where there is none."""
    try:
        import pwd
    except ImportError:  # not a POSIX system: everyone has a name
        name = os.environ.get("USERNAME")
        return Finding("user", State.OK, name or "unknown", facts={"name": name, "uid": None})
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        message = f"the user {uid} has no name, and Spark does not start without one"
        help = "add a line for this user to /etc/passwd (of the container), or run as another user"
        return Finding("user", State.PROBLEM, message, help, {"name": None, "uid": uid})
    return Finding("user", State.OK, f"{name} ({uid})", facts={"name": name, "uid": uid})


def java(java_home: str | None) -> tuple[Finding, Java | None]:
    """The Java that a run would take, where it is usable; `java_home` is the value of `--java-home`."""
    try:
        runtime = find_java(java_home)
    except Abend as error:
        (diagnostic,) = error.diagnostics
        facts = dict.fromkeys(("version", "home", "origin"))
        return Finding("java", State.PROBLEM, diagnostic.message, diagnostic.help, facts), None
    facts = {"version": runtime.version, "home": str(runtime.home), "origin": runtime.origin}
    return Finding("java", State.OK, f"{runtime.version} in `{runtime.home}` ({runtime.origin})", facts=facts), runtime


def spark() -> tuple[Finding, Path | None]:
    """The installed Spark, by the names of its files: its home is there where it is whole."""
    unknown = dict.fromkeys(("version", "home"))
    try:
        home = spark_home()
    except Abend as error:
        (diagnostic,) = error.diagnostics
        return Finding("spark", State.PROBLEM, diagnostic.message, diagnostic.help, unknown), None
    version = spark_version(home)
    if version is None:
        message = f"pyspark in `{home}` is not a whole Spark: it has no `jars`"
        help = "pip install --force-reinstall pyspark, and take other Sparks out of PYTHONPATH"
        return Finding("spark", State.PROBLEM, message, help, {**unknown, "home": str(home)}), None
    facts = {"version": version, "home": str(home)}
    return Finding("spark", State.OK, f"{version} in `{home}`", facts=facts), home


def libraries() -> list[Finding]:
    """Arrow, and the libraries that decode and encode."""
    findings = []
    for name, (package, *_) in LIBRARIES.items():
        library = load(name)
        facts = {"version": library.version}
        if library.problem is None:
            findings.append(Finding(name, State.OK, f"{library.version}", facts=facts))
        else:
            message, help = f"{package} cannot be loaded: {library.problem}", f"pip install --force-reinstall {package}"
            findings.append(Finding(name, State.PROBLEM, message, help, facts))
    return findings


def native_kernels() -> Finding:
    """The native kernels; a run without them has the same results, and takes longer."""
    facts = {"native": kernels.native is not None, "reason": None if kernels.lack is None else kernels.lack.reason}
    if kernels.lack is not None:
        return Finding("kernels", State.WARNING, f"{kernels.state}: {kernels.COST}", kernels.lack.help, facts)
    message = kernels.state if kernels.native is not None else f"{kernels.state}: {kernels.COST}"
    return Finding("kernels", State.OK, message, facts=facts)


def scratch() -> Finding:
    """The directory of temporary files, where a run and its Spark have their logs and sockets."""
    named = next((name for name in _NAMES_OF_SCRATCH if os.environ.get(name)), None)
    help = "export TMPDIR with a directory that can be written and has room"
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


def cache() -> Finding:
    """The directory of the class archive; a run does not need it."""
    help = "export XDG_CACHE_HOME with a directory that can be written; only the class archive needs it"
    directory = cache_directory()
    if directory is None:
        message, facts = "this user has no home directory", dict.fromkeys(("path", "free_bytes"))
        return Finding("cache", State.WARNING, message, help, facts)
    return _room("cache", str(directory), State.WARNING, help)


def _room(name: str, path: str, bad: State, help: str) -> Finding:
    """Whether a directory, or the one that it would be made in, can be written."""
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
