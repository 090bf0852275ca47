"""Settings: frozen dataclasses whose fields carry default, help and bounds, from which flags are made.

    @dataclasses.dataclass(frozen=True)
    class StepSettings(Settings):
        accumulate_steps: int = setting(1, "Micro-batches of a training step.", lower=1)

A field may itself be of a Settings class: a job's settings are made of groups. bert_tf.cli.flags defines the flags of
a class and reads it back from them. This module needs neither absl nor TensorFlow.
"""

import dataclasses
import math

from bert_tf.errors import InputError

LARGEST_NUMBER = 2**31 - 1  # of a whole number without a bound of its own: sizes and steps are int32 further on
LARGEST_SEED = 2**63 - 1


def setting(default, help_text, *, lower=None, upper=None, most=LARGEST_NUMBER, choices=None, repeated=False):
    """A field of a Settings class.

    Args:
      default: its value unless another is given.
      help_text: meaning, unit, and what it must agree with.
      lower, upper: bounds of a number, or of each of a tuple, themselves allowed; None for none. Any must be finite.
      most: of a whole number without a bound, what it may be either way; --help does not speak of it.
      choices: the only values of a str.
      repeated: whether the flag of a tuple of str is given once for each, not once with commas between them.
    """
    return dataclasses.field(default=default, metadata={
        "help": help_text, "lower": lower, "upper": upper, "most": most, "repeated": repeated,
        "choices": None if choices is None else tuple(choices)})


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values that belong together. Made with a value out of its bounds, it raises InputError naming the field."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value, lower, upper, choices = (getattr(self, field.name), *map(
                field.metadata.get, ("lower", "upper", "choices")))
            if value is None:
                continue
            for number in value if isinstance(value, tuple) else (value,):
                if type(number) is int:
                    most = field.metadata["most"]
                    lower, upper = -most - 1 if lower is None else lower, most if upper is None else upper
                if lower is not None and not number >= lower:
                    raise InputError(f"`{field.name}`={number}: it must be at least {lower}")
                if upper is not None and not number <= upper:
                    raise InputError(f"`{field.name}`={number}: it must be at most {upper}")
            if choices is not None and value not in choices:
                raise InputError(f"`{field.name}`={value}: it must be one of {', '.join(choices)}")
        self.check()
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not math.isfinite(number):
                    raise InputError(f"`{field.name}`={number}: it must be a finite number")

    def check(self):
        """For subclasses: raises InputError where two fields do not go together."""
