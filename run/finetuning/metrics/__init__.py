"""Scores of fine-tuning tasks: GLUE, SQuAD, and the files of a GLUE submission."""
