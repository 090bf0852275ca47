"""run.attention_report: what it sees of each kind of model, the files of numbers, and what it refuses."""

import json
import re

import numpy as np
import pytest

from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from run.inside import page, report, requests
from run.inside.observing import Observer
from run.inside.settings import AttentionReportSettings, EvaluationDataSettings, LookedAtSettings
from tests import scripts
from tests.settings import resolved

SCRIPT = "run.attention_report"
TUNED = ("sst", "tagger", "squad", "swag")  # whose task.json says how long texts may be
PAIR = LookedAtSettings(text=("The cat, unaffable",), text_b=("a DOG ran",))


def settings_of(folder, name, looked_at, output_file="out.html", **others):
    return AttentionReportSettings(ModelSettings(init_checkpoint=str(folder / name)), looked_at=looked_at,
                                   output_file=str(folder / output_file), **others)


def observed(folder, name, looked_at, **others):
    """The Observer of a model, and all Observations."""
    settings = settings_of(folder, name, looked_at, **others)
    observer = Observer(resolved(settings if name in TUNED else settings.with_values({"max_seq_length": 16})))
    return observer, [each for request in requests.given(looked_at, observer.kind) for each in observer(request)]


def test_a_pair(shifting):
    observer, (seen,) = observed(shifting, "", PAIR)
    assert observer.kind == "encoder"
    assert observer.heads == [(0, 0), (0, 1)]
    assert seen.pieces == ["[CLS]", "the", "cat", ",", "un", "##aff", "##able", "[SEP]", "[UNK]", "dog", "ran", "[SEP]"]
    assert seen.segments == [0] * 8 + [1] * 4
    assert seen.surfaces == ["[CLS]", "The", "cat", ",", "unaffable", "[SEP]", "a", "DOG", "ran", "[SEP]"]
    assert seen.attention.shape == (2, 12, 12)
    np.testing.assert_allclose(seen.attention.sum(axis=-1), 1, atol=1e-5)
    assert (seen.attention[0].argmax(axis=-1)[1:] == np.arange(11)).all()
    assert (seen.attention[1].argmax(axis=-1)[:-1] == np.arange(1, 12)).all()
    assert seen.measures[0, 3] > 0.9 > 0.2 > seen.measures[0, 4]  # previous and next
    assert seen.answer is seen.candidates is None


def test_a_masked_lm(toys):
    """Candidates at a place are those of a text with [MASK] there; a [MASK] of the text is one piece."""
    looked_at = LookedAtSettings(text=("the line stops", "the [MASK] stops"))
    observer, (seen, other) = observed(toys, "pretrained", looked_at, top_k=4)
    assert observer.kind == "masked_lm"
    assert other.pieces[2] == "[MASK]"
    assert [each is None for each in seen.candidates] == [piece in ("[CLS]", "[SEP]") for piece in seen.pieces]
    masked = other.candidates[2]
    assert masked.own is None
    assert len(masked.best) == 4
    assert [piece for piece, _ in masked.best] == [piece for piece, _ in seen.candidates[2].best]
    assert masked.best[0][1] == pytest.approx(seen.candidates[2].best[0][1], rel=1e-4)
    assert 0 < seen.candidates[2].own <= masked.best[0][1] + 1e-6


def test_a_fine_tuned_model_answers_as_it_is_served(toys):
    observer, (seen,) = observed(toys, "sst", LookedAtSettings(text=("the line",)))
    outputs = observer.servable.answer_texts(text=np.array(["the line"]))
    assert seen.answer["label"] == outputs["label"].numpy()[0].decode()
    assert list(seen.answer["probabilities"].values()) == pytest.approx(outputs["probabilities"].numpy()[0], abs=1e-5)


@pytest.mark.parametrize(("name", "looked_at", "parts"), [
    ("tagger", LookedAtSettings(text=("the line",)), [""]),
    ("squad", LookedAtSettings(text=("which line",), text_b=("the line stops " * 9,)), None),
    ("swag", LookedAtSettings(text=("the line",), text_b=("stops", "is the word")), ["choice 0", "choice 1"]),
])
def test_every_task(toys, name, looked_at, parts, tmp_path):
    observer, seen = observed(toys, name, looked_at)
    if parts is None:
        assert len(seen) > 1
        parts = [f"window {number}" for number in range(len(seen))]
    assert [each.part for each in seen] == parts
    assert all(each.answer == seen[0].answer is not None for each in seen)
    page.write(str(tmp_path / "a.html"), name, observer.heads, seen)  # each kind of answer goes into a page
    assert "The model answers" in (tmp_path / "a.html").read_text()


def test_numbers(shifting, tmp_path):
    settings = settings_of(shifting, "", PAIR, format="npz")
    observer, seen = observed(shifting, "", PAIR)
    for file_format in ("npz", "json"):
        report.write(str(tmp_path / f"out.{file_format}"), file_format, settings.model.init_checkpoint, observer, seen)
    arrays = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(arrays["text_0_attention"], seen[0].attention)
    assert arrays["heads"].tolist() == [[0, 0], [0, 1]]
    assert arrays["text_0_words"].tolist() == [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9]
    values = json.loads((tmp_path / "out.json").read_text())
    np.testing.assert_allclose(values["texts"][0]["attention"], seen[0].attention, atol=1e-6)
    assert values["texts"][0]["texts"] == ["The cat, unaffable", "a DOG ran"]
    assert values["measures"][0] == "entropy"


