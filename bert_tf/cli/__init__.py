"""What command lines share: how a script starts and ends, paths and globs, settings that define their flags."""
