"""What is compared: an arm is a way to make records and to train on them."""

import dataclasses
import math

from bert_tf.errors import InputError
from data_prep.pretraining import InstanceSettings
from run.training import utilisation

MASKED_LM_PROB = 0.15


@dataclasses.dataclass(frozen=True)
class Arm:
    """A way to pre-train; the fields are flags of create_pretraining_data and run_pretraining."""

    objective: str
    masking: str = "static"
    masked_lm_prob: float = MASKED_LM_PROB
    pack_sequences: bool = False

    @property
    def name(self):
        """Such as "full_sentences, dynamic masks"."""
        return ", ".join([self.objective, *(text for text, holds in (
            (f"{self.masking} masks", self.masking != "static"),
            (f"{self.masked_lm_prob:.0%} masked", self.masked_lm_prob != MASKED_LM_PROB),
            ("packed", self.pack_sequences)) if holds)])

    @property
    def folder(self):
        """The name as a folder's."""
        return self.name.replace(", ", "-").replace(" ", "_").replace("%", "")

    def predictions(self, max_seq_length):
        """Most masked positions of a record."""
        return math.ceil(max_seq_length * self.masked_lm_prob)

    def instances(self, settings):
        """The InstanceSettings of its records; settings: ObjectivesSettings."""
        return InstanceSettings(
            settings.max_seq_length, self.predictions(settings.max_seq_length), masked_lm_prob=self.masked_lm_prob,
            masking=self.masking, objective=self.objective, pack_sequences=self.pack_sequences)

    def record_flags(self, settings, dupe_factor):
        """Flags of create_pretraining_data, beside files; settings: ObjectivesSettings."""
        static = self.masking == "static"
        return [f"--objective={self.objective}", f"--max_seq_length={settings.max_seq_length}",
                *([f"--dupe_factor={dupe_factor}", f"--masked_lm_prob={self.masked_lm_prob}",
                   f"--max_predictions_per_seq={self.predictions(settings.max_seq_length)}"] if static
                  else ["--masking=dynamic"]),
                *(["--pack_sequences"] if self.pack_sequences else [])]

    def training_flags(self, settings):
        """Flags of run_pretraining that say what the records are."""
        return [f"--objective={self.objective}", f"--max_seq_length={settings.max_seq_length}",
                f"--max_predictions_per_seq={self.predictions(settings.max_seq_length)}",
                *([] if self.masking == "static" else
                  ["--masking=dynamic", f"--masked_lm_prob={self.masked_lm_prob}",
                   f"--vocab_file={settings.path('vocab.txt')}"]),
                *(["--pack_sequences"] if self.pack_sequences else [])]

    def num_steps(self, settings, config):
        """Steps that take `settings.flops`: of rows of full length, since a device of fixed shapes computes padding."""
        of_a_row = utilisation.pretraining_flops(
            config, settings.max_seq_length, self.predictions(settings.max_seq_length))
        return max(1, round(settings.flops / of_a_row / settings.train_batch_size))


ARMS = {arm.name: arm for arm in (
    Arm("sentence_pairs"), Arm("segment_pairs"), Arm("full_sentences"), Arm("doc_sentences"),
    Arm("full_sentences", masking="dynamic"), Arm("full_sentences", masked_lm_prob=0.3),
    Arm("doc_sentences", pack_sequences=True))}


def chosen(numbers):
    """The arms with these numbers, tuple of str, from 1 on; all for none. InputError for another."""
    arms = list(ARMS.values())
    for number in numbers:
        if not (number.isdecimal() and 1 <= int(number) <= len(arms)):
            raise InputError(f"`arms`={number}: there are 1 to {len(arms)}")
    return [arms[int(number) - 1] for number in numbers] or arms
