"""What scripts say to a user's mistake: one line on standard error, exit status 1, before any long work."""

import subprocess
import sys

import pytest

from tests import scripts

SCRIPTS = {
    "run.run_pretraining": "run/run_pretraining.py",
    "run.run_classifier": "run/run_classifier.py",
    "run.run_squad": "run/run_squad.py",
    "run.run_tagger": "run/run_tagger.py",
    "run.run_multiple_choice": "run/run_multiple_choice.py",
    "run.extract_features": "run/extract_features.py",
    "data_prep.inspect_records": "data_prep/inspect_records.py",
    "run.fill_mask": "run/fill_mask.py",
    "run.answer": "run/answer.py",
    "run.export_saved_model": "run/export_saved_model.py",
    "run.convert_checkpoint": "run/convert_checkpoint.py",
    "data_prep.create_pretraining_data": "data_prep/create_pretraining_data.py",
    "data_prep.learn_vocab": "data_prep/learn_vocab.py",
}


@pytest.mark.parametrize("module", SCRIPTS)
def test_help_lists_our_flags_first_both_ways(module, tmp_path):
    by_name = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=False)
    by_path = subprocess.run([sys.executable, scripts.ROOT / SCRIPTS[module], "--help"], capture_output=True,
                             text=True, check=False, cwd=tmp_path)
    for done in (by_name, by_path):
        assert (done.returncode, done.stderr) == (0, "")
        assert "--vocab_file" in done.stdout or "--bert_config_file" in done.stdout
        assert "absl" not in done.stdout.split("--traceback")[0]
    assert by_name.stdout.count("\n  --") == by_path.stdout.count("\n  --")


@pytest.mark.parametrize("module", SCRIPTS)
def test_unknown_flag(module):
    assert "Unknown command line flag 'vocab_fil'" in scripts.fail(module, vocab_fil="x")


def test_a_word_that_is_no_flag():
    done = subprocess.run([sys.executable, "-m", "run.fill_mask", "hello"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    assert "unexpected argument 'hello': flags are written --name=value" in done.stderr


def test_flag_of_another_type():
    assert "flag --max_seq_length=many" in scripts.fail("run.run_classifier", max_seq_length="many")


@pytest.fixture(scope="module")
def model_files(tmp_path_factory, reference):
    """Flags of a config and a vocabulary that go together."""
    from bert_tf.config import BertConfig

    folder = tmp_path_factory.mktemp("model")
    vocab = reference / "text" / "vocab.txt"
    config = BertConfig(len(vocab.read_text(encoding="utf-8").splitlines()), 8, 1, 2, 12, max_position_embeddings=32)
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "small.json").write_text(BertConfig(99, 8, 1, 2, 12, max_position_embeddings=32).to_json())
    return {"bert_config_file": folder / "bert_config.json", "vocab_file": vocab, "max_seq_length": 32}


@pytest.mark.parametrize(("flags", "message"), [
    ({"do_train": None}, "nothing to do: give --do_train, --do_eval or --do_predict"),
    ({"bert_config_file": None}, "--bert_config_file is required"),
    ({"bert_config_file": "none.json"}, "--bert_config_file=none.json: no such file"),
    ({"max_seq_length": 64}, "--max_seq_length=64: the model was made for at most 32"),
    ({"task_name": None}, "--task_name is required"),
    ({"task_name": "mrcp"}, "--task_name: 'mrcp' is no known task"),
    ({"data_dir": "nowhere"}, "--data_dir=nowhere: no such folder"),
    ({"vocab_file": "."}, "--vocab_file=.: is a directory, a file is needed"),
    ({"bert_config_file": "small.json"}, "has room for 99 (vocab_size of the BERT config)"),
    ({"output_dir": None}, "--output_dir is required"),
    ({"train_batch_size": 0}, "flag --train_batch_size=0"),
    ({"num_gpus": 3}, "--num_gpus=3: TensorFlow sees 0 on this machine"),
    ({}, "train.tsv: no such file"),
])
def test_classifier_mistakes(model_files, tmp_path, flags, message):
    given = {**model_files, "task_name": "mrpc", "data_dir": tmp_path, "output_dir": tmp_path / "out", "do_train": True,
             **flags}
    if given["bert_config_file"] == "small.json":
        given["bert_config_file"] = model_files["bert_config_file"].parent / "small.json"
    assert message in scripts.fail("run.run_classifier", tmp_path, **given)


@pytest.mark.parametrize(("flags", "message"), [
    ({"text": "no mask"}, "--text=no mask: has no [MASK]"),
    ({"init_checkpoint": None}, "--init_checkpoint is required"),
    ({}, "nowhere: no checkpoint there"),
    ({"init_checkpoint": "gs://two words/m"}, "--init_checkpoint=gs://two words/m: 'two words' is no name of a bucket"),
])
def test_fill_mask_mistakes(model_files, flags, message):
    given = {**model_files, "init_checkpoint": "nowhere", "text": "a [MASK]", **flags}
    assert message in scripts.fail("run.fill_mask", **given)


@pytest.mark.parametrize(("flags", "message"), [
    ({"export_dir": None, "task": "encoder"}, "--export_dir is required"),
    ({}, "give --task, one of encoder, masked_lm"),
])
def test_export_mistakes(model_files, tmp_path, flags, message):
    given = {**model_files, "init_checkpoint": tmp_path, "export_dir": tmp_path / "served", **flags}
    assert message in scripts.fail("run.export_saved_model", **given)


@pytest.mark.parametrize(("flags", "message"), [
    ({"do_train": None}, "nothing to do: give --do_train, --do_eval or both"),
    ({"input_file": None}, "--input_file is required"),
    ({"input_file": "none.tfrecord"}, "--input_file=none.tfrecord: no such file"),
    ({"input_file": "__config__"}, "bert_config.json: is no TFRecord file, or damaged"),
    ({"output_dir": "__config__"}, "is a file, a folder is needed"),
    ({"output_dir": "gs://two words/run"}, "--output_dir=gs://two words/run: 'two words' is no name of a bucket"),
    ({"init_checkpoint": "gs://two words/m"}, "--init_checkpoint=gs://two words/m: 'two words' is no name of a bucket"),
    ({"eval_steps": 5}, "--eval_steps=5: requires --do_eval"),
    ({"masking": "dynamic"}, "--vocab_file is required"),
    ({"input_file": "__config__", "distribution_strategy": "mirrored", "num_cpu_devices": 3, "accumulate_steps": 2,
      "train_batch_size": 33}, "--train_batch_size=33: must be a multiple of --accumulate_steps times the number of "
                               "replicas, 2 x 3"),
])
def test_pretraining_mistakes(model_files, tmp_path, flags, message):
    given = {"bert_config_file": model_files["bert_config_file"], "max_seq_length": 32, "do_train": True,
             "output_dir": tmp_path / "out", "input_file": "none", **flags}
    given = {name: model_files["bert_config_file"] if value == "__config__" else value
             for name, value in given.items()}
    assert message in scripts.fail("run.run_pretraining", tmp_path, **given)
