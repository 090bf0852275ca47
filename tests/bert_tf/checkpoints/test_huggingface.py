"""Hugging Face's files in and out. `hf_tiny` was written by transformers; its outputs must be met within 2e-5."""

import dataclasses
import json
import os

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import huggingface, load_pretrained, model_tensors, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

ACTIVATIONS = 2e-5

SMALL = BertConfig(vocab_size=19, hidden_size=6, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7,
                   max_position_embeddings=13, type_vocab_size=5)


@pytest.fixture
def hf_tiny(reference):
    return str(reference / "hf_tiny")


@pytest.fixture
def arrays(hf_tiny):
    """The tensors that transformers wrote, by its keys."""
    return safetensors.numpy.load_file(os.path.join(hf_tiny, "model.safetensors"))


@pytest.fixture
def changed(hf_tiny, arrays, tmp_path):
    """(tensors, **settings) -> a copy of hf_tiny with other tensors and settings; None takes a setting out."""
    def make(tensors=arrays, **settings):
        with open(os.path.join(hf_tiny, "config.json"), encoding="utf-8") as file:
            values = json.load(file) | settings
        (tmp_path / "config.json").write_text(
            json.dumps({key: value for key, value in values.items() if value is not None}))
        safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
        return str(tmp_path)
    return make


