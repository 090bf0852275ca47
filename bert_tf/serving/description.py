"""The description of a model that its file contains, so that it can answer texts: JSON."""

import json
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.tasks.metadata import TASK_FILE, TaskMetadata
from bert_tf.tokenization.added_tokens import AddedToken
from bert_tf.tokenization.token_files import (
    DECODER,
    TOKENIZER_CONFIG_NAME,
    parse_added_tokens,
    to_decoder,
)

VOCABULARY_KEY = "vocabulary"


class ModelDescription(NamedTuple):
    """The task and the tokenizer of the model in a file."""

    task: TaskMetadata
    vocabulary: list[str]  # Token of each ID, without the added tokens.
    added_tokens: tuple[AddedToken, ...]

    @classmethod
    def from_servable(cls, servable):
        """Returns the description of a Servable."""
        tokenizer = servable.tokenizer
        return cls(servable.metadata, tokenizer.base_vocabulary, tuple(tokenizer.added_tokens))

    @classmethod
    def from_json(cls, text, path):
        """Parses the result of `to_json` in the file at `path`; None stands for no text.

        Raises InputError with the path if there is none, or if it is another one.
        """
        try:
            values = json.loads(text)
            vocabulary = list(values[VOCABULARY_KEY])
            task = values[TASK_FILE]
            tokenizer = {TOKENIZER_CONFIG_NAME: values[TOKENIZER_CONFIG_NAME]}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: does not contain the tokenizer of a model with text inputs; create it "
                f"with export_saved_model ({error})"
            ) from error
        added_tokens = parse_added_tokens(tokenizer, lambda: vocabulary)
        return cls(TaskMetadata.from_dict(task, f"{path}, {TASK_FILE}"), vocabulary, added_tokens)

    def to_json(self):
        """Returns the description as one line of ASCII."""
        return json.dumps(
            {
                TASK_FILE: self.task.to_dict(),
                TOKENIZER_CONFIG_NAME: {DECODER: to_decoder(self.added_tokens)},
                VOCABULARY_KEY: self.vocabulary,
            }
        )
