"""PEFT's adapters: merged with the numbers of PEFT, written as PEFT reads them, and rejected."""

import functools
import json
import pathlib
import shutil

import numpy as np
import pytest
import safetensors.numpy

import bert_tf
from bert_tf.checkpoints import convert, model_tensors, open_checkpoint, peft
from bert_tf.checkpoints.tensors import StoredTensor
from bert_tf.errors import InputError
from bert_tf.models import BertClassifier, BertEncoder
from bert_tf.techniques import lora
from tests.errors import Message, raises_message, rejects

TODAY = pathlib.Path(__file__).parents[2] / "reference" / "today"
EXPECTED = json.loads((TODAY / "expected.json").read_text())
NAMES = ("peft_plain", "peft_patterns", "peft_bias", "peft_all_biases")


def compute_logits(folder, entry):
    """Returns the logits of a classifier for the texts of an entry of expected.json."""
    model = bert_tf.BertClassifier.from_pretrained(folder)
    rows = []
    for ids in entry["ids"]:
        ids = np.array([ids], np.int32)
        features = {
            "input_ids": ids,
            "input_mask": np.ones_like(ids),
            "segment_ids": np.zeros_like(ids),
        }
        rows.append(model(features)["logits"][0])
    return np.array(rows)


@pytest.mark.parametrize("name", NAMES)
def test_merged_adapters_have_the_numbers_of_peft(name, tmp_path):
    folder = TODAY / "models" / name
    convert(str(folder / "base"), tmp_path, "tf1", adapter=str(folder))
    entry = EXPECTED[name]
    np.testing.assert_allclose(compute_logits(tmp_path, entry), entry["logits"], rtol=0, atol=2e-4)
    # The adapter matters.
    base = compute_logits(folder / "base", entry)
    assert np.abs(base - entry["logits"]).max() > 0.1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"use_dora": True},
            Message("adapter_config.json", "use_dora is True", "only False is supported"),
        ),
        (
            {"peft_type": "LOHA"},
            Message("adapter_config.json", "peft_type is 'LOHA'", "only 'LORA' is supported"),
        ),
        ({"lora_bias": True}, Message("adapter_config.json", "lora_bias is True")),
        (
            {"init_lora_weights": "pissa"},
            Message("adapter_config.json", "init_lora_weights is 'pissa'"),
        ),
        (
            {"layer_replication": [[0, 1]]},
            Message("adapter_config.json", "layer_replication is [[0, 1]]", "not supported"),
        ),
        (
            {"rank_pattern": {"query": 5}},
            Message(
                "adapter_model.safetensors",
                "has an adapter of rank 2",
                "adapter_config.json says 5",
            ),
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_unsupported_settings(tmp_path, changes, message):
    folder = tmp_path / "adapter"
    shutil.copytree(TODAY / "models" / "peft_plain", folder)
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with raises_message(message):
        peft.read(str(folder))


def test_other_tensors_and_bases(tmp_path):
    folder = tmp_path / "adapter"
    shutil.copytree(TODAY / "models" / "peft_plain", folder)
    path = folder / "adapter_model.safetensors"
    with safetensors.safe_open(path, "numpy") as file:
        tensors = {key: file.get_tensor(key) for key in list(file.keys())}
    unknown = {"base_model.model.bert.encoder.layer.0.gate.weight": np.ones(3, np.float32)}
    safetensors.numpy.save_file(tensors | unknown, path)
    base = str(TODAY / "models" / "peft_plain" / "base")
    with pytest.raises(InputError, match=r"contains bert/encoder/layer_0/gate/kernel of shape"):
        peft.read(str(folder)).apply(open_checkpoint(base).tensors, base)
    key = "base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight"
    safetensors.numpy.save_file(tensors | {key: np.ones([2, 17], np.float32)}, path)
    with rejects("adapter", "of shape [17, 16]", "it is [16, 16]"):
        peft.read(str(folder)).apply(open_checkpoint(base).tensors, base)


def test_an_unknown_key_prints_a_note(tmp_path, capsys):
    folder = tmp_path / "adapter"
    shutil.copytree(TODAY / "models" / "peft_plain", folder)
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"use_magic": 1}))
    peft.read(str(folder))
    assert f"note: {path}: ignoring unknown keys: use_magic\n" == capsys.readouterr().err


def test_write_and_read(reference_config, tmp_path):
    """What is written is what the trained model computes."""
    model = BertClassifier(BertEncoder(reference_config, seed=5), 3)
    base = {
        name: StoredTensor(tensor.shape, functools.partial(np.array, tensor.read()))
        for name, tensor in model_tensors(model).items()
    }
    lora.add_adapters(model.encoder, 2, 5.0, seed=1, frozen_layers=1)
    generator = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign_add(generator.normal(size=variable.shape).astype(np.float32))
    saved = ["bert/pooler/dense/kernel", "bert/pooler/dense/bias", "output_weights", "output_bias"]
    folder = str(tmp_path / "adapter")
    peft.write(folder, model_tensors(model), saved, kind="classifier", base="base")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["r"] == 2
    assert config["lora_alpha"] == 5
    assert "bert.encoder.layer.1.attention.self.query" in config["target_modules"]
    assert not any("layer.0" in name for name in config["target_modules"])
    encoder = {name: tensor for name, tensor in base.items() if name.startswith("bert/")}
    merged = peft.read(folder).apply(encoder, "base")
    lora.merge_into_kernels(model.encoder)
    for name, tensor in model_tensors(model).items():
        if "lora" not in name:
            np.testing.assert_allclose(
                merged.pop(name).read(), tensor.read(), rtol=0, atol=1e-5, err_msg=name
            )
    assert not merged
