"""task.json next to a checkpoint: valid and invalid files, and flags that may change its values."""

import pytest

from bert_tf.checkpoints import ModelDirectory, task_metadata
from bert_tf.cli.model_files import ModelFiles
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.resolution import resolve_task_metadata
from bert_tf.errors import InputError
from bert_tf.serving import exports
from bert_tf.tasks.metadata import TaskMetadata
from run.finetuning.experiment import check_metadata
from run.inference.served_models import CheckpointSettings
from tests.errors import Message, raises_message, rejects

REVIEWS = TaskMetadata("classifier", 26, False, ("bad", "good"), pairs=True)


@pytest.mark.parametrize("lower_case", [True, False])
def test_accents_that_follow_the_casing_are_the_default(tmp_path, lower_case):
    explicit, default, other = (
        TaskMetadata("classifier", 7, lower_case, ("a", "b"), strip_accents=strip_accents)
        for strip_accents in (lower_case, None, not lower_case)
    )
    assert explicit == default
    task_metadata.keep(tmp_path, explicit)
    (tmp_path / "checkpoint").touch()
    check_metadata(str(tmp_path), default)
    with rejects(None, "contains the run of another task", "strip_accents None instead of"):
        check_metadata(str(tmp_path), other)


def test_a_run_without_its_task_file(tmp_path):
    (tmp_path / "checkpoint").touch()
    with rejects("output_dir", "no task.json", "restore the file", "choose another directory"):
        check_metadata(str(tmp_path), TaskMetadata("classifier", 7, True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", Message("task.json", "is not JSON")),
        ("[]", Message("task.json", "is not a valid task file")),
        ('{"kind": "x"}', Message("task.json", "is not a valid task file")),
        (
            '{"kind": 3, "max_seq_length": 7, "do_lower_case": true}',
            Message("task.json", "kind is 3", "must be a name"),
        ),
        (
            '{"kind": "juggler", "max_seq_length": 7, "do_lower_case": true}',
            Message("task.json", "kind is 'juggler'", "must be one of classifier"),
        ),
        (
            '{"kind": "classifier", "max_seq_length": "7", "do_lower_case": true}',
            Message("task.json", "is '7'", "must be an integer"),
        ),
        (
            '{"kind": "classifier", "max_seq_length": 7, "do_lower_case": true, "labels": "ab"}',
            Message("task.json", "a list of names"),
        ),
    ],
)
def test_invalid_files(tmp_path, content, message):
    (tmp_path / "task.json").write_text(content)
    with raises_message(message):
        _ = ModelDirectory.open(str(tmp_path)).task


def resolve(folder, **explicit_flags):
    """Returns the TaskMetadata with which the model of a directory is served.

    No other files are required.
    """
    settings = CheckpointSettings(model=ModelSettings(init_checkpoint=str(folder))).replace_values(
        explicit_flags
    )
    return resolve_task_metadata(
        settings, explicit_flags, ModelFiles({"init_checkpoint": str(folder)})
    )


@pytest.fixture
def labels_file(tmp_path):
    """Function that returns the path of a file of label names."""

    def write(*labels):
        (tmp_path / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
        return str(tmp_path / "labels.txt")

    return write


def test_flags_may_change_lengths_and_select_an_encoder(tmp_path):
    task_metadata.keep(tmp_path, REVIEWS)
    metadata = resolve(tmp_path, max_seq_length=19)
    assert (
        metadata.kind,
        metadata.labels,
        metadata.pairs,
        metadata.do_lower_case,
        metadata.max_seq_length,
    ) == ("classifier", ("bad", "good"), True, False, 19)
    encoder = resolve(tmp_path, task="encoder", pairs=False)
    assert (encoder.kind, encoder.pairs, encoder.do_lower_case, encoder.max_seq_length) == (
        "encoder",
        False,
        False,
        26,
    )


def test_flags_that_contradict_the_file(tmp_path, labels_file):
    task_metadata.keep(tmp_path, REVIEWS)
    for flags, message in (
        ({"do_lower_case": True}, "`do_lower_case`=True: conflicts with task.json"),
        ({"pairs": False}, "`pairs`=False: conflicts"),
        ({"multi_label": True}, "`multi_label`=True: conflicts"),
        ({"labels_file": labels_file("x")}, "`labels_file`: the labels x conflict"),
    ):
        with pytest.raises(InputError, match=message):
            resolve(tmp_path, **flags)
    task_metadata.keep(tmp_path, TaskMetadata("classifier", 26, True, ("bad", "good")))
    assert resolve(tmp_path, strip_accents=True).strip_accents is None
    with pytest.raises(
        InputError, match=r"`strip_accents`=False: conflicts with task\.json of .* \(True\)"
    ):
        resolve(tmp_path, strip_accents=False)


def test_labels_without_names_accept_some(tmp_path, labels_file):
    (tmp_path / "config.json").write_text('{"architectures": ["BertForSequenceClassification"]}')
    assert resolve(tmp_path).labels == ("LABEL_0", "LABEL_1")
    assert resolve(tmp_path, labels_file=labels_file("bad", "good")).labels == ("bad", "good")
    with rejects("labels_file", "the labels x conflict with config.json", "LABEL_1"):
        resolve(tmp_path, labels_file=labels_file("x"))


def test_labels_are_unique(tmp_path, labels_file):
    """If they were not, one of two probabilities with the same name would be lost."""
    twice = ("contains the label 'a' twice", "labels must be unique")
    (tmp_path / "config.json").write_text('{"architectures": ["BertForSequenceClassification"]}')
    with rejects("labels_file", "labels.txt: ", *twice):
        resolve(tmp_path, labels_file=labels_file("a", "b", "a "))
    with rejects("labels_file", "line 2 is empty", "each line is a label"):
        resolve(tmp_path, labels_file=labels_file("a", "", "b", ""))
    (tmp_path / "task.json").write_text(
        '{"kind": "classifier", "max_seq_length": 26, "do_lower_case": true, '
        '"labels": ["a", "b", "a"]}'
    )
    with rejects("task.json", "is not a valid task file", *twice):
        resolve(tmp_path)


def test_the_latest_version_of_an_export(tmp_path):
    for name in ("2", "10"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").touch()
    assert exports.find_latest_version(str(tmp_path)) == str(tmp_path / "10")
