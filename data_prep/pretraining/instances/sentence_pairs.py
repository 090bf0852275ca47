"""Documents -> masked sentence pairs, with the random draws of the original's `create_pretraining_data.py`.

A pair is not copied out of the corpus: its two parts are ranges of `Corpus.tokens`.
"""

import numpy as np

from data_prep.pretraining.instances.draws import Drawn

ROOM = 1 << 14  # sentences whose pairs are drawn together


def draw(draws, corpus, text, rules, settings, on_progress):
    """Yields the pairs of a corpus, some documents' after the other, each pass with other draws.

    Args:
      draws: drawing.PlainDraws or CompiledDraws.
      corpus: Corpus.
      text: draws.Text, of which the documents are shuffled.
      rules: draws.Rules.
      settings: InstanceSettings.
      on_progress: called with the number of sentences done since the last call.

    Yields:
      (parts [2 n, 2], number of parts [n], labels [n], number of masks [n], mask positions [m], mask replacements [m]),
      arrays that the next ones overwrite.
    """
    draws.shuffle(text.documents)
    sizes = np.diff(corpus.document_starts)[text.documents]  # in sentences
    drawn = room(max(int(sizes.max()), min(ROOM, corpus.num_sentences)), settings)
    for _ in range(settings.num_passes):
        place = 0
        while place < len(sizes):
            first = place
            place, num_pairs, num_masks = draws.draw_pairs(first, text, rules, drawn)
            yield (drawn.parts[:4 * num_pairs].reshape(-1, 2), np.full(num_pairs, 2), drawn.labels[:num_pairs],
                   drawn.mask_counts[:num_pairs], drawn.mask_positions[:num_masks], drawn.mask_replacements[:num_masks])
            on_progress(int(sizes[first:place].sum()))


def room(num_pairs, settings):
    """draws.Drawn for so many pairs."""
    return room_for_masks(num_pairs, settings)._replace(
        parts=np.empty(4 * num_pairs, np.int64), labels=np.empty(num_pairs, bool))


def room_for_masks(num_instances, settings):
    """draws.Drawn for the masks of so many instances, without parts and labels."""
    num_masks = num_instances * min(settings.max_predictions_per_seq, settings.max_seq_length)
    return Drawn(
        parts=np.empty(0, np.int64), labels=np.empty(0, bool), mask_counts=np.empty(num_instances, np.uint16),
        mask_positions=np.empty(num_masks, np.uint16), mask_replacements=np.empty(num_masks, np.int32),
        word_starts=np.arange(settings.max_seq_length + 1))
