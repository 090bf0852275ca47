"""Toy models and exports that several modules read; none of them changes the files."""

import pytest

from tests import toy_servables


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
