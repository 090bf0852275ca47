"""graph.py and plain.py of each kind answer the same hostile texts with the same response.

Both run the same weights in TensorFlow, so that a difference is one of the answers; the tests of
`bert_tf.serving.litert` run the graphs of a file.
"""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.features import FEATURES
from bert_tf.tasks import ANSWERS, KINDS, SERVABLES
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization.plain import PlainTokenizer
from tests import toy_servables
from tests.toy_servables import LONG, MAX_SEQ_LENGTH, assert_same_responses, make_servable, respond

BUCKET = 31  # Columns of the rows, over MAX_SEQ_LENGTH.
TEXTS = [
    "The dog, jumping.",
    "",
    "   \t\n ",
    "\u3000\u2003\u00a0\u202f\ufeff",  # White space that is not ASCII, and a character to drop.
    LONG,
    LONG * 9,  # More windows than a request may have.
    "of" * 150 + " dog",  # A word of over 200 characters, which is [UNK].
    "the dog" + "s" * 40,  # A word that has more tokens than a row.
    "\U0001f98a fox \U0001f469\u200d\U0001f469\u200d\U0001f467 dogs",
    "a\x00b\x01 dog\x07\x0bfox\x0cto\x1cgo\x1d\x1e\x1f\x85on\x7f.",  # Control characters.
    "[CLS] the [SEP] dog [PAD] [UNK] ##ing",
    "[MASK]the [MASK][MASK] [mask] dog[MASK]",
    "the\u0301 D\u00d3G, \u0301 de\u0301ja\u0300 \ufb01 \u00bd \u2126 ...",
    "\u6771\u4eac dog\u3002\u039f\u0394\u039f\u03a3 \u05d0\u05d1 \u0628",
    "go\r\nto\u2028london\u2029,\ufffd?",
]
OTHERS = TEXTS[5:] + TEXTS[:5]  # The second text of each pair.

# Case -> name in `toy_servables`, and changes of its TaskMetadata.
CASES = {
    "classifier of pairs": ("classifier", {}),
    "classifier of texts": ("classifier", {"pairs": False}),
    "several labels": ("classifier", {"multi_label": True}),
    "token classifier": ("tagger", {}),
    "span labeler": ("squad", {}),
    "all questions have an answer": (
        "squad",
        {"version_2_with_negative": True, "null_score_diff_threshold": 1e6},
    ),
    "no question has an answer": (
        "squad",
        {"version_2_with_negative": True, "null_score_diff_threshold": -1e6},
    ),
    "some questions have an answer": (
        "squad",
        {"version_2_with_negative": True, "null_score_diff_threshold": -1.8, "top_k": 20},
    ),
    "multiple choice": ("choice", {}),
    "encoder": ("encoder", {}),
    "encoder, pooler": ("encoder", {"sentence_pooling": "pooler"}),
    "encoder, first elements": ("encoder", {"truncate_dim": 5}),
    "encoder of pairs, mean": (
        "encoder",
        {"pairs": True, "sentence_pooling": "mean", "normalize": True},
    ),
    "encoder, maximum": ("encoder", {"sentence_pooling": "max", "normalize": False}),
    "encoder, first": ("encoder", {"sentence_pooling": "cls", "normalize": True}),
    "masked LM": ("masked_lm", {}),
    "next sentence": ("pretrained", {}),
}
# The outputs that equal scores determine -> their value for the first of equal candidates.
FIRST_OF_EQUALS = {"label": b"x", "tags": b"A", "choice": 0}


class TensorFlowBuckets:
    """Stands in for Buckets: runs rows with the model of a Servable."""

    has_head = True

    def __init__(self, servable):
        self._servable = servable

    def run(self, rows):
        """Returns the outputs of each Row: list of dicts of arrays."""
        features = np.zeros([len(FEATURES), len(rows), BUCKET], np.int32)
        for index, row in enumerate(rows):
            features[:, index, : len(row.ids)] = row.ids, [1] * len(row.ids), row.segments
        outputs = self._servable.compute_outputs(
            {name: tf.constant(value) for name, value in zip(FEATURES, features, strict=True)}
        )
        return [
            {name: value[index].numpy() for name, value in outputs.items()}
            for index in range(len(rows))
        ]

    def run_head(self, vectors):
        """Returns the best pieces for float32 [N, H]."""
        best = self._servable.best_pieces(tf.constant(vectors))
        return {name: value.numpy() for name, value in best.items()}


