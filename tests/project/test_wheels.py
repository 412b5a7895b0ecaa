"""One wheel serves all Pythons of a platform, and what is published is whole."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import pytest
import release
from places import ROOT, SAMPLES
from wheels import copy_project

from ggfmt import kernels
from ggfmt.spark.workers import zip_package

needs_release = pytest.mark.skipif(
    None in map(importlib.util.find_spec, release.TOOLS), reason="needs the extra `release`"
)
checked = partial(subprocess.run, capture_output=True, text=True, check=True, timeout=600)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sdist and the wheel, as the documented command makes them."""
    folder = tmp_path_factory.mktemp("published")
    return release.build(folder / "dist", copy_project(folder / "project", "tests"))


@pytest.mark.long
@needs_release
def test_the_sdist_has_what_the_documents_name(published: list[Path]) -> None:
    (sdist,) = (file for file in published if file.name.endswith(".tar.gz"))
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("samples", "conf", "tests")
    wanted = {str(file.relative_to(ROOT)) for name in folders for file in (ROOT / name).rglob("*.*")}
    assert {name for name in wanted if "__pycache__" not in name} | {"CHANGELOG.md", "README.md"} <= names
    assert not [name for name in names if name.endswith(".so")]


@pytest.mark.long
@needs_release
@pytest.mark.skipif(shutil.which("uv") is None or sys.platform != "linux", reason="needs uv, on Linux")
@pytest.mark.parametrize("version", release.PYTHONS)
def test_the_wheel_has_kernels_in_every_python(version: str, published: list[Path], tmp_path: Path) -> None:
    """Where it is installed, and where it is sent to as a zip file. Messages are those of this Python."""
    (wheel,) = (file for file in published if file.suffix == ".whl")
    assert "-cp310-abi3-manylinux" in wheel.name
    release.check_kernels(wheel)
    python = tmp_path / "venv" / "bin" / "python"
    wanted = release.pythons().get(version, version)
    if subprocess.run(["uv", "venv", "-q", "-p", wanted, str(tmp_path / "venv")], check=False).returncode:
        pytest.skip(f"there is no Python {version}, and uv cannot fetch it")
    checked(["uv", "pip", "install", "-q", "-p", str(python), str(wheel)])
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", kernels.SWITCH)}
    outside = partial(checked, cwd=tmp_path, env=env)
    shown = outside([python, "-m", "ggfmt", "--version"]).stdout
    assert f"\nPython {version}." in shown and shown.endswith("\nKernels: native\n")
    assert re.search(r"^ok +kernels +native$", outside([python, "-m", "ggfmt", "doctor"]).stdout, re.MULTILINE)
    run = ["-m", "ggfmt", "run", str(SAMPLES / "tcustord.json"), "--to", "avro_op", "--master", "none"]
    run += ["--current-timestamp", "2026-01-01T00:00:00", "-o"]
    made = []
    for program, output in ((str(python), tmp_path / "there"), (sys.executable, tmp_path / "here")):
        outside([program, *run, str(output)])
        made.append({file.relative_to(output): file.read_bytes() for file in output.rglob("*.avro")})
    assert made[0] == made[1] != {}
    archive = zip_package(tmp_path)
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import ggfmt.kernels as k; print(k.__file__, k.state)"
    assert outside([python, "-c", code]).stdout == f"{archive}/ggfmt/kernels/__init__.py native\n"
