"""The exceptions for invalid user input and for lost machines, as opposed to bugs."""

import contextlib


class InputError(ValueError):
    """An argument, a file, or a setting that cannot be used.

    The message is one line for the user: "`argument`=value: problem". Names of arguments are in
    backquotes; a script, whose flags have the same names, shows them as flags (bert_tf.cli.script).

    Args:
      problem: str. What is wrong and what to do; the complete message if there is no `argument`.
      argument: str. Name of the argument that the problem is about, or None.
      value: Value of the argument. If not set, the message is "`argument` problem".
    """

    def __init__(self, problem, argument=None, value=...):
        self.problem = problem
        self.argument = argument
        self.value = value
        if argument is None:
            super().__init__(problem)
        elif value is ...:
            super().__init__(f"`{argument}` {problem}")
        else:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else value
            super().__init__(f"`{argument}`={text}: {problem}")


class LostWorkerError(Exception):
    """Another process of the same training run ended.

    The message is one line for the user, with how to resume.
    """


@contextlib.contextmanager
def name_file(path):
    """Prefixes the message of an InputError with the path of a file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


@contextlib.contextmanager
def rename_argument(**names):
    """Replaces the argument name of an InputError.

    `names`: Argument name -> name to replace it with. Errors about other arguments are unchanged.
    """
    try:
        yield
    except InputError as error:
        if error.argument not in names:
            raise
        raise InputError(error.problem, names[error.argument], error.value) from error
