"""The codes of diagnostics: severity and page. What a code means is in `ggfmt/docs/reference/codes/`, a page for each.

GG1xx configuration, GG2xx table definitions and schemas, GG3xx reading, GG4xx formatting, GG5xx running.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

BAD_RECORDS = "handle-bad-records"
_PAGE = re.compile(r"# \w+: (.+)\n\n(.+?)\n\n```diff\n(.+?)```\n", re.DOTALL)


class Severity(str, Enum):
    """An error stops a command, a warning stops `validate-config --strict`, a note stops nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Code:
    """One kind of diagnostic. `page`: the topic that leads on from it. Texts cost a file, and are read when needed."""

    name: str
    severity: Severity
    page: str

    @property
    def title(self) -> str:
        return self._texts[0]

    @property
    def explanation(self) -> str:
        return " ".join(self._texts[1].splitlines())

    @property
    def before(self) -> str:
        """Return an example of what is wrong: lines of a handler file, a record, or a command."""
        return self._example("+")

    @property
    def after(self) -> str:
        return self._example("-")

    def _example(self, other: str) -> str:
        return "\n".join(line[1:] for line in self._texts[2].splitlines() if line[:1] != other)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """Read the page. Raises: FileNotFoundError without one, ValueError for another form."""
        import pkgutil  # it takes longer to import than this module

        page = pkgutil.get_data("ggfmt", f"docs/reference/codes/{self.name}.md") or b""
        found = _PAGE.match(page.decode())
        if found is None:
            raise ValueError(f"the page of `{self.name}` needs a title, an explanation and an example")
        return found.groups()


ERROR, WARNING, NOTE = Severity

