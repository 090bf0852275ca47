"""The keys of other libraries' JSON files, by their effect on the numbers of a model.

Each key of a file is in one of three lists. A reader follows it, or it must have the value that
this project computes, or it does not affect the numbers. Other keys print a note. The lists are of
transformers 5.24, tokenizers 0.23, sentence-transformers 6.2, PEFT 0.21, and KerasHub 0.32.
"""

import dataclasses
import itertools

from bert_tf import notes
from bert_tf.errors import InputError

# Reasons that several lists have.
TRAINING = "training only"
ORIGIN = "describes where the file is from"
GENERATION = "text generation only"
OUTPUT_FORM = "form of the library's outputs, not their numbers"


@dataclasses.dataclass(frozen=True)
class FileKeys:
    """The keys of a JSON file, or of an object in it.

    Attributes:
      followed: Keys that a reader uses.
      fixed: Dict of key to the values that this project supports, besides null.
      ignored: Dict of reason to the keys that do not affect the numbers for this reason.
    """

    followed: tuple[str, ...] = ()
    fixed: dict[str, tuple] = dataclasses.field(default_factory=dict)
    ignored: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def known(self):
        """List of all keys. Each is in one list, which a test checks."""
        return [*self.followed, *self.fixed, *itertools.chain(*self.ignored.values())]

    def check(self, values, path, scope="", *, without=()):
        """Checks the values of a file, and prints a note about unknown keys.

        Args:
          values: Dict of the file.
          path: Path of the file, for messages.
          scope: Keys that lead to the object in the file, such as "model.".
          without: Fixed keys that may have any value.

        Raises:
          InputError: If a fixed key has another value.
        """
        for key, supported in self.fixed.items():
            value = None if key in without else values.get(key)
            if value is not None and not any(
                type(value) is type(one) and value == one for one in supported
            ):
                only = " or ".join(repr(one) for one in supported)
                raise InputError(
                    f"{path}: {scope}{key} is {value!r:.80}: "
                    + (f"only {only} is supported" if supported else "not supported")
                )
        unknown = sorted(set(values) - set(self.known))
        if unknown:
            notes.tell(f"{path}: ignoring unknown keys: {scope}{', '.join(unknown)}")
