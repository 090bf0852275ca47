"""--added_tokens_file: new tokens of a fine-tuned model, from training to conversion."""

import json
import pathlib

import pytest

import bert_tf
from bert_tf.checkpoints import convert, open_checkpoint
from bert_tf.errors import InputError
from bert_tf.tokenization.token_files import read_token_list
from bert_tf.variables import WORD_EMBEDDINGS
from tests import scripts
from tests.errors import check_message, rejects

MODEL = pathlib.Path(__file__).parents[2] / "reference" / "today" / "models" / "added_tokens"
SCRIPT = "run.run_classifier"
NEW = ["[E1]", "filmlike"]  # [E11] is an added token of the model.
# IDs in transformers 5.24.0.
TEXT = "the [E1]film was filmlike [E11]"
IDS = [2, 13, 35, 8, 9, 36, 34, 3]


def test_read_token_list(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_text("[E1]\n\n the film \n[E1]\n", encoding="utf-8")
    assert read_token_list(path) == ["[E1]", "the film"]
    for content, problem in (("\n", "contains no token"), ("[SEP]\n", r"contains \[SEP\]")):
        path.write_text(content)
        with pytest.raises(InputError, match=problem):
            read_token_list(path)


@pytest.fixture
def flags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["the [E1]film was good\tpos", "film was filmlike\tneg"] * 12
    (tmp_path / "rows.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    (tmp_path / "tokens.txt").write_text("\n".join(["[E11]", *NEW]) + "\n")
    return {
        "data_file": "rows.tsv",
        "init_checkpoint": MODEL,
        "output_dir": "out",
        "do_train": True,
        "max_seq_length": 12,
        "train_batch_size": 8,
        "added_tokens_file": "tokens.txt",
    }


@pytest.mark.large
def test_a_run_adds_rows_resumes_and_is_converted(flags, tmp_path, capsys):
    scripts.run_here(SCRIPT, **flags)
    check_message(
        capsys.readouterr().err,
        None,
        "; 2 new rows of the word",
        "embeddings for added tokens, from ",
    )
    scripts.run_here(SCRIPT, **flags | {"num_train_epochs": 4})
    assert "resuming at step" in "".join(capsys.readouterr())
    assert open_checkpoint("out").tensors[WORD_EMBEDDINGS].shape == [37, 8]
    vocab_file = tmp_path / "out" / "vocab.txt"
    convert("out", "converted", "huggingface", vocab_file=str(vocab_file))
    config = json.loads((tmp_path / "converted" / "config.json").read_text())
    assert config["vocab_size"] == 37
    for name in ("out", "converted"):
        tokenizer = bert_tf.BertTokenizer.from_pretrained(name)
        assert tokenizer.encode([TEXT], max_seq_length=8)["input_ids"].numpy().tolist() == [IDS]
    results = [bert_tf.load(name)(text=[TEXT])["probabilities"] for name in ("out", "converted")]
    assert results[0] == pytest.approx(results[1], abs=1e-6)
    (tmp_path / "tokens.txt").write_text("other\nwords\n")
    with rejects("vocab_file", "from the vocabulary of the run"):
        scripts.run_here(SCRIPT, **flags | {"num_train_epochs": 5})


@pytest.mark.large
def test_frozen_word_embeddings_reject_new_tokens(flags):
    for other in ({"lora_rank": 2}, {"freeze_layers": 1}):
        with pytest.raises(InputError, match=r"with `(lora_rank|freeze_layers)`"):
            scripts.run_here(SCRIPT, **flags | other)
