"""The records of a pre-training run, from settings to batches: which files, what they hold, how they are masked."""

import functools

from bert_tf.cli import paths
from bert_tf.cli.model_settings import read_tokenizer
from bert_tf.cli.settings import FIXED, collect
from bert_tf.run_state import fingerprint
from data_prep.pretraining.instances import masking
from run.pretraining import dynamic_masking, inputs, record_checks


class PretrainingData:
    """Record files to train and evaluate on; made once a strategy is, since masks need TensorFlow to compute.

    Args:
      settings: PretrainingSettings.
      config: BertConfig of the model.

    Attributes:
      files: paths of the record files to train on.

    Raises:
      InputError: files that are not there; records that do not suit the model, by file and byte; a vocabulary that
        cannot be read.
    """

    def __init__(self, settings, config):
        self._settings = settings.records
        self._training = settings.training
        self.files = paths.expand_globs("input_file", settings.records.input_file, folders=True)
        self._eval_files = self.files
        if settings.records.eval_input_file:
            self._eval_files = paths.expand_globs("eval_input_file", settings.records.eval_input_file, folders=True)
        self._features, self._transform = _record_features(settings, config)
        self._limits = record_checks.pretraining_limits(config, settings.records.instances)
        record_checks.check_pretraining_records(self._all_files, self._features, self._limits)

    def training_batches(self, skip_steps, share):
        """Endless dataset of a HostShare of batches, from step `skip_steps` on; see run.pretraining.inputs."""
        return inputs.pretraining_training_data(
            self.files, self._features, self._training.train_batch_size, self._training.random_seed, skip_steps,
            share=share, limits=self._limits, transform=self._transform, count_records=lambda files: self._counts)

    def evaluation_batches(self, share, drop_remainder):
        """Dataset of a HostShare of batches that hold every record once; see run.pretraining.inputs."""
        return inputs.pretraining_evaluation_data(
            self._eval_files, self._features, self._training.eval_batch_size, drop_remainder, share=share,
            limits=self._limits, transform=self._transform)

    def bad_records_named(self):
        """A context in which an error that a bad record causes becomes an InputError that names its file and byte."""
        return record_checks.bad_records_named(self._all_files, self._features, self._limits)

    @property
    def started_with(self):
        """Dict of what the training data are, with which a run is resumed."""
        kept = {"input_file": fingerprint(self.files), **collect(FIXED, self._settings)}
        if "vocab_file" in kept:
            kept["vocab_file"] = fingerprint([kept["vocab_file"]])
        return kept

    @functools.cached_property
    def _counts(self):
        """The records of each training file, counted once for all hosts whose input this process makes."""
        return record_checks.count_records(self.files)

    @property
    def _all_files(self):
        return list(dict.fromkeys(self.files + self._eval_files))


def _record_features(settings, config):
    """The records' features, and what makes the model's of them, None for nothing."""
    of_records, instances = settings.records, settings.records.instances
    if of_records.masking == "static":
        return instances.features, None
    tokenizer = read_tokenizer(of_records.vocab_file, True, None, config)  # casing plays no part here
    return instances.features, dynamic_masking.make_masker(
        instances, masking.Vocabulary.of_tokenizer(tokenizer), settings.training.random_seed)
