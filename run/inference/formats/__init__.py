"""Files of texts to be answered, of answers, and of vectors."""
