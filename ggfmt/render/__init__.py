"""What users see: diagnostics, tables and progress, as text, in color, or for other programs."""
