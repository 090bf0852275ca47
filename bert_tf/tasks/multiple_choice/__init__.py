"""The best of several texts that follow another text."""
