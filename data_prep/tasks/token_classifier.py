"""Data for token classification (section 5.3 of the paper: NER; also part-of-speech tagging)."""

import dataclasses
import functools
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.rules import Required
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.files import describe_dropped_bytes
from bert_tf.notes import write_line
from data_prep.datasets import conll, tag_schemes
from data_prep.tasks import word_features
from data_prep.tasks.base import TRAINS, TaskData, TaskSettings

WORDS_FILE = (
    "File with one word per line, columns separated by tabs or spaces, and an empty line after "
    "each sentence; JSON lines or Parquet with lists of words and of labels, or with texts and "
    "offsets of entities; or a treebank in CoNLL-U format (.conllu)"
)


@dataclasses.dataclass(frozen=True)
class TokenClassifierSettings(TaskSettings):
    """Data: words with one label each, in columns."""

    kind: ClassVar = "token_classifier"
    data: ClassVar = ("train_file", "dev_file", "test_file")

    train_file: str | None = setting(
        None, f"{WORDS_FILE}. Required with --do_train.", rules=[TRAINS], role=roles.INPUT_FILE
    )
    dev_file: str | None = setting(
        None,
        f"{WORDS_FILE}. Required with --do_eval.",
        rules=[Required(when="do_eval")],
        role=roles.INPUT_FILE,
    )
    test_file: str | None = setting(
        None,
        f"{WORDS_FILE}. Required with --do_predict.",
        rules=[Required(when="do_predict")],
        role=roles.INPUT_FILE,
    )
    token_column: int = setting(
        0, "0-based column of the word; negative values count from the last column, -1."
    )
    label_column: int = setting(
        -1,
        "Column of the label, optional in --test_file: entities in IOB1, IOB2, IOBES, BILOU, or "
        "BMES format, or other labels.",
    )
    treebank_column: str | None = setting(
        None,
        "For treebanks (.conllu): column of the label. upos: universal part of speech. xpos: part "
        "of speech in the tag set of the language. feats: all morphological features of a word as "
        "one label. Required for treebanks.",
        choices=tuple(conll.TREEBANK_LABELS),
    )
    document_context: bool = setting(
        False,
        "Use windows of --max_seq_length over documents, which begin at -DOCSTART- rows, instead "
        "of sentences. Each word is trained and predicted in the window with the most context "
        "around it.",
    )


class TokenClassifierData(TaskData):
    """See TaskData. Examples are data_prep.datasets.conll.Sentences."""

    settings_class = TokenClassifierSettings

    @functools.cached_property
    def labels(self):
        """Names of the labels, tuple of str, from the model or, if it is new, the training file."""
        if self.metadata:
            return self.metadata.labels
        return conll.find_label_names(self.examples("train"))

    def _read_examples(self, split):
        path = getattr(self.settings, f"{split}_file")
        column = self.settings.treebank_column
        if conll.is_treebank(path) and column is None:
            raise InputError(
                f"is required for the treebank `{split}_file`={path}; set "
                f"{' or '.join(conll.TREEBANK_LABELS)}",
                "treebank_column",
            )
        if column is not None and not conll.is_treebank(path):
            raise InputError(
                f"requires treebanks, but `{split}_file`={path} does not end in "
                f"{conll.TREEBANK_SUFFIX}",
                "treebank_column",
                column,
            )
        return self._read_sentences(path, has_labels=split != "test")

    def _read_sentences(self, path, has_labels):
        column = self.settings.treebank_column
        if column is None:
            column = self.settings.label_column
        return conll.read_sentences(
            path, self.settings.token_column, column if has_labels else None
        )

    def read(self, split, tokenizer):
        """See TaskData."""
        sentences = self.examples(split)
        document_context = self.settings.document_context
        features, num_truncated = word_features.convert_sentences_to_features(
            sentences,
            self.labels,
            tokenizer,
            self.max_seq_length,
            allow_unknown=split == "dev",
            document_context=document_context,
        )
        notes = f"{split}: {len(sentences):,} sentences, {sentences.num_words:,} words"
        num_rows = len(features["input_ids"])
        if document_context:
            num_documents = len(set(sentences.documents))
            notes += f" in {num_rows:,} windows of {num_documents:,} documents"
        elif num_rows > len(sentences):
            notes += (
                f" in {num_rows:,} rows; sentences longer than --max_seq_length="
                f"{self.max_seq_length} are split"
            )
        if num_truncated:
            notes += f"; {num_truncated:,} words are longer than a row and are truncated"
        if num_unknown := int((features["label_ids"] == word_features.UNKNOWN_WORD).sum()):
            notes += (
                f"; {num_unknown:,} words have a label that the training data lacks and count as "
                "misclassified"
            )
        if sentences.num_garbled:
            notes += f"; {describe_dropped_bytes(sentences.num_garbled)}"
        write_line(notes)
        if split == "train" and (note := tag_schemes.describe_unknown_scheme(self.labels)):
            write_line(note)
        return features

    def _read_unlabeled(self, path, tokenizer):
        sentences = self._read_sentences(path, has_labels=False)
        features, _ = word_features.convert_sentences_to_features(
            sentences, self.metadata.labels, tokenizer, self.max_seq_length
        )
        return features

    @property
    def metadata_fields(self):
        """See TaskData."""
        return {"labels": self.labels}
