"""Distillation on pre-training records: the pre-training job with a teacher, which is asked in each step."""

import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import checkpoint_files, load_pretrained, open_checkpoint
from bert_tf.cli.settings import FIXED, collect
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.losses import create_pretraining_loss
from bert_tf.run_state import fingerprint
from run.compression.distillation import teaching
from run.pretraining import job

MASKED_LM_HEAD = "cls/predictions/"  # how the names of its variables begin


def run(settings):
    """Trains and evaluates a student as resolved GeneralSettings say.

    Raises:
      InputError: as run.pretraining.job's; a teacher without a masked LM head whose answers are to be learned.
    """
    job.run(settings, Teaching(settings))


class Teaching:
    """What the student of a GeneralSettings learns from; see run.pretraining.job.run.

    Attributes:
      started_with: dict of what it is, with which a run is resumed.
    """

    def __init__(self, settings):
        self._settings, self._config, self._path = settings, settings.teacher_config, settings.student.teacher
        if "logits" in settings.losses.weights and not any(
                name.startswith(MASKED_LM_HEAD) for name in open_checkpoint(self._path).tensors):
            raise InputError("has no masked LM head, whose answers could be learned; give `logits_weight`=0",
                              "teacher", self._path)
        self.started_with = {"teacher": fingerprint(checkpoint_files(self._path)),
                             **collect(FIXED, settings.student), **settings.losses.values()}

    def in_training(self, model, optimizer, num_train_steps):
        """The Trained of a BertPretrainer, the student."""
        settings, strategy = self._settings, tf.distribute.get_strategy()
        answers = lambda features: {}
        if settings.losses.asks_teacher:
            teacher = models.BertPretrainer(FastEncoder(
                self._config, job.choose_fast(settings, strategy, self._config), dtype=settings.step.dtype_policy))
            load_pretrained(teacher, self._path)
            answers = teaching.asking(teacher, teaching.taps(
                settings.losses, model.encoder.config, self._config)[1])
        return teaching.trained(settings, model, model, answers, self._config, optimizer.iterations, num_train_steps,
                                create_pretraining_loss(job.sentence_label(settings)), "masked_lm")
