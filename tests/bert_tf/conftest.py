"""Fixtures of the library's tests. No test changes the files that these create."""

import pytest

from tests import toy_servables


@pytest.fixture(scope="session")
def batch(reference_batches):
    """The features of the first reference batch, B=4, S=32, P=6; 60% of its positions are tokens."""
    import tensorflow as tf

    return {name: tf.constant(values[0]) for name, values in reference_batches.items()}


@pytest.fixture(scope="session")
def toy_tokenizer(tmp_path_factory):
    """BertTokenizer of `toy_servables`."""
    return toy_servables.make_tokenizer(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture(scope="session")
def toy_checkpoints(tmp_path_factory):
    """Directory, a pathlib.Path, with a directory NAME for the checkpoint of each task of `toy_servables`."""
    folder = tmp_path_factory.mktemp("checkpoints")
    toy_servables.write_checkpoints(folder)
    return folder


@pytest.fixture(scope="session")
def toy_saved_models(tmp_path_factory, toy_tokenizer):
    """Directory, a pathlib.Path, with the SavedModel NAME/1 of each task of `toy_servables`."""
    folder = tmp_path_factory.mktemp("saved_models")
    toy_servables.write_saved_models(folder, toy_tokenizer)
    return folder


@pytest.fixture(scope="session")
def toy_litert_files(tmp_path_factory, toy_tokenizer):
    """Directory, a pathlib.Path, with the LiteRT file NAME.tflite of each task of `toy_servables`."""
    folder = tmp_path_factory.mktemp("litert")
    toy_servables.write_litert_files(folder, toy_tokenizer)
    return folder
