"""Comparison of two sets of rows: files of tables from `ggfmt consolidate`, Spark or a database, or a database itself.

`sides` finds the tables of a side, `files` and `database` read their rows as Arrow batches, `comparison` matches
tables, columns and keys by name, `values` gives two types a common one, `kinds` spellings of a value one text,
`partitions` brings matching rows together, on disk if they are many, and `rows` compares them.
"""
