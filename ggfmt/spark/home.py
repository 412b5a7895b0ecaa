"""Which Spark runs, where ggfmt starts one. pyspark is located but not imported."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from ggfmt.diagnostics.diagnostic import Abend, Diagnostic

_CORE = re.compile(r"spark-core_[\d.]+-(.+)\.jar")


def spark_home() -> Path:
    """The directory of the Spark to run: SPARK_HOME, or else the installed pyspark, which is a whole Spark; a pyspark
    that is a part of a Spark, even in a zip file there, has that one around it.

    Raises Abend: GG503 when there is no pyspark, or none with a Spark; GG523 when SPARK_HOME is none, or one of another
    version than pyspark.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise Abend(Diagnostic("GG503", "pyspark is not installed", help="pip install pyspark"))
    package = Path(spec.origin).parent
    named = os.environ.get("SPARK_HOME")
    if named:
        _check(Path(named), package)
        return Path(named)
    around = next((home for home in (package, *package.parents) if spark_version(home) is not None), None)
    if around is not None or package.is_dir():
        return around or package
    message = f"pyspark is imported from `{package.parent}`, which is a file of Python code and no Spark"
    raise Abend(
        Diagnostic("GG503", message, help="export SPARK_HOME with the home of its Spark, or pip install pyspark")
    )


def spark_version(home: Path) -> str | None:
    """The version of the Spark in a directory, by the name of a jar; None if there is none."""
    try:
        names = [_CORE.fullmatch(jar.name) for jar in (home / "jars").iterdir()]
    except OSError:
        return None
    return next((name[1] for name in names if name), None)


def _check(home: Path, package: Path) -> None:
    """Abend GG523 unless SPARK_HOME is a Spark that this pyspark speaks to."""
    version = spark_version(home)
    if version is None:
        problem = "which has no `jars` of a Spark"
    else:
        try:
            own = re.search(r"""__version__[^"']*["'](\d+\.\d+)""", (package / "version.py").read_text("utf-8"))
        except OSError:  # in a zip file, which is of that home as a rule
            return
        if own is None or version.startswith(f"{own[1]}."):
            return
        problem = f"a Spark {version}, and the pyspark of this Python is {own[1]}"
    help = "unset SPARK_HOME, to run the Spark of pyspark, or name the home of one of the same version"
    raise Abend(Diagnostic("GG523", f"SPARK_HOME names `{home}`, {problem}", help=help))
