"""Knowledge distillation: a student learns from a teacher, with or without the labels."""

import dataclasses
import functools
import hashlib
import os

import numpy as np
import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory, load_pretrained, open_checkpoint
from bert_tf.cli.run_state import fingerprint
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.features import FEATURES
from bert_tf.layers import Projection, WeightInitializer
from bert_tf.tasks import KINDS
from bert_tf.techniques.distillation_losses import (
    DistilledModel,
    call_with_inner,
    create_distillation_loss,
)
from bert_tf.techniques.layer_maps import INNER, map_layers
from bert_tf.techniques.theseus import TheseusModel, draw_layers
from run.techniques import teacher_outputs
from run.techniques.base import Technique
from run.training import strategies
from run.training.batches import count_tokens
from run.training.prediction import Predictor
from run.training.stored_rows import find_subfolder, is_complete

# Feature with the number of an example. Windows of questions have their own IDs instead.
ROW = "row"
OUTPUTS_FOLDER = "answers"  # Within output_dir.
INNER_DTYPE = np.float16
# Fraction of the training steps after which only the student is trained.
REPLACING_PROPORTION = 0.5


class Distillation(Technique):
    """Distillation in general. Each training step queries the teacher.

    Args:
      losses: LossSettings.
      path: Path of the teacher's checkpoint.
      teacher, student: BertConfigs.
      logits_loss: Key of bert_tf.techniques.distillation_losses.LOGITS_LOSSES.
      load_teacher: Callable () -> the teacher's model with its weights, called in the strategy's
        scope.
      init_layers: Tuple of int. Layers of the teacher that initialize the student, if any.
      replacing_rate: float. See DistillationSettings. None replaces no layers.
    """

    def __init__(
        self,
        losses,
        path,
        teacher,
        student,
        logits_loss,
        load_teacher,
        *,
        init_layers=(),
        replacing_rate=None,
    ):
        self._losses = losses
        self._path = path
        self._init_layers = init_layers
        self._teacher = teacher
        self._student = student
        self._logits_loss = logits_loss
        self._load_teacher = load_teacher
        self._replacing_rate = replacing_rate
        self._inner = [name for name in INNER if name in losses.weights]
        self._layers = ()
        if self._inner:
            self._layers = map_layers(
                losses.parsed_layer_map, student.num_hidden_layers, teacher.num_hidden_layers
            )

    def build(self, run):
        """See Technique. Builds the network of student and teacher, and its loss."""
        if run.num_steps is None:
            return
        losses = self._losses
        answers = self._make_teacher_function() if losses.uses_teacher else lambda features: {}
        if self._replacing_rate is not None:
            run.network = self._replace_layers(run)
        widths = (self._student.hidden_size, self._teacher.hidden_size)
        projection = None
        if widths[0] != widths[1] and not {"hidden", "cls"}.isdisjoint(self._inner):
            initializer = WeightInitializer(self._student.initializer_range, run.seed)
            with tf.name_scope("distillation/"):
                projection = Projection(*widths, initializer, name="projection", dtype="float32")
            run.aside["projection"] = projection
        run.network = DistilledModel(run.network, self._inner, answers, projection)
        run.loss = create_distillation_loss(
            losses.weights, run.loss, self._logits_loss, losses.temperature
        )
        run.init_layers = self._init_layers

    def _make_teacher_function(self):
        """Returns the function from features to the teacher's outputs for a DistilledModel."""
        teacher = self._load_teacher()
        return lambda features: call_with_inner(teacher, features, self._inner, self._layers)

    def _replace_layers(self, run):
        """Returns the TheseusModel of a student."""
        iterations = run.optimizer.iterations
        num_steps = max(1, round(REPLACING_PROPORTION * run.num_steps))
        return TheseusModel(
            run.network,
            self._load_teacher(),
            lambda num_layers: draw_layers(
                num_layers, self._replacing_rate, num_steps, iterations, run.seed
            ),
        )


