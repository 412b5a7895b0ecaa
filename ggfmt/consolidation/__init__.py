"""The rows as the database has them: operations of a table made into what they lead to."""
