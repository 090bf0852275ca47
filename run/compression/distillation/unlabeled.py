"""Texts without labels as features of a task, for a student that learns what its teacher answers to them."""

import sys

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import LineDecoder, read_lines
from data_prep.tasks import conll, glue, squad, swag

ID_FEATURES = ("input_ids", "input_mask", "segment_ids")


def read(path, settings, metadata, tokenizer):
    """The features of a file: dict of input_ids, input_mask and segment_ids, int32 [n, S] or [n, choices, S].

    Args:
      path: of the file.
      settings: the task's, of data_prep.tasks.settings.
      metadata: TaskMetadata of the teacher.
      tokenizer: BertTokenizer.

    Raises:
      InputError: naming the file, what cannot be used.
    """
    features = READERS[metadata.kind](path, settings, metadata, tokenizer)
    if not len(features["input_ids"]):
        raise InputError(f"`unlabeled_file`={path}: has no texts")
    print(f"{path}: {len(features['input_ids']):,} rows without labels", file=sys.stderr)
    return {name: features[name] for name in ID_FEATURES}


def _classifier(path, settings, metadata, tokenizer):
    del settings
    decoder = LineDecoder()
    rows = [line.split("\t") for line in read_lines(path, decoder) if line.strip()]
    decoder.tell(path)
    columns = 2 if metadata.pairs else 1
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            raise InputError(f"`unlabeled_file`={path}: text {number} has {len(row)} columns, the teacher reads "
                             f"{'two texts with a tab between them' if metadata.pairs else 'one text a line'}")
    texts = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    examples = glue.Examples(list(range(len(rows))), texts[0], texts[1] if metadata.pairs else None, None)
    return glue.convert_examples_to_features(examples, tokenizer, metadata.max_seq_length, True)


def _tagger(path, settings, metadata, tokenizer):
    sentences = conll.read_sentences(path, settings.token_column, None)
    return conll.convert_sentences_to_features(sentences, metadata.labels, tokenizer, metadata.max_seq_length)[0]


def _span_labeler(path, settings, metadata, tokenizer):
    examples = squad.read_examples(path, False, settings.version_2_with_negative)
    windows = list(squad.convert_examples_to_features(
        examples, tokenizer, metadata.max_seq_length, settings.doc_stride, settings.max_query_length, False))
    if not windows:
        raise InputError(f"`unlabeled_file`={path}: no context has a word")
    arrays = squad.arrays_of(windows)
    return {name: arrays[name].astype(np.int32) for name in ID_FEATURES}


def _multiple_choice(path, settings, metadata, tokenizer):
    questions = swag.READERS[settings.data_format](path)
    return swag.convert_questions_to_features(questions, tokenizer, metadata.max_seq_length, True)


READERS = {"classifier": _classifier, "token_classifier": _tagger, "span_labeler": _span_labeler,
           "multiple_choice": _multiple_choice}