class TaskDistillation(Distillation):
    """Distillation of a fine-tuned model.

    The teacher's outputs for the training data are saved to disk.

    Args:
      losses: LossSettings.
      teacher: run.techniques.settings.Teacher.
      student: BertConfig.
      task: Task that has read its data.
      init_layers: See Distillation.
      keep_answers, cache_dir, replacing_rate: See DistillationSettings.

    Attributes:
      task: Task whose training examples have numbers.
      inputs: Dict of setting to JSON value that a resumed run must share.

    Raises:
      InputError: If the teacher's task does not match the data.
    """

    def __init__(
        self,
        losses,
        teacher,
        student,
        task,
        *,
        init_layers=(),
        keep_answers=True,
        cache_dir=None,
        replacing_rate=None,
    ):
        super().__init__(
            losses,
            teacher.path,
            teacher.config,
            student,
            task.logits_loss,
            functools.partial(self._load_model, task),
            init_layers=init_layers,
            replacing_rate=replacing_rate,
        )
        self._metadata = teacher.metadata
        self._folder = cache_dir or os.path.join(task.folder, OUTPUTS_FOLDER)
        self._saves_outputs = keep_answers and losses.uses_teacher
        self._deletes_outputs = not cache_dir
        self._outputs_path = self._saved_outputs = self._first_id = None
        self._teacher_files = fingerprint(ModelDirectory.open(teacher.path).weight_files)
        self.inputs = {"teacher": self._teacher_files}
        self._check_teacher(task)
        if "train" in task.features:
            train = task.features["train"]
            train = {**train, ROW: np.arange(len(train["input_ids"]), dtype=np.int32)}
            task = dataclasses.replace(task, features={**task.features, "train": train})
        self.task = task

    def begin(self, run):
        """See Technique.

        Queries the teacher before the first run, unless its outputs exist or each step queries it.
        """
        if not self._saves_outputs or self._saved_outputs is not None:
            return
        task = self.task
        rows = task.read_training_rows()
        if ROW not in rows:
            self._first_id = int(rows["unique_ids"][0, 0])
            assert (
                rows["unique_ids"][:, 0] == self._first_id + np.arange(len(rows["unique_ids"]))
            ).all()
        features = {name: rows[name] for name in FEATURES}
        lengths = count_tokens(features["input_mask"])
        request = self._describe(features, task.settings)
        self._outputs_path = path = find_subfolder(self._folder, [self._teacher_files, request])
        if is_complete(path):
            print(f"{path}: reusing the teacher outputs")
        else:
            self._write_outputs(
                path, {"teacher": self._teacher_files, "asked": request}, features, lengths, task
            )
        self._saved_outputs = teacher_outputs.read(path, lengths)

    def batches(self, dataset):
        """See Technique. Adds the saved outputs of the teacher."""
        if self._saved_outputs is None:
            return dataset
        if ROW not in dataset.element_spec:
            dataset = dataset.map(
                lambda features: {**features, ROW: features["unique_ids"] - self._first_id}
            )
        return teacher_outputs.add_outputs(self._saved_outputs, dataset, ROW)

    def delete_outputs(self):
        """Removes the teacher's outputs from output_dir, unless they must be kept.

        Call it after the last run.
        """
        if self._deletes_outputs and self._outputs_path:
            files.at(self._folder).remove_tree()
            announce(f"{self._folder}: deleted the teacher outputs; set `cache_dir` to keep them")

    def _check_teacher(self, task):
        """Raises InputError unless the teacher's task matches the data."""
        teacher = self._metadata
        metadata = task.metadata
        path = self._path
        if not teacher.has_generic_labels and task.order_labels(teacher.labels) != metadata.labels:
            labels = [", ".join(each.labels) or "a number" for each in (teacher, metadata)]
            raise InputError(
                f"was trained for another task; its labels are {labels[0]}, but the labels of "
                f"the data are {labels[1]}",
                "teacher",
                path,
            )
        if teacher.pairs not in (None, metadata.pairs):
            raise InputError(
                "was trained for another task; it reads "
                f"{('two texts' if teacher.pairs else 'one text')}, but the data have "
                f"{('two' if metadata.pairs else 'one')}",
                "teacher",
                path,
            )
        tensors = open_checkpoint(path).tensors
        missing = [name for name in task.head_shapes(self._teacher) if name not in tensors]
        if missing:
            raise InputError(
                f"is not a fine-tuned {task.kind}; it lacks {', '.join(missing)}", "teacher", path
            )

    def _describe(self, features, settings):
        """Returns a dict of everything that the outputs depend on, except for the teacher."""
        data = hashlib.sha256()
        for name in FEATURES:
            data.update(np.ascontiguousarray(features[name]).tobytes())
        return {
            "data": data.hexdigest(),
            "rows": len(features["input_ids"]),
            "inner": self._inner,
            "layers": list(self._layers),
            "mixed_precision": settings.step_settings.mixed_precision,
        }

    def _write_outputs(self, path, metadata, features, lengths, task):
        """Writes the teacher's outputs for features, a dict of arrays [n, ...].

        `lengths`: Tokens of each row.
        """
        model = self._load_teacher()

        def answer(features, training):
            outputs = call_with_inner(model, features, self._inner, self._layers, training)
            rows = tf.shape(features["input_ids"])[:-1]  # [B] or [B, choices]
            return outputs | {
                name: tf.reshape(
                    outputs[name], tf.concat([rows, tf.shape(outputs[name])[1:]], axis=0)
                )
                for name in self._inner
            }

        predictor = Predictor(tf.distribute.get_strategy(), answer, network=model)
        parts = predictor.predict_batches(
            features, task.settings.training.train_batch_size, "querying the teacher"
        )
        narrow = (
            (
                rows,
                {
                    name: value.astype(INNER_DTYPE if name in INNER else np.float32)
                    for name, value in answers.items()
                },
            )
            for rows, answers in parts
        )
        positions = {
            "logits": (),
            "hidden": (-2,),
            "attention": (-2, -1),
            "cls": (),
            **{name: (axis,) for name, axis in KINDS[task.kind].per_position.items()},
        }
        teacher_outputs.write(path, metadata, lengths, narrow, positions)
        strategies.free_memory(model.variables)
        print(f"{path}: saved the teacher outputs for {len(features['input_ids']):,} rows")

    def _make_teacher_function(self):
        return _select_outputs if self._saves_outputs else super()._make_teacher_function()

    def _load_model(self, task):
        """Returns the teacher's model with its weights."""
        strategy = tf.distribute.get_strategy()
        settings = task.settings
        fast = strategies.choose_fast(
            strategy,
            self._teacher,
            strategies.choose_padding(
                strategy, settings.step_settings.jit_compile, settings.tuning.group_by_length
            ),
            jit_compile=settings.step_settings.jit_compile,
        )
        model = task.make_model(
            FastEncoder(self._teacher, fast, dtype=settings.step_settings.dtype_policy),
            self._metadata,
        )
        load_pretrained(model, self._path)
        model.trainable = False
        return model


def _select_outputs(features):
    """Returns the teacher's outputs among features.

    Outputs of its layers are reshaped to one row per text.
    """
    prefix = teacher_outputs.PREFIX
    outputs = {
        name.removeprefix(prefix): value
        for name, value in features.items()
        if name.startswith(prefix)
    }
    if features["input_ids"].shape.rank == 2:
        return outputs
    return {
        name: tf.reshape(value, tf.concat([[-1], tf.shape(value)[2:]], axis=0))
        if name in INNER
        else value
        for name, value in outputs.items()
    }
