"""Two sets of rows compared: files of tables as `ggfmt consolidate`, Spark or a database writes them.

Which tables and files a place has (`places`), their rows as Arrow batches (`files`, `csv_files`, `tables`), columns and
keys by their names (`matching`), values of two types as values of one (`values`), rows that go together brought
together, on disk if they are many (`spread`), and compared (`rows`).
"""
