"""Command lines: flags of settings, and the start and end of scripts."""
