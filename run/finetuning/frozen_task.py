"""Token classification by frozen features as a fine-tuning task: trains a BiLSTM on embeddings read from disk.

Shape legend: n rows, W words of the longest, S tokens, K layers, H hidden size of the encoder.
"""

import functools
import hashlib

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import checkpoint_files, load_pretrained
from bert_tf.cli.settings import FIXED, collect
from bert_tf.fast import FastEncoder
from bert_tf.run_state import RunState, fingerprint
from data_prep.tasks import conll
from run.arrays.prediction import Predictor
from run.arrays.stored_rows import find_subfolder
from run.finetuning import frozen_vectors
from run.finetuning.frozen_settings import COMBINATIONS, select_layers
from run.finetuning.frozen_tagger import FrozenTagger
from run.tasks import TokenClassifierTask
from run.techniques.base import Technique
from run.training import strategies, utilization

VERSION = 1  # Increase it if the same encoder and data produce other embeddings.
ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")


class TaggerTraining(Technique):
    """The differences in training a FrozenTagger."""

    def build(self, build):
        """See Technique."""
        build.flops = lambda tokens: utilization.FORWARD_AND_BACKWARD * build.model.flops_per_word * tokens


TECHNIQUES = (TaggerTraining(),)


class FrozenTokenClassifierTask(TokenClassifierTask):
    """The task of FrozenTaggerSettings.

    A row of the encoder is as in fine-tuning. A row of the BiLSTM is a sentence, or a part of a sentence that has more
    words than an input has tokens.
    """

    kind = "frozen_token_classifier"  # Other scripts do not load this kind.
    no_model = "contains no tagger trained on frozen features; train one first"
    inputs = ("vectors", "input_mask")
    init_checkpoint = None  # The BiLSTM is initialized randomly.
    computes_all_layers = False  # If True and a layer is missing, computes all layers, for later kinds of taggers.

    def __init__(self, settings, model_metadata):
        super().__init__(settings, model_metadata)
        self._vectors_dir = settings.vectors_dir  # The command's directory, shared by its runs.
        self._encoder_features, self._lengths = {}, {}

    def read(self, tokenizer, ignore_padding):
        """See Task. Also raises InputError if the run to use was trained on other embeddings."""
        super().read(tokenizer, ignore_padding)
        config = self._config = self.settings.model.config
        self._layers = select_layers(self.settings.frozen.frozen_features, config.num_hidden_layers)
        for split, features in self.features.items():
            self._encoder_features[split] = features
            lengths = self._lengths[split] = conll.compute_part_lengths(
                self.data.examples(split), self.settings.tokenizer.max_seq_length)
            self.features[split] = conll.create_word_features(conll.select_word_values(
                features["label_ids"], features["label_ids"]), lengths)
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
        return FrozenTagger(
            COMBINATIONS[frozen.frozen_features], len(self._layers), self._config.hidden_size, len(self.data.labels),
            width=frozen.lstm_width, dropout_rate=frozen.lstm_dropout, seed=self.settings.training.random_seed)

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
            if self.computes_all_layers:
                layers = frozen_vectors.find_missing(path, range(self._config.num_hidden_layers + 1))
            self._compute(path, metadata, split, layers)
        else:
            print(f"{path}: reusing the features of the {split} file")
        self.features[split]["vectors"] = frozen_vectors.read(
            path, self._layers, self._lengths[split], self._config.hidden_size)

    def _build_cache_key(self, features):
        """Returns a dict of everything that determines embeddings: encoder, inputs, positions of words, precision."""
        data = hashlib.sha256()
        for name in ENCODER_INPUTS:
            data.update(np.ascontiguousarray(features[name]).tobytes())
        data.update((features["label_ids"] != conll.IGNORED).tobytes())
        return {"version": VERSION, "encoder": self._encoder_files, "config": self._config.to_dict(),
                "data": data.hexdigest(), "words": int((features["label_ids"] != conll.IGNORED).sum()),
                "mixed_precision": self.settings.step.mixed_precision,
                **({"allow_tf32": True} if self.settings.devices.allow_tf32 else {})}

    def _compute(self, path, metadata, split, layers):
        """Writes the embeddings of the words of a split for the given layers."""
        strategy, features = tf.distribute.get_strategy(), self._encoder_features[split]
        encoder = self._load_encoder(strategy)
        are_words = features["label_ids"] != conll.IGNORED  # [rows, S]: first tokens of words.

        def encode(features, training):
            encoded = encoder(features, training=training)
            all_layers = [encoded["embedding_output"], *encoded["encoder_outputs"]]
            return {"layers": tf.cast(tf.stack([all_layers[layer] for layer in layers], axis=2), frozen_vectors.DTYPE)}

        def parts():
            predictor = Predictor(strategy, encode, network=encoder)
            for rows, outputs in predictor.predict_batches(
                    features, self.settings.training.eval_batch_size, f"features of the {split} file"):
                length = outputs["layers"].shape[1]
                yield rows, [row_vectors[are_words[row, :length]] for row, row_vectors in zip(
                    rows, outputs["layers"], strict=True)]  # [words, K, H] each.

        frozen_vectors.write(path, metadata, layers, are_words.sum(axis=1), self._config.hidden_size, parts())
        strategies.free_memory(encoder.variables)
        print(f"{path}: saved the features of {metadata['words']:,} words of the {split} file")

    def _load_encoder(self, strategy):
        """Creates the encoder with its weights."""
        fast = strategies.choose_fast(
            strategy, self._config, remove_padding=strategies.may_group_by_length(self.settings, strategy))
        encoder = FastEncoder(self._config, fast, dtype=self.settings.step.dtype_policy)
        load_pretrained(encoder, self.settings.model.init_checkpoint)
        encoder.trainable = False
        return encoder
