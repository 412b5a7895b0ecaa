"""What formats of changes from PostgreSQL share."""
