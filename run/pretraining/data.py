"""The records of a pre-training run, from settings to batches: files, features, and masks."""

from bert_tf import notes
from bert_tf.checkpoints.tokenizers import to_vocab_txt
from bert_tf.cli import paths
from bert_tf.errors import InputError
from bert_tf.tokenization import read_tokenizer
from data_prep.pretraining.instances import masking
from run.pretraining import dynamic_masking, inputs, record_checks


class PretrainingData:
    """Record files to train and evaluate on.

    Create it after the strategy, since masks are computed with TensorFlow.

    Args:
      settings: PretrainingSettings.
      config: BertConfig of the model.

    Attributes:
      files: List of str. Paths of the record files to train on.

    Raises:
      InputError: If a file does not exist, if a record does not match the model (with file and
        byte), if all files are empty, or if the vocabulary is invalid.
    """

    def __init__(self, settings, config):
        self._settings = settings
        self.files = paths.expand_globs("input_file", settings.input_file)
        self._eval_files = self.files
        if settings.eval_input_file:
            self._eval_files = paths.expand_globs("eval_input_file", settings.eval_input_file)
        self._features, self._transform = _record_features(settings, config)
        self._bounds = record_checks.compute_bounds(config, settings)
        full_files = set(
            record_checks.check_pretraining_records(self._all_files, self._features, self._bounds)
        )
        if empty := [path for path in self._all_files if path not in full_files]:
            noun = "files" if len(empty) > 1 else "file"
            notes.tell(f"skipping {len(empty):,} {noun} without records, such as {empty[0]}")
        self.files = self._select("input_file", self.files, full_files)
        self._eval_files = self._select("eval_input_file", self._eval_files, full_files)

    def _select(self, name, paths, full_files):
        """Returns the paths of `full_files`.

        Raises InputError about a setting if there are none.
        """
        selected = [path for path in paths if path in full_files]
        if not selected:
            name = name if getattr(self._settings, name) else "input_file"
            raise InputError("contains no records", name, getattr(self._settings, name))
        return selected

    def training_batches(self, skip_steps, share):
        """Creates an endless dataset of a host's rows of batches, starting at step `skip_steps`.

        See `inputs`.
        """
        training = self._settings.training
        return inputs.pretraining_training_data(
            self.files,
            self._features,
            training.train_batch_size,
            training.random_seed,
            skip_steps,
            share=share,
            bounds=self._bounds,
            transform=self._transform,
        )

    def evaluation_batches(self, share, drop_remainder):
        """Creates a dataset of a host's rows of batches that contain every record once.

        See `inputs`.
        """
        return inputs.pretraining_evaluation_data(
            self._eval_files,
            self._features,
            self._settings.training.eval_batch_size,
            drop_remainder,
            share=share,
            bounds=self._bounds,
            transform=self._transform,
        )

    def name_bad_file(self):
        """Returns a context that converts an error caused by a bad record to an InputError.

        The error names the file of the record.
        """
        return record_checks.name_bad_file(self._all_files, self._features, self._bounds)

    @property
    def _all_files(self):
        return list(dict.fromkeys(self.files + self._eval_files))


def _record_features(settings, config):
    """Returns the records' features, and a function to convert them to the model's, or None."""
    if settings.objective_spec.predicts_next:
        return settings.features, inputs.add_next_tokens
    if settings.has_masks:
        return settings.features, None
    # Casing is irrelevant here.
    tokenizer = read_tokenizer(to_vocab_txt(settings.vocab_file), True, None, config)
    return settings.features, dynamic_masking.make_masker(
        settings, masking.Vocabulary.from_tokenizer(tokenizer), settings.training.random_seed
    )
