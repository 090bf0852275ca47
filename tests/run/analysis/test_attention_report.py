"""run.attention_report: observations of each kind of model, numbers, the page, and rejections."""

import json
import re

import numpy as np
import pytest

from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from run.analysis import page, questions, report
from run.analysis.observing import Observer
from run.analysis.settings import AttentionReportSettings, EvaluationDataSettings
from tests import scripts
from tests.errors import check_message, rejects
from tests.settings import resolved

pytestmark = pytest.mark.large

PAIR = {"text": ("The cat, unaffable ||| a DOG ran",)}


def make_settings(model, texts, **others):
    if not (model / "task.json").exists():  # It says how long texts may be.
        others["tokenizer"] = TokenizerSettings(max_seq_length=16)
    return resolved(
        AttentionReportSettings(
            ModelSettings(init_checkpoint=str(model)), output_file="out.html", **texts, **others
        )
    )


def observe(model, texts, **others):
    """Returns the Observer of a model, and a list of all Observations."""
    settings = make_settings(model, texts, **others)
    observer = Observer(settings)
    return observer, [
        each
        for request in questions.read_questions(settings, observer.kind)
        for each in observer(request)
    ]


def test_a_pair(shifting):
    observer, (seen,) = observe(shifting, PAIR)
    assert observer.kind == "encoder"
    assert observer.heads == [(0, 0), (0, 1)]
    assert seen.pieces == [
        "[CLS]",
        "the",
        "cat",
        ",",
        "un",
        "##aff",
        "##able",
        "[SEP]",
        "[UNK]",
        "dog",
        "ran",
        "[SEP]",
    ]
    assert seen.segments == [0] * 8 + [1] * 4
    assert seen.surfaces == [
        "[CLS]",
        "the",
        "cat",
        ",",
        "unaffable",
        "[SEP]",
        "[UNK]",
        "dog",
        "ran",
        "[SEP]",
    ]
    assert seen.attention.shape == (2, 12, 12)
    np.testing.assert_allclose(seen.attention.sum(axis=-1), 1, atol=1e-5)
    assert (seen.attention[0].argmax(axis=-1)[1:] == np.arange(11)).all()
    assert (seen.attention[1].argmax(axis=-1)[:-1] == np.arange(1, 12)).all()
    assert seen.measures[0, 3] > 0.9 > 0.2 > seen.measures[0, 4]  # Previous and next token.
    assert seen.answer is seen.candidates is None


def test_a_masked_lm(toys):
    """Candidates for a token are those of the text with [MASK] instead.

    A [MASK] in a text is one token.
    """
    texts = {"text": ("the line stops", "the [MASK] stops")}
    observer, (seen, other) = observe(toys / "pretrained", texts)
    assert observer.kind == "masked_lm"
    assert other.pieces[2] == "[MASK]"
    assert [each is None for each in seen.candidates] == [
        piece in ("[CLS]", "[SEP]") for piece in seen.pieces
    ]
    masked = other.candidates[2]
    assert masked["own"] is None
    assert len(masked["best"]) == 10
    assert [piece for piece, _ in masked["best"]] == [
        piece for piece, _ in seen.candidates[2]["best"]
    ]
    assert masked["best"][0][1] == pytest.approx(seen.candidates[2]["best"][0][1], rel=1e-4)
    assert 0 < seen.candidates[2]["own"] <= masked["best"][0][1] + 1e-6


@pytest.mark.parametrize(
    ("name", "texts", "part"),
    [
        ("sst", {"text": ("the line",)}, None),
        ("tagger", {"text": ("the line",)}, None),
        ("squad", {"text": ("which line ||| " + "the line stops " * 9,)}, "window"),
        ("swag", {"text": ("the line ||| stops ||| is the word",)}, "choice"),
    ],
)
def test_each_task(toys, name, texts, part, tmp_path):
    observer, seen = observe(toys / name, texts)
    assert (len(seen) > 1) == bool(part)
    assert [each.part for each in seen] == (
        [f"{part} {number}" for number in range(len(seen))] if part else [""]
    )
    assert all(each.answer == seen[0].answer is not None for each in seen)
    page.write(str(tmp_path / "a.html"), name, observer.heads, seen)
    assert "Prediction: " in (tmp_path / "a.html").read_text()


def test_numbers(shifting, tmp_path):
    observer, seen = observe(shifting, PAIR)
    report.write_npz(str(tmp_path / "out.npz"), observer.heads, seen)
    arrays = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(arrays["text_0_attention"], seen[0].attention)
    assert arrays["heads"].tolist() == [[0, 0], [0, 1]]
    assert arrays["text_0_words"].tolist() == [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9]


