"""Sampling of masked sentence pairs with the random numbers of the original BERT's `create_pretraining_data.py`.

The parts of a pair are not copied from the corpus: they are ranges of `Corpus.tokens`.
"""

import numpy as np

from data_prep.pretraining.instances.sampling import InstanceBuffers

BATCH_SENTENCES = 1 << 14  # Sentences whose pairs are sampled together.


def sample(sampler, corpus, text, rules, settings, on_progress):
    """Yields the pairs of a corpus, for several documents at a time. Each pass samples different pairs.

    Args:
      sampler: Sampler.
      corpus: Corpus.
      text: Text. Its documents are shuffled.
      rules: Rules.
      settings: InstanceSettings.
      on_progress: Callable of the number of sentences finished since the last call.

    Yields:
      Tuple `(parts [2 n, 2], number of parts [n], labels [n], number of masks [n], mask positions [m], mask
      replacements [m])` of arrays, which the next iteration overwrites.
    """
    sampler.shuffle(text.documents)
    sizes = np.diff(corpus.document_starts)[text.documents]  # In sentences.
    buffers = create_buffers(max(int(sizes.max()), min(BATCH_SENTENCES, corpus.num_sentences)), settings)
    for _ in range(settings.num_passes):
        place = 0
        while place < len(sizes):
            first = place
            place, num_pairs, num_masks = sampler.sample_pairs(first, text, rules, buffers)
            yield (buffers.parts[:4 * num_pairs].reshape(-1, 2), np.full(num_pairs, 2), buffers.labels[:num_pairs],
                   buffers.mask_counts[:num_pairs], buffers.mask_positions[:num_masks],
                   buffers.mask_replacements[:num_masks])
            on_progress(int(sizes[first:place].sum()))


def create_buffers(num_pairs, settings):
    """Creates InstanceBuffers for this many pairs."""
    return create_mask_buffers(num_pairs, settings)._replace(
        parts=np.empty(4 * num_pairs, np.int64), labels=np.empty(num_pairs, bool))


def create_mask_buffers(num_instances, settings):
    """Creates InstanceBuffers for the masks of instances, without parts and labels."""
    num_masks = num_instances * min(settings.max_predictions_per_seq, settings.max_seq_length)
    return InstanceBuffers(
        parts=np.empty(0, np.int64), labels=np.empty(0, bool), mask_counts=np.empty(num_instances, np.uint16),
        mask_positions=np.empty(num_masks, np.uint16), mask_replacements=np.empty(num_masks, np.int32),
        word_starts=np.arange(settings.max_seq_length + 1), word_order=np.empty(settings.max_seq_length + 1, np.int64))
