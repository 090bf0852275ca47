"""Small corpora for the tests of instances."""

import random

import numpy as np

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import assemble, create_instances, create_random_state, masking

CLS = 1
SEP = 2
MASK = 3
VOCABULARY = masking.Vocabulary(
    random_ids=np.arange(1300),
    cls_id=CLS,
    sep_id=SEP,
    mask_id=MASK,
    is_continuation=np.arange(1300) % 3 == 1,
)


def make_corpus(*documents):
    """Creates a Corpus of documents, each a list of sentence lengths.

    The tokens are 100, 101, ..., 1299, 100, ...
    """
    lengths = [length for document in documents for length in document]
    return Corpus(
        (100 + np.arange(sum(lengths)) % 1200).astype(np.uint16),
        np.cumsum([0, *lengths]),
        np.cumsum([0, *map(len, documents)]),
        num_bytes=0,
    )


def create_records(corpus, settings):
    """Returns the Instances of a corpus, and the features of all records."""
    instances = create_instances(corpus, settings, VOCABULARY, create_random_state(5))
    return instances, assemble(
        corpus, instances, np.arange(instances.num_records), settings, VOCABULARY
    )


def make_random_corpus(seed, num_documents=11):
    rng = random.Random(seed)
    return make_corpus(
        *([rng.randint(1, 9) for _ in range(rng.randint(1, 12))] for _ in range(num_documents))
    )