def make_request(servable, texts=TEXTS, others=OTHERS):
    """Returns a request with the inputs of a Servable: dict of name -> nested lists of str."""
    first, *second = servable.text_inputs
    if second == ["choices"]:
        others = [list(choices) for choices in zip(others, texts, reversed(texts), strict=True)]
    return {first: texts} | dict.fromkeys(second, others)


def answer_plainly(servable, request):
    """Returns the response of the kind's plain.py to a request: dict of arrays."""
    metadata = servable.metadata
    tokenizer = PlainTokenizer(
        servable.tokenizer.vocabulary, metadata.do_lower_case, metadata.strip_accents
    )
    return ANSWERS[servable.kind](
        metadata, tokenizer, TensorFlowBuckets(servable), *request.values()
    )


def assert_equal_answers(servable, request):
    """Asserts that graph and plain give the same response without NaN; returns it."""
    expected = respond(servable, request)
    assert_same_responses(answer_plainly(servable, request), expected)
    for name, value in expected.items():
        assert value.dtype.kind != "f" or np.isfinite(value).all(), name
    return expected


def test_all_kinds_have_a_case():
    names = {toy_servables.METADATA[name].kind for name, _ in CASES.values()}
    assert names == set(KINDS) == set(SERVABLES) == set(ANSWERS)


@pytest.mark.parametrize("case", CASES)
def test_hostile_texts(toy_tokenizer, case):
    name, changes = CASES[case]
    servable = make_servable(name, toy_tokenizer, **changes)
    request = make_request(servable)
    response = assert_equal_answers(servable, request)
    assert response["was_cut"].any()
    assert not response["was_cut"].all()
    # A row by itself is not padded to the length of others.
    for index in range(0, len(TEXTS), 3):
        one = {name: values[index : index + 1] for name, values in request.items()}
        assert_equal_answers(servable, one)
    KINDS[servable.kind].rows(response)


def test_questions_with_and_without_answers(toy_tokenizer):
    found = {}
    for case, (name, changes) in CASES.items():
        if "have an answer" in case or "has an answer" in case:
            servable = make_servable(name, toy_tokenizer, **changes)
            answers = respond(servable, make_request(servable))["answer"]
            found[case.split()[0]] = sum(answers != b"")
    assert 0 == found["no"] < found["some"] < found["all"] <= len(TEXTS)


def test_the_threshold_of_answers_is_inclusive(toy_tokenizer):
    """As in the original, a question has no answer only if the difference exceeds the threshold."""
    changes = {"version_2_with_negative": True, "null_score_diff_threshold": 1e6}
    servable = make_servable("squad", toy_tokenizer, **changes)
    response = respond(servable, make_request(servable))
    rows = np.flatnonzero(response["answer"] != b"")
    difference = response["null_score_diff"][rows[0]]
    for threshold, has_answer in (
        (difference, True),
        (np.nextafter(difference, np.float32(-np.inf)), False),
    ):
        changes["null_score_diff_threshold"] = float(threshold)
        servable = make_servable("squad", toy_tokenizer, **changes)
        answer = assert_equal_answers(servable, make_request(servable))["answer"][rows[0]]
        assert (answer != b"") == has_answer


def test_numbers(toy_tokenizer):
    metadata = TaskMetadata("classifier", MAX_SEQ_LENGTH, True)
    model = models.BertClassifier(toy_servables.make_model("encoder"), 1)
    servable = SERVABLES["classifier"](model, toy_tokenizer, metadata)
    assert_equal_answers(servable, make_request(servable))


@pytest.mark.parametrize("name", ["classifier", "tagger", "choice", "squad"])
def test_equal_scores(toy_tokenizer, name):
    """The first of equal labels, choices, and spans wins, in both."""
    servable = make_servable(name, toy_tokenizer)
    encoder = {variable.ref() for variable in servable.model.encoder.variables}
    for variable in servable.model.variables:
        if variable.ref() not in encoder:
            variable.assign(tf.zeros_like(variable))
    response = assert_equal_answers(servable, make_request(servable))
    for output, first in FIRST_OF_EQUALS.items():
        if output in response:
            assert set(response[output].ravel()) <= {first, b""}


@pytest.mark.parametrize("name", toy_servables.REQUESTS)
def test_a_request_without_texts(toy_tokenizer, name):
    servable = make_servable(name, toy_tokenizer)
    response = answer_plainly(servable, {name: [] for name in servable.text_inputs})
    assert all(len(value) == 0 for value in response.values())
