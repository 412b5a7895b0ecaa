"""Comparison of two sets of rows: files of tables from `ggfmt consolidate`, Spark or a database.

`sides` finds the tables and files of a side, `files` and `csv_files` read their rows as Arrow batches, `comparison`
matches tables, columns and keys by name, `values` gives two types a common one, `hash_partitions` brings matching rows
together, on disk if they are many, and `rows` compares them.
"""
