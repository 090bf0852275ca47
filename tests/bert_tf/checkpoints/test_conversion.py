"""The original's checkpoints: reading, writing, and conversion to each other format."""

import dataclasses
import os
import resource

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import (
    FORMATS,
    ModelDirectory,
    convert,
    model_tensors,
    open_checkpoint,
    original,
)
from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TaskMetadata
from tests.bert_tf.checkpoints.conftest import write_tensors
from tests.errors import Message, raises_message, rejects
from tests.remote_folders import new_folder, put


@pytest.mark.parametrize("is_remote", [False, True])
@pytest.mark.parametrize("output_format", FORMATS)
def test_every_tensor_keeps_its_bytes(
    tf1_checkpoint, reference_config, tmp_path, output_format, is_remote
):
    folder = new_folder() if is_remote else str(tmp_path)
    vocabulary = "\n".join(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"é{number}" for number in range(115)), ""]
    )
    put(f"{folder}/entries.txt", vocabulary)
    summary, *notes = convert(
        tf1_checkpoint, f"{folder}/out", output_format, reference_config, f"{folder}/entries.txt"
    )
    assert summary.startswith(
        f"{tf1_checkpoint} (TF1 checkpoint) -> {folder}/out "
        f"({FORMATS[output_format].FORMAT_NAME}): 46 tensors"
    )
    assert notes == []
    written = open_checkpoint(f"{folder}/out")
    expected = open_checkpoint(tf1_checkpoint)
    assert written.format == FORMATS[output_format].FORMAT_NAME
    assert ModelDirectory.open(f"{folder}/out").config == reference_config
    assert set(written.tensors) == set(expected.tensors)
    for name, tensor in expected.tensors.items():
        np.testing.assert_array_equal(
            written.tensors[name].read(), tensor.read(), strict=True, err_msg=name
        )
    assert files.read_text(f"{folder}/out/vocab.txt") == vocabulary
    assert not [
        name
        for name in files.at(f"{folder}/out").names()
        if name.startswith(".") or name.endswith(".partial")
    ]


def test_optimizer_state_of_the_original_is_not_read(tmp_path):
    tensors = {
        name: tf.zeros([3])
        for name in (
            "bert/pooler/dense/bias",
            "bert/pooler/dense/bias/adam_m",
            "bert/pooler/dense/bias/adam_v",
            "global_step",
        )
    }
    assert set(open_checkpoint(write_tensors(tmp_path / "model.ckpt-7", tensors)).tensors) == {
        "bert/pooler/dense/bias"
    }


def test_the_saver_of_tensorflow_1_reads_the_weights_without_optimizer_state(
    training_checkpoint, tmp_path, reference_config
):
    tensors = open_checkpoint(training_checkpoint[0]).tensors
    folder = tmp_path / "released"
    assert original.write(folder, tensors, reference_config) == ()
    assert sorted(os.listdir(folder)) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
    ]
    weights = sum(
        4 * np.prod(tensor.shape) for tensor in model_tensors(training_checkpoint[1]).values()
    )
    assert os.path.getsize(folder / "bert_model.ckpt.data-00000-of-00001") == weights
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [
            tf.compat.v1.get_variable(name, tensor.shape) for name, tensor in tensors.items()
        ]
        tf.compat.v1.train.Saver().restore(session, str(folder / "bert_model.ckpt"))
        for value, tensor in zip(session.run(variables), tensors.values(), strict=True):
            np.testing.assert_array_equal(value, tensor.read())


def test_a_checkpoint_without_a_config(training_checkpoint, tmp_path):
    with rejects("bert_config_file", "is required", "there is no config next to"):
        convert(training_checkpoint[0], str(tmp_path / "out"), "huggingface")


def test_the_error_for_a_full_disk_names_the_file(tf1_checkpoint, reference_config, tmp_path):
    """A limit of the file size has the same exception in safetensors as a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 13, limits[1]))
    try:
        with pytest.raises(
            OSError, match=f"^{tmp_path}/out/model.safetensors: cannot be written: .*File too large"
        ):
            convert(tf1_checkpoint, str(tmp_path / "out"), "huggingface", reference_config)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("attention", "causal"),
        ("bilstm_head", True),
        ("intermediate_size_per_layer", (64, 40)),
        ("embedding_size", 5),
        ("num_hidden_groups", 1),
        ("pooler_act", "relu"),
        ("type_vocab_size", 0),
    ],
)
@pytest.mark.parametrize(
    ("output_format", "project"),
    [("huggingface", "Hugging Face's BERT"), ("model_garden", "the Model Garden's encoder")],
)
def test_models_that_other_projects_do_not_support(
    reference_config, tmp_path, output_format, project, setting, value
):
    config = dataclasses.replace(reference_config, **{setting: value})
    with pytest.raises(InputError, match=f"^{setting} is .*: not supported by {project}$"):
        FORMATS[output_format].write(str(tmp_path / "out"), {}, config)
    assert not os.listdir(tmp_path)


def test_causal_attention_stays_in_the_format_of_the_original(
    tf1_checkpoint, reference_config, tmp_path
):
    config = dataclasses.replace(reference_config, attention="causal", bilstm_head=True)
    convert(tf1_checkpoint, str(tmp_path / "out"), "tf1", config)
    assert ModelDirectory.open(str(tmp_path / "out")).config == config


@pytest.mark.parametrize(
    ("output_format", "task", "message"),
    [
        (
            "onnx",
            None,
            Message("format", "must be one of tf1", "model_garden", "huggingface", value="onnx"),
        ),
        (
            "huggingface",
            TaskMetadata("classifier", None, None, tuple("abcdefghi")),
            Message(None, "the task has 9 labels", "outputs"),
        ),
    ],
)
def test_invalid_conversions_write_nothing(
    reference, reference_config, tmp_path, output_format, task, message
):
    with raises_message(message):
        convert(
            str(reference / "classify_init.ckpt"),
            str(tmp_path / "out"),
            output_format,
            reference_config,
            task=task,
        )
    assert not os.listdir(tmp_path)
