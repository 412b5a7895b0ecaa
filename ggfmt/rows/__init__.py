"""The rows of tables: what changes make of them, and the files that hold them."""
