"""A fine-tuning task whose model learns from a teacher beside, or in place of, the labels."""

import dataclasses
import functools
import hashlib
import os

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import checkpoint_files, load_pretrained, open_checkpoint
from bert_tf.cli.settings import FIXED, collect
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.files import exists
from bert_tf.run_state import fingerprint
from bert_tf.tasks import KINDS
from bert_tf.tasks.graphs import GRAPHS
from bert_tf.techniques.distillation import tapped
from bert_tf.techniques.layer_maps import INNER, map_layers
from bert_tf.techniques.theseus import ReplacingRate, TheseusModel
from data_prep import records
from data_prep.tasks import squad
from data_prep.tasks.base import ID_FEATURES
from run.arrays.batches import lengths_of
from run.arrays.prediction import Predictor
from run.compression.distillation import teaching
from run.compression.distillation.answers import PREFIX, Answers, check_teacher, find, write
from run.finetuning import runs
from run.tasks.base import Task
from run.training import strategies

ROW = "row"  # the feature that tells an example's number; of windows of questions, their own ids do
ANSWERS_FOLDER = "answers"  # of an output_dir
KEPT_INNER_TYPE = np.float16
RECORDS_AT_A_TIME = 1024


def distilled(task_class, teacher, student_config):
    """The class of the task of a Teacher from which a student of a BertConfig learns."""
    return type(f"Distilled{task_class.__name__}", (DistilledTask, task_class),
                {"teacher": teacher, "student_config": student_config})


