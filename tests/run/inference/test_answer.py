"""The served span labeler gives the predictions of run_squad, also for unusual text.

run_squad, like the original, writes complete words if a token is [UNK] or has other characters than
the text. The served model knows the source of each token.
"""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tasks.span_labeler.graph import ServedSpanLabeler
from bert_tf.tokenization import BertTokenizer
from data_prep.tasks import squad
from tests.encoders import make_encoder

pytestmark = pytest.mark.large

MAX_SEQ_LENGTH = 40
DOC_STRIDE = 7
MAX_QUERY_LENGTH = 9
MAX_ANSWER_LENGTH = 11
CONTEXTS = (
    "Numbers are created by numeric literals, or as the result of built-in functions.",
    'The  debugger\'s\tprompt is "(Pdb)";\nit \u202fstops -- or not -- at the FIRST line.',
    "Caf\u00e9 and cafe\u0301 are one word (na\u00efve!), \u201cquoted\u201d; \u2603\u2603 is "
    "unknown, x\u0300y\u0301.",
    "\u4e2d\u6587 text, without\u00a0breaks: \u0130stanbul's "
    "\u03a3\u0399\u03a3\u03a5\u03a6\u039f\u03a3.",
    " Some exceptions are raised by the interpreter." * 7,
    "short",
)
CONTEXTS_OF_OTHER_TOKENS = (2, 3)


def make_signatures(tokenizer):
    """Returns the signatures of a served model with random weights."""
    config = BertConfig(
        tokenizer.vocab_size, 8, 1, 2, 12, max_position_embeddings=48, initializer_range=0.7
    )
    model = models.BertSpanLabeler(make_encoder(config, seed=3, remove_padding=True))
    metadata = TaskMetadata(
        "span_labeler",
        MAX_SEQ_LENGTH,
        True,
        doc_stride=DOC_STRIDE,
        max_query_length=MAX_QUERY_LENGTH,
        max_answer_length=MAX_ANSWER_LENGTH,
        version_2_with_negative=True,
    )
    return ServedSpanLabeler(model, tokenizer, metadata).signatures()


def predict_answers(examples, tokenizer, signature):
    """Returns the answers of run_squad, from the logits of the signature for IDs."""
    features = list(
        squad.convert_examples_to_features(
            examples, tokenizer, MAX_SEQ_LENGTH, DOC_STRIDE, MAX_QUERY_LENGTH, is_training=False
        )
    )
    assert len(features) > len(examples) + 5  # Some contexts have several windows.
    arrays = squad.create_arrays(features)
    del arrays["unique_ids"]
    logits = {
        name: np.where(arrays["input_mask"] > 0, value, -1e9)
        for name, value in signature(
            **{name: tf.constant(value, tf.int32) for name, value in arrays.items()}
        ).items()
    }
    return squad.predict_answers(
        examples,
        features,
        logits["start_logits"],
        logits["end_logits"],
        n_best_size=20,
        max_answer_length=MAX_ANSWER_LENGTH,
        do_lower_case=True,
        version_2_with_negative=True,
    )


def test_answers_equal_those_of_run_squad(reference):
    tokenizer = BertTokenizer(str(reference / "text" / "vocab.txt"))
    signatures = make_signatures(tokenizer)
    examples = [
        squad.Example(str(number), f"What is number {number}?", context)
        for number, context in enumerate(CONTEXTS)
    ]
    expected = predict_answers(examples, tokenizer, signatures["ids"])
    answer = signatures["serving_default"](
        question=tf.constant([each.question_text for each in examples]),
        context=tf.constant(CONTEXTS),
    )
    for number, (context, best) in enumerate(
        zip(CONTEXTS, expected.choose(0.0).values(), strict=True)
    ):
        text = answer["answer"][number].numpy().decode()
        assert text == best or (number in CONTEXTS_OF_OTHER_TOKENS and text and text in best)
        nbest = [candidate for candidate in expected.nbest[str(number)] if candidate.text][:5]
        if number in CONTEXTS_OF_OTHER_TOKENS:
            nbest = nbest[:1]
        else:
            assert [text.decode() for text in answer["answers"][number, : len(nbest)].numpy()] == [
                candidate.text for candidate in nbest
            ]
        np.testing.assert_allclose(
            answer["scores"][number, : len(nbest)],
            [candidate.start_logit + candidate.end_logit for candidate in nbest],
            rtol=0,
            atol=1e-5,
        )
        span = context[int(answer["start"][number]) : int(answer["end"][number])]
        assert span.split() == answer["answer"][number].numpy().decode().split()
        assert float(answer["null_score_diff"][number]) == pytest.approx(
            expected.null_odds[str(number)], abs=1e-5
        )
