"""A package that cannot be imported is not always one that is not installed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError, package_error, unimported_package
from ggfmt.kafka import client

NAME = "package_of_this_test"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(NAME)]:
        del sys.modules[name]


def imported(name: str) -> BaseException:
    importlib.invalidate_caches()
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever an import raises
        importlib.import_module(name)
    return caught.value


def error_of(name: str) -> Diagnostic:
    error = imported(name)
    package = unimported_package(error)
    assert package is not None
    assert package.partition(".")[0] == NAME
    return package_error("GG522", "it is not installed", package, error, "install it")


def test_a_package_that_is_not_there(folder: Path) -> None:
    found = error_of(NAME)
    assert (found.message, found.help) == ("it is not installed", "install it")


def test_a_package_without_one_of_its_modules(folder: Path) -> None:
    (folder / NAME).mkdir()
    (folder / NAME / "__init__.py").write_text(f"import {NAME}.gone")
    found = error_of(NAME)
    assert found.message == f"the package `{NAME}` cannot be imported: No module named '{NAME}.gone'"
    assert found.help == "correct the permissions of the package, or install it again"


def test_a_package_whose_library_does_not_load(folder: Path) -> None:
    (folder / f"{NAME}.py").write_text(f"raise ImportError('libx.so: cannot open shared object file', name={NAME!r})")
    assert error_of(NAME).message == f"the package `{NAME}` cannot be imported: libx.so: cannot open shared object file"


@pytest.mark.parametrize("closed", ["__init__.py", "."])
def test_a_package_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    path = folder / NAME
    path.mkdir()
    (path / "__init__.py").write_text("")
    target, access, opened = (
        os.path.normpath(path / closed),
        os.access,
        importlib._bootstrap_external.SourceFileLoader.get_data,
    )

    def denied(self: object, file: str) -> bytes:
        if os.path.normpath(file).startswith(target):
            raise PermissionError(13, "Permission denied", file)
        return opened(self, file)  # type: ignore[arg-type]

    monkeypatch.setattr(SourceFileLoader, "get_data", denied)
    monkeypatch.setattr(os, "access", lambda file, mode: os.path.normpath(file) != target and access(file, mode))
    assert error_of(NAME).message == f"the package `{NAME}` cannot be read: no permission for `{target}`"


def test_an_error_of_a_file_is_none_of_an_import(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone") as caught:
        (tmp_path / "gone").read_bytes()
    assert unimported_package(caught.value) is None
    assert unimported_package(ImportError("cannot import name 'x' from 'y'", name="y")) == "y"


def test_a_library_of_an_extra_that_fails(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"GG571.*Kafka needs the package"):
        client.library(NAME)
    (folder / f"{NAME}.py").write_text("raise ImportError('librdkafka.so.1: no such file')")
    importlib.invalidate_caches()
    with pytest.raises(UsageError, match=r"GG571.*cannot be imported: librdkafka\.so\.1"):
        client.library(NAME)
