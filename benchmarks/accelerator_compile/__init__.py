"""Compilation of training steps for TPUs and GPUs on a machine without them; see __main__."""
