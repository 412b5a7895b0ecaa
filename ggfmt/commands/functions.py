"""The functions for programs; `ggfmt` has their names."""

from ggfmt import frames, rows
from ggfmt.commands import inspection
from ggfmt.commands.api import api_function, request_function
from ggfmt.commands.application import ApplyRequest, run_application
from ggfmt.commands.comparison import CompareRequest, run_comparison
from ggfmt.commands.consolidation import ConsolidateRequest, run_consolidation
from ggfmt.commands.conversion import ConvertRequest, run_conversion

run = convert = request_function(ConvertRequest, run_conversion, "run")
consolidate = request_function(ConsolidateRequest, run_consolidation, "consolidate")
apply = request_function(ApplyRequest, run_application, "apply")
compare = request_function(CompareRequest, run_comparison, "compare")
preview = request_function(inspection.PreviewRequest, inspection.run_preview, "preview")
schema = request_function(inspection.SchemaRequest, inspection.make_schemas, "schema")
validate_config = lint = request_function(inspection.LintRequest, inspection.find_mistakes, "validate_config")
# Their arguments are those of `consolidate` as far as both have them.
read = api_function(frames.read, ConsolidateRequest)
register = api_function(frames.register)
scan = api_function(frames.scan, ConsolidateRequest)
current = api_function(rows.current, ConsolidateRequest)
history = api_function(rows.history, ConsolidateRequest)
changes = api_function(rows.changes, ConsolidateRequest)
