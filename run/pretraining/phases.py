"""Phases of a run with different sequence lengths.

Usually, short sequences come first, since the cost of attention is quadratic.

Does not import TensorFlow.
"""

import dataclasses
import itertools
import math

from bert_tf.cli.settings import check_rules
from bert_tf.errors import InputError
from run.training.schedule import Phase

PLACEHOLDER = "{length}"  # Used in the names of record files.
FORM = "LENGTH:FRACTION[:BATCH[:PREDICTIONS]]; separate phases by commas"


def get_phases(settings):
    """Returns the list of Phase of a run, without data.

    There is a single phase unless `phases` of PretrainingSettings is set.

    Raises:
      InputError: If `phases` is malformed, or if the fractions do not add up to 1.
    """
    text = settings.phases
    if not text:
        return [Phase(0, settings)]
    parts = [_parse_phase(part, settings) for part in text.split(",")]
    fractions = [fraction for fraction, _ in parts]
    if not math.isclose(sum(fractions), 1, abs_tol=1e-6):
        raise InputError(
            f"the fractions must add up to 1, but add up to {sum(fractions):g}", "phases", text
        )
    if len(parts) > 1 and PLACEHOLDER not in (settings.input_file or ""):
        raise InputError(
            f"`input_file` must contain {PLACEHOLDER}, for example records_{PLACEHOLDER}.tfrecord",
            "phases",
            text,
        )
    firsts = [
        round(before * settings.num_train_steps)
        for before in itertools.accumulate(fractions[:-1], initial=0.0)
    ]
    return [
        Phase(first, phase_settings)
        for (_, phase_settings), first in zip(parts, firsts, strict=True)
    ]


def _parse_phase(text, settings):
    """Returns the fraction of the steps and the PretrainingSettings of a phase."""
    wrong = InputError(f"is not a phase; must be {FORM}", "phases", text)
    fields = text.strip().split(":")
    if not 2 <= len(fields) <= 4:
        raise wrong
    try:
        length = int(fields[0])
        fraction = float(fields[1])
        sizes = [int(field) for field in fields[2:]]
    except ValueError:
        raise wrong from None
    if not 0 < fraction <= 1:
        raise InputError("the fraction must be greater than 0 and at most 1", "phases", text)
    batch_size = sizes[0] if sizes else settings.training.train_batch_size
    predictions = sizes[1] if len(sizes) > 1 else None
    if predictions is None and settings.objective_spec.predicts_next:
        predictions = settings.max_predictions_per_seq
    if predictions is None:
        predictions = math.ceil(settings.masked_lm_prob * length)
    named = {
        name: (getattr(settings, name) or "").replace(PLACEHOLDER, str(length)) or None
        for name in ("input_file", "eval_input_file")
    }
    try:
        phase_settings = dataclasses.replace(
            settings,
            max_seq_length=length,
            max_predictions_per_seq=predictions,
            **named,
            training=dataclasses.replace(settings.training, train_batch_size=batch_size),
            phases=None,
        )
        check_rules(phase_settings)
    except InputError as error:  # It is about a setting that `phases` replaces.
        raise InputError(str(error), "phases", text) from error
    return fraction, phase_settings
