"""Settings of records and phases."""

import pytest

from run.pretraining.phases import get_phases
from run.pretraining.settings import PretrainingSettings, TrainingSettings
from tests.errors import Message, raises_message


def settings_of(phases, input_file="a_{length}.tfrecord", **records):
    return PretrainingSettings(
        input_file=input_file,
        eval_input_file="b_{length}",
        **records,
        phases=phases,
        num_train_steps=1000,
        training=TrainingSettings(train_batch_size=32),
    )


def test_phases():
    found = get_phases(settings_of("128:0.9, 512:0.1:8"))
    assert [
        (
            phase.first_step,
            phase.settings.max_seq_length,
            phase.settings.max_predictions_per_seq,
            phase.batch_size,
            phase.settings.input_file,
            phase.settings.eval_input_file,
        )
        for phase in found
    ] == [(0, 128, 20, 32, "a_128.tfrecord", "b_128"), (900, 512, 77, 8, "a_512.tfrecord", "b_512")]


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        (
            "128:0.9,512:0.2",
            Message(
                "phases", "fractions must add up to 1", "but add up to 1.1", value="128:0.9,512:0.2"
            ),
        ),
        ("128:x", Message("phases", "is not a phase", "must be LENGTH:FRACTION", value="128:x")),
        ("128:0.5:1:2:3,64:0.5", Message("phases", "is not a phase", value="128:0.5:1:2:3")),
        (
            "128:1.5,64:-0.5",
            Message("phases", "greater than 0", "at most 1", value="128:1.5"),
        ),
        ("3:1", Message("phases", "`max_seq_length`=3", "must be at least 5", value="3:1")),
    ],
)
def test_phases_that_are_none(phases, message):
    with raises_message(message):
        settings_of(phases)


def test_records_of_several_phases_are_told_apart_by_their_names():
    with pytest.raises(ValueError, match=r"`input_file` must contain \{length\}"):
        settings_of("128:0.9,512:0.1", input_file="a.tfrecord")


def test_phases_of_next_tokens_have_no_number_of_predictions():
    found = get_phases(settings_of("128:0.9,512:0.1", objective="left_to_right"))
    assert [phase.settings.max_seq_length for phase in found] == [128, 512]
    with pytest.raises(
        ValueError, match="`max_predictions_per_seq`=9: cannot be combined with `objective`="
    ):
        settings_of("128:0.9,512:0.1:8:9", objective="left_to_right")
