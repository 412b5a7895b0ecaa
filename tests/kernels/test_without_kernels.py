"""Without native kernels, all works, and ggfmt reports it: why, what it costs, what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from places import SAMPLES

from ggfmt import kernels
from ggfmt.spark.workers import zip_package

PACKAGE = Path(kernels.__file__).resolve().parents[1]
BUILT = f"_native{EXTENSION_SUFFIXES[0]}"
needs_kernels = pytest.mark.skipif(kernels.native is None, reason=f"no native kernels: {kernels.state}")


def copied(folder: Path) -> Path:
    """The package as pip leaves it where nothing can be compiled; the directory of its kernels."""
    shutil.copytree(PACKAGE, folder / "ggfmt", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    return folder / "ggfmt" / "kernels"


def called(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python whose ggfmt is the one in a directory or a zip file."""
    env = {name: value for name, value in os.environ.items() if name != kernels.SWITCH}
    env |= {"PYTHONPATH": str(folder), "COLUMNS": "500", **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=env, cwd=folder.parent, capture_output=True, text=True, check=False
    )


def lack(folder: Path, code: str = "", **environment: str) -> tuple[str, str]:
    """Why there are no kernels there, and what to do; all formats can be loaded there."""
    shown = (
        f"{code}\nimport json, ggfmt.kernels as k\nfrom ggfmt.formats import FORMATS\n"
        "sides = [format.read_support for format in FORMATS.values() if format.reads]\n"
        "assert sides and k.native is None and k.state == f'none, they {k.lack.reason}'\n"
        "print(json.dumps([k.__file__, k.lack.reason, k.lack.help]))"
    )
    done = called(folder, "-c", shown, **environment)
    assert done.returncode == 0, done.stderr
    file, reason, help = json.loads(done.stdout)
    assert str(file).startswith(str(folder))
    return reason, help


def nothing(directory: Path) -> None:
    pass


def of_another_python(directory: Path) -> None:
    (directory / "_native.cpython-36m-x86_64-linux-gnu.so").write_bytes(b"")


def damaged(directory: Path) -> None:
    (directory / BUILT).write_bytes(b"\x7fELF, and no more")


def compile_module(directory: Path, revision: int) -> None:
    """An extension module that names some revision of its sources."""
    source = directory / "other.c"
    source.write_text(
        "#include <Python.h>\n"
        'static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = -1};\n'
        "PyMODINIT_FUNC PyInit__native(void) {\n"
        "    PyObject *module = PyModule_Create(&definition);\n"
        f'    PyModule_AddIntConstant(module, "REVISION", {revision});\n'
        "    return module;\n}\n"
    )
    include = sysconfig.get_path("include")
    subprocess.run(["gcc", "-fPIC", "-shared", f"-I{include}", source, "-o", directory / BUILT], check=True)


def of_another_ggfmt(directory: Path) -> None:
    compile_module(directory, kernels.REVISION - 1)


LACKS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "not built": (nothing, "were not built", "install a C compiler"),
    "another Python": (
        of_another_python,
        "were built for another Python or platform (`_native.cpython-36m",
        "install a C",
    ),
    "damaged": (damaged, "cannot be loaded (", "install ggfmt again"),
    "another ggfmt": (of_another_ggfmt, "were built from the sources of another ggfmt", "install ggfmt again"),
}


@needs_kernels
@pytest.mark.parametrize("what", LACKS)
def test_why_there_are_none_and_what_to_do(what: str, tmp_path: Path) -> None:
    make, reason, help = LACKS[what]
    make(copied(tmp_path / "site"))
    found = lack(tmp_path / "site")
    assert found[0].startswith(reason)
    assert found[1].startswith(help)
    assert "circular import" not in found[0]


