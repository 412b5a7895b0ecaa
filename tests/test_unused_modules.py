"""Commands load neither numpy nor pandas, except with Spark Connect, whose client needs both."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from runs import operation, write_lines

from ggfmt.unused_modules import uses_spark_connect

COMMAND = """
import sys
from ggfmt.__main__ import run
sys.argv[0] = "ggfmt"
code = run()
print(*{"numpy", "pandas"} & sys.modules.keys())
sys.exit(code)
"""


@pytest.mark.parametrize("options", ["run --to json", "run --to avro_row_ocf", "consolidate", "consolidate --to delta"])
def test_commands_do_without_numpy_and_pandas(tmp_path: Path, options: str) -> None:
    assert find_spec("numpy") and find_spec("pandas"), "the test needs both"
    source = write_lines(tmp_path / "in.json", [operation(1), operation(2, kind="U")])
    command, *more = options.split()
    arguments = [command, str(source), *more, "-o", str(tmp_path / "out"), "--master", "none", "-q"]
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "\n", "")


def test_spark_connect_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert not uses_spark_connect(["run", "in.json", "--master", "none"])
    assert uses_spark_connect(["run", "in.json", "--remote", "sc://host"])
    assert uses_spark_connect(["run", "in.json", "--remote=sc://host"])
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    assert uses_spark_connect(["run", "in.json"])
