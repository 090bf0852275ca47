"""Shared code of command lines: start and end of scripts, paths and globs, and settings that
define flags."""