@needs_kernels
@pytest.mark.parametrize("what", LACKS)
def test_the_commands_say_so(what: str, tmp_path: Path) -> None:
    """`ggfmt --version`, `ggfmt doctor` and `ggfmt run`: why, what it costs and what to do."""
    make, reason, help = LACKS[what]
    site = tmp_path / "site"
    make(copied(site))
    run = ["run", str(SAMPLES / "tcustord.json"), "--definitions", str(SAMPLES / "TCUSTORD.def"), "--master", "none"]
    for arguments in (["--version"], ["doctor"], [*run, "--to", "json", "-o", str(tmp_path / "out")]):
        done = called(site, "-m", "ggfmt", *arguments)
        said = done.stdout + done.stderr
        assert done.returncode == 0 or (arguments == ["doctor"] and done.returncode == 1), said
        for text in (f"they {reason}", help, kernels.COST) if arguments[0] != "run" else (reason, help, kernels.COST):
            assert said.count(text) == 1, (text, said)
    assert len(list((tmp_path / "out").rglob("*.json"))) >= 1
    done = called(site, "-m", "ggfmt", "doctor", "--output-format", "json")
    (finding,) = (item for item in json.loads(done.stdout)["findings"] if item["name"] == "kernels")
    assert finding["state"] == "warning"
    assert finding["facts"]["native"] is False
    assert finding["facts"]["reason"].startswith(reason)


@needs_kernels
def test_who_switches_them_off_is_not_warned(tmp_path: Path) -> None:
    arguments = ["run", str(SAMPLES / "tcustord.json"), "--definitions", str(SAMPLES / "TCUSTORD.def")]
    arguments += ["--master", "none", "--to", "json", "-o", str(tmp_path / "out")]
    for environment in ({}, {kernels.SWITCH: "off"}):
        done = called(PACKAGE.parent, "-m", "ggfmt", *arguments, "--mode", "overwrite", **environment)
        assert done.returncode == 0, done.stderr
        assert "native kernels" not in done.stdout + done.stderr
    (finding,) = (
        item
        for item in json.loads(called(PACKAGE.parent, "-m", "ggfmt", "doctor", "--output-format", "json").stdout)[
            "findings"
        ]
        if item["name"] == "kernels"
    )
    assert (finding["state"], finding["message"]) == ("ok", "native")


# Where the package is a zip file, as executors get it.

NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"  # writing fails as on a full disk


@needs_kernels
def test_a_full_temporary_directory(tmp_path: Path) -> None:
    reason, help = lack(zip_package(tmp_path), "import sys, tempfile; tempfile.gettempdir(); " + NO_ROOM)
    assert reason == f"cannot be written to `{os.environ.get('TMPDIR', '/tmp')}` (File too large)"
    assert help.startswith("set TMPDIR")


@needs_kernels
def test_no_temporary_directory_at_all(tmp_path: Path) -> None:
    """None can be written: Python has none to give."""
    reason, help = lack(zip_package(tmp_path), NO_ROOM)
    assert reason.startswith("cannot be written to a temporary directory (")
    assert help.startswith("set TMPDIR")


def unshared(*command: str) -> list[str]:
    return [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"',
        "-",
        *command,
    ]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(unshared("size=4k", "/mnt", "true"), capture_output=True, check=False).returncode == 0


@needs_kernels
@pytest.mark.skipif(not can_mount(), reason="nobody may mount a directory here")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("noexec", "cannot be loaded from `{}`, which is mounted noexec"),
        ("size=64k", "cannot be written to `{}` (No space left on device)"),
    ],
)
def test_a_temporary_directory_that_is_mounted_so(options: str, reason: str, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    code = "import ggfmt.kernels as k; print(k.lack.reason); import os; print(os.listdir(os.environ['TMPDIR']))"
    env = {**os.environ, "PYTHONPATH": str(zip_package(tmp_path)), "TMPDIR": str(mounted)}
    command = unshared(options, str(mounted), sys.executable, "-c", code)
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [reason.format(mounted), "[]"], done.stderr


@needs_kernels
def test_a_package_without_them_or_with_damaged_ones(tmp_path: Path) -> None:
    whole = zip_package(tmp_path)
    for content, reason in ((None, "are not in the package that was sent here"), (b"\x7fELF", "cannot be loaded (")):
        part = tmp_path / "part.zip"
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(part, "w") as target:
            for name in source.namelist():
                if not name.endswith((".so", ".pyd")):
                    target.writestr(name, source.read(name))
                elif content is not None:
                    target.writestr(name, content)
        assert lack(part)[0].startswith(reason)
