"""JSON that several systems share: where records are in files, what their members and images are."""
