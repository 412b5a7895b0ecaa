"""The jobs that pages show for CI systems and cron, run step by step as these do, with and without a mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pages
import pytest
import yaml
from places import ROOT, SAMPLES

PAGE = pages.DOCS / "how-to" / "check-in-ci.md"
SHOWN = [block for block in pages.blocks(PAGE.read_text(encoding="utf-8")) if block.what in ("shown", "not run")]
INSTALLATION, GITHUB, GITLAB, _ = (block.body for block in SHOWN)
ENVIRONMENT = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "CI": "true"}


@pytest.fixture(params=[False, True], ids=["no mistake", "a mistake"])
def is_wrong(request: pytest.FixtureRequest, tmp_path: Path) -> bool:
    conf = tmp_path / "conf"
    conf.mkdir()
    shutil.copy(ROOT / "conf" / "json.properties", conf)
    if request.param:
        shutil.copy(SAMPLES / "mistakes.properties", conf)
    return bool(request.param)


def code_of(command: str, directory: Path) -> tuple[int, str]:
    shell = [
        "bash",
        "--noprofile",
        "--norc",
        "-eo",
        "pipefail",
        "-c",
        command,
    ]  # GitHub's; GitLab has these options, too
    done = subprocess.run(shell, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@dataclass
class GitHubJob:
    """What becomes of a job: whether it fails, what its steps print, and which actions run with what."""

    failed: bool = False
    printed: list[str] = field(default_factory=list)
    used: dict[str, Any] = field(default_factory=dict)

    def run(self, step: dict[str, Any], directory: Path) -> None:
        condition = step.get("if", "success()")
        assert condition in ("success()", "${{ !cancelled() }}"), "a condition that this does not know"
        if self.failed and condition == "success()":
            return
        if "uses" in step:
            self.used[step["uses"]] = step["with"]
            return
        code, text = code_of(step["run"], directory)
        self.printed.append(text)
        self.failed |= code != 0 and not step.get("continue-on-error", False)


def test_steps_of_github_fail_for_a_mistake_and_show_it(is_wrong: bool, tmp_path: Path) -> None:
    job = GitHubJob()
    for step in yaml.safe_load(GITHUB):
        job.run(step, tmp_path)
    assert job.failed == is_wrong
    assert ("::error file=conf/mistakes.properties,line=" in job.printed[0]) == is_wrong
    (action,) = job.used
    assert action.startswith("github/codeql-action/upload-sarif@")
    report = json.loads((tmp_path / job.used[action]["sarif_file"]).read_bytes())
    assert any(run["results"] for run in report["runs"]) == is_wrong


def test_the_job_of_gitlab_fails_for_a_mistake_and_leaves_its_report(is_wrong: bool, tmp_path: Path) -> None:
    (job,) = yaml.safe_load(GITLAB).values()
    assert job["before_script"] == INSTALLATION.splitlines()
    code, text = code_of(job["script"], tmp_path)
    assert (code != 0) == is_wrong, text
    assert job["artifacts"]["when"] == "always"
    report = json.loads((tmp_path / job["artifacts"]["reports"]["codequality"]).read_bytes())
    assert bool(report) == is_wrong
    assert {entry["location"]["path"] for entry in report} == ({"conf/mistakes.properties"} if is_wrong else set())


@pytest.mark.spark
@pytest.mark.long
def test_the_line_of_cron_takes_what_is_new_and_stops_for_what_is_broken(tmp_path: Path) -> None:
    """With the few variables that cron sets, and no terminal."""
    page = (pages.DOCS / "how-to" / "run-every-day.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^(?:\S+ ){5}(cd /data .*)$", page, re.MULTILINE)
    assert "%" not in line  # a line's end for cron
    command = line.replace("/data", str(tmp_path)).replace("/opt/ggfmt/bin", str(Path(sys.executable).parent))
    shutil.copy(ROOT / "conf" / "json.properties", tmp_path)
    (tmp_path / "changes").mkdir()
    environment = {"HOME": str(tmp_path), "LOGNAME": "ggfmt", "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}

    def run() -> tuple[int, str, int]:
        for file in (tmp_path / "changes").iterdir():
            os.utime(file, (0, 0))  # settled
        shell = ["/bin/sh", "-c", command]
        done = subprocess.run(
            shell, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        messages = sum(len(file.read_bytes().splitlines()) for file in (tmp_path / "out").glob("json/*/*.json"))
        return done.returncode, done.stdout + done.stderr, messages

    first, second = sorted((SAMPLES / "shop" / "changes").iterdir())
    shutil.copy(first, tmp_path / "changes")
    wanted = len(first.read_bytes().splitlines())
    assert run() == (0, "", wanted)
    assert run() == (0, "", wanted)
    shutil.copy(second, tmp_path / "changes")
    wanted += len(second.read_bytes().splitlines())
    assert run() == (0, "", wanted)
    (tmp_path / "changes" / "broken.json").write_bytes(first.read_bytes().replace(b"SHOP.", b"SHED.")[:-100])
    code, text, messages = run()
    assert (code, messages) == (3, wanted), text
    assert "broken.json" in text
    assert "Traceback" not in text