class DistilledTask:
    """What distillation changes in a subclass of Task.

    Attributes:
      teacher: run.compression.distillation.teachers.Teacher, of the class.
      student_config: BertConfig of the student, of the class.
    """

    def __init__(self, settings, kept):
        del kept  # of a model that is used without training; here the teacher's counts
        super().__init__(self._without_training(settings), self.teacher.metadata)
        self.settings = settings
        self._kept_answers = None

    @classmethod
    def taking_over(cls, task, settings):
        """The task of DistillationSettings that has the data which a task of the class without a teacher has read."""
        other = cls.__new__(cls)
        vars(other).update(vars(task), settings=settings, _kept_answers=None)
        other._prepare()
        return other

    def read(self, tokenizer, ignore_padding):
        """See Task; InputError too where the teacher, or answers that are kept, do not suit the data."""
        settings = self.settings
        self.settings = self._without_training(settings)
        super().read(tokenizer, ignore_padding)
        self.settings = settings
        if self._unlabeled_file:
            self.features["train"] = self.data.unlabeled(self._unlabeled_file, tokenizer)
        self._prepare()

    def _prepare(self):
        """Checks the teacher against the data, and numbers the training examples."""
        self._check_teacher()
        if self._keeps_answers:
            check_teacher(self._answers_folder(self.settings.training.output_dir), self._teacher_files)
        if "train" in self.features:
            numbers = np.arange(len(self.features["train"]["input_ids"]), dtype=np.int32)
            self.features = {**self.features, "train": {**self.features["train"], ROW: numbers}}

    def _without_training(self, settings):
        """Settings with which the task reads no training data, where texts without labels take their place."""
        if not settings.data.unlabeled_file:
            return settings
        return dataclasses.replace(settings, tuning=dataclasses.replace(settings.tuning, do_train=False))

    @property
    def _unlabeled_file(self):
        return self.settings.data.unlabeled_file

    def _check_teacher(self):
        """Raises InputError unless the teacher gives what the data ask for."""
        teacher, wanted = self.teacher.metadata, self.metadata
        if not teacher.as_task.is_generic and teacher.labels != wanted.labels:
            labels = [", ".join(each.labels) or "a number" for each in (teacher, wanted)]
            raise InputError(f"`teacher`={self.teacher.path}: its labels are {labels[0]}, those of the data "
                             f"{labels[1]}: it is of another task")
        if teacher.pairs != wanted.pairs and "pairs" not in teacher.unknown:
            raise InputError(f"`teacher`={self.teacher.path}: it reads {'two texts' if teacher.pairs else 'one text'}, "
                             f"the data have {'two' if wanted.pairs else 'one'}: it is of another task")

        tensors = open_checkpoint(self.teacher.path).tensors
        missing = [name for name in self.head_shapes(self.teacher.config) if name not in tensors]
        if missing:
            raise InputError(f"`teacher`={self.teacher.path}: is no fine-tuned {self.kind}, it lacks "
                             f"{', '.join(missing)}")

    @property
    def num_train_examples(self):
        return Task.num_train_examples.fget(self) if self._unlabeled_file else super().num_train_examples

    @property
    def training_files(self):
        return {"unlabeled_file": [self._unlabeled_file]} if self._unlabeled_file else super().training_files

    @property
    def kept_settings(self):
        settings = self.settings
        return {**super().kept_settings, "teacher": self._teacher_files, **collect(FIXED, settings.student),
                **settings.losses.values()}

    def write_training_data(self, folder):
        """Asks the teacher too."""
        if not self._unlabeled_file:
            super().write_training_data(folder)
        self.ask_teacher(folder)

    def ask_teacher(self, folder):
        """Keeps the teacher's answers in an output_dir, unless they are there or it is to be asked in each step."""
        if not self._keeps_answers:
            return
        features = self._features_of_rows()
        asked = self._asked(features)
        path = find(self._answers_folder(folder), self._teacher_files, asked)
        if exists(path):
            print(f"{path}: the teacher's answers are taken from there")
        else:
            self._ask(path, {"teacher": self._teacher_files, "asked": asked}, features)
        self._kept_answers = Answers(path)

    @property
    def _keeps_answers(self):
        return self.settings.answers.keep_answers and self.settings.losses.asks_teacher

    def _answers_folder(self, output_dir):
        return self.settings.answers.answers_dir or os.path.join(output_dir, ANSWERS_FOLDER)

    @functools.cached_property
    def _teacher_files(self):
        """Dict that tells the teacher's weights from others."""
        return fingerprint(checkpoint_files(self.teacher.path))

    def _asked(self, features):
        """Dict of what shapes the answers, beside the teacher."""
        data = hashlib.sha256()
        for name in ID_FEATURES:
            data.update(np.ascontiguousarray(features[name]).tobytes())
        return {"data": data.hexdigest(), "rows": len(features["input_ids"]),
                "taps": {name: list(value) for name, value in dataclasses.asdict(self._taps[1]).items()},
                "mixed_precision": self.settings.step.mixed_precision}

    def _ask(self, path, told, features):
        """Writes what the teacher answers to features, dict of arrays [n, ...]."""
        strategy = tf.distribute.get_strategy()
        model = self._load_teacher(strategy)

        def answer(features, training):
            outputs, inner = tapped(model, features, self._taps[1], training)
            rows = tf.shape(features["input_ids"])[:-1]  # [B] or [B, choices]
            return {**outputs, **{name: tf.reshape(value, tf.concat([rows, tf.shape(value)[1:]], axis=0))
                                  for name, value in inner.items()}}

        def narrowed(parts):
            for rows, answers in parts:
                yield rows, {name: value.astype(KEPT_INNER_TYPE if name in INNER else np.float32)
                             for name, value in answers.items()}

        predictor = Predictor(strategy, answer, network=model)
        parts = predictor.in_parts(features, self.settings.training.train_batch_size, "asking the teacher")
        write(path, told, lengths_of(features["input_mask"]), narrowed(parts), self._positions)
        runs.free([*model.variables])
        print(f"{path}: the teacher's answers to {len(features['input_ids']):,} rows are kept there")

    @property
    def _positions(self):
        """Dict of the names of answers -> their axes that are positions of the text, negative."""
        logits = {name: (axis,) for name, axis in KINDS[self.kind].per_position.items()}
        return {"logits": (), "hidden": (-2,), "attention": (-2, -1), "cls": (), **logits}

    def _features_of_rows(self):
        """What the teacher is asked: the features of all training examples by number, dict of arrays [n, ...]."""
        if "train" in self.features:
            return {name: self.features["train"][name] for name in ID_FEATURES}
        features = squad.record_features(self.settings.tokenizer.max_seq_length, is_training=True)
        read = tf.data.TFRecordDataset(self._train_records).batch(RECORDS_AT_A_TIME)
        parsed = [{name: value.numpy() for name, value in records.parse(serialized, features).items()}
                  for serialized in read]
        arrays = {name: np.concatenate([part[name] for part in parsed]) for name in parsed[0]}
        self._first_id = int(arrays["unique_ids"][0, 0])
        assert (arrays["unique_ids"][:, 0] == self._first_id + np.arange(self._num_records)).all()
        return arrays

    def training_batches(self, seed, first_step, share, static_shapes):
        make = Task.training_batches if self._unlabeled_file else super().training_batches.__func__
        dataset = make(self, seed, first_step, share, static_shapes)
        if self._kept_answers is None:
            return dataset
        if "train" in self.features:
            return self._kept_answers.added(dataset, ROW)
        numbered = dataset.map(lambda features: {**features, ROW: features["unique_ids"] - self._first_id})
        return self._kept_answers.added(numbered, ROW)

    @property
    def _taps(self):
        """The Taps of the student and of the teacher."""
        return teaching.taps(self.settings.losses, self.student_config, self.teacher.config)

    def in_training(self, model, optimizer, num_train_steps):
        """See Task: the student, taught by the teacher's answers, kept or given in each step."""
        losses = self.settings.losses
        if not losses.asks_teacher:
            answers = lambda features: {}
        elif self._keeps_answers:
            answers = self._answers_among
        else:
            answers = teaching.asking(self._load_teacher(tf.distribute.get_strategy()), self._taps[1])
        run = model
        if losses.replacing_rate is not None:
            run = self._with_layers_of_teacher(model, optimizer, num_train_steps)
        return teaching.trained(self.settings, model, run, answers, self.teacher.config, optimizer.iterations,
                                num_train_steps, super().loss, GRAPHS[self.kind].teaching(self.metadata))

    def _with_layers_of_teacher(self, model, optimizer, num_train_steps):
        """The TheseusModel of a student."""
        losses, seed = self.settings.losses, self.settings.training.random_seed
        layer_map = map_layers("uniform", self.student_config.num_hidden_layers, self.teacher.config.num_hidden_layers)
        num_steps = round(losses.replacing_proportion * num_train_steps)
        rate = ReplacingRate(losses.replacing_rate, num_steps, lambda: optimizer.iterations, seed)
        return TheseusModel(model, self._load_teacher(tf.distribute.get_strategy()), layer_map, rate)

    def _answers_among(self, features):
        """The answers among features, those of the inside with a row for each text."""
        found = {name.removeprefix(PREFIX): value for name, value in features.items() if name.startswith(PREFIX)}
        if features["input_ids"].shape.rank == 2:
            return found
        return {name: tf.reshape(value, tf.concat([[-1], tf.shape(value)[2:]], axis=0)) if name in INNER else value
                for name, value in found.items()}

    def _load_teacher(self, strategy):
        """The teacher's model with its weights."""
        fast = strategies.choose_fast(strategy, self.teacher.config, self.settings.step.jit_compile,
                                      remove_padding=runs.may_group_by_length(self.settings, strategy))
        encoder = FastEncoder(self.teacher.config, fast, dtype=self.settings.step.dtype_policy)
        model = self.make_model(encoder, self.teacher.metadata)
        load_pretrained(model, self.teacher.path)
        model.trainable = False
        return model
