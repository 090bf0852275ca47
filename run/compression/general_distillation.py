"""Distillation on pre-training records: the pre-training job of the student, with one more technique."""

import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from run.pretraining import job
from run.techniques.distillation import Distillation

MASKED_LM_HEAD = "cls/predictions/"  # how the names of its variables begin


def run(settings):
    """Trains and evaluates a student as resolved GeneralSettings say.

    Raises:
      InputError: as run.pretraining.job's; a teacher without a masked LM head whose answers are to be learned.
    """
    path, config = settings.student.teacher, settings.teacher_config
    if "logits" in settings.losses.weights and not any(
            name.startswith(MASKED_LM_HEAD) for name in open_checkpoint(path).tensors):
        raise InputError("has no masked LM head, whose answers could be learned; give `logits_weight`=0", "teacher",
                         path)

    def load_teacher():
        fast = job.choose_fast(settings, tf.distribute.get_strategy(), config)
        teacher = models.BertPretrainer(FastEncoder(config, fast, dtype=settings.step.dtype_policy))
        load_pretrained(teacher, path)
        return teacher

    job.run(settings, (Distillation(
        settings.student, settings.losses, path, config, settings.model.config, "masked_lm", load_teacher),))
