"""The target that a run is asked for."""

from __future__ import annotations

from importlib.util import find_spec

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.targets.files import FileTarget
from ggfmt.rows.targets.options import TargetOptions
from ggfmt.rows.targets.target import RowTarget


def make_target(to: str, output: RowsDirectory, options: TargetOptions) -> RowTarget:
    """Return the target of the word of `--to`. Raises: UsageError GG555 if its library is not installed."""
    if to == "delta":
        _check_installed("deltalake", to)
        from ggfmt.rows.targets.delta import DeltaLake
        from ggfmt.rows.targets.lake import LakeTarget

        return LakeTarget(output, to, DeltaLake(output.root, options), options)
    if to == "iceberg":
        _check_installed("pyiceberg", to)
        from ggfmt.rows.targets.iceberg import IcebergLake
        from ggfmt.rows.targets.lake import LakeTarget

        return LakeTarget(output, to, IcebergLake(output.root, options), options)
    return FileTarget(output, to, options)


def _check_installed(library: str, extra: str) -> None:
    if find_spec(library) is None:
        help = f"run `pip install 'ggfmt[{extra}]'`"
        raise UsageError(Diagnostic("GG555", f"`--to {extra}` needs the package `{library}`", help=help))
