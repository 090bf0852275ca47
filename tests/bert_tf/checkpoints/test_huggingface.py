"""Hugging Face's files in and out. `hf_tiny` was written by transformers; its outputs must be met within 2e-5."""

import dataclasses
import json
import os

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf import huggingface_config, models
from bert_tf.checkpoints import checkpoint_files, huggingface, load_pretrained, model_tensors, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import Task, TokenizerFiles, find_tokenizer, read_task

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
    assert huggingface_config.ACTIVATIONS["gelu_pytorch_tanh"] == "gelu"


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
    ({"pruned_heads": [1]}, "pruned_heads is \\[1\\]: it must be numbers of layers, each with a list of some"),
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


def test_a_remote_file_that_cannot_be_read_is_not_called_damaged(monkeypatch):
    def copy(source, target, overwrite):
        raise tf.errors.PermissionDeniedError(None, None, "no access")

    with tf.io.gfile.GFile("ram://hf_closed/model.safetensors", "w") as file:
        file.write("no such format")
    with pytest.raises(InputError, match=r"^ram://.*\.safetensors: is no safetensors file, or a damaged one: "):
        open_checkpoint("ram://hf_closed/model.safetensors")
    monkeypatch.setattr(tf.io.gfile, "copy", copy)
    with pytest.raises(OSError, match=r"^ram://hf_closed/model\.safetensors: cannot be read: no access"):
        open_checkpoint("ram://hf_closed/model.safetensors")


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


@pytest.fixture
def in_parts(arrays, changed, tmp_path):
    """A copy of hf_tiny in two files with an index: (weight_map) -> folder; None takes the right weight_map."""
    def make(weight_map=None):
        path = changed()
        os.remove(os.path.join(path, "model.safetensors"))
        parts = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        places = {key: parts[number % 2] for number, key in enumerate(sorted(arrays))}
        for part in parts:
            safetensors.numpy.save_file({key: arrays[key] for key in arrays if places[key] == part}, tmp_path / part)
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(
            {"metadata": {"total_size": 1}, "weight_map": places if weight_map is None else weight_map}))
        return path
    return make


def test_weights_in_parts(in_parts, hf_tiny):
    path = in_parts()
    for place in (path, os.path.join(path, "model.safetensors.index.json")):
        parts = open_checkpoint(place)
        assert parts.path == os.path.join(path, "model.safetensors.index.json")
        whole = open_checkpoint(hf_tiny)
        assert parts.config == whole.config
        assert set(parts.tensors) == set(whole.tensors)
        for name, tensor in whole.tensors.items():
            np.testing.assert_array_equal(parts.tensors[name].read(), tensor.read(), err_msg=name)


def test_the_files_that_hold_weights(in_parts, hf_tiny):
    path = in_parts()
    assert [os.path.basename(name) for name in checkpoint_files(path)] == [
        "model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert checkpoint_files(hf_tiny) == [os.path.join(hf_tiny, "model.safetensors")]


def test_parts_that_are_not_whole(in_parts, tmp_path):
    path = in_parts()
    (tmp_path / "model-00002-of-00002.safetensors").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"names model-00002-of-00002.safetensors, which is not there: the checkp"):
        open_checkpoint(path)
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"no")
    with pytest.raises(InputError, match=r"model-00002-of-00002.safetensors: is no safetensors file, or a damaged one"):
        open_checkpoint(path)


@pytest.mark.parametrize(("weight_map", "message"), [
    (3, "is damaged: it has no weight_map of tensors to the files beside it"),
    ({"a": 3}, "is damaged: it has no weight_map"),
    ({"a": "../model.safetensors"}, "is damaged: it has no weight_map"),
    ({"a": ""}, "is damaged: it has no weight_map"),
    ({"a": "model-00001-of-00002.safetensors"}, "says that a is in model-00001-of-00002.safetensors, which has no"),
    ({}, "is not of a BERT model, it has no bert.embeddings.word_embeddings.weight"),
])
def test_an_index_that_is_damaged(in_parts, weight_map, message):
    with pytest.raises(InputError, match=rf"model.safetensors.index.json: {message}"):
        open_checkpoint(in_parts(weight_map))


def test_an_index_that_is_no_json(in_parts, tmp_path):
    path = in_parts()
    (tmp_path / "model.safetensors.index.json").write_text("{")
    with pytest.raises(InputError, match=r"model.safetensors.index.json: is not JSON"):
        open_checkpoint(path)


@pytest.mark.parametrize(("model", "task", "architecture"), [
    (models.BertClassifier(SMALL, 2), Task("classifier", ("böse", "gut")), "BertForSequenceClassification"),
    (models.BertClassifier(SMALL, 3), Task("classifier", ("a", "b", "c"), True), "BertForSequenceClassification"),
    (models.BertClassifier(SMALL, 1), Task("classifier"), "BertForSequenceClassification"),
    (models.BertTokenClassifier(SMALL, 3), Task("token_classifier", ("O", "B-X", "I-X")), "BertForTokenClassification"),
    (models.BertMultipleChoice(SMALL), Task("multiple_choice"), "BertForMultipleChoice"),
    (models.BertSpanLabeler(SMALL), Task("span_labeler"), "BertForQuestionAnswering"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_fine_tuned_model_carries_its_task(model, task, architecture, tmp_path):
    huggingface.write(tmp_path, model_tensors(model), SMALL, task)
    values = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert values["architectures"] == [architecture]
    assert read_task(str(tmp_path)) == task
    if task.labels:
        assert values["id2label"] == {str(number): label for number, label in enumerate(task.labels)}
        assert values["label2id"] == {label: number for number, label in enumerate(task.labels)}
    assert huggingface.read_config(tmp_path) == SMALL


def test_a_task_with_another_number_of_labels(tmp_path):
    model, task = models.BertClassifier(SMALL, 2), Task("classifier", ("a", "b", "c"))
    with pytest.raises(InputError, match="the task has 3 labels, and the model has 2 outputs"):
        huggingface.write(tmp_path, model_tensors(model), SMALL, task)
    assert os.listdir(tmp_path) == []


def test_a_task_of_no_class_of_transformers(tmp_path):
    huggingface.write(tmp_path, model_tensors(models.BertClassifier(SMALL, 2)), SMALL, Task("juggler", ("a", "b")))
    assert read_task(str(tmp_path)) == Task("classifier", ("LABEL_0", "LABEL_1"))


@pytest.mark.parametrize(("tokenizer", "expected"), [
    (TokenizerFiles(do_lower_case=True), {"do_lower_case": True, "strip_accents": None}),
    (TokenizerFiles(do_lower_case=True, strip_accents=False), {"do_lower_case": True, "strip_accents": False}),
    (TokenizerFiles(), {"strip_accents": None}),
])
def test_the_casing_goes_along(tokenizer, expected, tmp_path):
    huggingface.write(tmp_path, model_tensors(models.BertEncoder(SMALL)), SMALL, tokenizer=tokenizer)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == expected | {
        "model_max_length": 13, "tokenizer_class": "BertTokenizer"}
    found = find_tokenizer(str(tmp_path))
    assert (found.do_lower_case, found.strip_accents) == (tokenizer.do_lower_case, tokenizer.strip_accents)
