"""Models that answer: from a checkpoint or an export, in the terminal or into files."""
