"""What Spark's processes are given of this one: the package, a Spark home, the environment."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def linked(home: Path, links: Path) -> Path:
    """A Spark home of symbolic links, for workers and executors on this machine.

    Spark's workers import its Python from archives, in which nothing is compiled: that takes a second for each session.
    Directories of the same names have the packages of this interpreter, with their bytecode. And local-cluster writes
    its `work` directory into the home it runs from.
    """
    library = links / "python" / "lib"
    library.mkdir(parents=True)
    for entry in home.iterdir():
        if entry.name in ("bin", "jars", "sbin"):
            (links / entry.name).symlink_to(entry)
    for archive in (home / "python" / "lib").glob("*.zip"):
        package = archive.name.removesuffix(".zip").partition("-")[0]
        spec = importlib.util.find_spec(package)
        directory = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
        if directory is not None and directory.is_dir():
            (library / archive.name).mkdir()
            (library / archive.name / package).symlink_to(directory)
        else:
            (library / archive.name).symlink_to(archive)
    return links


def zipped(target: Path) -> Path:
    """This package as a zip file, for executors that do not have it."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(_PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(_PACKAGE.parent))
    return target


@contextlib.contextmanager
def set_environment(values: dict[str, str]) -> Iterator[None]:
    """These environment variables while the context lasts, and those from before afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def python_path() -> str:
    """PYTHONPATH with this package's directory, unless installed: those must not hide Python's own modules."""
    if str(_PACKAGE.parent) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(_PACKAGE.parent)]))
