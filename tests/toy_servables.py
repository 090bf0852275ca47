"""A toy model for each task: its servable, checkpoint, and exports, a request, and comparisons."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.tasks import SERVABLES
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from tests.encoders import make_encoder

MAX_SEQ_LENGTH = 24
TOP_K = 3
PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a dog fox ##es jump ##s over lazy mary shelley went to "
    "london in genoa and of it on read sleep ##ing is book quick brown wrote leigh hunt capital "
    "paris italy where did go . , ?"
)
CONFIG = BertConfig(
    len(PIECES.split()) + 2,
    16,
    1,
    4,
    28,
    max_position_embeddings=31,
    type_vocab_size=2,
    initializer_range=0.5,
)


def make_model(name, **options):
    """Creates the model of a task, with the same weights each time."""
    encoder = make_encoder(CONFIG, **options)
    return {
        "encoder": lambda: encoder,
        "classifier": lambda: models.BertClassifier(encoder, 3),
        "masked_lm": lambda: models.BertPretrainer(encoder),
        "pretrained": lambda: models.BertPretrainer(encoder),
        "tagger": lambda: models.BertTokenClassifier(encoder, 5),
        "choice": lambda: models.BertMultipleChoice(encoder),
        "squad": lambda: models.BertSpanLabeler(encoder),
    }[name]()


def make_servable(
    name, tokenizer, layer="matrix", static_length=False, remove_padding=None, **changes
):
    """Creates the served model of a task; `changes`: fields of its TaskMetadata."""
    if remove_padding is None:
        remove_padding = layer == "matrix" and not static_length
    model = make_model(  # as exports are made
        name,
        layer=layer,
        remove_padding=remove_padding,
        last_where_read=True,
    )
    metadata = dataclasses.replace(METADATA[name], **changes)
    return SERVABLES[metadata.kind](model, tokenizer, metadata, static_length=static_length)


TASKS = {  # TaskMetadata of the fine-tuned models
    "classifier": TaskMetadata("classifier", MAX_SEQ_LENGTH, True, ("x", "y", "z"), pairs=True),
    "tagger": TaskMetadata("token_classifier", MAX_SEQ_LENGTH, True, tuple("ABCDE")),
    "choice": TaskMetadata("multiple_choice", MAX_SEQ_LENGTH, True),
    "squad": TaskMetadata("span_labeler", MAX_SEQ_LENGTH, True, max_query_length=6, doc_stride=4),
}
METADATA = TASKS | {  # and of all models
    "encoder": TaskMetadata("encoder", MAX_SEQ_LENGTH, True),
    "masked_lm": TaskMetadata("masked_lm", MAX_SEQ_LENGTH, True, top_k=TOP_K),
    "pretrained": TaskMetadata(
        "masked_lm", MAX_SEQ_LENGTH, True, pairs=True, top_k=TOP_K, next_sentence=True
    ),
}
LOAD_OPTIONS = {  # Of bert_tf.load for checkpoints without a task.json.
    "encoder": {"max_seq_length": MAX_SEQ_LENGTH},
    "masked_lm": {"max_seq_length": MAX_SEQ_LENGTH, "top_k": TOP_K},
    "pretrained": {"max_seq_length": MAX_SEQ_LENGTH, "top_k": TOP_K, "pairs": True},
}
LONG = "the lazy dog jumps over the quick brown fox . " * 4
TEXTS = ["The dog, jumping.", "", LONG, "Mary SHELLEY went  to London"]
REQUESTS = {
    "encoder": {"text": TEXTS},
    "classifier": {"text_a": TEXTS, "text_b": ["a dog", "of", "it is " * 20, ""]},
    "masked_lm": {"text": ["the [MASK] is[MASK]", "no mask", "[MASK]", LONG + "[MASK]"]},
    "pretrained": {
        "text_a": ["the [MASK] went", "[MASK]", LONG + "[MASK]", "the dog", ""],
        "text_b": ["it[MASK]s [MASK] fox", "", "a [MASK] book", "is lazy", "[MASK]"],
    },
    "tagger": {"text": TEXTS},
    "choice": {
        "text_a": TEXTS,
        "choices": [["it sleeps", "a book"], ["", "to"], ["on", "it is " * 30], ["a", "dog"]],
    },
    "squad": {"question": ["where did it go", "?"], "context": [LONG, "Mary went to London."]},
}


def make_tokenizer(folder):
    """Creates the BertTokenizer of PIECES; writes its vocabulary to a directory, a pathlib.Path."""
    path = folder / "vocab.txt"
    path.write_text("\n".join(PIECES.split()) + "\n")
    return BertTokenizer(str(path))


def make_row(tokenizer, pieces, masked_lm_positions=()):
    """Returns the features of one row of tokens, a str.

    The tokens after the first [SEP] are the second text.
    """
    pieces = pieces.split()
    num_first = pieces.index("[SEP]") + 1
    row = {
        "input_ids": [tokenizer.vocabulary.index(piece) for piece in pieces],
        "input_mask": [1] * len(pieces),
        "segment_ids": [int(number >= num_first) for number in range(len(pieces))],
        "masked_lm_positions": list(masked_lm_positions),
    }
    return {name: tf.constant([values], tf.int32) for name, values in row.items()}


def respond(servable, request):
    """Returns the response of a servable to a request: dict of arrays."""
    response = servable.answer_texts(
        **{name: tf.constant(value) for name, value in request.items()}
    )
    return {name: value.numpy() for name, value in response.items()}


def compute_outputs(servable, features, function="compute_numbers"):
    """Returns the outputs of a Servable for rows of IDs: dict of arrays."""
    tensors = {name: tf.constant(value) for name, value in features.items()}
    return {name: value.numpy() for name, value in getattr(servable, function)(tensors).items()}


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def assert_same_responses(found, expected, rtol=0.0, atol=2e-5):
    """Asserts that two responses have the same names, shapes, and types, and nearly equal values.

    Outputs at padding are not compared.
    """
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        other = found[name]
        assert (other.shape, other.dtype) == (value.shape, value.dtype), name
        if name == "sequence_output":
            value, other = (
                each * expected["token_mask"][..., np.newaxis] for each in (value, other)
            )
        if value.dtype.kind == "f":
            np.testing.assert_allclose(other, value, rtol=rtol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(other, value, err_msg=name)


def assert_answers_as(model, servable, request):
    """Asserts that an export responds as its servable to a request, and to unusual texts.

    These are texts that are not UTF-8, an empty one, and none.
    """
    unusual = [b"the \xff\xfe dog \xe2\x82", b"", "the\u202fd\u00f3g\tand \u00c9".encode()]
    unusual = {
        key: [[text, b"it"] for text in unusual] if key == "choices" else unusual for key in request
    }
    for texts in (request, unusual):
        assert_same_responses(model(**texts), respond(servable, texts))
    assert all(value.shape[0] == 0 for value in model(**{key: [] for key in request}).values())
    assert (model.kind, model.inputs) == (servable.kind, tuple(servable.text_inputs))