def test_the_page_holds_no_markup_of_texts_and_no_address(shifting, tmp_path):
    """Also with what looks like the page's own marks; and a browser is told to run and load nothing else."""
    texts = ("<script>alert(1)</script> & @@SCRIPT@@ @@DATA@@", "</script><img src=x onerror=alert(1)> <!--")
    observer, seen = observed(shifting, "", LookedAtSettings(text=texts))
    path = tmp_path / "out.html"
    page.write(str(path), "</title><b>", observer.heads, seen)
    text = path.read_text()
    assert text.count("<script") == 2 + len(texts)
    assert "alert(1)<" not in text
    assert "<img" not in text
    assert "<b>" not in text
    assert "@@DATA@@" in text.split('id="data">')[1].split("</script>")[0]  # as a text, put in once
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert [each["texts"] for each in data["texts"]] == [[each] for each in texts]
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}  # a name of XML
    assert not re.search(r"<(link|iframe|img|object|embed|base)\b|@import|url\(", text)
    assert "default-src 'none'; script-src 'sha256-" in text


def test_ten_texts_of_base_size_stay_small():
    """10 texts of 40 pieces, 12 layers of 12 heads; what the matrices leave is enough for all else."""
    assert page.size_of(144, [40] * 10) < 3.2e6
    small = np.array([0, 1e-6, 1e-4, 0.01, 0.25, 1])
    assert np.abs((page.codes(small) / 255.0) ** 2 - small).max() < 0.004
    assert (page.codes(small[2:]) > 0).all()


def test_rows_that_the_model_gets_wrong(toys):
    """Labels go by turns: a model that always says one is wrong on every other row."""
    settings = settings_of(toys, "sst", LookedAtSettings(wrong_examples=3),
                           data=EvaluationDataSettings(data_dir=str(toys / "data")))
    observer = Observer(resolved(settings))
    found, num_rows = requests.wrong(settings, observer.card, observer.answers)
    assert len(found) == 3
    assert num_rows == 12
    for request in found:
        row = int(request.source.split("-")[1])
        assert request.expected == str((row - 1) % 2)  # rows count from 1
        assert observer.answers([request])[0]["label"] != request.expected
    settings = settings_of(toys, "tagger", LookedAtSettings(wrong_examples=9),
                           data=EvaluationDataSettings(dev_file=str(toys / "data" / "dev.txt")))
    observer = Observer(resolved(settings))
    found, num_rows = requests.wrong(settings, observer.card, observer.answers)
    assert num_rows == 2
    assert all(observer.answers([each])[0]["tags"] != each.expected.split() for each in found)


@pytest.mark.parametrize(("kind", "looked_at", "message"), [
    ("encoder", LookedAtSettings(text=("a", "b"), text_b=("c",)), "`text_b` is given 1 times, `text` 2 times"),
    ("span_labeler", LookedAtSettings(text=("a",)), "`text_b` is required: a span labeler reads"),
    ("token_classifier", LookedAtSettings(text=("a",), text_b=("c",)), "`text_b` is one too many"),
    ("multiple_choice", LookedAtSettings(text=("a",), text_b=("c",)), "of multiple choice one `text` is required"),
])
def test_texts_that_do_not_fit(kind, looked_at, message):
    with pytest.raises(InputError, match=message):
        requests.given(looked_at, kind)


def test_lines_of_a_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one ||| two ||| three\n\nfour caf\xe9\nfive\n")
    looked_at = LookedAtSettings(input_file=str(tmp_path / "a.txt"), max_texts=2)
    first, second = requests.given(looked_at, "encoder")
    assert (first.text_a, first.text_b, first.source) == ("one", "two ||| three", "line 1")
    assert (second.text_a, second.text_b, second.source) == ("four caf", None, "line 3")
    looked_at = LookedAtSettings(input_file=looked_at.input_file, max_texts=1)
    assert requests.given(looked_at, "multiple_choice")[0].choices == ("two", "three")


@pytest.mark.parametrize(("settings", "message"), [
    ({"looked_at": LookedAtSettings()}, "one of `text`, `input_file` and `wrong_examples` is required"),
    ({"looked_at": LookedAtSettings(text=("a",), wrong_examples=2)}, "`text`, `wrong_examples` are given|`, `"),
    ({"looked_at": LookedAtSettings(text=("a",)), "data": EvaluationDataSettings(data_dir="x")},
     "`data_dir`=x: requires `wrong_examples`"),
    ({"looked_at": LookedAtSettings(text=("a",)), "output_file": "nowhere/x.html"}, "there is no folder nowhere"),
])
def test_settings_that_do_not_fit(shifting, settings, message):
    settings = {"model": ModelSettings(init_checkpoint=str(shifting)), "output_file": str(shifting / "x.html"),
                "tokenizer": TokenizerSettings(max_seq_length=16), **settings}
    with pytest.raises(InputError, match=message):
        resolved(AttentionReportSettings(**settings))


def test_the_script(shifting, tmp_path):
    flags = {"init_checkpoint": shifting, "output_file": tmp_path / "out.html", "max_seq_length": 16}
    output = scripts.succeed(SCRIPT, text=("the cat sat", "on the mat ."), **flags)
    assert re.fullmatch(rf"{tmp_path}/out.html: 2 texts, 2 heads, [\d,]+ bytes\n", output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html"]


def test_a_model_that_cannot_be_wrong(shifting):
    settings = settings_of(shifting, "", LookedAtSettings(wrong_examples=2)).with_values({"max_seq_length": 16})
    observer = Observer(resolved(settings))
    with pytest.raises(InputError, match=r"`wrong_examples`: .* is no fine-tuned model"):
        requests.wrong(settings, observer.card, observer.answers)
