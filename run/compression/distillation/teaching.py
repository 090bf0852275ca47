"""What training runs to let a student learn from a teacher, whatever both are used for."""

import tensorflow as tf

from bert_tf.layers import Projection, WeightInitializer
from bert_tf.techniques.distillation import DistilledModel, create_distillation_loss, tapped, taps_of
from bert_tf.techniques.layer_maps import INNER, map_layers
from run.training.step import Trained


def taps(losses, student, teacher):
    """The bert_tf.techniques.distillation.Taps of a student and of its teacher.

    Args:
      losses: LossSettings.
      student, teacher: BertConfigs.
    """
    names = [name for name in INNER if name in losses.weights]
    if not names:
        return taps_of((), ())
    return taps_of(names, map_layers(losses.parsed_layer_map, student.num_hidden_layers, teacher.num_hidden_layers))


def asking(teacher, teacher_taps):
    """A function from features to what a teacher's model answers, as DistilledModel takes it."""
    def answers(features):
        outputs, inner = tapped(teacher, features, teacher_taps)
        return {**outputs, **inner}
    return answers


def trained(settings, student, model, answers, teacher_config, counter, num_train_steps, label_loss, logits_loss):
    """The Trained of a student; to be called in the strategy's scope.

    Args:
      settings: has the groups `losses`, `student` and `training`.
      student: model of bert_tf.models.
      model: what a step runs of it: itself, or a TheseusModel of it.
      answers: features -> what the teacher says.
      teacher_config: BertConfig.
      counter: int variable, the steps done.
      num_train_steps: int.
      label_loss, logits_loss: see create_distillation_loss.
    """
    losses, config = settings.losses, student.encoder.config
    student_taps, teacher_taps = taps(losses, config, teacher_config)
    widths, projection = (config.hidden_size, teacher_config.hidden_size), None
    if widths[0] != widths[1] and (teacher_taps.hidden or teacher_taps.cls):
        initializer = WeightInitializer(config.initializer_range, settings.training.random_seed)
        with tf.name_scope("distillation/"):
            projection = Projection(*widths, initializer, name="projection", dtype="float32")
    num_inner = round(losses.inner_proportion * num_train_steps)
    loss = create_distillation_loss(losses.weights, label_loss, logits_loss, losses.temperature,
                                    (lambda: counter < num_inner) if num_inner else None)
    return Trained(DistilledModel(model, student_taps, answers, projection), loss,
                   {"projection": projection} if projection else {}, settings.student.student_layers)
