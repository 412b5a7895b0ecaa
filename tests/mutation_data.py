"""What `mutation.py` changes, which tests must notice, and which changes no test can notice."""

from __future__ import annotations

_RUN = ("test_totals", "test_rejects", "test_run")
_DIALECTS = ("test_images", "test_canal", "test_maxwell", "test_shareplex", "test_cdl", "test_arcion")
_FORMATS = ("test_golden", "test_formatters")

# For each module the modules of tests that guard it, those that tell soonest first.
_GUARDS: dict[str, tuple[str, ...]] = {
    "ggfmt/columnar/avro.py": ("test_columnar", "test_avro"),
    "ggfmt/formats/goldengate/delimited/read.py": ("test_delimited_reader", *_FORMATS),
    "ggfmt/columnar/pieces.py": ("test_columnar", "test_pieces", *_FORMATS),
    "ggfmt/columnar/json_text.py": ("test_columnar", *_FORMATS),
    "ggfmt/columnar/images.py": ("test_columnar", *_DIALECTS, *_FORMATS, "test_rejects"),
    "ggfmt/columnar/metadata.py": ("test_columnar", *_FORMATS),
    "ggfmt/columnar/replacement.py": ("test_replace", "test_columnar"),
    "ggfmt/columnar/strings.py": ("test_columnar", *_FORMATS),
    "ggfmt/columnar/timestamps.py": ("test_columnar", "test_canal", "test_maxwell", *_FORMATS),
    "ggfmt/config/properties.py": ("test_properties", "test_handler_config"),
    "ggfmt/diagnostics/credentials.py": ("test_totals",),
    "ggfmt/commit/commit.py": ("test_commit", "test_run"),
    "ggfmt/commit/names.py": ("test_totals", "test_commit"),
    "ggfmt/sinks/messages/publish.py": ("test_totals", "test_rejects", "test_commit", "test_run"),
    "ggfmt/sinks/messages/rejects.py": ("test_rejects", "test_totals"),
    "ggfmt/scan/splits.py": _RUN,
    "ggfmt/sinks/messages/report.py": ("test_totals", "test_rejects"),
    "ggfmt/formats/canal/read.py": ("test_images", "test_canal"),
    "ggfmt/formats/canal/write.py": ("test_images", "test_canal"),
    "ggfmt/formats/goldengate/avro/write.py": ("test_images", "test_golden", "test_avro"),
    "ggfmt/formats/goldengate/delimited/write.py": ("test_images", *_FORMATS),
    "ggfmt/formats/goldengate/json/write.py": _FORMATS,
    "ggfmt/formats/goldengate/json/read.py": ("test_json_rejects", "test_totals", "test_json_reader", "test_rejects"),
    "ggfmt/formats/goldengate/xml/write.py": ("test_golden", "test_xml"),
    "ggfmt/formats/json/files.py": ("test_images", "test_json_rejects", "test_json_reader"),
    "ggfmt/formats/records/rows.py": (*_DIALECTS, "test_debezium"),
    "ggfmt/java/text.py": ("test_options", "test_properties"),
    "ggfmt/model/table.py": ("test_definitions", *_FORMATS),
    "ggfmt/options/value_types.py": ("test_options", "test_handler_config"),
}
GUARDED = {module: tuple(f"tests/{test}.py" for test in tests) for module, tests in _GUARDS.items()}

# Changes that change nothing: module, line, the line that takes its place; and why no test can tell.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "ggfmt/config/properties.py",
        "def readline(self, size: int | None = -1, /) -> str:  "
        "# type: ignore[override]  # as in typeshed's own StringIO",
        "def readline(self, size: int | None = -2, /) -> str:  "
        "# type: ignore[override]  # as in typeshed's own StringIO",
    ): "any negative size is no limit",
    (
        "ggfmt/formats/records/rows.py",
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=False)',
        'return msgspec.defstruct("Row", members, rename=renamed, forbid_unknown_fields=True, gc=True)',
    ): "whether the garbage collector looks at rows is a matter of time",
    (
        "ggfmt/formats/json/files.py",
        r'while guess > 0 and not data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n")):',
        r'while guess > 0 and (data[max(0, guess - 3) : guess].endswith((b"}", b"}\n", b"}\r\n"))):',
    ): "a guess is proven before it is used: a worse one takes time",
    (
        "ggfmt/sinks/messages/rejects.py",
        'self._handler, self._kind, "", self._split, 0, self._path, self.size, 0, self._count, digest, None, None',
        'self._handler, self._kind, "", self._split, 1, self._path, self.size, 0, self._count, digest, None, None',
    ): "a split has one file of rejects of a kind, so that its number decides nothing",
}
