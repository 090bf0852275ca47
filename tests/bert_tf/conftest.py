"""Fixtures of the library's tests. No test changes the files that these create."""

import pytest
import tensorflow as tf

from bert_tf.checkpoints import task_metadata
from bert_tf.serving import litert, saved_model
from tests import toy_servables


@pytest.fixture(scope="session")
def batch(reference_batches):
    """The features of the first reference batch, B=4, S=32, P=6.

    60% of its positions are tokens.
    """
    return {name: tf.constant(values[0]) for name, values in reference_batches.items()}


@pytest.fixture(scope="session")
def toy_tokenizer(tmp_path_factory):
    """BertTokenizer of `toy_servables`."""
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(scope="session")
def toy_checkpoints(tmp_path_factory):
    """A pathlib.Path of a directory with a checkpoint in NAME/ for each task of `toy_servables`."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in toy_servables.REQUESTS:
        (folder / name).mkdir()
        toy_servables.make_tokenizer(folder / name)
        (folder / name / "bert_config.json").write_text(toy_servables.CONFIG.to_json())
        if name in toy_servables.TASKS:
            task_metadata.keep(folder / name, toy_servables.TASKS[name])
        tf.train.Checkpoint(model=toy_servables.make_model(name)).write(
            str(folder / name / "ckpt-3")
        )
        (folder / name / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
    return folder


@pytest.fixture(scope="session")
def toy_saved_models(tmp_path_factory, toy_tokenizer):
    """Directory, a pathlib.Path, with the SavedModel NAME/1 of each task of `toy_servables`."""
    folder = tmp_path_factory.mktemp("saved_models")
    for name in toy_servables.REQUESTS:
        saved_model.save(toy_servables.make_servable(name, toy_tokenizer), str(folder / name))
    return folder


@pytest.fixture(scope="session")
def toy_litert_files(tmp_path_factory, toy_tokenizer):
    """A pathlib.Path of a directory with the file NAME.tflite of each task of `toy_servables`.

    The files have two row lengths; 31 is greater than MAX_SEQ_LENGTH.
    """
    folder = tmp_path_factory.mktemp("litert")
    for name in toy_servables.REQUESTS:
        servable = toy_servables.make_servable(name, toy_tokenizer, layer="litert")
        batch_sizes = (1, 3) if name == "encoder" else (2,)
        content = litert.convert_servable(servable, lengths=(7, 31), batch_sizes=batch_sizes)
        (folder / f"{name}.tflite").write_bytes(content)
    return folder
