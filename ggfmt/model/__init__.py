"""The model between readers and formatters: tables, operations and their images."""
