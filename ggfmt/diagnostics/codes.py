"""The codes of diagnostics: severity and page. What a code means is in `ggfmt/docs/reference/codes/`, a page for each.

GG1xx configuration, GG2xx table definitions and schemas, GG3xx reading, GG4xx formatting, GG5xx running.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cached_property

from ggfmt.dataclasses import dataclass
from ggfmt.lazy import lazy_regex

BAD_RECORDS = "handle-bad-records"
_PAGE = lazy_regex(r"# \w+: (.+)\n\n(.+?)\n\n```diff\n(.+?)```\n", re.DOTALL)


class Severity(str, Enum):
    """An error stops a command, a warning stops `validate-config --strict`, a note stops nothing.

    `validate-config` shows the findings of a run (`Code.of_run`) as notes, except with `--for-run`.
    """

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
    def of_run(self) -> bool:
        """Return whether the code says what ggfmt does not do of a handler file that GoldenGate accepts."""
        return self.name in _OF_RUN

    @property
    def question(self) -> str | None:
        """Return what a finding in a handler file answers; None for a code of other things."""
        if self.of_run:
            return "what does ggfmt not do of the handler file?"
        of_file = "would GoldenGate accept the handler file, and do what its author means?"
        return of_file if self.name.startswith("GG1") else None

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

_OF_RUN = "GG124 GG127 GG136 GG137 GG138 GG145 GG146 GG148 GG149 GG155 GG156 GG216 GG411 GG515"

# The codes by page and severity.
_DECLARED: dict[str, dict[Severity, str]] = {
    "check-handler-files": {
        ERROR: "GG100 GG103 GG104 GG105 GG106 GG108 GG109 GG112 GG127 GG141 GG143 GG148 GG149",
        WARNING: "GG101 GG102 GG107 GG110 GG113 GG114 GG115 GG116 GG117 GG118 GG120 GG123 GG132 GG134 GG142 GG144 "
        "GG147 GG150",
        NOTE: "GG119 GG121 GG124 GG125 GG128 GG129 GG130 GG131 GG135 GG136 GG137 GG156",
    },
    "use-a-replicat-parameter-file": {ERROR: "GG151 GG155 GG160 GG161 GG412 GG597 GG598", WARNING: "GG152 GG153 GG154"},
    "metadata": {ERROR: "GG138 GG411", WARNING: "GG111 GG140", NOTE: "GG139"},
    "checking": {ERROR: "GG133", WARNING: "GG122"},
    "eventhandlers": {ERROR: "GG146 GG217", NOTE: "GG145"},
    "input": {ERROR: "GG201 GG202 GG203 GG204 GG205 GG309 GG310 GG315 GG518", WARNING: "GG211"},
    "make-schemas": {ERROR: "GG206 GG208 GG209"},
    "options": {ERROR: "GG210 GG212"},
    "avro": {ERROR: "GG214 GG215 GG216 GG318"},
    "debezium": {WARNING: "GG218"},
    BAD_RECORDS: {
        ERROR: "GG301 GG302 GG303 GG304 GG305 GG306 GG307 GG308 GG311 GG312 GG313 GG314 GG316 GG319 GG322 GG329 GG512",
        WARNING: "GG317 GG324 GG327 GG328 GG330",
    },
    "read-kafka-dumps": {ERROR: "GG320 GG321"},
    "kafka-settings": {ERROR: "GG571 GG576 GG578"},
    "replay-into-kafka": {ERROR: "GG572 GG573 GG577"},
    "exactly-once": {ERROR: "GG574 GG575"},
    "read-a-topic": {ERROR: "GG579"},
    "fidelity": {ERROR: "GG401 GG405 GG407 GG408 GG409 GG410", WARNING: "GG403 GG404 GG406"},
    "formats": {ERROR: "GG402"},
    "output": {
        ERROR: "GG501 GG506 GG507 GG509 GG510 GG511 GG514 GG515 GG516 GG519 GG550 GG560 GG561 GG562 GG563 GG566"
    },
    "troubleshoot": {ERROR: "GG502 GG503 GG504 GG505 GG522 GG523"},
    "commands": {ERROR: "GG508 GG565"},
    "checkpoints": {ERROR: "GG513"},
    "install": {ERROR: "GG517 GG525"},
    "spark": {ERROR: "GG520 GG521"},
    "use-spark-connect": {ERROR: "GG524"},
    "types": {ERROR: "GG530", WARNING: "GG219"},
    "dataframes": {ERROR: "GG531 GG532 GG533 GG540 GG541 GG542 GG543"},
    "consolidation": {ERROR: "GG551 GG552 GG556 GG557 GG558"},
    "lakehouse": {ERROR: "GG553 GG554 GG555"},
    "row-identity": {ERROR: "GG570"},
    "hide-values": {ERROR: "GG592 GG593"},
    "apply-to-postgresql": {ERROR: "GG596"},
    "comparing": {ERROR: "GG567 GG580 GG581 GG582 GG583 GG584 GG585 GG587 GG588 GG589 GG590", WARNING: "GG586"},
}
_CODES = (
    Code(name, severity, page)
    for page, names in _DECLARED.items()
    for severity, listed in names.items()
    for name in listed.split()
)
CODES = {code.name: code for code in sorted(_CODES, key=lambda code: code.name)}