def test_the_page_contains_no_markup_of_texts_and_no_address(shifting, tmp_path):
    """This also holds for texts like the page's own placeholders.

    The page tells browsers to run and load nothing else.
    """
    texts = (
        "<script>alert(1)</script> & @@SCRIPT@@ @@DATA@@",
        "</script><img src=x onerror=alert(1)> <!--",
    )
    observer, seen = observe(shifting, {"text": texts})
    path = tmp_path / "out.html"
    page.write(str(path), "</title><b>", observer.heads, seen)
    text = path.read_text()
    assert text.count("<script") == 2 + len(texts)
    assert not {found for found in ("alert(1)<", "<img", "<b>") if found in text}
    assert "@@DATA@@" in text.split('id="data">')[1].split("</script>")[0]
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert [each["texts"] for each in data["texts"]] == [[each] for each in texts]
    # The only address is an XML namespace.
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|iframe|img|object|embed|base)\b|@import|url\(", text)
    assert "default-src 'none'; script-src 'sha256-" in text


def test_codes_of_attention_are_small_and_accurate():
    small = np.array([0, 1e-6, 1e-4, 0.01, 0.25, 1])
    assert np.abs((page.quantize_attention(small) / 255.0) ** 2 - small).max() < 0.004
    assert (page.quantize_attention(small[2:]) > 0).all()


def test_rows_that_the_model_predicts_incorrectly(toys):
    """Labels alternate, so a model that always predicts the same is wrong in every other row."""
    data = EvaluationDataSettings(data_dir=str(toys / "sst-2"))
    settings = make_settings(toys / "sst", {"wrong_examples": 3}, data=data)
    observer = Observer(settings)
    found = questions.find_wrong_predictions(settings, observer)
    assert len(found) == 3
    for request in found:
        row = int(request.source.split("-")[1])
        assert request.expected == str((row - 1) % 2)
        assert observer.predict(request)["label"] != request.expected
    data = EvaluationDataSettings(dev_file=str(toys / "dev.txt"))
    settings = make_settings(toys / "tagger", {"wrong_examples": 9}, data=data)
    observer = Observer(settings)
    found = questions.find_wrong_predictions(settings, observer)
    assert all(observer.predict(each)["tags"] != each.expected.split() for each in found)


def test_a_model_that_cannot_be_wrong(shifting):
    settings = make_settings(shifting, {"wrong_examples": 2})
    observer = Observer(settings)
    with pytest.raises(InputError, match=r"`wrong_examples`=\d+: requires a fine-tuned model"):
        questions.find_wrong_predictions(settings, observer)


def read_questions(kind, **texts):
    return questions.read_questions(AttentionReportSettings().replace_values(texts), kind)


def test_several_texts_in_a_flag_are_separated_as_in_a_file():
    first, second = read_questions("encoder", text=("one ||| two ||| three", "four"))
    assert (first.text_a, first.text_b, second.text_a, second.text_b) == (
        "one ||| two",
        "three",
        "four",
        None,
    )
    (question,) = read_questions("multiple_choice", text=("one ||| two ||| three",))
    assert (question.text_a, question.choices) == ("one", ("two", "three"))


def test_too_few_texts():
    with rejects("text", "multiple choice", "at least two choices"):
        read_questions("multiple_choice", text=("one ||| two",))


def test_lines_of_a_file(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one ||| two ||| three\n\nfo\xe9ur\n")
    first, second = read_questions("encoder", input_file=str(path))
    assert (first.text_a, first.text_b, first.source) == ("one ||| two", "three", "line 1")
    assert (second.text_a, second.text_b, second.source) == ("four", None, "line 3")
    check_message(capsys.readouterr().err, path, "1 line", "not UTF-8", "ignored")


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.csv", 'id,text\n1,"one, two"\n2,three\n', ()),
        ("a.jsonl", '{"id": 1, "body": "one, two"}\n{"id": 2, "body": "three"}\n', ("body",)),
        ("a.json", '[{"text": ["one,", "two"]}, {"text": ["three"]}]', ()),
        ("a.txt", "one, two\n\nthree\n", ()),
    ],
)
def test_rows_of_a_table(tmp_path, name, content, columns):
    (tmp_path / name).write_text(content)
    read = read_questions("classifier", input_file=str(tmp_path / name), columns=columns)
    assert [question.texts for question in read] == [["one, two"], ["three"]]
    assert read[0].source == ("line 1" if name == "a.txt" else "row 1")


def test_rows_of_pairs_and_choices(tmp_path):
    (tmp_path / "a.tsv").write_text("text_a\ttext_b\none\ttwo\n")
    (tmp_path / "b.csv").write_text("text_a,x,y\none,two,three\n")
    path = str(tmp_path / "a.tsv")
    for kind, pairs in (("encoder", False), ("encoder", True), ("classifier", True)):
        settings = AttentionReportSettings(input_file=path)
        (question,) = questions.read_questions(settings, kind, pairs)
        assert question.texts == ["one", "two"]
    (question,) = read_questions(
        "multiple_choice", input_file=str(tmp_path / "b.csv"), columns=("text_a", "x", "y")
    )
    assert question.texts == ["one", ("two", "three")]
    (tmp_path / "c.txt").write_text("one\n")
    with rejects("columns", "has no effect", "lines of text", "use a table", value="text"):
        read_questions("encoder", input_file=str(tmp_path / "c.txt"), columns=("text",))


def test_the_script(shifting, tmp_path, capsys):
    scripts.run_here(
        "run.attention_report",
        init_checkpoint=shifting,
        output_file=tmp_path / "out.html",
        max_seq_length=16,
        text=("the cat sat", "the " * 20),
    )
    cut = r"2 texts \(1 truncated to --max_seq_length=16\)"
    assert re.fullmatch(
        rf"{tmp_path}/out.html: {cut}, 2 heads, [\d,]+ bytes\n", capsys.readouterr().out
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]
    assert (tmp_path / "out.html").read_text().lower().startswith("<!doctype html>")


def test_a_report_with_the_name_of_arrays():
    with pytest.raises(InputError, match=r"`output_file`=x\.npz: ends in \.npz; set `format`=npz"):
        AttentionReportSettings(text=("a",), output_file="x.npz")
