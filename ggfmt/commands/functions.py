"""The Python functions of the commands; `ggfmt` has their names."""

from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import python_function
from ggfmt.commands.inspection import (
    LintRequest,
    PreviewRequest,
    SchemaRequest,
    find_mistakes,
    make_schemas,
    run_preview,
)

convert = python_function(ConvertRequest, run_conversion, "convert")
consolidate = python_function(ConsolidateRequest, run_consolidation, "consolidate")
compare = python_function(CompareRequest, run_comparison, "compare")
preview = python_function(PreviewRequest, run_preview, "preview")
schema = python_function(SchemaRequest, make_schemas, "schema")
lint = python_function(LintRequest, find_mistakes, "lint")
