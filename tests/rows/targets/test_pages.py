"""The pages that lead from change files to a query do so, with the commands and lines that they show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

STEP = re.compile(r"```(bash|python)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["delta", "iceberg", "parquet"])
def test_a_page_leads_to_rows(page: str, tmp_path: Path) -> None:
    """All but its first command, which installs what is installed here. The second one may be called again."""
    (tmp_path / "changes").mkdir()
    shutil.copy(ROOT / "samples" / "tcustord.json", tmp_path / "changes")
    steps: list[tuple[str, str]] = STEP.findall((ROOT / "ggfmt" / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    commands = [text for kind, text in steps if kind == "bash"]
    (tmp_path / "query.py").write_text("".join(text for kind, text in steps if kind == "python"), encoding="utf-8")
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    install, make, query = commands
    assert install.startswith("pip install ")
    for command in (make, make, query):
        environment = {**os.environ, "PATH": programs, "PYTHONIOENCODING": "utf-8"}
        ended = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, timeout=100, check=False
        )
        assert ended.returncode == 0, ended.stderr.decode()
    assert "Jürgen Groß & Söhne" in ended.stdout.decode()
