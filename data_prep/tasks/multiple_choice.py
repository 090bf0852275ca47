"""Data for multiple choice, such as SWAG and RACE.

Section 4.4 of the paper: SWAG.
"""

import dataclasses
import itertools
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import paths, roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.notes import write_line
from data_prep.datasets.multiple_choice import READERS
from data_prep.tasks.base import TRAINS, TaskData, TaskSettings
from data_prep.tasks.text_features import convert_texts_to_features, describe_truncated

QUESTIONS_FILE = (
    "SWAG's CSV file; or with --data_format=race, a JSON file or a directory of JSON files"
)


@dataclasses.dataclass(frozen=True)
class MultipleChoiceSettings(TaskSettings):
    """Data: questions with several choices."""

    kind: ClassVar = "multiple_choice"
    data: ClassVar = ("train_file", "dev_file", "test_file")

    train_file: str | None = setting(
        None, f"{QUESTIONS_FILE}. Required with --do_train.", rules=[TRAINS], role=roles.INPUT_PATH
    )
    dev_file: str | None = setting(
        None,
        f"{QUESTIONS_FILE}. Required with --do_eval.",
        rules=[Required(when="do_eval")],
        role=roles.INPUT_PATH,
    )
    test_file: str | None = setting(
        None,
        f"{QUESTIONS_FILE}. Required with --do_predict.",
        rules=[Required(when="do_predict")],
        role=roles.INPUT_PATH,
    )
    data_format: str = setting(
        "swag",
        "swag: CSV with the columns sent1, sent2, ending0, ending1, ..., and label. race: JSON "
        "files with the keys article, questions, options, and answers.",
        choices=("swag", "race"),
    )


class MultipleChoiceData(TaskData):
    """See TaskData.

    Examples are data_prep.datasets.types.Examples, whose `text_b` is a list of choices.
    """

    settings_class = MultipleChoiceSettings

    def _read_examples(self, split):
        path = getattr(self.settings, f"{split}_file")
        questions = READERS[self.settings.data_format](path, has_labels=split != "test")
        if questions.labels is None and split != "test":
            raise InputError("contains no answers, or not for each question", f"{split}_file", path)
        return questions

    def read(self, split, tokenizer):
        """See TaskData."""
        questions = self.examples(split)
        features, lengths = self._convert(questions, tokenizer)
        if questions.labels is not None:
            features["label_ids"] = questions.labels
        notes = [
            f"{split}: {len(questions):,} questions with {len(questions.text_b[0])} choices each"
        ]
        if questions.num_empty:
            notes.append(f"{questions.num_empty:,} texts are empty")
        notes += describe_truncated(
            "choices", lengths, is_pair=True, max_seq_length=self.max_seq_length
        )
        if questions.num_garbled:
            notes.append(files.describe_dropped_bytes(questions.num_garbled))
        write_line("; ".join(notes))
        return features

    def _read_unlabeled(self, path, tokenizer):
        questions = READERS[self.settings.data_format](path, has_labels=False)
        features, _ = self._convert(questions, tokenizer)
        return features

    def _convert(self, questions, tokenizer):
        """Converts questions, each choice of which is a pair with the question.

        See `convert_texts_to_features`.

        Returns:
          Tuple `(features, lengths)`: features, int32 [n, choices, S]; lengths of the choices,
          int64 [n * choices].
        """
        num_choices = len(questions.text_b[0])
        flat, lengths = convert_texts_to_features(
            [text for text in questions.text_a for _ in range(num_choices)],
            list(itertools.chain(*questions.text_b)),
            tokenizer,
            self.max_seq_length,
        )
        features = {
            name: values.reshape(-1, num_choices, self.max_seq_length)
            for name, values in flat.items()
        }
        return features, lengths

    @property
    def training_files(self):
        """See TaskData."""
        path = self.settings.train_file
        return {"train_file": paths.files_below(path) if files.at(path).is_dir() else [path]}
