"""The error of an input that cannot be used, told apart from a fault of this project."""


class InputError(ValueError):
    """An argument, a file or a setting that cannot be used.

    The message is one line for the person who gave it: what it is, what is wrong with it, what would be right. Names
    of arguments stand in backquotes, "`max_seq_length`=3: it must be at least 5"; a script, whose flags bear the same
    names, shows them as flags (bert_tf.cli.script).
    """
