"""Pre-training records with tf-models-official, like main() of its create_pretraining_data.

The module runs in its own process, because it defines flags with the names of this project's flags.
"""

import random

from absl import logging
from official.nlp.data import create_pretraining_data
from official.nlp.tools import tokenization


class Peer:
    """The writer of records with a lowercase vocabulary, and a seed of the instances."""

    def __init__(self, vocab_file, seed):
        logging.set_verbosity(logging.WARNING)  # It prints twenty records.
        self._tokenizer = tokenization.FullTokenizer(vocab_file, do_lower_case=True)
        self._seed = seed

    def write_records(self, text, settings, path):
        """Creates the records of a text file; settings: InstanceSettings."""
        length = settings.max_seq_length
        predictions = settings.max_predictions_per_seq
        instances = create_pretraining_data.create_training_instances(
            [text],
            self._tokenizer,
            create_pretraining_data.get_processor_text_fn(False, True),
            length,
            settings.dupe_factor,
            settings.short_seq_prob,
            settings.masked_lm_prob,
            predictions,
            rng=random.Random(self._seed),
        )
        create_pretraining_data.write_instance_to_example_files(
            instances,
            self._tokenizer,
            length,
            predictions,
            [path],
            gzip_compress=False,
            use_v2_feature_names=False,
        )
