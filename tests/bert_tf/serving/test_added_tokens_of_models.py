"""Models with added tokens: predictions of checkpoints, SavedModels, and LiteRT files."""

import json
import pathlib

import numpy as np
import pytest

import bert_tf
from bert_tf.checkpoints import ModelDirectory, convert
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.serving import litert, onnx, openvino, saved_model
from bert_tf.serving.checkpoint import load_servable
from bert_tf.tokenization import AddedToken, BertTokenizer, read_added_tokens
from bert_tf.tokenization.token_files import TOKENIZER_CONFIG_NAME

# Written by transformers 5.24.0, whose IDs and probabilities follow.
MODEL = str(pathlib.Path(__file__).parents[2] / "reference" / "today" / "models" / "added_tokens")
TEXT = "the film [E11] was good"
IDS = [2, 13, 8, 34, 9, 6, 3]
PROBABILITIES = [0.6447299718856812, 0.35526999831199646]


@pytest.fixture(scope="module")
def servable():
    directory = ModelDirectory.open(MODEL, "path")
    metadata = bert_tf.load(MODEL).metadata
    return load_servable(
        directory, metadata=metadata, config=directory.config, vocab_file=directory.vocab_txt
    )


def predict(path):
    """Returns the probabilities of a model in any format; the first must be transformers'."""
    result = bert_tf.load(str(path))(text=[TEXT, "[e11]", "film"])
    np.testing.assert_allclose(result["probabilities"][0], PROBABILITIES, atol=2e-4)
    return result["probabilities"]


def test_checkpoint_saved_model_and_litert_file_agree(servable, tmp_path):
    expected = predict(MODEL)
    path, _ = saved_model.save(servable, str(tmp_path / "served"))
    np.testing.assert_allclose(predict(path), expected, atol=1e-6)
    assert (pathlib.Path(path) / "assets" / TOKENIZER_CONFIG_NAME).exists()
    tokenizer = BertTokenizer.from_pretrained(pathlib.Path(path) / "assets")
    assert tokenizer.added_tokens == servable.tokenizer.added_tokens
    file = tmp_path / "model.tflite"
    file.write_bytes(litert.convert_servable(servable, lengths=(8,), batch_sizes=(1,)))
    np.testing.assert_allclose(predict(file), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        pytest.param(onnx, ("tf2onnx", "onnxruntime"), marks=pytest.mark.extra_large),
        (openvino, ("openvino",)),
    ],
)
def test_other_runtimes_agree(servable, module, packages, tmp_path):
    for package in packages:
        pytest.importorskip(package)
    path = str(tmp_path / f"model{module.SUFFIX}")
    module.write(servable, path)
    np.testing.assert_allclose(predict(path), predict(MODEL), atol=1e-5)


def test_converted_and_saved_directories_keep_the_ids(tmp_path):
    tokenizer = BertTokenizer.from_pretrained(MODEL)
    assert tokenizer.encode([TEXT], max_seq_length=7)["input_ids"].numpy().tolist() == [IDS]
    vocab_file = ModelDirectory.open(MODEL, "path").vocab_txt
    convert(MODEL, str(tmp_path / "converted"), "huggingface", vocab_file=vocab_file)
    model = bert_tf.BertClassifier.from_pretrained(MODEL)
    model.save_pretrained(tmp_path / "saved", tokenizer)
    for name in ("converted", "saved"):
        saved = BertTokenizer.from_pretrained(tmp_path / name)
        assert saved.added_tokens == tokenizer.added_tokens == (AddedToken("[E11]", 34),)
        assert saved.encode([TEXT], max_seq_length=7)["input_ids"].numpy().tolist() == [IDS]
        values = json.loads((tmp_path / name / TOKENIZER_CONFIG_NAME).read_text())
        assert values["added_tokens_decoder"]["34"]["content"] == "[E11]"
    assert len((tmp_path / "saved" / "vocab.txt").read_text("utf-8").splitlines()) == 34


def test_a_larger_config_adds_rows_after_those_of_the_checkpoint():
    config = ModelDirectory.open(MODEL, "path").config
    old = bert_tf.BertEncoder.from_pretrained(MODEL).embeddings.word_embeddings.numpy()
    larger = BertConfig(**config.to_dict() | {"vocab_size": 37})
    new = bert_tf.BertEncoder.from_pretrained(MODEL, config=larger)
    rows = new.embeddings.word_embeddings.numpy()
    np.testing.assert_array_equal(rows[:35], old)
    assert np.all(np.abs(rows[35:]).max(axis=1) > 0)
    with pytest.raises(InputError, match="has shape"):
        bert_tf.BertEncoder.from_pretrained(
            MODEL, config=BertConfig(**config.to_dict() | {"vocab_size": 30})
        )


def test_added_tokens_of_another_vocabulary_are_rejected(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    values = {"added_tokens_decoder": {"34": {"content": "[E11]"}}}
    (tmp_path / TOKENIZER_CONFIG_NAME).write_text(json.dumps(values))
    with pytest.raises(InputError, match="has ID 34; must be 5"):
        read_added_tokens(tmp_path / "vocab.txt")
