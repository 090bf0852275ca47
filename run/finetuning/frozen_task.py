"""Frozen features as a fine-tuning task of words, texts, or pairs: trains a BiLSTM on embeddings read from disk.

Shape legend: n rows, W positions of the longest, S tokens, K layers, H hidden size of the encoder.
"""

import abc
import dataclasses
import functools
import hashlib
import os
from typing import ClassVar

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.cli.run_state import RunState, fingerprint
from bert_tf.cli.settings import FIXED, collect
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from data_prep.tasks import conll
from run.arrays.prediction import Predictor
from run.arrays.stored_rows import find_subfolder
from run.finetuning import frozen_vectors
from run.finetuning.frozen_model import FrozenFeatureModel
from run.finetuning.frozen_settings import COMBINATIONS, select_layers
from run.tasks import ClassifierTask, TokenClassifierTask
from run.tasks.base import Task
from run.training import strategies

VERSION = 1  # Increase it if the same encoder and data produce other embeddings.
ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")


TECHNIQUES = ()


class FrozenTask(Task):
    """The task of FrozenRunSettings. Each kind of task has a subclass, which also inherits from the kind's Task.

    Attributes:
      no_model: str. Error message for an output_dir without a model.
      pools: bool. Whether a row has one output instead of one per position.
      unit: str. Name of the positions.
    """

    no_model: ClassVar[str]
    pools: ClassVar[bool]
    unit: ClassVar[str]
    inputs = ("vectors", "input_mask")
    init_checkpoint = None  # The BiLSTM is initialized randomly.

    def __init__(self, settings, model_metadata):
        super().__init__(settings, model_metadata)
        self._vectors_dir = settings.vectors_dir  # The command's directory, shared by its runs.
        self._encoder_features = {}

    @classmethod
    @abc.abstractmethod
    def identify_data(cls, settings):
        """Returns a dict of everything in the settings of the data that scores depend on; identifies files by contents.

        Args:
          settings: FineTuningSettings.

        Raises:
          InputError: If a file is missing or invalid.
        """

    @abc.abstractmethod
    def _find_positions(self, features):
        """Returns bool [rows, S] for features of the encoder: True for the positions whose embeddings are stored."""

    @abc.abstractmethod
    def _create_features(self, split, features):
        """Creates the features of the BiLSTM, without vectors: its rows divide the positions in the same order.

        Args:
          split: str. "train", "dev", or "test".
          features: Dict of arrays [rows, S], features of the encoder.

        Returns:
          Dict of arrays [n, ...] with input_mask, int32 [n, W].
        """

    def read(self, tokenizer, ignore_padding):
        """See Task. Also raises InputError if there is no run to use, or if it was trained on other embeddings."""
        if self.model_metadata is None and not self.settings.tuning.do_train:
            raise InputError(f"`output_dir`={self.settings.training.output_dir}: {self.no_model}")
        super().read(tokenizer, ignore_padding)
        config = self._config = self.settings.model.config
        self._layers = select_layers(self.settings.frozen.frozen_features, config.num_hidden_layers)
        for split, features in self.features.items():
            self._encoder_features[split] = features
            self.features[split] = self._create_features(split, features)
        if not self.settings.tuning.do_train:
            for each in self.settings.runs:
                RunState(each.training.output_dir, self.resume_settings)

    @property
    def resume_settings(self):
        return {**super().resume_settings, **collect(FIXED, self.settings.frozen),
                "frozen_checkpoint": self._encoder_files}

    @functools.cached_property
    def _encoder_files(self):
        """Dict that identifies the encoder's weights."""
        return fingerprint(checkpoint_files(self.settings.model.init_checkpoint), is_complete=True)

    def head_shapes(self, config):
        return {}

    def new_model(self, make_encoder):
        frozen = self.settings.frozen
        return FrozenFeatureModel(
            COMBINATIONS[frozen.frozen_features], len(self._layers), self._config.hidden_size,
            self._kind.num_outputs(self.metadata), pools=self.pools, width=frozen.lstm_width,
            dropout_rate=frozen.lstm_dropout, seed=self.settings.training.random_seed)

    def write_training_data(self, folder):
        """Computes the embeddings of all splits, unless they exist."""
        for split in self.features:
            self._add_vectors(split)

    @property
    def eval_features(self):
        if "dev" in self.features:
            self._add_vectors("dev")
        return super().eval_features

    def predict(self, predictor, eval_outputs, folder):
        self._add_vectors("test")
        super().predict(predictor, eval_outputs, folder)

    def _add_vectors(self, split):
        """Adds the embeddings of a split to its features, and computes them if they are not saved."""
        if "vectors" in self.features[split]:
            return
        metadata = self._build_cache_key(self._encoder_features[split])
        path = find_subfolder(self._vectors_dir, metadata)
        if layers := frozen_vectors.find_missing(path, self._layers):
            if self.settings.computes_all_layers:
                layers = frozen_vectors.find_missing(path, range(self._config.num_hidden_layers + 1))
            self._compute(path, metadata, split, layers)
        else:
            print(f"{path}: reusing the features of the {split} file")
        self.features[split]["vectors"] = frozen_vectors.read(
            path, self._layers, self.features[split]["input_mask"].sum(axis=1), self._config.hidden_size)

    def _build_cache_key(self, features):
        """Returns a dict of everything that determines embeddings: encoder, inputs, positions, precision."""
        data, are_stored = hashlib.sha256(), self._find_positions(features)
        for name in ENCODER_INPUTS:
            data.update(np.ascontiguousarray(features[name]).tobytes())
        data.update(are_stored.tobytes())
        return {"version": VERSION, "encoder": self._encoder_files, "config": self._config.to_dict(),
                "data": data.hexdigest(), self.unit: int(are_stored.sum()),
                "mixed_precision": self.settings.step.mixed_precision,
                **({"allow_tf32": True} if self.settings.devices.allow_tf32 else {})}

    def _compute(self, path, metadata, split, layers):
        """Writes the embeddings of a split for the given layers."""
        strategy, features = tf.distribute.get_strategy(), self._encoder_features[split]
        encoder = self._load_encoder(strategy)
        are_stored = self._find_positions(features)

        def encode(features, training):
            encoded = encoder(features, training=training)
            all_layers = [encoded["embedding_output"], *encoded["encoder_outputs"]]
            return {"layers": tf.cast(tf.stack([all_layers[layer] for layer in layers], axis=2), frozen_vectors.DTYPE)}

        def parts():
            predictor = Predictor(strategy, encode, network=encoder)
            for rows, outputs in predictor.predict_batches(
                    features, self.settings.training.eval_batch_size, f"features of the {split} file"):
                length = outputs["layers"].shape[1]
                yield rows, [row_vectors[are_stored[row, :length]] for row, row_vectors in zip(
                    rows, outputs["layers"], strict=True)]  # [positions, K, H] each.

        frozen_vectors.write(path, metadata, layers, are_stored.sum(axis=1), self._config.hidden_size, parts())
        strategies.free_memory(encoder.variables)
        print(f"{path}: saved the features of {metadata[self.unit]:,} {self.unit} of the {split} file")

    def _load_encoder(self, strategy):
        """Creates the encoder with its weights."""
        fast = strategies.choose_fast(
            strategy, self._config, remove_padding=strategies.may_group_by_length(self.settings, strategy))
        encoder = FastEncoder(self._config, fast, dtype=self.settings.step.dtype_policy)
        load_pretrained(encoder, self.settings.model.init_checkpoint)
        encoder.trainable = False
        return encoder