CODES = {
    code.name: code
    for code in (
        Code("GG100", ERROR, "check-handler-files"),
        Code("GG101", WARNING, "check-handler-files"),
        Code("GG102", WARNING, "check-handler-files"),
        Code("GG103", ERROR, "check-handler-files"),
        Code("GG104", ERROR, "check-handler-files"),
        Code("GG105", ERROR, "check-handler-files"),
        Code("GG106", ERROR, "check-handler-files"),
        Code("GG107", WARNING, "check-handler-files"),
        Code("GG108", ERROR, "check-handler-files"),
        Code("GG109", ERROR, "check-handler-files"),
        Code("GG110", WARNING, "check-handler-files"),
        Code("GG111", WARNING, "metadata"),
        Code("GG112", ERROR, "check-handler-files"),
        Code("GG113", WARNING, "check-handler-files"),
        Code("GG114", WARNING, "check-handler-files"),
        Code("GG115", WARNING, "check-handler-files"),
        Code("GG116", WARNING, "check-handler-files"),
        Code("GG117", WARNING, "check-handler-files"),
        Code("GG118", WARNING, "check-handler-files"),
        Code("GG119", NOTE, "check-handler-files"),
        Code("GG120", WARNING, "check-handler-files"),
        Code("GG121", NOTE, "check-handler-files"),
        Code("GG122", WARNING, "checking"),
        Code("GG123", WARNING, "check-handler-files"),
        Code("GG124", NOTE, "check-handler-files"),
        Code("GG125", NOTE, "check-handler-files"),
        Code("GG127", ERROR, "check-handler-files"),
        Code("GG128", NOTE, "check-handler-files"),
        Code("GG129", NOTE, "check-handler-files"),
        Code("GG130", NOTE, "check-handler-files"),
        Code("GG131", NOTE, "check-handler-files"),
        Code("GG132", WARNING, "check-handler-files"),
        Code("GG133", ERROR, "checking"),
        Code("GG134", WARNING, "check-handler-files"),
        Code("GG135", NOTE, "check-handler-files"),
        Code("GG136", NOTE, "check-handler-files"),
        Code("GG137", NOTE, "check-handler-files"),
        Code("GG138", ERROR, "metadata"),
        Code("GG139", NOTE, "metadata"),
        Code("GG140", WARNING, "metadata"),
        Code("GG141", ERROR, "check-handler-files"),
        Code("GG142", WARNING, "check-handler-files"),
        Code("GG143", ERROR, "check-handler-files"),
        Code("GG144", WARNING, "check-handler-files"),
        Code("GG145", NOTE, "eventhandlers"),
        Code("GG146", ERROR, "eventhandlers"),
        Code("GG147", WARNING, "check-handler-files"),
        Code("GG201", ERROR, "input"),
        Code("GG202", ERROR, "input"),
        Code("GG203", ERROR, "input"),
        Code("GG204", ERROR, "input"),
        Code("GG205", ERROR, "input"),
        Code("GG206", ERROR, "make-schemas"),
        Code("GG208", ERROR, "make-schemas"),
        Code("GG209", ERROR, "make-schemas"),
        Code("GG210", ERROR, "options"),
        Code("GG211", WARNING, "input"),
        Code("GG212", ERROR, "options"),
        Code("GG214", ERROR, "avro"),
        Code("GG215", ERROR, "avro"),
        Code("GG216", ERROR, "avro"),
        Code("GG217", ERROR, "eventhandlers"),
        Code("GG218", WARNING, "debezium"),
        Code("GG301", ERROR, BAD_RECORDS),
        Code("GG302", ERROR, BAD_RECORDS),
        Code("GG303", ERROR, BAD_RECORDS),
        Code("GG304", ERROR, BAD_RECORDS),
        Code("GG305", ERROR, BAD_RECORDS),
        Code("GG306", ERROR, BAD_RECORDS),
        Code("GG307", ERROR, BAD_RECORDS),
        Code("GG308", ERROR, BAD_RECORDS),
        Code("GG309", ERROR, "input"),
        Code("GG310", ERROR, "input"),
        Code("GG311", ERROR, BAD_RECORDS),
        Code("GG312", ERROR, BAD_RECORDS),
        Code("GG313", ERROR, BAD_RECORDS),
        Code("GG314", ERROR, BAD_RECORDS),
        Code("GG315", ERROR, "input"),
        Code("GG316", ERROR, BAD_RECORDS),
        Code("GG317", WARNING, BAD_RECORDS),
        Code("GG318", ERROR, "avro"),
        Code("GG319", ERROR, BAD_RECORDS),
        Code("GG320", ERROR, "read-kafka-dumps"),
        Code("GG321", ERROR, "read-kafka-dumps"),
        Code("GG322", ERROR, BAD_RECORDS),
        Code("GG324", WARNING, BAD_RECORDS),
        Code("GG327", WARNING, BAD_RECORDS),
        Code("GG328", WARNING, BAD_RECORDS),
        Code("GG401", ERROR, "fidelity"),
        Code("GG402", ERROR, "formats"),
        Code("GG403", WARNING, "fidelity"),
        Code("GG404", WARNING, "fidelity"),
        Code("GG405", ERROR, "fidelity"),
        Code("GG406", WARNING, "fidelity"),
        Code("GG407", ERROR, "fidelity"),
        Code("GG408", ERROR, "fidelity"),
        Code("GG409", ERROR, "fidelity"),
        Code("GG410", ERROR, "fidelity"),
        Code("GG411", ERROR, "metadata"),
        Code("GG501", ERROR, "output"),
        Code("GG502", ERROR, "troubleshoot"),
        Code("GG503", ERROR, "troubleshoot"),
        Code("GG504", ERROR, "troubleshoot"),
        Code("GG505", ERROR, "troubleshoot"),
        Code("GG506", ERROR, "output"),
        Code("GG507", ERROR, "output"),
        Code("GG508", ERROR, "commands"),
        Code("GG509", ERROR, "output"),
        Code("GG510", ERROR, "output"),
        Code("GG511", ERROR, "output"),
        Code("GG512", ERROR, BAD_RECORDS),
        Code("GG513", ERROR, "checkpoints"),
        Code("GG514", ERROR, "output"),
        Code("GG515", ERROR, "output"),
        Code("GG516", ERROR, "output"),
        Code("GG517", ERROR, "install"),
        Code("GG518", ERROR, "input"),
        Code("GG519", ERROR, "output"),
        Code("GG520", ERROR, "spark"),
        Code("GG521", ERROR, "spark"),
        Code("GG522", ERROR, "troubleshoot"),
        Code("GG523", ERROR, "troubleshoot"),
        Code("GG524", ERROR, "use-spark-connect"),
        Code("GG525", ERROR, "install"),
        Code("GG530", ERROR, "types"),
        Code("GG531", ERROR, "dataframes"),
        Code("GG532", ERROR, "dataframes"),
        Code("GG533", ERROR, "dataframes"),
        Code("GG540", ERROR, "dataframes"),
        Code("GG541", ERROR, "dataframes"),
        Code("GG542", ERROR, "dataframes"),
        Code("GG543", ERROR, "dataframes"),
        Code("GG550", ERROR, "output"),
        Code("GG551", ERROR, "consolidation"),
        Code("GG552", ERROR, "consolidation"),
        Code("GG553", ERROR, "lakehouse"),
        Code("GG554", ERROR, "lakehouse"),
        Code("GG555", ERROR, "lakehouse"),
        Code("GG560", ERROR, "output"),
        Code("GG561", ERROR, "output"),
        Code("GG562", ERROR, "output"),
        Code("GG563", ERROR, "output"),
        Code("GG565", ERROR, "commands"),
        Code("GG566", ERROR, "output"),
        Code("GG570", ERROR, "row-identity"),
        Code("GG580", ERROR, "comparing"),
        Code("GG581", ERROR, "comparing"),
        Code("GG582", ERROR, "comparing"),
        Code("GG583", ERROR, "comparing"),
        Code("GG584", ERROR, "comparing"),
        Code("GG585", ERROR, "comparing"),
        Code("GG586", WARNING, "comparing"),
        Code("GG587", ERROR, "comparing"),
        Code("GG588", ERROR, "comparing"),
        Code("GG589", ERROR, "comparing"),
        Code("GG590", ERROR, "comparing"),
    )
}
