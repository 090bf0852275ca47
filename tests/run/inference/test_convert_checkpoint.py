"""run.convert_checkpoint: all formats, longer position embeddings, and rejected inputs."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from bert_tf.checkpoints import ModelDirectory, convert, open_checkpoint
from bert_tf.config import BertConfig
from tests import scripts
from tests.errors import Message, raises_message

SCRIPT = "run.convert_checkpoint"


@pytest.fixture
def original(reference, tmp_path):
    """A directory like those in the archives of the original BERT."""
    folder = tmp_path / "original"
    folder.mkdir()
    for path in reference.glob("pretrain_init.ckpt.*"):
        shutil.copy(path, folder / path.name.replace("pretrain_init", "bert_model"))
    shutil.copy(reference / "bert_config.json", folder)
    return folder


@pytest.fixture
def vocabulary(tmp_path):
    """A vocabulary with the 120 entries of the reference model."""
    path = tmp_path / "entries.txt"
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *(f"piece{number}" for number in range(115)),
    ]
    path.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("output_format", ["tf1", "model_garden", "huggingface"])
@pytest.mark.parametrize("source", ["original", "hf_tiny"])
def test_longer_position_embeddings(original, reference, tmp_path, source, output_format):
    """Every format can be the source and the result.

    The config has the new length, and all other tensors are unchanged.
    """
    source = original if source == "original" else reference / source
    before = open_checkpoint(source)
    config = ModelDirectory.open(str(source)).config
    rows = config.max_position_embeddings
    name = "bert/embeddings/position_embeddings"
    table = before.tensors[name].read()
    out = tmp_path / "out"
    convert(source, out, output_format, max_position_embeddings=2 * rows + 3)
    longer = open_checkpoint(out)
    assert ModelDirectory.open(str(out)).config == dataclasses.replace(
        config, max_position_embeddings=2 * rows + 3
    )
    np.testing.assert_array_equal(
        longer.tensors[name].read(), np.concatenate([table, table, table[:3]])
    )
    for other in before.tensors.keys() - {name}:
        if other in longer.tensors:
            np.testing.assert_array_equal(
                longer.tensors[other].read(), before.tensors[other].read()
            )


def test_notes_on_omitted_tensors_and_on_the_activation(reference, tmp_path):
    lines = convert(str(reference / "classify_init.ckpt"), str(tmp_path / "garden"), "model_garden")
    assert lines[1:] == [
        "  not written, since the format does not support them: output_bias, output_weights"
    ]
    lines = convert(str(reference / "hf_tiny"), str(tmp_path / "tf1"), "tf1")
    assert "hidden_act is gelu_exact (the erf form)" in lines[1]
    assert (
        BertConfig.from_json_file(tmp_path / "tf1" / "bert_config.json").hidden_act == "gelu_exact"
    )


@pytest.mark.parametrize("output_format", ["tf1", "model_garden", "huggingface"])
@pytest.mark.parametrize(
    ("settings", "name"),
    [({"do_lower_case": True, "strip_accents": False}, "model"), ({}, "cased_L-2_H-32_A-2")],
)
def test_a_round_trip_keeps_vocabulary_and_casing(
    original, vocabulary, tmp_path, settings, name, output_format
):
    source = original.rename(tmp_path / name)
    (source / "tokenizer_config.json").write_text(json.dumps(settings))
    shutil.copy(vocabulary, source / "vocab.txt")
    scripts.run_here(SCRIPT, input=source, output=tmp_path / "new", format=output_format)
    scripts.run_here(SCRIPT, input=tmp_path / "new", output=tmp_path / "last", format="tf1")
    expected = (settings.get("do_lower_case", False), settings.get("strip_accents"))
    for folder in (tmp_path / "new", tmp_path / "last"):
        found = ModelDirectory.open(str(folder)).tokenizer
        assert (found.do_lower_case, found.strip_accents) == expected
        assert (folder / "vocab.txt").read_bytes() == vocabulary.read_bytes()


@dataclasses.dataclass(frozen=True)
class RejectedConversion:
    """A conversion that is rejected.

    Attributes:
      source: str. "original", or the name of a directory of reference numbers.
      message: Message.
      change: Dict of the fields of the config that differ from the config of the checkpoint.
      options: Dict of options of `convert`.
    """

    source: str
    message: Message
    change: dict = dataclasses.field(default_factory=dict)
    options: dict = dataclasses.field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    [
        RejectedConversion(
            "original",
            change={"num_hidden_layers": 3},
            message=Message(
                "bert_model.ckpt",
                "the checkpoint has no bert/encoder/layer_2/attention/self/query/kernel",
            ),
        ),
        RejectedConversion(
            "original",
            change={"num_hidden_layers": 1},
            message=Message(
                "bert_model.ckpt",
                "contains bert/encoder/layer_1/attention/output/LayerNorm/beta",
                "model does not have",
                "set the config",
            ),
        ),
        RejectedConversion(
            "original",
            change={"vocab_size": 119},
            message=Message(
                "bert_model.ckpt", "word_embeddings has shape [120, 32]", "and [119, 32] in"
            ),
        ),
        RejectedConversion(
            "hf_tiny",
            change={"hidden_act": "gelu"},
            message=Message(
                "model.safetensors",
                "hidden_act is 'gelu_exact' in the checkpoint",
                "'gelu' in the BERT config",
            ),
        ),
        RejectedConversion(
            "original",
            options={"max_position_embeddings": 64},
            message=Message(
                "max_position_embeddings",
                "must be greater than 64",
                "the number of position",
                value=64,
            ),
        ),
        RejectedConversion(
            "original",
            options={"vocab_file": "more.txt"},
            message=Message(
                "vocab_file",
                "has 121 entries",
                "model has 120",
                value="more.txt",
                end="set the vocabulary of the model",
            ),
        ),
    ],
)
def test_rejected_conversions(original, vocabulary, reference, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.txt").write_text(vocabulary.read_text() + "more\n")
    source = str(original if case.source == "original" else reference / case.source)
    config = dataclasses.replace(ModelDirectory.open(source).config, **case.change)
    with raises_message(case.message):
        convert(source, "out", "tf1", config, **case.options)
    assert not (tmp_path / "out").exists()
