"""Division of paragraphs into sentences."""

import random

import pytest

from data_prep.sentences import splitting


def split(text, language="en"):
    return splitting.split_paragraph(text, language)


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            [
                "Dr. Smith came at 5 p.m. on Friday.",
                '"Is it late?" he asked.',
                "Yes!",
                "It cost $3.50.",
            ],
        ),
        ("ko", ["안녕하세요.", "오늘은 3.5도입니다!", "정말요?"]),
        ("hi", ["मैं छात्र हूँ।", "वह घर गया।", "क्या?"]),
    ],
)
def test_languages(language, sentences):
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize("window", [9, 20, 64])
def test_windows_do_not_change_sentences(monkeypatch, window):
    """If each window contains a complete sentence and the beginning of the next one."""
    generator = random.Random(1)
    sentences = [
        "".join(generator.choices("abé한", k=generator.randint(1, window // 3)))
        + generator.choice(".!?")
        for _ in range(200)
    ]
    sentences = [sentence.capitalize() for sentence in sentences]
    expected = split(" ".join(sentences))
    monkeypatch.setattr(splitting, "WINDOW", window)
    assert split(" ".join(sentences)) == expected
    assert split("One is. Two is. Three is.") == ["One is.", "Two is.", "Three is."]


def test_long_sentences_are_divided_at_spaces(monkeypatch):
    monkeypatch.setattr(splitting, "WINDOW", 10)
    assert split("aaa bbb ccc ddd eee. Ff.") == ["aaa bbb", "ccc ddd", "eee.", "Ff."]
    assert split("x" * 25) == ["x" * 10, "x" * 10, "x" * 5]


def test_no_character_is_lost(monkeypatch):
    generator = random.Random(2)
    monkeypatch.setattr(splitting, "WINDOW", 16)
    for _ in range(300):
        text = " ".join(
            "".join(generator.choices("aB.!?\"'()[]。！「」“”…।é한中, \x00\u200b😀", k=60)).split()
        )
        for language in ("en", "ko", "zh", "ja", "hi"):
            sentences = split(text, language)
            assert "".join(sentences).replace(" ", "") == text.replace(" ", "")
            assert all(sentence == sentence.strip() != "" for sentence in sentences)
