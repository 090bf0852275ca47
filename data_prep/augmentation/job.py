"""The augment_data job: reads rows, proposes words in batches of rows, and samples and writes copies."""

import csv
import itertools
import random
import time

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from bert_tf import models
from bert_tf.checkpoints import load_pretrained
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.files import LineDecoder, new_file
from bert_tf.tokenization.plain_tokenizer import PlainTokenizer
from data_prep.augmentation import checkpoint_files
from data_prep.augmentation.proposals import EmbeddingProposals, MaskedLMProposals
from data_prep.augmentation.words import Words, is_replacement, replace
from data_prep.tasks import tables

ROWS_AT_A_TIME = 256  # Rows whose words are proposed together.
HEAD = "cls/predictions/"


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Writes a table with the rows of another and augmented copies of each.

    Args:
      settings: AugmentationSettings.

    Raises:
      InputError: If files or settings are incompatible, if a row lacks a text, or if a masked LM is requested and the
        checkpoint has none.
      OSError: If a file cannot be read or written.
    """
    started = time.monotonic()
    header = tables.read_header(settings.input_file)
    if not header:
        raise InputError(f"`input_file`={settings.input_file}: is empty")
    columns = settings.find_text_positions(header)
    decoder = LineDecoder()
    num_rows = check_rows(settings, columns, len(header), decoder)
    if decoder.num_garbled:
        announce(f"{settings.input_file}: {decoder.note()}")
    proposer = Proposer(settings)
    num_written = 0
    with (new_file(settings.output_file, newline="") as file,
          tqdm(total=num_rows, desc="augmenting", unit="row", dynamic_ncols=True) as progress):
        write = _create_writer(file, settings.output_file)
        if settings.has_header:
            write(header)
        for row, fields, proposed in propose_rows(settings, columns, proposer):
            copies = sample_copies(proposed, settings.copies, settings.replace_probability,
                                 random.Random(f"{settings.random_seed} {row}"))
            for output_fields in (fields, *(_replace_texts(fields, columns, copy) for copy in copies)):
                write(output_fields)
            num_written += 1 + len(copies)
            progress.update()
    announce(f"{settings.output_file}: {num_written:,} rows, including {num_rows:,} from {settings.input_file}; "
             f"{proposer.num_replaceable:,} replaceable words, {proposer.num_from_embeddings:,} of them by their "
             f"nearest word embeddings; {time.monotonic() - started:.1f} s")


def read_rows(settings, decoder=None):
    """Yields (line number, list of fields) of each input example. `decoder`: See tables.read_rows."""
    return itertools.islice(tables.read_rows(settings.input_file, decoder), int(settings.has_header), None)


def check_rows(settings, columns, width, decoder=None):
    """Returns the number of examples; raises InputError if there are none or if one lacks a text.

    With named columns, rows must have `width` fields.
    """
    num_rows = 0
    for number, fields in read_rows(settings, decoder):
        num_rows += 1
        if settings.text_columns:
            tables.check_width(settings.input_file, number, fields, width)
        elif len(fields) <= max(columns):
            raise InputError(f"{settings.input_file}:{number}: has {len(fields)} columns, but column "
                             f"{max(columns) + 1} is required")
    if not num_rows:
        raise InputError(f"`input_file`={settings.input_file}: contains no examples")
    return num_rows


def propose_rows(settings, columns, proposer):
    """Yields (0-based number of the example, its fields, proposals of Proposer.propose for its texts)."""
    rows = enumerate(fields for _, fields in read_rows(settings))
    while window := list(itertools.islice(rows, ROWS_AT_A_TIME)):
        proposed = proposer.propose([[fields[column] for column in columns] for _, fields in window])
        for (row, fields), texts in zip(window, proposed, strict=True):
            yield row, fields, texts


class Proposer:
    """Proposes replacements for the words of texts, with the model in the settings.

    Args:
      settings: AugmentationSettings.

    Attributes:
      num_replaceable: int. Number of words with proposals.
      num_from_embeddings: int. Number of these whose proposals come from the word embedding matrix.
    """

    def __init__(self, settings):
        config, vocabulary, lower_case, strip_accents = checkpoint_files.read(settings)
        if settings.masked_lm and config.is_causal:
            raise InputError(f"`init_checkpoint`={settings.init_checkpoint}: has no masked LM, since attention is "
                             "causal in its config; set `masked_lm`=False to replace words with their nearest word "
                             "embeddings")
        tokenizer = PlainTokenizer(vocabulary, lower_case, strip_accents)
        model = models.BertPretrainer(FastEncoder(config, Fast("unpadded", last_where_read=True)))
        report = load_pretrained(model, settings.init_checkpoint)
        missing = [name for name in report.missing if name.startswith(HEAD)]
        if settings.masked_lm and missing:
            raise InputError(f"`init_checkpoint`={settings.init_checkpoint}: has no masked LM; it lacks "
                             f"{', '.join(missing)}; set `masked_lm`=False to replace words with their nearest word "
                             "embeddings")
        allowed = np.array([is_replacement(token) for token in vocabulary])
        num_proposals = min(settings.num_candidates + 1, int(allowed.sum()))  # One may be the word itself.
        if num_proposals < 2:
            raise InputError(f"`vocab_file`: has {allowed.sum()} entries that are words; at least 2 are required")
        self._vocabulary, self._num_candidates = vocabulary, settings.num_candidates
        self._words = Words(tokenizer, settings.stop_words)
        self._embedding_proposals = EmbeddingProposals(
            model.encoder.embeddings.word_embeddings.numpy()[: len(vocabulary)], allowed, num_proposals)
        self._masked_lm_proposals = MaskedLMProposals(
            model, tokenizer, allowed, num_proposals, min(settings.max_seq_length, config.max_position_embeddings),
            settings.batch_size) if settings.masked_lm else None
        self.num_replaceable = self.num_from_embeddings = 0

    def propose(self, rows):
        """Maps rows, a list of lists of texts, to lists of (text, list of (Word, list of str)) of the same shape."""
        texts = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        words_by_text = {text: self._words(text) for text in texts}
        requests = [(ids, word) for ids, words in words_by_text.values() for word in words]
        proposed = iter(self._propose_words(requests))
        proposals_by_text = {text: (text, [(word, next(proposed)) for word in words])
                             for text, (_, words) in words_by_text.items()}
        return [[proposals_by_text[text] for text in row] for row in rows]

    def _propose_words(self, requests):
        """Returns a list of str, the candidates, for each (IDs of a text, Word in it)."""
        uses_masked_lm = [len(word.ids) == 1 and self._masked_lm_proposals is not None for _, word in requests]
        self.num_replaceable += len(requests)
        self.num_from_embeddings += len(requests) - sum(uses_masked_lm)
        candidates = [None] * len(requests)
        for use_masked_lm, propose in ((True, self._masked_lm_proposals), (False, self._embedding_proposals)):
            places = [place for place, is_masked_lm in enumerate(uses_masked_lm) if is_masked_lm == use_masked_lm]
            if places:
                for place, ids in zip(places, propose([requests[place] for place in places]), strict=True):
                    others = [self._vocabulary[id_] for id_ in ids if (id_,) != requests[place][1].ids]
                    candidates[place] = others[: self._num_candidates]
        return candidates


def sample_copies(texts, num_copies, probability, generator):
    """Samples copies of an example with words replaced, all distinct and different from the example.

    Args:
      texts: List of (text, list of (Word, list of str)), one per text of the example.
      num_copies: int. Number of copies to sample. Duplicates are dropped.
      probability: float. Probability that a word is replaced with one of its candidates.
      generator: random.Random.

    Returns:
      List of tuples of str, one str per text.
    """
    copies = {tuple(text for text, _ in texts): None}
    for _ in range(num_copies):
        copy = []
        for text, words in texts:
            replacements = [(word, generator.choice(candidates)) for word, candidates in words
                            if generator.random() < probability]
            copy.append(replace(text, replacements))
        copies[tuple(copy)] = None
    return list(copies)[1:]


def _replace_texts(fields, columns, texts):
    """Returns a copy of a row's fields with other texts in some columns."""
    fields = [*fields]
    for column, text in zip(columns, texts, strict=True):
        fields[column] = text
    return fields


def _create_writer(file, path):
    """Returns a function that writes a row, a list of str, in the format that tables.read_rows reads."""
    if path.lower().endswith(".csv"):
        return csv.writer(file, lineterminator="\n").writerow
    return lambda fields: file.write("\t".join(fields) + "\n")
