"""Division of paragraphs into sentences by sentencex, which knows the abbreviations and full stops of languages."""

from bert_tf.errors import InputError

# Maximum number of characters in a call of sentencex, which takes quadratic time for text that is not ASCII.
WINDOW = 4096


def load_segmenter():
    """Returns the function `segment(language, text)` of sentencex; raises InputError if it is not installed."""
    try:
        import sentencex
    except ImportError as error:
        raise InputError("splitting sentences requires sentencex; run pip install -e '.[sentences]'") from error
    return sentencex.segment


def split_paragraph(paragraph, language, segment):
    """Splits a paragraph into sentences.

    A sentence of more than WINDOW characters is divided at spaces.

    Args:
      paragraph: str, with single spaces as white space.
      language: str. Code of the language.
      segment: Function from `load_segmenter`. Its results for a text, joined, are the text.

    Returns:
      List of str, without white space at both ends.
    """
    sentences, start = [], 0
    while start < len(paragraph):
        window = paragraph[start:start + WINDOW]
        parts = segment(language, window)
        if start + len(window) < len(paragraph):  # The last part may continue after the window.
            parts = parts[:-1] or [window[:window.rfind(" ") + 1] or window]
        start += sum(map(len, parts))
        sentences += filter(None, map(str.strip, parts))
    return sentences
