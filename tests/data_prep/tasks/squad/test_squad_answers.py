"""Conversion of scores to answers; prediction files match the original BERT."""

import dataclasses
import gzip
import json
from typing import NamedTuple

import numpy as np
import pytest

from data_prep.tasks import squad
from data_prep.tasks.squad.answers import CERTAINLY_NULL, Candidate, get_final_text
from tests.conftest import REFERENCE
from tests.errors import rejects

# The values of max_seq_length, doc_stride, and max_query_length for each reference file.
LENGTHS = {"squad_v1": (192, 64, 64), "squad_v2": (128, 48, 64)}


class Questions(NamedTuple):
    """The examples of a reference file, and their features."""

    version: str
    examples: list
    features: list


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer("a", "b", "c", "d", "e", ",", ".")


@pytest.fixture(scope="module", params=LENGTHS)
def questions(request, reference_tokenizer):
    """The Questions of a reference file."""
    version = request.param
    examples = squad.read_examples(REFERENCE / version / "input.json", False, version == "squad_v2")
    features = squad.convert_examples_to_features(
        examples, reference_tokenizer, *LENGTHS[version], is_training=False
    )
    return Questions(version, examples, list(features))


def test_prediction_files_match_the_original_bert(questions, tmp_path):
    folder = REFERENCE / questions.version
    with np.load(folder / "logits.npz") as logits:
        squad.write_predictions(
            questions.examples,
            questions.features,
            logits["start_logits"],
            logits["end_logits"],
            n_best_size=20,
            max_answer_length=30,
            do_lower_case=True,
            output_dir=tmp_path,
            version_2_with_negative=questions.version == "squad_v2",
            null_score_diff_threshold=0.0,
        )
    for name in ("predictions.json", "null_odds.json"):
        assert (tmp_path / name).exists() == (folder / name).exists()
        if (folder / name).exists():
            assert (tmp_path / name).read_text() == (folder / name).read_text()
    found = json.loads((tmp_path / "nbest_predictions.json").read_text())
    with gzip.open(folder / "nbest_predictions.json.gz") as file:
        expected = json.load(file)
    assert list(found) == list(expected)
    for id_, candidates in expected.items():
        probabilities = [candidate.pop("probability") for candidate in candidates]
        np.testing.assert_allclose(
            [candidate.pop("probability") for candidate in found[id_]],
            probabilities,
            rtol=0,
            atol=1e-6,
        )
        assert found[id_] == candidates


@pytest.mark.parametrize("kind", ["random", "equal", "null", "infinite", "not a number"])
def test_all_scores_give_answers(questions, kind, tmp_path):
    examples = questions.examples
    is_v2 = questions.version == "squad_v2"
    features = questions.features[4:]  # The first questions have no windows.
    generator = np.random.default_rng(5)
    max_seq_length = LENGTHS[questions.version][0]
    scores = generator.normal(size=[2, len(features), max_seq_length]).astype(np.float32)
    some = generator.random(scores.shape[1:]) < 0.2
    if kind == "equal":
        scores[:] = 0.25
    elif kind == "null":
        scores[:, :, 0] = 1e4
    elif kind != "random":
        scores[:, some] = {"infinite": -np.inf, "not a number": np.nan}[kind]
    answers = squad.predict_answers(
        examples,
        features,
        *scores,
        n_best_size=8,
        max_answer_length=7,
        do_lower_case=True,
        version_2_with_negative=is_v2,
    )
    predictions = answers.choose(0.5)
    # The scores of no answer, which JSON does not support.
    if is_v2 and kind in ("infinite", "not a number"):
        with rejects("nbest_predictions.json", "cannot contain NaN or infinity", "the model"):
            squad.write_answers(answers, tmp_path, 0.5)
    else:
        squad.write_answers(answers, tmp_path, 0.5)
        assert json.loads((tmp_path / "predictions.json").read_text()) == predictions
    assert list(predictions) == list(answers.nbest) == [example.qas_id for example in examples]
    for example in examples:
        assert 1 <= len(answers.nbest[example.qas_id]) <= 8 + is_v2
        text = predictions[example.qas_id]
        assert text in " ".join(example.doc_tokens) or text == "empty"
    if is_v2 and kind == "null":
        assert set(predictions.values()) == {""}


def predict_answers(
    tokenizer, context, starts, ends, *, n_best_size=20, max_answer_length=30, is_v2=False
):
    """Answers to the question b about a context of one window.

    Scores are per token, 0 for [CLS], otherwise -9.
    """
    example = squad.Example("id", "b", context)
    (feature,) = squad.convert_examples_to_features(
        [example], tokenizer, 12, 5, 3, is_training=False
    )
    scores = np.full([2, 1, 12], -9.0)
    scores[:, :, 0] = 0
    for kind, values in enumerate((starts, ends)):
        scores[kind, 0, 3 : 3 + len(values)] = values  # After [CLS] b [SEP].
    return squad.predict_answers(
        [example],
        [feature],
        *scores,
        n_best_size=n_best_size,
        max_answer_length=max_answer_length,
        do_lower_case=True,
        version_2_with_negative=is_v2,
    )


