"""Checks of messages: the argument or file, the value, the key words of the problem, the advice."""

import contextlib
import re

import pytest

from bert_tf.errors import InputError

ANY = object()  # A value that is not checked.


class Message:
    """Contents of a message whose other words may change.

    Args:
      subject: The argument, which a script shows as a flag, or the file that the message begins
        with. A file may be the end of a path, such as a.csv or b/a.csv:3 (a line). None if the
        message begins with neither.
      *parts: str. Key words of the problem and of the advice, in any order.
      value: Value of the argument as in the message. By default, any value.
      end: str. End of the message, after which it gives no other reason and no advice.
      absent: Tuple of str. Advice of other cases, which the message does not contain.
    """

    def __init__(self, subject, *parts, value=ANY, end="", absent=()):
        self.subject = subject
        self.parts = parts
        self.value = value
        self.end = end
        self.absent = absent

    def __str__(self):
        return "; ".join((f"{self.subject}", *self.parts, *([self.end] if self.end else ())))

    def check(self, text):
        """Asserts that a text is this message."""
        if self.value is not ANY:
            start = f"{self.subject}={self.value}: "
            assert text.startswith((f"`{start}".replace("=", "`=", 1), f"--{start}")), text
        elif self.subject is not None:
            subject = re.escape(f"{self.subject}")
            start = rf"(`{subject}`|--{subject})[= :]|(\S*/)?{subject}[:,] "
            assert re.match(start, text), f"not about {self.subject}: {text}"
        for part in self.parts:
            assert part in text, f"without {part!r}: {text}"
        for part in self.absent:
            assert part not in text, f"with {part!r}: {text}"
        assert text.rstrip("\n").endswith(self.end), f"does not end with {self.end!r}: {text}"


@contextlib.contextmanager
def raises_message(message, error=InputError, file=None):
    """Checks that the code of a context raises an error.

    Args:
      message: Message.
      error: Class of the error.
      file: Path of a file that the message begins with, before its own subject.
    """
    with pytest.raises(error) as caught:
        yield caught
    text = f"{caught.value}"
    if file is not None:
        assert text.startswith(f"{file}: "), text
        text = text.removeprefix(f"{file}: ")
    message.check(text)


def rejects(subject, *parts, error=InputError, **options):
    """Checks that the code of a context raises an error about an argument or a file.

    Args:
      subject, *parts, **options: See Message.
      error: Class of the error.
    """
    return raises_message(Message(subject, *parts, **options), error)


def check_message(text, subject, *parts, **options):
    """Asserts what a note or an error that a script printed states. Args: see Message."""
    Message(subject, *parts, **options).check(text)
