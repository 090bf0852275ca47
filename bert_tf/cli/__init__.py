"""Shared code of command lines: scripts, paths and globs, and settings that define flags."""

from bert_tf.cli import endings

endings.report_early_interruption()
