"""From texts to answers for each task, in NumPy: what the servables of bert_tf.export compute in their graphs.

Inputs and outputs have the names, shapes and types of each servable's serving_default; see there. Strings are arrays
of bytes, as TensorFlow gives them.
"""

from typing import ClassVar

import numpy as np

from bert_tf.errors import InputError
from bert_tf.litert.inputs import as_strings, pack

MASK = "[MASK]"


class Answerer:
    """A task's texts to its answers; a subclass for each kind of Metadata.

    Args:
      metadata: Metadata.
      tokenizer: PlainTokenizer.
      buckets: Buckets.

    Attributes:
      text_inputs: dict from the name of each input to its rank.
    """

    text_inputs: ClassVar = {"text": 1}

    def __init__(self, metadata, tokenizer, buckets):
        self.metadata = metadata
        self.tokenizer = tokenizer
        self.buckets = buckets
        self.max_seq_length = metadata.max_seq_length

    def __call__(self, *texts):
        """Lists of str in the order of `text_inputs`, all of one length -> dict of arrays [B, ...]."""
        raise NotImplementedError

    def pack(self, first, second=None):
        """Lists of ids -> inputs.Row."""
        return pack(self.tokenizer, first, second, self.max_seq_length)

    def pack_texts(self, texts, others=None):
        """Lists of str, the others for pairs -> list of inputs.Row."""
        ids = self.tokenizer.ids
        if others is None:
            return [self.pack(ids(text)) for text in texts]
        return [self.pack(ids(text), ids(other)) for text, other in zip(texts, others, strict=True)]


class ClassifierAnswerer(Answerer):
    """ServedClassifier's answers."""

    def __init__(self, metadata, tokenizer, buckets):
        super().__init__(metadata, tokenizer, buckets)
        if metadata.pairs:
            self.text_inputs = {"text_a": 1, "text_b": 1}

    def __call__(self, *texts):
        rows = self.pack_texts(*texts)
        labels = self.metadata.labels
        logits = stacked([each["logits"] for each in self.buckets.run(rows)], [len(labels) or 1])
        was_cut = were_cut(rows)
        if not labels:
            return {"value": logits[:, 0], "was_cut": was_cut}
        names = as_strings([labels] * len(rows), len(labels))
        if self.metadata.multi_label:
            return {"labels": names, "probabilities": 1 / (1 + np.exp(-logits)), "has_label": logits > 0,
                    "was_cut": was_cut}
        return {"label": as_strings([labels[number] for number in logits.argmax(axis=1)]), "labels": names,
                "probabilities": softmax(logits), "was_cut": was_cut}


class EncoderAnswerer(ClassifierAnswerer):
    """ServedEncoder's answers, as wide as the longest row of the request."""

    def __call__(self, *texts):
        rows = self.pack_texts(*texts)
        outputs = self.buckets.run(rows)
        width = max((len(row.ids) for row in rows), default=1)
        mask = np.zeros([len(rows), width], np.int32)
        ids = np.full([len(rows), width], self.tokenizer.pad_id)
        sequence = np.zeros([len(rows), width, self.metadata.hidden_size], np.float32)
        for place, (row, output) in enumerate(zip(rows, outputs, strict=True)):
            count = len(row.ids)
            mask[place, :count], ids[place, :count] = 1, row.ids
            sequence[place, :count] = output["sequence_output"][:count]
        pieces = as_strings([[self.tokenizer.vocabulary[id_] for id_ in row] for row in ids], width)
        pooled = stacked([output["pooled_output"] for output in outputs], [self.metadata.hidden_size])
        return {"pooled_output": pooled, "sequence_output": sequence, "input_mask": mask, "pieces": pieces,
                "was_cut": were_cut(rows)}


