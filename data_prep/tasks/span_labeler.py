"""Data for question answering with spans of a context: SQuAD and KorQuAD.

Sections 4.2 and 4.3 of the paper: SQuAD.
"""

import collections
import dataclasses
import logging
import random
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.rules import Needs, NotWith, Required, any_of
from bert_tf.cli.script import warn
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from data_prep.tasks import squad
from data_prep.tasks.base import TRAINS, TaskData, TaskSettings

SHUFFLE_SEED = 12345  # Shuffles questions in the order of the original BERT's records.


@dataclasses.dataclass(frozen=True)
class SquadFileSettings(TaskSettings):
    """Files in the format of SQuAD."""

    train_file: str | None = setting(
        None,
        "SQuAD JSON to train on, such as train-v1.1.json. Required with --do_train.",
        rules=[TRAINS],
        role=roles.INPUT_FILE,
    )
    predict_file: str | None = setting(
        None,
        "SQuAD JSON to evaluate and predict, such as dev-v1.1.json or test-v1.1.json. Required "
        "with --do_eval and --do_predict.",
        rules=[Required(when=any_of("do_eval", "do_predict"))],
        role=roles.INPUT_FILE,
    )


@dataclasses.dataclass(frozen=True)
class QuestionSettings(Settings):
    """Settings for extractive question answering.

    Names and defaults are from the original's run_squad.
    """

    doc_stride: int = setting(
        128, "Tokens between the starts of two windows of a long context.", min_value=1
    )
    max_query_length: int = setting(
        64,
        "Maximum length of a question in tokens; longer questions are truncated. Less than "
        "--max_seq_length - 3.",
        min_value=1,
    )
    max_answer_length: int = setting(
        30, "Maximum length of an answer in tokens.", min_value=1, changeable=True
    )
    version_2_with_negative: bool = setting(
        False, "Allow questions without an answer, as in SQuAD 2.0; their answer is ''."
    )
    null_score_diff_threshold: float = setting(
        0.0,
        "With --version_2_with_negative: a question has no answer if the score of no answer "
        "exceeds the score of the best answer by more than this.",
        rules=[Needs("version_2_with_negative")],
        changeable=True,
    )


@dataclasses.dataclass(frozen=True)
class SpanLabelerSettings(QuestionSettings, SquadFileSettings):
    """Data: SQuAD and files in its format."""

    kind: ClassVar = "span_labeler"
    data: ClassVar = ("train_file", "predict_file")

    n_best_size: int = setting(
        20,
        "Number of starts and ends to try in each window, and of answers per question in "
        "nbest_predictions.json.",
        min_value=1,
        changeable=True,
        rare=True,
    )
    use_best_threshold: bool = setting(
        False,
        "Use the threshold with the best F1 on --predict_file instead of "
        "--null_score_diff_threshold. Only for development data.",
        rules=[Needs("version_2_with_negative"), NotWith("null_score_diff_threshold")],
        changeable=True,
        rare=True,
    )
    answer_metric: str = setting(
        "squad",
        "squad: the official evaluation. korquad: KorQuAD's evaluation, whose F1 counts "
        "characters.",
        choices=("squad", "korquad"),
        rules=[NotWith("version_2_with_negative")],
        changeable=True,
        rare=True,
    )
    verbose_logging: bool = setting(
        False,
        "Print every answer whose text does not occur in its context.",
        changeable=True,
        rare=True,
    )


class SpanLabelerData(TaskData):
    """See TaskData.

    Examples are lists of data_prep.tasks.squad.Example. Evaluation and prediction use the same
    file.
    """

    settings_class = SpanLabelerSettings

    def check(self):
        """See TaskData. Windows must have space for a question."""
        if self.settings.verbose_logging:
            logging.getLogger(squad.__name__).setLevel(logging.INFO)
        squad.check_lengths(
            self.max_seq_length, self.settings.doc_stride, self.settings.max_query_length
        )

    def _read_examples(self, split):
        """Reads the examples of a split, and prints notes about them to standard error."""
        _, path = self._file(split)
        counts = collections.Counter()
        examples = squad.read_examples(
            path, split == "train", self.settings.version_2_with_negative, counts
        )
        if counts["not_found"]:
            warn(
                f"{path}: {counts['not_found']:,} questions are skipped, because their answer is "
                "not at its answer_start in the context"
            )
        if counts["empty"]:
            warn(f"{path}: {counts['empty']:,} questions are empty or have an empty context")
        return examples

    def read(self, split, tokenizer):
        """See TaskData."""
        return self.create_arrays(self.create_windows(split, tokenizer))

    def create_windows(self, split, tokenizer):
        """Returns the windows of a split, a list of squad.WindowFeatures. See `read`."""
        return list(self._convert(self.examples(split), split, tokenizer))

    def create_arrays(self, windows):
        """Returns the features of a list of squad.WindowFeatures, as `read` does."""
        arrays = squad.create_arrays(windows)
        return {name: arrays[name] for name in FEATURES}

    def write_records(self, path, tokenizer):
        """Writes the windows of the training examples, shuffled; returns their number.

        Args:
          path: Path of the TFRecord file.
          tokenizer: BertTokenizer.
        """
        examples = self.examples("train").copy()
        random.Random(SHUFFLE_SEED).shuffle(examples)
        windows = self._convert(examples, "train", tokenizer)
        return squad.write_window_records(path, windows, self.max_seq_length, is_training=True)

    def _convert(self, examples, split, tokenizer):
        """Yields the windows of examples of a split, and prints their number at the end.

        Raises:
          InputError: If there are none.
        """
        name, path = self._file(split)
        counts = collections.Counter()
        yield from self._divide(examples, tokenizer, is_training=split == "train", counts=counts)
        if not counts["windows"]:
            raise InputError("contains no context with words", name, path)
        note = ""
        if counts["long_questions"]:
            note = (
                f"; {counts['long_questions']:,} questions are truncated to --max_query_length="
                f"{self.settings.max_query_length} tokens"
            )
        warn(f"{path}: {len(examples):,} questions, {counts['windows']:,} windows{note}")

    def _divide(self, examples, tokenizer, *, is_training, counts=None):
        return squad.convert_examples_to_features(
            examples,
            tokenizer,
            self.max_seq_length,
            self.settings.doc_stride,
            self.settings.max_query_length,
            is_training=is_training,
            counts=counts,
        )

    def _file(self, split):
        """Returns the name of the setting for the file of a split, and its value."""
        name = "train_file" if split == "train" else "predict_file"
        return name, getattr(self.settings, name)

    def _read_unlabeled(self, path, tokenizer):
        examples = squad.read_examples(path, False, self.settings.version_2_with_negative)
        windows = list(self._divide(examples, tokenizer, is_training=False))
        if not windows:
            raise InputError("contains no context with words", "unlabeled_file", path)
        return squad.create_arrays(windows)

    @property
    def metadata_fields(self):
        """See TaskData."""
        return {
            "doc_stride": self.settings.doc_stride,
            "max_query_length": self.settings.max_query_length,
        }
