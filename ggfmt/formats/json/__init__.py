"""JSON that several systems share: where records lie in files, what their members and images are."""
