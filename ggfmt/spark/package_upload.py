"""What Spark's processes are given of this one: the package, a Spark home, the environment."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import pickle
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip file knows
_PACKAGE = Path(__file__).resolve().parents[1]


def link_spark_home(home: Path, links: Path) -> Path:
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


def package_reader() -> Callable[[], dict[str, bytes]]:
    """A function that reads the files of this package, as the Python that it runs in would import it.

    It is nested, so that it is pickled by value: a worker that it is sent to may have no such package, or another one.
    Nothing is imported by it, since what a worker has imported, it keeps.
    """

    def read() -> dict[str, bytes]:
        """The contents by their names (`ggfmt/cli/help.py`); none where there is no such package."""
        spec = importlib.util.find_spec("ggfmt")
        if spec is None or spec.origin is None:
            return {}
        root, archive = os.path.dirname(spec.origin), getattr(spec.loader, "archive", None)
        if archive is not None:
            inside = os.path.relpath(root, archive).replace(os.sep, "/")
            with zipfile.ZipFile(archive) as opened:
                names = [name for name in opened.namelist() if name.startswith(f"{inside}/") and name[-1] != "/"]
                return {f"ggfmt{name[len(inside) :]}": opened.read(name) for name in names}
        found = {}
        for directory, folders, names in os.walk(root):
            folders[:] = [folder for folder in folders if folder != "__pycache__"]
            for name in names:
                path = os.path.join(directory, name)
                with open(path, "rb") as file:
                    found[f"ggfmt/{os.path.relpath(path, root)}".replace(os.sep, "/")] = file.read()
        return found

    return read


def zip_package(directory: Path) -> Path:
    """This package as a zip file in a directory, for executors that do not have it.

    Its name is of its content, and its bytes too: a Spark takes a file of one name once, and the same file again.
    """
    files = sorted(package_reader()().items())
    digest = hashlib.sha256(repr([(name, hashlib.sha256(data).digest()) for name, data in files]).encode())
    target = directory / f"ggfmt-{digest.hexdigest()[:16]}.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), data, zipfile.ZIP_DEFLATED)
    return target


def pickled(value: object) -> bytes:
    """A value as bytes, also a function that no module has."""
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(value))  # type: ignore[no-untyped-call]


def packed(task: Callable[[Item, int], Result], archive: str | None) -> Callable[[], Callable[[Item, int], Result]]:
    """A function to be pickled by value, which gives the task on a worker.

    A worker that has loaded this package from elsewhere before it was sent the file `archive` loads it anew: Spark
    keeps workers, and they keep what they have loaded.
    """
    bytes_of_task = pickled(task)

    def unpacked() -> Callable[[Item, int], Result]:
        loaded = sys.modules.get("ggfmt")
        if archive is not None and loaded is not None and archive not in str(loaded.__file__):
            for name in [name for name in sys.modules if name.partition(".")[0] == "ggfmt"]:
                del sys.modules[name]
        return pickle.loads(bytes_of_task)  # type: ignore[no-any-return]

    return unpacked


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
