"""Data for multiple choice (section 4.4 of the paper: SWAG; also RACE)."""

import dataclasses
import itertools
import sys
from typing import ClassVar

from bert_tf import files
from bert_tf.cli import paths, roles
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from data_prep.tasks import swag
from data_prep.tasks.base import TRAINS, Question, TaskData, TaskSettings
from data_prep.tasks.text_features import describe_truncated

QUESTIONS_FILE = "SWAG's CSV file; or with --data_format=race, a JSON file or a directory of JSON files"


@dataclasses.dataclass(frozen=True)
class Settings(TaskSettings):
    """Data: questions with several choices."""

    kind: ClassVar = "multiple_choice"
    data: ClassVar = ("train_file", "dev_file", "test_file")

    train_file: str | None = setting(None, f"{QUESTIONS_FILE}. Required with --do_train.",
                                     required=TRAINS, role=roles.INPUT_PATH)
    dev_file: str | None = setting(None, f"{QUESTIONS_FILE}. Required with --do_eval.",
                                   required="do_eval", role=roles.INPUT_PATH)
    test_file: str | None = setting(None, f"{QUESTIONS_FILE}. Required with --do_predict.",
                                    required="do_predict", role=roles.INPUT_PATH)
    data_format: str = setting(
        "swag", "swag: CSV with the columns sent1, sent2, ending0, ending1, ..., and label. race: JSON files with the "
                "keys article, questions, options, and answers.", choices=("swag", "race"))


class MultipleChoiceData(TaskData):
    """See TaskData. Examples are data_prep.tasks.swag.ChoiceExamples."""

    Settings = Settings

    def _read_examples(self, split):
        path = getattr(self.settings, f"{split}_file")
        questions = swag.READERS[self.settings.data_format](path, has_labels=split != "test")
        if questions.labels is None and split != "test":
            raise InputError(f"`{split}_file`={path}: contains no answers")
        return questions

    def read(self, split, tokenizer):
        """See TaskData."""
        questions = self.examples(split)
        features, lengths = swag.convert_questions_to_features(questions, tokenizer, self.max_seq_length)
        notes = [f"{split}: {len(questions):,} questions with {questions.num_choices} choices each"]
        num_empty = sum(not text.strip() for text in itertools.chain(questions.text_a, *questions.text_b))
        if num_empty:
            notes.append(f"{num_empty:,} texts are empty")
        notes += describe_truncated("choices", lengths, is_pair=True, max_seq_length=self.max_seq_length)
        if questions.num_garbled:
            notes.append(files.describe_dropped_bytes(questions.num_garbled))
        print("; ".join(notes), file=sys.stderr)
        return features

    def _read_unlabeled(self, path, tokenizer):
        questions = swag.READERS[self.settings.data_format](path, has_labels=False)
        return swag.convert_questions_to_features(questions, tokenizer, self.max_seq_length)[0]

    def questions(self):
        questions = swag.READERS[self.settings.data_format](self.settings.dev_file)
        if questions.labels is None:
            raise InputError(f"`dev_file`={self.settings.dev_file}: contains no answers to compare with")
        for guid, text_a, choices, label in zip(questions.guids, questions.text_a, questions.text_b, questions.labels,
                                                strict=True):
            yield Question(text_a, choices=tuple(choices), expected=f"choice {label}", source=guid, right=int(label))

    @property
    def training_files(self):
        path = self.settings.train_file
        return {"train_file": paths.files_below(path) if files.at(path).is_dir() else [path]}
