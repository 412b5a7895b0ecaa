"""What users see: diagnostics, tables and progress, as text, with colour, or for other programs to read."""
