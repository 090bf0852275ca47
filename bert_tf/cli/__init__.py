"""Shared code of command lines: scripts, paths and globs, and settings that define flags."""
