"""Packages that cannot be imported: only some of them are not installed."""

from __future__ import annotations

import os
import sys
import traceback

from ggfmt.diagnostics.diagnostic import Diagnostic

# What imports raise: a file of a package may be unreadable, or a library that it loads absent.
IMPORT_ERRORS = (ImportError, OSError)
_AGAIN = "correct the permissions of the package, or install it again"


def package_error(code: str, message: str, package: str, error: BaseException | None, help: str) -> Diagnostic:
    """Return the diagnostic for a package that is needed. `message` and `help`: if it is not installed."""
    problem = _problem(package.partition(".")[0], error)
    return Diagnostic(code, message, help=help) if problem is None else Diagnostic(code, problem, help=_AGAIN)


def unimported_package(error: BaseException) -> str | None:
    """Return the package that an error is about; None if the error is not one of an import."""
    if isinstance(error, ImportError):
        return error.name
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return None
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    folders = [folder for folder in sys.path if folder and error.filename.startswith(os.path.join(folder, ""))]
    if not folders or not any(file.startswith("<frozen importlib") for file in frames):
        return None
    inside = os.path.relpath(error.filename, max(folders, key=len))
    return os.path.splitext(inside.split(os.sep)[0])[0]


def _problem(package: str, error: BaseException | None) -> str | None:
    """Return why an installed package cannot be imported; None if it is not installed."""
    for folder in filter(os.path.isdir, sys.path):
        inside = os.path.join(folder, package)
        for path in (folder, inside, f"{inside}.py", os.path.join(inside, "__init__.py")):
            if os.path.exists(path) and not os.access(path, os.R_OK):
                return f"the package `{package}` cannot be read: no permission for `{path}`"
    if error is None or (isinstance(error, ModuleNotFoundError) and (error.name or package) == package):
        return None
    return f"the package `{package}` cannot be imported: {' '.join(str(error).split())[:200]}"
