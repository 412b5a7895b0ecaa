"""The target that a run is asked for."""

from __future__ import annotations

from importlib.util import find_spec

from ggfmt.diagnostics.diagnostic import UsageError
from ggfmt.diagnostics.packages import package_error
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.targets.files import FileTarget
from ggfmt.rows.targets.options import TargetOptions
from ggfmt.rows.targets.target import RowTarget

_LIBRARIES = {"delta": "deltalake", "iceberg": "pyiceberg"}


def make_target(to: str, output: RowsDirectory, options: TargetOptions) -> RowTarget:
    """Return the target of the word of `--to`. Raises: UsageError GG555 if its library is not installed."""
    if options.database is not None:
        from ggfmt.rows.targets.postgresql import PostgreSQLTarget

        return PostgreSQLTarget(output, to, options.database)
    library = _LIBRARIES.get(to)
    if library is None:
        return FileTarget(output, to, options)
    if find_spec(library) is None:
        help = f"run `pip install 'ggfmt[{to}]'`"
        raise UsageError.of(package_error("GG555", f"`--to {to}` needs the package `{library}`", library, None, help))
    from ggfmt.rows.targets.lake import LakeTarget

    if to == "delta":
        from ggfmt.rows.targets.delta import delta_tables

        return LakeTarget(output, to, delta_tables(output.root, options), options)
    from ggfmt.rows.targets.iceberg import IcebergTables

    return LakeTarget(output, to, IcebergTables(output.root, options).open, options)
