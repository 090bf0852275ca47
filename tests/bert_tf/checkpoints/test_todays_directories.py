"""Directories that today's libraries write: their library's numbers, or one line that says why not.

`tests/reference/today/make.py` wrote them with the libraries.
"""

import json
import pathlib
import shutil

import numpy as np
import pytest

import bert_tf
from bert_tf.checkpoints import ModelDirectory, convert
from tests.errors import Message, check_message, raises_message

TODAY = pathlib.Path(__file__).parents[2] / "reference" / "today"
EXPECTED = json.loads((TODAY / "expected.json").read_text())
TOLERANCE = 2e-4
DEFAULT_PROMPT = Message(
    "config_sentence_transformers.json",
    "default_prompt_name is 'query'",
    "only null is supported",
    "remove it",
)
# Directory -> the error. All others have the numbers of their library.
REJECTED = {
    "adapter_tensors": Message(
        "model.safetensors", "bert/encoder/layer_0/output/adapter/down/kernel"
    ),
    "cross_encoder_tanh": Message(
        "config_sentence_transformers.json", "activation_fn is '", "Tanh'"
    ),
    "fast_other_pre_tokenizer": Message(
        "tokenizer.json", "pre_tokenizer.type is 'WhitespaceSplit'"
    ),
    "fast_other_limit": Message(
        "tokenizer.json", "model.max_input_chars_per_word is 150", "only 100 or 200"
    ),
    "fast_short_words": Message("tokenizer.json", "model.max_input_chars_per_word is 3"),
    "fast_without_special_tokens": Message("tokenizer.json", "post_processor"),
    "fewer_layers": Message("model.safetensors", "bert/encoder/layer_1/", "num_hidden_layers"),
    "keras_hub_masked_lm": Message(
        "task.json", "class_name is 'BertMaskedLM'", "only 'BertTextClassifier'"
    ),
    "lora_beside_kernels": Message("model.safetensors", "query", "lora_A"),
    "lora_tensors": Message("model.safetensors", "base_layer", "PEFT"),
    "peft_dora": Message("adapter_config.json", "use_dora is True"),
    "peft_without_base": Message("adapter_config.json", "google-bert/bert-base-uncased"),
    "prefix_compiled": Message("model.safetensors", "_orig_mod."),
    "prefix_module": Message("model.safetensors", "module."),
    "st_default_prompt": DEFAULT_PROMPT,
    "st_prompt_not_pooled": DEFAULT_PROMPT,
    "relative_positions": Message("config.json", "position_embedding_type is 'relative_key'"),
    "two_poolers": Message("model.safetensors", "classifier.dense"),
}
MASKED = ("tied_masked_lm", "untied_masked_lm")


@pytest.fixture
def open_folder(monkeypatch):
    """Name -> the path of a directory, from whose parents relative paths of bases start."""

    def open_one(name):
        monkeypatch.chdir(TODAY / "models" / name)
        return str(TODAY / "models" / name)

    return open_one


def list_cases(*keys):
    """Returns the names of the directories whose entries have one of these keys."""
    return [
        name
        for name, entry in EXPECTED.items()
        if name not in REJECTED and any(key in entry for key in keys)
    ]


def encode(tokenizer, entry, number):
    """Returns the IDs of a text or a pair without padding."""
    texts = [entry[key][number : number + 1] for key in ("text_a", "text_b") if key in entry]
    features = tokenizer.encode(*texts, max_seq_length=48)
    count = int(np.sum(features["input_mask"]))
    return {name: value.numpy()[:, :count] for name, value in features.items()}


@pytest.mark.parametrize("name", [name for name in list_cases("ids") if "masked" not in name])
def test_ids(open_folder, name):
    entry = EXPECTED[name]
    tokenizer = bert_tf.BertTokenizer.from_pretrained(open_folder(name))
    for number, ids in enumerate(entry["ids"]):
        assert encode(tokenizer, entry, number)["input_ids"][0].tolist() == ids


def test_long_words(open_folder):
    """Words of 101 to 200 characters are [UNK] in transformers, and split as in the original."""
    entry = EXPECTED["long_words"]
    tokenizer = bert_tf.BertTokenizer.from_pretrained(open_folder("long_words"))
    fast = bert_tf.BertTokenizer.from_pretrained(open_folder("fast_long_words"))
    assert EXPECTED["fast_long_words"]["text_a"] == entry["text_a"]
    for number, text in enumerate(entry["text_a"]):
        expected = EXPECTED["fast_long_words"]["tokens"][number]
        for each in (tokenizer, fast):
            tokens = each.convert_ids_to_tokens(each.tokenize([text])[0])
            assert b" ".join(tokens.numpy()).decode() == expected
        is_between = 100 < len(text.split()[1]) <= 200
        assert entry["tokens"][number] == ("good [UNK] film" if is_between else expected)


