"""Output directories of fine-tuning and pre-training runs, for tests of scripts that read them."""

import dataclasses
import json
import shutil

import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import task_metadata
from bert_tf.config import BertConfig
from bert_tf.tasks.metadata import TaskMetadata

TEXTS = [f"word {number} the line" + " stops" * (number % 5) for number in range(12)]
SQUAD = {
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": "The debugger stops at the first line. " * 3,
                    "qas": [
                        {
                            "id": str(number),
                            "question": question,
                            "answers": [{"text": "first", "answer_start": 26}],
                        }
                        for number, question in enumerate(("What stops?", "Where?", "Which line?"))
                    ],
                }
            ],
        }
    ]
}
TASKS = {  # folder of each task -> what `write` makes it of
    "sst": (
        TaskMetadata("classifier", 20, True, ("0", "1")),
        lambda config: models.BertClassifier(config, 2),
    ),
    "tagger": (
        TaskMetadata("token_classifier", 20, True, ("B-PER", "I-PER", "O")),
        lambda config: models.BertTokenClassifier(config, 3),
    ),
    "squad": (
        TaskMetadata("span_labeler", 29, True, doc_stride=5, max_query_length=7),
        models.BertSpanLabeler,
    ),
    "swag": (TaskMetadata("multiple_choice", 20, True), models.BertMultipleChoice),
}
STARTED_WITH = {  # run.json of each, as far as it shapes features
    "sst": {"task_name": "sst-2"},
    "tagger": {"token_column": 0, "label_column": -1},
    "squad": {"doc_stride": 5, "max_query_length": 7},
    "swag": {"data_format": "swag"},
}
DATA = {  # flags that name the data of each
    "sst": {"data_dir": "sst-2"},
    "tagger": {"train_file": "dev.txt", "dev_file": "dev.txt"},
    "squad": {"train_file": "dev.json", "predict_file": "dev.json"},
    "swag": {"train_file": "dev.csv", "dev_file": "dev.csv"},
}


def write_data(folder):
    """Writes the data sets that DATA names, and texts.txt, lines without labels."""
    (folder / "sst-2").mkdir()
    for split in ("train", "dev"):
        (folder / "sst-2" / f"{split}.tsv").write_text(
            "\n".join(
                [
                    "sentence\tlabel",
                    *(f"{text}\t{number % 2}" for number, text in enumerate(TEXTS)),
                    "",
                ]
            )
        )
    (folder / "texts.txt").write_text("\n".join(TEXTS[:8]) + "\n")
    (folder / "dev.txt").write_text("Mary B-PER\nShelley I-PER\nwrote O\n\nShe O\nwrote O\n\n" * 3)
    (folder / "dev.json").write_text(json.dumps(SQUAD))
    (folder / "dev.csv").write_text(
        "sent1,sent2,ending0,ending1,ending2,ending3,label\n"
        + "".join(
            f"It stops.,Then,{text},b,c,d,{number % 4}\n" for number, text in enumerate(TEXTS)
        )
    )


def write_tasks(folder, reference, **sizes):
    """Writes the data of DATA, and a fine-tuned model of each of TASKS; sizes: see `write`."""
    write_data(folder)
    write(folder, reference, TASKS, **sizes)
    for name, started_with in STARTED_WITH.items():
        (folder / name / "run.json").write_text(json.dumps(started_with))


def write(folder, reference, models, **sizes):
    """Writes a directory for each model.

    It contains a checkpoint, a config, a vocabulary, and a task if the model is fine-tuned.

    Args:
      folder: pathlib.Path. Parent of the directories.
      reference: pathlib.Path. Directory of reference numbers, for the vocabulary.
      models: Dict of directory name -> (TaskMetadata or None, function from a BertConfig to a
        model).
      sizes: Fields of the BertConfig that differ.
    """
    vocabulary = (reference / "text" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    config = BertConfig(
        len(vocabulary),
        8,
        1,
        2,
        12,
        max_position_embeddings=32,
        type_vocab_size=2,
        initializer_range=0.5,
    )
    config = dataclasses.replace(config, **sizes)
    for name, (task, make_model) in models.items():
        (folder / name).mkdir()
        (folder / name / "bert_config.json").write_text(config.to_json())
        shutil.copy(reference / "text" / "vocab.txt", folder / name)
        if task:
            task_metadata.keep(folder / name, task)
        tf.train.Checkpoint(model=make_model(config)).write(str(folder / name / "ckpt-3"))
        (folder / name / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
