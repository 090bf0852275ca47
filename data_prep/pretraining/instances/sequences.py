"""Sampling of masked sequences of whole sentences, like RoBERTa's FULL-SENTENCES and DOC-SENTENCES (arXiv:1907.11692).

A sequence takes the sentences of a corpus in order until no more fit: [CLS] a [SEP], or [CLS] a [SEP] b [SEP] if the
document ends in between and sequences cross documents. A sentence longer than a sequence is split, and its rest begins
the next sequence.
"""

import numpy as np

from data_prep.pretraining.instances.sentence_pairs import BATCH_SENTENCES, create_mask_buffers


def sample(sampler, corpus, text, rules, settings, on_progress):
    """Yields the sequences of a corpus, thousands at a time. Each pass masks the same sequences differently.

    See `sentence_pairs.sample` for arguments and yielded values. Sequences have no labels.
    """
    parts, part_starts = split_corpus(corpus, settings.max_seq_length, settings.objective_spec.crosses_documents)
    buffers = create_mask_buffers(min(BATCH_SENTENCES, len(part_starts) - 1), settings)
    for _ in range(settings.num_passes):
        for first in range(0, len(part_starts) - 1, BATCH_SENTENCES):
            starts = part_starts[first:first + BATCH_SENTENCES + 1]
            batch_parts = np.ascontiguousarray(parts[starts[0]:starts[-1]])
            num_masks = sampler.sample_all_masks(
                starts - starts[0], text, rules, buffers._replace(parts=batch_parts.ravel()))
            count = len(starts) - 1
            yield (batch_parts, np.diff(starts), np.zeros(count, bool), buffers.mask_counts[:count],
                   buffers.mask_positions[:num_masks], buffers.mask_replacements[:num_masks])
        on_progress(corpus.num_sentences)


def split_corpus(corpus, max_seq_length, crosses_documents):
    """Divides a corpus into sequences.

    Args:
      corpus: Corpus.
      max_seq_length: int. Maximum number of IDs in a sequence, with [CLS] and a [SEP] after each part.
      crosses_documents: bool. Whether a sequence continues in the next document.

    Returns:
      Tuple `(parts, part_starts)`. Parts: int64 [Q, 2], start and stop of each in the tokens, each within one document.
      Part starts: int64 [N + 1]; sequence n has the parts part_starts[n] to part_starts[n + 1] - 1.
    """
    sentence_ends = corpus.sentence_starts[1:]
    document_ends = corpus.sentence_starts[corpus.document_starts[1:]]  # In tokens.
    # Number of IDs of all sentences up to each one, with a [SEP] for each document that ended before it.
    totals = sentence_ends + np.searchsorted(document_ends, sentence_ends)
    bounds, start, document = [], 0, 0
    num_tokens = len(corpus.tokens)
    while start < num_tokens:
        while document_ends[document] <= start:
            document += 1
        limit = start + document + max_seq_length - 2  # Without [CLS] and the last [SEP].
        stop = np.searchsorted(totals, limit, side="right")  # In sentences.
        stop = int(sentence_ends[stop - 1]) if stop else 0
        if stop <= start:
            stop = start + max_seq_length - 2
        if not crosses_documents:
            stop = min(stop, int(document_ends[document]))
        bounds.append(stop)
        start = stop
    stops = np.union1d(bounds, document_ends)  # Ends of the parts, ascending.
    parts = np.stack([np.concatenate([[0], stops[:-1]]), stops], axis=1).astype(np.int64)
    return parts, np.concatenate([[0], np.searchsorted(stops, bounds) + 1]).astype(np.int64)