def test_the_best_spans_by_hand(tokenizer):
    starts = [4, 1, -5, 2, -6]
    ends = [1, 3, -5, 3, -5]
    answers = predict_answers(tokenizer, "A b, b.", starts, ends, n_best_size=3)
    assert answers.nbest["id"] == [
        Candidate("A b", 4.0, 3.0),  # the first of two equal ends
        Candidate("A b, b", 4.0, 3.0),
        Candidate("A", 4.0, 1.0),
    ]  # as good as the last "b", but with a better start
    assert answers.null_odds is None
    assert answers.choose(0.0) == {"id": "A b"}
    texts = [
        candidate.text
        for candidate in predict_answers(tokenizer, "A b, b.", starts, ends).nbest["id"]
    ]
    assert texts[3:5] == ["b", "b, b"]  # "b" occurs twice, and counts once
    answers = predict_answers(tokenizer, "A b, b.", starts, ends, max_answer_length=1)
    assert [candidate.text for candidate in answers.nbest["id"]] == ["A", "b", ",", "."]


def test_no_answer_by_hand(tokenizer):
    answers = predict_answers(
        tokenizer, "c d e", [-1, 2, -1], [-2, 1.5, -1], is_v2=True, n_best_size=3
    )
    assert answers.nbest["id"] == [
        Candidate("d", 2.0, 1.5),
        Candidate("d e", 2.0, -1.0),
        Candidate("c d", -1.0, 1.5),
        Candidate("", 0.0, 0.0),
    ]  # in addition to the n best
    assert answers.null_odds == {"id": -3.5}
    assert answers.choose(-3.5) == {"id": "d"}
    assert answers.choose(-3.6) == {"id": ""}
    # The only entry is no answer: the original BERT fails.
    answers = predict_answers(
        tokenizer, "c d e", [-1, -1, -1], [-2, -2, -2], is_v2=True, n_best_size=1
    )
    assert answers.nbest == {"id": [Candidate("", 0.0, 0.0)]}
    assert answers.null_odds == {"id": CERTAINLY_NULL}
    assert answers.choose(1000.0) == {"id": ""}


def test_null_score_is_the_lowest_of_all_windows(tokenizer):
    example = squad.Example("id", "b", "a b c d e a b")
    features = list(
        squad.convert_examples_to_features([example], tokenizer, 8, 4, 3, is_training=False)
    )
    assert len(features) == 2
    scores = np.full([2, 2, 8], -9.0)
    scores[:, :, 0] = [[3, 1], [2, 3]]  # starts and ends of the two windows: sums 5 and 4
    answers = squad.predict_answers(
        [example],
        features,
        *scores,
        n_best_size=1,
        max_answer_length=5,
        do_lower_case=True,
        version_2_with_negative=True,
    )
    assert answers.nbest["id"] == [Candidate("", 1.0, 3.0)]


def test_questions_without_windows():
    example = squad.Example("id", "b", "  ")
    for is_v2, text in ((False, "empty"), (True, "")):
        answers = squad.predict_answers(
            [example],
            [],
            [],
            [],
            n_best_size=20,
            max_answer_length=30,
            do_lower_case=True,
            version_2_with_negative=is_v2,
        )
        assert answers.nbest == {"id": [Candidate(text, 0.0, 0.0)]}
        assert answers.choose(0.0) == {"id": text}


def test_scores_for_another_number_of_windows():
    with rejects(None, "3 rows of start logits", "2 of end logits", "do not match 0 features"):
        squad.predict_answers(
            [],
            [],
            np.zeros([3, 4]),
            np.zeros([2, 4]),
            n_best_size=20,
            max_answer_length=30,
            do_lower_case=True,
            version_2_with_negative=False,
        )


@dataclasses.dataclass(frozen=True)
class FinalText:
    """Tokens of an answer, and the text that they stand for.

    Attributes:
      tokens: List of str. Tokens of the answer.
      original: str. The words of the context with these tokens.
      casing: Tuple of bool. Values of do_lower_case with the same result.
      expected: str. Text of the answer.
    """

    tokens: list
    original: str
    casing: tuple
    expected: str


@pytest.mark.parametrize(
    "case",
    [
        FinalText(tokens=["1895"], original="(1895-1943).", casing=(True,), expected="1895"),
        FinalText(
            tokens=["steve", "smith"],
            original="Steve Smith's",
            casing=(True,),
            expected="Steve Smith",
        ),
        FinalText(tokens=["caf", "##e"], original='"Café",', casing=(True,), expected="Café"),
        FinalText(tokens=["Caf", "##é"], original='"Café",', casing=(False,), expected="Café"),
        # Not found.
        FinalText(tokens=["caf", "##e"], original='"Café",', casing=(False,), expected='"Café",'),
        FinalText(tokens=["[UNK]", "b"], original="ж b.", casing=(True,), expected="ж b."),
        FinalText(tokens=["一"], original="二一三", casing=(True,), expected="一"),
        # Lowercase adds a character, an accent, which is removed again.
        FinalText(
            tokens=["i"],
            original="İ.",
            casing=(True,),
            expected="İ",
        ),
        # A character is removed, so the lengths differ.
        FinalText(tokens=["a"], original="a\u200b.", casing=(True,), expected="a\u200b."),
        FinalText(tokens=["##a"], original="xa", casing=(True,), expected="a"),
        FinalText(tokens=["##"], original="xa", casing=(True,), expected="xa"),
        FinalText(
            tokens=["größe"],
            original='"GRÖSSE", die Größe.',
            casing=(True, False),
            expected="Größe",
        ),
        # Not found: the words have no accents.
        FinalText(tokens=["größe"], original="Größe.", casing=(True,), expected="Größe."),
    ],
)
def test_final_texts_by_hand(case):
    assert get_final_text(case.tokens, case.original, *case.casing) == case.expected
