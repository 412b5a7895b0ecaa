"""What is wrong with handler files: every finding, and what mends it."""
