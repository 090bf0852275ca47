"""Files for hostile commands and for the soak: models of each kind, data of each task, and text."""

import json
import os
import shutil
import string

import numpy as np

from bert_tf import models
from bert_tf.checkpoints import FORMATS, model_tensors, training_run
from bert_tf.config import BertConfig
from bert_tf.serving import saved_model
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from data_prep import records
from tests import toy_runs

TEXT = (
    "The debugger stops at the first line.\nIt goes on.\n\n"
    "Each module has a name.\nA name is a word.\n\n"
)
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *".,?!|-",
    *string.digits,
    *string.ascii_lowercase,
    *(f"##{letter}" for letter in string.ascii_lowercase + string.digits),
    "the",
    "debugger",
    "stops",
    "line",
]
TASKS = {
    "tuned": (
        TaskMetadata("classifier", 16, True, ("0", "1"), pairs=False),
        lambda config: models.BertClassifier(config, 2),
    ),
    "span": (
        TaskMetadata("span_labeler", 24, True, doc_stride=5, max_query_length=7),
        models.BertSpanLabeler,
    ),
    "pretrained": (None, models.BertPretrainer),
}
STARTED_WITH = {
    "tuned": {
        "task_name": "custom",
        "text_a_column": "text",
        "text_b_column": None,
        "label_column": "label",
        "regression": False,
        "label_separator": None,
        "max_seq_length": 16,
        "train_batch_size": 4,
        "group_by_length": True,
        "optimizer": "adamw",
        "random_seed": 12345,
    },
    "span": {
        "doc_stride": 5,
        "max_query_length": 7,
        "version_2_with_negative": False,
        "max_seq_length": 24,
    },
    "pretrained": {
        "max_seq_length": 32,
        "max_predictions_per_seq": 5,
        "masking": "static",
        "train_batch_size": 4,
        "optimizer": "adamw",
        "random_seed": 12345,
    },
}
RACE = {
    "article": "a b",
    "questions": ["What?"],
    "options": [["c", "d"]],
    "answers": ["A"],
    "id": "1",
}


def make(folder):
    """Fills an empty directory, a pathlib.Path.

    The models have one layer, a hidden size of 8, 2 heads, and 32 positions. `served/1` is an
    exported classifier.
    """
    _data(folder)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(PIECES) + "\n")
    (folder / "other_vocab.txt").write_text("\n".join([*PIECES[:-1], "another"]) + "\n")
    (folder / "text").mkdir()
    shutil.copy(vocabulary, folder / "text")
    toy_runs.write(folder, folder, TASKS)
    shutil.rmtree(folder / "text")
    config = BertConfig.from_json_file(folder / "pretrained" / "bert_config.json")
    (folder / "bert_config.json").write_text(config.to_json())
    for name, started_with in STARTED_WITH.items():
        (folder / name / training_run.RUN_FILE).write_text(json.dumps(started_with))
    for name, kind, size in (("model", "tf1", 8), ("wide", "tf1", 16), ("hf", "huggingface", 8)):
        sizes = BertConfig(
            len(PIECES), size, 1, 2, 12, max_position_embeddings=32, type_vocab_size=2
        )
        (folder / name).mkdir()
        FORMATS[kind].write(str(folder / name), model_tensors(models.BertPretrainer(sizes)), sizes)
        shutil.copy(vocabulary, folder / name)
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    served = ServedClassifier(
        models.BertClassifier(models.BertEncoder(config), 2),
        tokenizer,
        TaskMetadata("classifier", 16, True, ("0", "1")),
    )
    saved_model.save(served, str(folder / "served"))
    write_records(folder / "records.tfrecord")
    (folder / "empty").mkdir()


def write_records(path, count=18, length=32, predictions=5):
    """Writes pre-training records of random tokens."""
    rng = np.random.default_rng(1)
    ids = rng.integers(5, len(PIECES), [count, length])
    ones = np.ones([count, length], np.int64)
    with records.RecordWriter(
        str(path), records.pretraining_features(length, predictions)
    ) as writer:
        writer.write(
            {
                "input_ids": ids,
                "input_mask": ones,
                "segment_ids": ones * (np.arange(length) > length // 2),
                "masked_lm_positions": np.tile(np.arange(1, predictions + 1), (count, 1)),
                "masked_lm_ids": ids[:, 1 : predictions + 1],
                "masked_lm_weights": np.ones([count, predictions], np.float32),
                "next_sentence_labels": rng.integers(0, 2, [count, 1]),
            }
        )


def _data(folder):
    """Writes data of each task, and text."""
    (folder / "text.txt").write_text(TEXT * 3)
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text(TEXT * 3)
    (folder / "own").mkdir()
    rows = [f"the line {number} stops\t{number % 2}" for number in range(9)]
    for split in ("train", "dev", "test"):
        (folder / "own" / f"{split}.tsv").write_text("\n".join(["text\tlabel", *rows, ""]))
    (folder / "words.txt").write_text("Mary B-PER\nShelley I-PER\nwrote O\n\nShe O\nwrote O\n\n")
    (folder / "squad.json").write_text(json.dumps(toy_runs.SQUAD))
    (folder / "swag.csv").write_text(
        "sent1,sent2,ending0,ending1,ending2,ending3,label\n"
        + "".join(f"It stops.,Then,a,b,c,d,{number % 4}\n" for number in range(9))
    )
    (folder / "race").mkdir()
    for name in ("1.json", "2.json"):
        (folder / "race" / name).write_text(json.dumps(RACE))
    (folder / "labels.txt").write_text("0\n1\n")


def snapshot(folder):
    """Returns a dict of each file and each empty directory below a directory to its state."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            found[os.path.relpath(path, folder)] = status.st_size, status.st_mtime_ns, status.st_ino
        if not folders and not names:
            found[os.path.relpath(parent, folder)] = "empty"
    return found