def test_outputs_are_those_of_transformers(hf_tiny, reference):
    model = models.BertPretrainer(huggingface.read_config(hf_tiny))
    report = load_pretrained(model, hf_tiny)
    assert len(report.loaded) == 38
    assert report.missing == report.unused == ()
    with np.load(reference / "hf_tiny" / "expected.npz") as arrays:
        expected = dict(arrays)
    features = {name: tf.constant(expected[name], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    features["masked_lm_positions"] = tf.tile(tf.range(24)[tf.newaxis], [3, 1])
    found = model.encoder(features) | model(features)
    for name in ("sequence_output", "pooled_output", "masked_lm_logits", "next_sentence_logits"):
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=ACTIVATIONS, err_msg=name)


def test_what_is_written_is_what_transformers_writes(hf_tiny, arrays, tmp_path):
    config = huggingface.read_config(hf_tiny)
    model = models.BertPretrainer(config)
    load_pretrained(model, hf_tiny)
    assert huggingface.write(tmp_path / "new" / "bert", model_tensors(model), config) == ()

    written = safetensors.numpy.load_file(tmp_path / "new" / "bert" / "model.safetensors")
    assert list(written) == list(arrays)
    for key, value in arrays.items():
        assert written[key].shape == value.shape
        assert written[key].tobytes() == value.tobytes(), key
    with open(os.path.join(hf_tiny, "config.json"), encoding="utf-8") as file:
        theirs = json.load(file)
    ours = json.loads((tmp_path / "new" / "bert" / "config.json").read_text())
    assert {key: theirs[key] for key in ours if key in theirs} == {key: ours[key] for key in ours if key in theirs}
    assert set(ours) - set(theirs) == {"position_embedding_type"}  # absolute, which was written until transformers 4
    assert sorted(os.listdir(tmp_path / "new")) == ["bert"]  # nothing unfinished is left
    assert {os.stat(path).st_mode for path in (tmp_path / "new" / "bert").iterdir()} == {
        os.stat(tmp_path / "new" / "bert" / "config.json").st_mode}


def test_activations_keep_their_form(tmp_path):
    for ours, theirs in (("gelu", "gelu_new"), ("gelu_exact", "gelu"), ("relu", "relu")):
        config = dataclasses.replace(SMALL, hidden_act=ours)
        huggingface.write(tmp_path, model_tensors(models.BertEncoder(config)), config)
        assert json.loads((tmp_path / "config.json").read_text())["hidden_act"] == theirs
        assert huggingface.read_config(tmp_path) == config
    assert huggingface.ACTIVATIONS["gelu_pytorch_tanh"] == "gelu"


@pytest.mark.parametrize(("model", "architecture", "keys"), [
    (models.BertEncoder(SMALL), "BertModel", {"embeddings.word_embeddings.weight": (19, 6)}),
    (models.BertClassifier(SMALL, 4), "BertForSequenceClassification",
     {"classifier.weight": (4, 6), "classifier.bias": (4,)}),
    (models.BertTokenClassifier(SMALL, 9), "BertForSequenceClassification", {"classifier.weight": (9, 6)}),
    (models.BertSpanLabeler(SMALL), "BertForQuestionAnswering", {"qa_outputs.weight": (2, 6), "qa_outputs.bias": (2,)}),
    (models.BertMultipleChoice(SMALL), "BertForSequenceClassification", {"classifier.weight": (1, 6)}),
    (models.BertPretrainer(SMALL), "BertForPreTraining", {"bert.encoder.layer.1.intermediate.dense.weight": (7, 6)}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_every_task_there_and_back(model, architecture, keys, tmp_path):
    huggingface.write(tmp_path, model_tensors(model), SMALL)
    values = json.loads((tmp_path / "config.json").read_text())
    assert values["architectures"] == [architecture]
    written = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    for key, shape in keys.items():
        assert written[key].shape == shape
    if "classifier.bias" in written:
        assert len(values["id2label"]) == len(values["label2id"]) == len(written["classifier.bias"])

    before = {name: tensor.read().copy() for name, tensor in model_tensors(model).items()}
    for variable in model.variables:
        variable.assign(tf.zeros_like(variable))
    report = load_pretrained(model, str(tmp_path / "model.safetensors"))
    assert report.missing == report.unused == ()
    for name, tensor in model_tensors(model).items():
        np.testing.assert_array_equal(tensor.read(), before[name], err_msg=name)


def test_old_and_shortened_names_are_read(arrays, changed):
    """gamma and beta of before 2020; no `bert.` in front in a BertModel; what needs no reading is passed over."""
    def old(key):
        return key.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta")
    bert = {old(key): value for key, value in arrays.items() if key.startswith("bert.")}
    path = changed(bert | {"embeddings.position_ids": np.arange(64)[np.newaxis]})
    encoder = models.BertEncoder(huggingface.read_config(path))
    report = load_pretrained(encoder, path)
    assert report.missing == report.unused == ()
    np.testing.assert_array_equal(encoder.embeddings.layer_norm.gamma, arrays["bert.embeddings.LayerNorm.weight"])
    np.testing.assert_array_equal(encoder.encoder_layers[1].output_norm.beta,
                                  arrays["bert.encoder.layer.1.output.LayerNorm.bias"])


def test_half_precision_becomes_float32(arrays, changed):
    bfloat16 = tf.bfloat16.as_numpy_dtype
    path = changed({key: value.astype(bfloat16) for key, value in arrays.items()})
    value = open_checkpoint(path).tensors["bert/pooler/dense/kernel"].read()
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, arrays["bert.pooler.dense.weight"].astype(bfloat16).astype(np.float32).T)


def test_a_tied_output_kernel_may_be_there_and_an_untied_one_not(arrays, changed):
    words = arrays["bert.embeddings.word_embeddings.weight"]
    tied = {"cls.predictions.decoder.weight": words, "cls.predictions.decoder.bias": arrays["cls.predictions.bias"]}
    assert len(open_checkpoint(changed(arrays | tied)).tensors) == len(arrays)
    with pytest.raises(ValueError, match=r"cls\.predictions\.decoder\.weight differs from the word embeddings"):
        open_checkpoint(changed(arrays | {"cls.predictions.decoder.weight": words + 1}))


def test_a_model_of_another_activation_or_number_of_heads_is_refused(hf_tiny):
    config = huggingface.read_config(hf_tiny)
    for change, message in (
            ({"hidden_act": "gelu"}, "hidden_act is 'gelu_exact' in the checkpoint and 'gelu' in the model"),
            ({"num_attention_heads": 2}, "num_attention_heads is 4 in the checkpoint and 2 in the model")):
        with pytest.raises(ValueError, match=message):
            load_pretrained(models.BertEncoder(dataclasses.replace(config, **change)), hf_tiny)


@pytest.mark.parametrize(("settings", "message"), [
    ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05: only 1e-12 is supported"),
    ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key': only 'absolute'"),
    ({"is_decoder": True}, "is_decoder is True: only False is supported"),
    ({"add_cross_attention": True}, "add_cross_attention is True: only False is supported"),
    ({"model_type": "roberta"}, "model_type is 'roberta': only 'bert' is supported"),
    ({"pruned_heads": {"0": [1]}}, "pruned_heads is {'0': \\[1\\]}: only {} is supported"),
    ({"quantization_config": {"bits": 8}}, "quantization_config is {'bits': 8}: it is not supported"),
    ({"hidden_act": ["gelu"]}, r"hidden_act is \['gelu'\]: it must be one of gelu, gelu_new"),
    ({"hidden_act": "silu"}, "hidden_act is 'silu': it must be one of gelu, gelu_new, gelu_pytorch_tanh"),
    ({"hidden_size": 0}, "hidden_size is 0: it must be a positive integer"),
])
def test_a_setting_that_would_change_the_numbers_is_refused_by_name(changed, settings, message):
    path = changed(**settings)
    with pytest.raises(ValueError, match=message) as caught:
        huggingface.read_config(path)
    assert os.path.join(path, "config.json") in str(caught.value)
    with pytest.raises(ValueError, match=message):
        open_checkpoint(path)


def test_keys_that_are_left_out_have_the_defaults_of_transformers(changed):
    path = changed(vocab_size=None, type_vocab_size=None, hidden_act=None, layer_norm_eps=None)
    config = huggingface.read_config(path)
    assert (config.vocab_size, config.type_vocab_size, config.hidden_act) == (30522, 2, "gelu_exact")


def test_a_pickle_is_never_opened(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'echo opened'\ntR.")
    for path in (tmp_path, tmp_path / "pytorch_model.bin"):
        with pytest.raises(ValueError, match=r"pytorch_model\.bin: is a pickle.*AutoModelForPreTraining"):
            open_checkpoint(str(path))


def test_a_folder_in_place_of_a_file(tmp_path):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(InputError, match=r"/model\.safetensors: is no safetensors file, or a damaged one: "):
        open_checkpoint(str(tmp_path / "model.safetensors"))


def test_a_remote_file(hf_tiny):
    tf.io.gfile.makedirs("ram://hf")
    for name in ("model.safetensors", "config.json"):
        tf.io.gfile.copy(os.path.join(hf_tiny, name), f"ram://hf/{name}")
    remote, local = open_checkpoint("ram://hf"), open_checkpoint(hf_tiny)
    assert remote.path == "ram://hf/model.safetensors"
    assert remote.config == local.config
    for name, tensor in local.tensors.items():  # the copy is gone by now
        np.testing.assert_array_equal(remote.tensors[name].read(), tensor.read(), strict=True, err_msg=name)


def test_damaged_files(hf_tiny, tmp_path, arrays):
    path = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match=r"model\.safetensors: no such file"):
        open_checkpoint(str(path))
    path.write_bytes(b"no such format at all")
    with pytest.raises(ValueError, match=r"model\.safetensors: is no safetensors file, or a damaged one"):
        open_checkpoint(str(path))
    with open(os.path.join(hf_tiny, "model.safetensors"), "rb") as file:
        path.write_bytes(file.read()[:-1])
    with pytest.raises(ValueError, match=r"model\.safetensors: is no safetensors file, or a damaged one"):
        open_checkpoint(str(path))
    safetensors.numpy.save_file({"wte.weight": arrays["bert.pooler.dense.weight"]}, path)
    with pytest.raises(ValueError, match=r"is not of a BERT model, it has no bert\.embeddings\.word_embeddings"):
        open_checkpoint(str(path))