class FrozenTokenClassifierTask(FrozenTask, TokenClassifierTask):
    """Taggers of words.

    A row of the encoder is as in fine-tuning. A row of the BiLSTM is a sentence, or a part of a sentence that has more
    words than an input has tokens. The embedding of a word is the one of its first token.
    """

    kind = "frozen_token_classifier"  # Other scripts do not load this kind.
    no_model = "contains no tagger trained on frozen features; train one first"
    pools, unit = False, "words"

    @classmethod
    def identify_data(cls, settings):
        values = dataclasses.asdict(settings.task)
        for name in ("train_file", "dev_file"):
            values[name] = fingerprint([values[name]])
        del values["test_file"]
        return values

    def _find_positions(self, features):
        return features["label_ids"] != conll.IGNORED

    def _create_features(self, split, features):
        lengths = conll.compute_part_lengths(self.data.examples(split), self.settings.tokenizer.max_seq_length)
        labels = features["label_ids"]
        return conll.create_word_features(conll.select_word_values(labels, labels), lengths)


class FrozenClassifierTask(FrozenTask, ClassifierTask):
    """Classifiers and regressions of texts or pairs: a row is as in fine-tuning, with all of its tokens."""

    kind = "frozen_classifier"  # Other scripts do not load this kind.
    no_model = "contains no classifier trained on frozen features; train one first"
    pools, unit = True, "tokens"

    @classmethod
    def identify_data(cls, settings):
        data = cls.data_class(settings.task, settings.tokenizer.max_seq_length)
        splits = ("train", "dev")
        for split in splits:
            data.examples(split)
        paths = [os.path.join(settings.task.data_dir, data.dataset.splits[split].file) for split in splits]
        return {**dataclasses.asdict(settings.task), "task_name": data.dataset.name, "data_dir": fingerprint(paths)}

    def _find_positions(self, features):
        return features["input_mask"] > 0

    def _create_features(self, split, features):
        return {name: values for name, values in features.items() if name in ("input_mask", "label_ids")}


FROZEN_TASKS = {task.data_class.Settings.kind: task for task in (FrozenTokenClassifierTask, FrozenClassifierTask)}
