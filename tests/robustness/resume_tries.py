"""Runs that are resumed with something else than they were begun with, and what lies beside their checkpoints."""

import json

from tests.robustness.commands import attempt

RESUMED = {"run_classifier": {"output_dir": "tuned", "init_checkpoint": None},
           "run_tagger": {"output_dir": "tagger", "init_checkpoint": None},
           "run_squad": {"output_dir": "span", "init_checkpoint": None},
           "run_multiple_choice": {"output_dir": "choice", "init_checkpoint": None},
           "run_pretraining": {"output_dir": "pretrained", "bert_config_file": None}}
OTHERS = (  # (command, changes, what must be named)
    ("run_classifier", {"max_seq_length": 12}, "max_seq_length"),
    ("run_classifier", {"train_batch_size": 3}, "--train_batch_size"),
    ("run_classifier", {"do_lower_case": False}, "do_lower_case"),
    ("run_classifier", {"vocab_file": "other_vocab.txt"}, "--vocab_file=other_vocab.txt"),
    ("run_classifier", {"bert_config_file": "wide/bert_config.json"}, "--output_dir=tuned"),
    ("run_classifier", {"search": True, "do_eval": True, "train_batch_size": None, "search_batch_sizes": 4},
     "--output_dir=tuned: holds a run"),
    ("run_tagger", {"token_column": 1, "label_column": 0}, "--output_dir=tagger"),
    ("run_squad", {"doc_stride": 6}, "--doc_stride"),
    ("run_multiple_choice", {"data_format": "race", "train_file": "race"}, "--data_format"),
    ("run_pretraining", {"max_predictions_per_seq": 4}, "records.tfrecord"),
    ("run_pretraining", {"train_batch_size": 3}, "--train_batch_size"),
    ("run_pretraining", {"masking": "dynamic", "vocab_file": "vocab.txt"}, "records.tfrecord: its records hold masks"),
)
BESIDE = (  # (file of the run, content)
    *(("run.json", content) for content in (b"\xff", '{"changeable": 3}')),
    ("task.json", "[]"), ("training_log.csv", b"\xff"),
    ("checkpoint", "nonsense"), ("checkpoint", b"\xff\xfe"),
    ("best/best.json", "{}"), ("ckpt-3.index", b""), ("ckpt-3.data-00000-of-00001", b"x"),
)


def tries():
    """Yields the tries."""
    for command, changes, says in OTHERS:
        yield attempt(command, {**RESUMED[command], **changes}, says, after_work=True)
    best = {"best/checkpoint": 'model_checkpoint_path: "ckpt-3"\n', "best/ckpt-3.index": b"", "best/ckpt-3.data": b""}
    for name, content in BESIDE:
        files = {f"tuned/{name}": content}
        if name.startswith("best/"):
            files |= {f"tuned/{each}": value for each, value in best.items()}
        yield attempt("run_classifier", RESUMED["run_classifier"], "tuned", files=files, after_work=True)
    yield attempt("run_classifier", {"output_dir": "empty", "do_train": None, "do_eval": True, "init_checkpoint": None,
                                     "bert_config_file": "bert_config.json", "vocab_file": "vocab.txt"},
                  "--output_dir=empty: holds no checkpoint", after_work=True)
    yield attempt("run_classifier", {"do_train": None, "do_eval": True}, "--init_checkpoint=model: is not of a model",
                  after_work=True)
    yield attempt("run_tagger", {"do_train": None, "do_eval": True}, "--output_dir=new: holds no tagger",
                  after_work=True)
    yield attempt("run_pretraining", {"do_train": None, "do_eval": True}, "--output_dir=new: holds no checkpoint",
                  after_work=True)
    yield attempt("prune_model", {"output_dir": "texts"}, "--output_dir=texts: is not empty", after_work=True)
    yield attempt("prune_model", {"output_dir": "new"}, "--output_dir=new: holds a training run",
                  files={"new/checkpoint": ""})
    yield attempt("prune_model", {"output_dir": "new"}, "--output_dir=new: holds a run with --keep_heads 0.25",
                  files={"new/prune.json": json.dumps({"keep_heads": 0.25})}, after_work=True)
    for content in ("[" * 100_000,
                    '{"format": 1, "made_from": {"flags": {}, "vocabulary": "", "inputs": []}, "shards": [null]}',
                    '{"format": 1, "made_from": {"flags": 3, "vocabulary": "", "inputs": []}, "shards": [null]}'):
        yield attempt("create_pretraining_data", {}, "new.tfrecord.manifest.json",
                      files={"new.tfrecord.manifest.json": content})
