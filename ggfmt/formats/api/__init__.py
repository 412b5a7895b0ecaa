"""What a format is: its declaration, what it is told, what reads it, writes it and shows it."""
