"""Files of words in other formats than columns: JSON objects, Parquet, and Kaggle's entities.

They are converted to rows with a word, a tab, and its label, and an empty row after each sentence.
"""

import re
from typing import NamedTuple

from bert_tf.errors import InputError
from data_prep.datasets.tag_schemes import OUTSIDE
from data_prep.tables import objects, rows
from data_prep.tables.dialects import COMMA

# Keys and columns by the tools that write them, in order of precedence.
WORDS = ("tokens", "words", "token")
TAGS = ("ner_tags", "tags", "labels", "label", "ner", "pos_tags")
SPANS = ("label", "labels", "entities", "spans")
KAGGLE_COLUMNS = ("word", "tag")
# Words of a text: CJK characters one by one, like in BERT's tokenizer; runs of letters and digits;
# other characters that are not white space.
_WORD = re.compile("[\u3400-\u9fff\uf900-\ufaff]|[^\\W\u3400-\u9fff\uf900-\ufaff]+|[^\\w\\s]")


class Span(NamedTuple):
    """The offsets of an entity in the characters of a text, and its type."""

    start: int
    end: int
    type_: str


def find_rows(path, content, decoder):
    """Returns an iterator of the rows of a Content, or None if it has columns already.

    Args:
      path: Path of the file.
      content: data_prep.tables.contents.Content.
      decoder: bert_tf.files.LineDecoder.

    Raises:
      InputError: If an object lacks words, has another number of labels, or has entities that are
        not whole words. The message names the file, and the object.
    """
    found = rows.find_objects(path, content, decoder)
    if found is not None:
        return _convert_objects(found, path)
    first = rows.decode_sample(content).partition("\n")[0].lower()
    header = [name.strip('"\r ') for name in first.split(",")]
    if {*KAGGLE_COLUMNS} <= {*header}:
        options = rows.TableOptions(COMMA.name)
        table = rows.read_delimited_rows(path, content, decoder, options)
        return _convert_table(table, header, path)
    return None


def _convert_objects(found, path):
    for number, entry in found:
        source = f"{path}:{number}"
        words_key = next((key for key in WORDS if isinstance(entry.get(key), list)), None)
        if words_key:
            words = [objects.to_text(word) for word in entry[words_key]]
            tags = _find_tags(entry, words, source)
        elif isinstance(entry.get("text"), str):
            words, tags = _divide_text(entry, source)
        else:
            raise InputError(
                f"{source}: has no list of words; must have one of the keys {', '.join(WORDS)}, or "
                "text with the offsets of entities"
            )
        yield from _to_rows(words, tags, source)


def _find_tags(entry, words, source):
    """Returns the labels of an object, a list of str, or None if it has none."""
    key = next((key for key in TAGS if isinstance(entry.get(key), list)), None)
    if key is None:
        return None
    tags = [objects.to_text(tag).strip() for tag in entry[key]]
    if len(tags) != len(words):
        raise InputError(f"{source}: has {len(words)} words, but {len(tags)} labels in {key}")
    return tags


def _divide_text(entry, source):
    """Returns the words of a text and their IOB2 labels, two lists of str.

    The labels are None if the object has no list of entities.
    """
    words = list(_WORD.finditer(entry["text"]))
    texts = [word[0] for word in words]
    key = next((key for key in SPANS if isinstance(entry.get(key), list)), None)
    if key is None:
        return texts, None
    tags = [OUTSIDE] * len(words)
    for span in entry[key]:
        start, end, type_ = _read_span(span, entry["text"], source)
        inside = [
            index for index, word in enumerate(words) if word.start() < end and word.end() > start
        ]
        entity = f"{source}: the entity {entry['text'][start:end]!r:.60} ({start} to {end})"
        if not inside or (words[inside[0]].start(), words[inside[-1]].end()) != (start, end):
            within = "".join(f", but is in {words[index][0]!r:.60}" for index in inside[:1])
            raise InputError(f"{entity} must be whole words{within}; correct its offsets")
        if any(tags[index] != OUTSIDE for index in inside):
            raise InputError(f"{entity} overlaps another one; remove one of them")
        for index in inside:
            tags[index] = f"{'B' if index == inside[0] else 'I'}-{type_}"
    return texts, tags


def _read_span(span, text, source):
    """Returns the Span of an entity without white space at its ends."""
    if isinstance(span, dict):
        label = span.get("label") or span.get("labels")
        span = [
            span.get("start_offset", span.get("start")),
            span.get("end_offset", span.get("end")),
            label[0] if isinstance(label, list) and label else label,
        ]
    is_span = (
        isinstance(span, list)
        and len(span) == 3
        and all(isinstance(offset, int) for offset in span[:2])
        and 0 <= span[0] < span[1] <= len(text)
        and isinstance(span[2], str)
    )
    if not is_span:
        raise InputError(
            f"{source}: the entity {span!r:.60} must have a start and an end in the text, and a "
            "label"
        )
    start, end, type_ = span
    entity = text[start:end]
    end -= len(entity) - len(entity.rstrip())
    start += len(entity) - len(entity.lstrip())
    return Span(start, end, type_.strip())


def _convert_table(table, header, path):
    """Yields the rows of Kaggle's table, whose first column names or numbers the sentence."""
    next(table)
    word, tag = (header.index(name) for name in KAGGLE_COLUMNS)
    sentence = next((index for index, name in enumerate(header) if name.startswith("sent")), None)
    current = None
    for number, fields in table:
        rows.check_width(path, number, fields, len(header))
        begins = sentence is not None and fields[sentence] not in ("", current)
        if begins:
            if current is not None:
                yield ""
            current = fields[sentence]
        *pair, _ = _to_rows([fields[word]], [fields[tag]], f"{path}:{number}")
        yield from pair


def _to_rows(words, tags, source):
    """Yields the rows of a sentence, and an empty one."""
    for index, word in enumerate(words):
        word = " ".join(word.split())
        if not word:
            raise InputError(f"{source}: word {index + 1} is empty")
        if tags is None:
            yield word.replace(" ", "\u00a0")  # A space would separate columns.
        else:
            yield f"{word}\t{tags[index]}"
    yield ""