@pytest.mark.parametrize(
    "name", [name for name in list_cases("logits") if name not in ("chinese_tagger", *MASKED)]
)
def test_answers(open_folder, name):
    entry = EXPECTED[name]
    model = bert_tf.load(open_folder(name), pairs="text_b" in entry)
    assert model.kind == "classifier"
    outputs = model(**{key: entry[key] for key in ("text_a", "text_b") if key in entry})
    logits = np.array(entry["logits"])
    if "value" in outputs:
        found = outputs["value"]
        expected = np.array(entry.get("scores", logits[:, 0]))
    else:
        found = outputs["probabilities"]
        expected = 1 / (1 + np.exp(-logits))
        if name != "multi_label":
            expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", list_cases("embeddings"))
def test_embeddings(open_folder, name):
    entry = EXPECTED[name]
    model = bert_tf.load(open_folder(name))
    np.testing.assert_allclose(
        model.encode(entry["text_a"]), entry["embeddings"], rtol=0, atol=TOLERANCE
    )
    outputs = model(text=entry["text_a"])
    np.testing.assert_allclose(
        outputs["sentence_embedding"], entry["embeddings"], rtol=0, atol=TOLERANCE
    )


@pytest.mark.parametrize(
    ("name", "model_class", "outputs"),
    [
        ("chinese_tagger", bert_tf.BertTokenClassifier, ["logits"]),
        ("question_answering", bert_tf.BertSpanLabeler, ["start_logits", "end_logits"]),
        ("keras_hub", bert_tf.BertEncoder, ["sequence_output"]),
    ],
)
def test_outputs_of_each_token(open_folder, name, model_class, outputs):
    entry = EXPECTED[name]
    folder = open_folder(name)
    tokenizer = bert_tf.BertTokenizer.from_pretrained(folder)
    model = model_class.from_pretrained(folder)
    for number in range(len(entry["ids"])):
        found = model(encode(tokenizer, entry, number))
        for output in outputs:
            expected = entry["last_hidden_state" if output == "sequence_output" else output]
            np.testing.assert_allclose(found[output][0], expected[number], rtol=0, atol=TOLERANCE)


def test_adapter_replaces_that_of_its_base(open_folder, tmp_path):
    """In transformers and PEFT, too, an adapter alone replaces the one next to its base."""
    base = pathlib.Path(open_folder("peft_on_base"))
    for name in ("adapter_model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        if (base / name).exists():
            shutil.copy(base / name, tmp_path)
    config = json.loads((base / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(base)
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    tensors = ModelDirectory.open(str(tmp_path)).checkpoint.tensors
    expected = ModelDirectory.open(str(base)).checkpoint.tensors
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_array_equal(tensors[name].read(), tensor.read(), err_msg=name)


@pytest.mark.parametrize("name", MASKED)
def test_masked_lm(open_folder, name):
    entry = EXPECTED[name]
    answers = bert_tf.load(open_folder(name))(text=entry["text_a"])
    for number, ids in enumerate(entry["ids"]):
        logits = np.array(entry["logits"][number])[ids.index(4)]  # [MASK]
        probabilities = np.exp(logits) / np.exp(logits).sum()
        best = np.argsort(-probabilities)[: answers["piece_ids"].shape[-1]]
        assert answers["piece_ids"][number, 0].tolist() == best.tolist()
        np.testing.assert_allclose(
            answers["probabilities"][number, 0], probabilities[best], rtol=0, atol=TOLERANCE
        )


def test_notes(open_folder, capsys):
    """A line says which of two files or weights count."""
    for name, *parts in (
        ("stale_vocab_txt", "tokenizer.json takes precedence", "over vocab.txt"),
        ("peft_on_base", "peft_on_base: merging the adapter"),
        ("file_without_class", "tokenizer.json: ignoring normalizer.lowercase"),
        ("pruned_heads", "config.json: ignoring pruned_heads"),
        ("keras_hub", "have other IDs there"),
    ):
        bert_tf.load(open_folder(name))
        check_message(capsys.readouterr().err, None, *parts)


@pytest.mark.parametrize("name", list(REJECTED))
def test_rejected(open_folder, name):
    with raises_message(REJECTED[name]) as error:
        bert_tf.load(open_folder(name))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("output_format", ["tf1", "huggingface"])
@pytest.mark.parametrize("name", ["adapter_tensors", "fewer_layers", "two_poolers"])
def test_unused_tensors_are_not_converted(open_folder, tmp_path, name, output_format):
    """Conversion has the rule of loading: no tensor of the encoder or the head is dropped."""
    with raises_message(REJECTED[name]):
        convert(open_folder(name), str(tmp_path / "out"), output_format)
    assert not (tmp_path / "out").exists()
