"""The functions for programs; `ggfmt` has their names."""

from ggfmt import frames, rows
from ggfmt.commands import inspection
from ggfmt.commands.api import api_function
from ggfmt.commands.application import ApplyRequest, run_application
from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.commands.conversion import ConvertRequest, run_conversion
from ggfmt.commands.declaration import python_function

convert = api_function(python_function(ConvertRequest, run_conversion, "convert"), ConvertRequest)
consolidate = api_function(python_function(ConsolidateRequest, run_consolidation, "consolidate"), ConsolidateRequest)
apply = api_function(python_function(ApplyRequest, run_application, "apply"), ApplyRequest)
compare = api_function(python_function(CompareRequest, run_comparison, "compare"), CompareRequest)
preview = api_function(
    python_function(inspection.PreviewRequest, inspection.run_preview, "preview"), inspection.PreviewRequest
)
schema = api_function(
    python_function(inspection.SchemaRequest, inspection.make_schemas, "schema"), inspection.SchemaRequest
)
lint = api_function(python_function(inspection.LintRequest, inspection.find_mistakes, "lint"), inspection.LintRequest)
# Their arguments are those of `consolidate` as far as both have them.
read = api_function(frames.read, ConsolidateRequest)
register = api_function(frames.register)
scan = api_function(frames.scan, ConsolidateRequest)
current = api_function(rows.current, ConsolidateRequest)
history = api_function(rows.history, ConsolidateRequest)
changes = api_function(rows.changes, ConsolidateRequest)
