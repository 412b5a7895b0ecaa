"""The pages of the documents that lead on from codes."""

from __future__ import annotations

BAD_RECORDS = "handle-bad-records"

# By the first characters of codes: the longest ones that fit count.
_PAGES = {
    "GG1": "check-handler-files",
    "GG111": "metadata",
    "GG122": "checking",
    "GG133": "checking",
    "GG138": "metadata",
    "GG139": "metadata",
    "GG140": "metadata",
    "GG145": "eventhandlers",
    "GG146": "eventhandlers",
    "GG2": "input",
    "GG206": "make-schemas",
    "GG208": "make-schemas",
    "GG209": "make-schemas",
    "GG210": "options",
    "GG211": "input",
    "GG212": "options",
    "GG214": "avro",
    "GG215": "avro",
    "GG216": "avro",
    "GG217": "eventhandlers",
    "GG218": "debezium",
    "GG3": BAD_RECORDS,
    "GG309": "input",
    "GG310": "input",
    "GG315": "input",
    "GG318": "avro",
    "GG320": "read-kafka-dumps",
    "GG321": "read-kafka-dumps",
    "GG4": "fidelity",
    "GG402": "formats",
    "GG411": "metadata",
    "GG5": "troubleshoot",
    "GG501": "output",
    "GG506": "output",
    "GG507": "output",
    "GG508": "commands",
    "GG509": "output",
    "GG51": "output",
    "GG512": BAD_RECORDS,
    "GG513": "checkpoints",
    "GG517": "install",
    "GG518": "input",
    "GG520": "spark",
    "GG521": "spark",
    "GG524": "use-spark-connect",
    "GG525": "install",
    "GG53": "dataframes",
    "GG530": "types",
    "GG54": "dataframes",
    "GG55": "consolidation",
    "GG550": "output",
    "GG553": "lakehouse",
    "GG554": "lakehouse",
    "GG555": "lakehouse",
    "GG56": "output",
    "GG565": "commands",
    "GG570": "row-identity",
    "GG58": "comparing",
}


def page_of(code: str) -> str:
    """Return the topic of the page that leads on from a code."""
    return _PAGES[max((prefix for prefix in _PAGES if code.startswith(prefix)), key=len)]
