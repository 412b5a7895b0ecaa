"""The output directory of a consolidation: its present files, and the files that a run may replace."""

from __future__ import annotations

from collections.abc import Iterator

from ggfmt.commit.commit import Participant, write_errors_stop
from ggfmt.commit.directory import check_listed, existing_output_error, output_files, refuse_foreign
from ggfmt.commit.records import CONSOLIDATION_MEMBER, records


class RowsDirectory(Participant):
    what = "the output directory"
    handler = "rows"  # in checkpoints
    has_success_file = True

    def replaced(self, mode: str) -> list[str]:
        """Return the files that a run replaces. Raises: UsageError GG501 if `mode` forbids it, Abend GG506."""
        with write_errors_stop(self.root):
            return list(self._replaced(mode))

    def _replaced(self, mode: str) -> Iterator[str]:
        present = sorted(output_files(self.store))
        if mode == "error":
            refuse_foreign(self)
            present = [name for name in present if not name.startswith(".")]
        if not present:
            return
        if mode == "error":
            help = "use `--mode overwrite`, or choose another output directory"
            raise existing_output_error(self.store, "the output directory already holds files", present[0], help)
        listed: set[str] = set()
        for record in records(self.store):
            if CONSOLIDATION_MEMBER not in record.document:
                help = "choose another output directory"
                raise existing_output_error(
                    self.store, "the output directory holds messages of `ggfmt run`", record.place, help
                )
            listed.update(name for name, _ in record.files(self.store))
            if record.is_kept:
                yield record.name
        check_listed(self.store, present, listed)
        yield from present