class TaggerAnswerer(Answerer):
    """ServedTagger's answers."""

    def __call__(self, texts):
        # bytes.split() knows white space of ASCII alone, as does TensorFlow's.
        words = [[word.decode() for word in text.encode().split()] for text in texts]
        pieces = [[self.tokenizer.ids(word) or [self.tokenizer.unk_id] for word in row] for row in words]
        rows = [self.pack([id_ for word in row for id_ in word]) for row in pieces]
        tags, scores = [], np.zeros([len(rows), max([1, *map(len, words)])], np.float32)
        for place, (row, output) in enumerate(zip(pieces, self.buckets.run(rows), strict=True)):
            probabilities = softmax(output["logits"])  # [S, L]
            firsts = 1 + np.cumsum([0, *map(len, row)])[:-1]  # 1 for [CLS]
            firsts = firsts[firsts < self.max_seq_length - 1]
            tags.append([self.metadata.labels[number] for number in probabilities[firsts].argmax(axis=-1)])
            scores[place, : len(firsts)] = probabilities[firsts].max(axis=-1)
        width = scores.shape[1]
        return {"words": as_strings(words, width), "tags": as_strings(tags, width), "scores": scores,
                "num_words": np.array(list(map(len, words)), np.int32), "was_cut": were_cut(rows)}


class MaskedLMAnswerer(Answerer):
    """ServedMaskedLM's answers."""

    def __call__(self, texts):
        ids, mask = self.tokenizer.ids, self.tokenizer.mask_id
        rows = []
        for text in texts:
            first, *others = text.split(MASK)  # the tokenizer, like the original's, takes a literal one for words
            rows.append(self.pack([*ids(first), *(id_ for part in others for id_ in (mask, *ids(part)))]))
        places = [[place for place, id_ in enumerate(row.ids) if id_ == mask] for row in rows]
        counts = np.array(list(map(len, places)), np.int32)
        shape = [len(rows), max([1, *counts]), self.metadata.top_k]
        piece_ids = np.full(shape, self.tokenizer.pad_id, np.int32)
        probabilities, pieces = np.zeros(shape, np.float32), np.full(shape, b"", object)
        vectors = [output["sequence_output"][place] for output, row in zip(self.buckets.run(rows), places, strict=True)
                   for place in row]
        if vectors:
            best = self.buckets.run_head(np.array(vectors))
            is_real = np.arange(shape[1]) < counts[:, np.newaxis]
            piece_ids[is_real], probabilities[is_real] = best["piece_ids"], best["probabilities"]
            pieces[is_real] = as_strings([[self.tokenizer.vocabulary[id_] for id_ in row] for row in best["piece_ids"]],
                                         shape[2])
        return {"pieces": pieces, "piece_ids": piece_ids, "probabilities": probabilities, "num_masks": counts,
                "was_cut": were_cut(rows)}


class MultipleChoiceAnswerer(Answerer):
    """ServedMultipleChoice's answers."""

    text_inputs: ClassVar = {"text_a": 1, "choices": 2}

    def __call__(self, texts, choices):
        num_choices = len(choices[0]) if choices else 1
        if not num_choices:
            raise InputError("`choices` must hold at least one text in each row")
        ids = self.tokenizer.ids
        rows = [self.pack(first, ids(choice)) for first, each in zip(map(ids, texts), choices, strict=True)
                for choice in each]
        logits = stacked([output["logits"] for output in self.buckets.run(rows)], [1]).reshape([-1, num_choices])
        probabilities = softmax(logits)
        return {"choice": probabilities.argmax(axis=-1).astype(np.int32), "probabilities": probabilities,
                "was_cut": were_cut(rows).reshape([-1, num_choices]).any(axis=1)}


def softmax(logits):
    """float32 [..., L] -> the same shape."""
    scores = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True)


def stacked(arrays, shape):
    """float32 [N, *shape] of N arrays of that shape, 0 of them too."""
    return np.array(arrays, np.float32).reshape([len(arrays), *shape])


def were_cut(rows):
    """bool [N], of inputs.Rows."""
    return np.array([row.was_cut for row in rows], bool)
