"""Output folders of runs, as fine-tuning and pre-training leave them: what scripts that serve a model begin with."""

import dataclasses
import shutil

import tensorflow as tf

from bert_tf.config import BertConfig
from run.finetuning import task_metadata


def write(folder, reference, models, **sizes):
    """Writes a folder for each model: checkpoint, config, vocabulary and, if fine-tuned, task.

    Args:
      folder: pathlib.Path that the folders go into.
      reference: pathlib.Path of the reference numbers, for the vocabulary.
      models: dict of folder name -> (TaskMetadata or None, function from a BertConfig to a model).
      sizes: fields of the BertConfig that are to be others.
    """
    vocabulary = (reference / "text" / "vocab.txt").read_text(encoding="utf-8").splitlines()
    config = BertConfig(len(vocabulary), 8, 1, 2, 12, max_position_embeddings=32, type_vocab_size=2,
                        initializer_range=0.5)
    config = dataclasses.replace(config, **sizes)
    for name, (task, make_model) in models.items():
        (folder / name).mkdir()
        (folder / name / "bert_config.json").write_text(config.to_json())
        shutil.copy(reference / "text" / "vocab.txt", folder / name)
        if task:
            task_metadata.keep(folder / name, task)
        tf.train.Checkpoint(model=make_model(config)).write(str(folder / name / "ckpt-3"))
        (folder / name / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
