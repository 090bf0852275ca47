"""Distillation: the fine-tuning or pre-training job of the student with an additional technique."""

import dataclasses

import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from run.distillation.settings import GeneralSettings
from run.finetuning import job as finetuning
from run.pretraining import job as pretraining
from run.techniques.distillation import Distillation, TaskDistillation

MASKED_LM_HEAD = "cls/predictions/"  # Prefix of the names of its variables.


def run(settings):
    """Trains, evaluates, and predicts.

    `settings`: DistillationSettings or GeneralSettings, resolved.

    Raises:
      InputError: See the fine-tuning or pre-training job. Also if the teacher does not match the
        data, or if it lacks a required masked LM head.
    """
    (_pretrain if isinstance(settings, GeneralSettings) else _fine_tune)(settings)


def _fine_tune(settings):
    teacher = settings.taught_by
    strategy = finetuning.create_strategy(settings)
    experiment = finetuning.open_experiment(settings, strategy, teacher.metadata)
    distillation = TaskDistillation(
        settings.losses,
        teacher,
        settings.model.config,
        experiment.task,
        init_layers=settings.student.student_layers,
        keep_answers=settings.keep_answers,
        cache_dir=settings.cache_dir,
        replacing_rate=settings.replacing_rate,
    )
    finetuning.run_experiment(
        dataclasses.replace(
            experiment,
            task=distillation.task,
            techniques=(*experiment.techniques, distillation),
            inputs=experiment.inputs | distillation.inputs,
        )
    )
    distillation.delete_outputs()


def _pretrain(settings):
    path = settings.student.teacher
    config = settings.teacher_config
    if "logits" in settings.losses.weights and not any(
        name.startswith(MASKED_LM_HEAD) for name in open_checkpoint(path).tensors
    ):
        raise InputError("has no masked LM head; set `logits_weight`=0", "teacher", path)

    def load_teacher():
        fast = pretraining.choose_pretraining_fast(settings, tf.distribute.get_strategy(), config)
        teacher = models.BertPretrainer(
            FastEncoder(config, fast, dtype=settings.step_settings.dtype_policy)
        )
        load_pretrained(teacher, path)
        return teacher

    pretraining.run(
        settings,
        (
            Distillation(
                settings.losses,
                path,
                config,
                settings.model.config,
                "masked_lm",
                load_teacher,
                init_layers=settings.student.student_layers,
            ),
        ),
    )
