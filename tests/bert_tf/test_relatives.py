"""DistilBERT and ELECTRA: encoders without segment types, and with a projection of the normalized embeddings.

tests/run/test_hugging_face_models.py compares the task models with those of transformers.
"""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors, open_checkpoint
from bert_tf.checkpoints.tensors import check_config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import check_loadable
from tests.encoders import load_all, make_encoder, make_features
from tests.gradients import assert_close, compute_gradients

SIZES = {"vocab_size": 23, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7,
         "max_position_embeddings": 13}
DISTILBERT = BertConfig(**SIZES, hidden_act="gelu_exact", type_vocab_size=0, pooler_act="relu")
ELECTRA = BertConfig(**SIZES, hidden_act="gelu_exact", type_vocab_size=2, pooler_act="gelu_exact", embedding_size=8,
                     project_embedding_sum=True)
BOTH = pytest.mark.parametrize("config", [DISTILBERT, ELECTRA], ids=["distilbert", "electra"])


@pytest.mark.parametrize(("name", "unused"), [("electra_discriminator", 4), ("electra_base", 0)])
def test_encoders_equal_those_of_transformers(reference, name, unused):
    """The pooler is new; the head of the discriminator is unused."""
    folder = reference / "hf_relatives"
    checkpoint = open_checkpoint(str(folder / name))
    check_config(checkpoint, checkpoint.config)
    encoder = models.BertEncoder(checkpoint.config)
    report = load_pretrained(encoder, str(folder / name))
    assert report.missing == ("bert/pooler/dense/kernel", "bert/pooler/dense/bias")
    assert len(report.unused) == unused
    with np.load(folder / "expected.npz") as expected:
        features = {key: tf.constant(expected[key]) for key in ("input_ids", "input_mask", "segment_ids")}
        is_token = expected["input_mask"] > 0
        np.testing.assert_allclose(encoder(features)["sequence_output"][is_token],
                                   expected[f"{name}_sequence_output"][is_token], rtol=0, atol=2e-5)


@BOTH
@pytest.mark.parametrize("options", [
    {"layers": "einsum", "last_where_read": True, "one_hot": True},
    {"layers": "unpadded_compiled", "last_where_read": True, "recompute": True},
], ids=["einsum", "compiled"])
def test_accelerations_change_nothing(config, options):
    config = dataclasses.replace(config, initializer_range=0.4, hidden_dropout_prob=0.0,
                                 attention_probs_dropout_prob=0.0)
    batch = make_features(ELECTRA, (11, 4, 7)) | {"label_ids": tf.constant([1, 0, 2])}
    found, expected = (compute_gradients(models.BertClassifier(make_encoder(config, **fast), 3), batch,
                                         losses.classification_loss) for fast in (options, {}))
    assert any("bert/embeddings/" in name for name in expected)
    assert_close(found, expected, 2e-5)


@BOTH
def test_tf1_checkpoints(config, tmp_path):
    model = models.BertClassifier(models.BertEncoder(config, seed=3), 3)
    assert FORMATS["tf1"].write(tmp_path / "tf1", model_tensors(model), config) == ()
    restored = load_all(models.BertClassifier(open_checkpoint(str(tmp_path / "tf1")).config, 3), tmp_path / "tf1")
    for variable, wanted in zip(restored.trainable_variables, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(variable, wanted, err_msg=variable.name)


def test_a_checkpoint_of_another_model(tmp_path):
    FORMATS["tf1"].write(tmp_path, model_tensors(models.BertEncoder(ELECTRA)), ELECTRA)
    checkpoint = open_checkpoint(str(tmp_path))
    with pytest.raises(InputError, match="contains bert/embeddings/token_type_embeddings, but the BERT config has no"):
        check_config(checkpoint, dataclasses.replace(ELECTRA, type_vocab_size=0))


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize(("model_type", "lacks"), [
    ("albert", "it has no WordPiece vocabulary, but a SentencePiece model; "),
    ("roberta", "it has no WordPiece vocabulary, but a byte-level BPE; "),
    (["bert"], ""),
])
def test_other_models_are_rejected_before_their_files_are_read(tmp_path, model_type, lacks, weights):
    (tmp_path / weights).write_text("")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with pytest.raises(InputError) as caught:
        check_loadable(str(tmp_path))
    assert str(caught.value) == (f"{tmp_path}/config.json: model_type is {model_type!r}: {lacks}only 'bert', "
                                 "'distilbert', and 'electra' are supported")
