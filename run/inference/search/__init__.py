"""Search in lines of text by their vectors."""
