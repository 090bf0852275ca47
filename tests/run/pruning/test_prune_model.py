"""run.prune_model: pruned models of each task, and resuming."""

import json
import os

import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.serving import checkpoint
from run.inference.served_models import resolve_checkpoint
from tests import scripts, toy_runs
from tests.variants import mark_variants

pytestmark = pytest.mark.large


@pytest.fixture(scope="module", autouse=True)
def flat(tmp_path_factory, reference):
    """The current directory, with the data and models of toy_runs.TASKS.

    The models have one layer, 2 heads, and 12 neurons.
    """
    folder = tmp_path_factory.mktemp("flat")
    toy_runs.write_tasks(folder, reference)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


def prune(name, output_dir, **flags):
    """Runs the script in this process and directory; returns the content of pruning.json."""
    flags = {
        "init_checkpoint": name,
        "output_dir": output_dir,
        **toy_runs.DATA[name],
        "train_batch_size": 4,
        **flags,
    }
    scripts.run_here("run.prune_model", **flags)
    return json.loads((output_dir / "pruning.json").read_text())


@pytest.mark.parametrize("name", mark_variants(["tagger", "squad", "swag"], "tagger"))
def test_each_task(tmp_path, name, capsys):
    report = prune(name, tmp_path, train_batch_size=2, keep_heads=0.5, keep_neurons=0.25)
    has_bar = not os.environ.get("TQDM_DISABLE")
    assert ("measuring importance: 100%" in capsys.readouterr().err) == has_bar
    assert (report["rounds"][0]["heads"], report["rounds"][0]["neurons"]) == ([1], [3])
    assert report["metric"] in report["whole"]["scores"]
    servable = checkpoint.load_servable(**resolve_checkpoint(str(tmp_path)).servable_options)
    metadata = servable.metadata
    assert metadata.kind == toy_runs.TASKS[name][0].kind
    assert servable.config.layer_sizes == [(1, 3)]


def test_a_smaller_vocabulary_and_factorized_embeddings(tmp_path, capfd):
    """The tokens of the training data suffice for its texts.

    The factors are trained like all weights.
    """
    report = prune(
        "sst", tmp_path, prune_vocabulary="sst-2/train.tsv", embedding_size=3, num_train_epochs=1.0
    )
    before = float(capfd.readouterr().out.split("vocabulary: eval_accuracy ")[1].split()[0])
    assert report["whole"]["scores"]["eval_accuracy"] == pytest.approx(before, abs=1e-4)
    tokens = (tmp_path / "vocab.txt").read_text(encoding="utf-8").split()
    config = BertConfig.from_json_file(tmp_path / "bert_config.json")
    vocab_size = BertConfig.from_json_file("sst/bert_config.json").vocab_size
    assert len(tokens) == config.vocab_size == report["rounds"][0]["vocab_size"] < vocab_size / 2
    assert {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "w", "##w", "2", "##2"} < {*tokens}
    assert "z" not in tokens
    assert config.embedding_size == 3
    factors = [
        open_checkpoint(str(path)).tensors["bert/embeddings/embedding_projection"].read()
        for path in (tmp_path / "start", tmp_path)
    ]
    assert np.abs(factors[0] - factors[1]).max() > 1e-6
    servable = checkpoint.load_servable(**resolve_checkpoint(str(tmp_path)).servable_options)
    assert servable.tokenizer.vocab_size == len(tokens)


@pytest.mark.extra_large
def test_each_round_learns_from_the_original_model(tmp_path):
    """Two rounds, each followed by an epoch with the original model as the teacher."""
    report = prune(
        "sst",
        tmp_path,
        keep_heads=0.5,
        keep_neurons=0.3,
        rounds=2,
        num_train_epochs=1.0,
        distill=True,
        hidden_weight=1.0,
    )
    assert [each["neurons"] for each in report["rounds"]] == [[8], [4]]
    assert not (tmp_path / "answers").exists()
    log = np.genfromtxt(
        tmp_path / "round_2" / "tuned" / "training_log.csv", delimiter=",", names=True
    )
    np.testing.assert_allclose(
        log["loss"], log["logits_loss"] + 0.5 * log["label_loss"] + log["hidden_loss"], 1e-5
    )
    assert (log["hidden_loss"] > 0).all()
