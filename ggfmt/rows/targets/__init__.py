"""Targets: where the rows of a consolidation go.

`RowTarget` is what a run needs to know of them. `FileTarget` has directories of plain files. A new target is declared
in `rowfiles.formats`. It says what it can do (`check`), what is there already (`open`, `base`), where tasks write the
files of a table (`layout`), and makes the result of a run visible (`publish`).
"""
