"""What the arms are judged by: held-out loss of each checkpoint, the fine-tuned task, tokens a second."""

import glob
import itertools
import json
import os
import re
import statistics

import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks.objectives import runs
from benchmarks.objectives.arms import Arm
from bert_tf import losses
from bert_tf.checkpoints import load_pretrained
from bert_tf.files import new_file, read_json_object
from bert_tf.models import BertEncoder, BertPretrainer
from data_prep.pretraining.instances import masking
from run.evaluation.results import read_results
from run.pretraining import dynamic_masking, inputs
from run.pretraining.evaluation import PretrainingEvaluator
from run.settings import DTYPE_POLICIES
from run.settings.model import read_tokenizer
from run.training import strategies

EVAL_BATCH = 32
BATCHES_COUNTED = 100
EVERY_BATCH = 1 << 30


class HeldOut:
    """Masked LM losses on held-out text, always the same records and masks; the model is traced once for each form.

    Args:
      settings: ObjectivesSettings.
      config: BertConfig.
    """

    def __init__(self, settings, config):
        self._settings = settings
        self._model = BertPretrainer(BertEncoder(config), sentence_label=None)
        self._evaluate = PretrainingEvaluator(tf.distribute.get_strategy(), self._model, None)

    def curve(self, arm, seed):
        """dict of step -> list of nats a masked position, one of each form of the held-out text; kept in a file."""
        folder = self._settings.path(f"{arm.folder}-{seed}")
        kept = f"{folder}-curve.json"
        steps = sorted(int(re.search(r"ckpt-(\d+)\.index$", path)[1])
                       for path in glob.glob(os.path.join(glob.escape(folder), "ckpt-*.index")))
        if not os.path.exists(kept):
            with new_file(kept) as file:
                json.dump({step: self._losses(os.path.join(folder, f"ckpt-{step}")) for step in steps}, file)
        return {int(step): of_forms for step, of_forms in read_json_object(kept).items()}

    def _losses(self, checkpoint):
        load_pretrained(self._model, checkpoint)
        return [self._evaluate(self._batches_of(Arm(objective)), EVERY_BATCH)["masked_lm_loss"]
                for objective in runs.HELD_OUT_OBJECTIVES]

    def _batches_of(self, arm):
        path = runs.records_file(self._settings, "held_out", arm)
        features = arm.instances(self._settings).features
        return lambda share: inputs.pretraining_evaluation_data([path], features, EVAL_BATCH, share=share)


def finetuned_score(settings, arm, seed):
    """Accuracy on SST-2's development part, or None without it."""
    if not settings.sst2_dir:
        return None
    return read_results(settings.path(os.path.join(f"{arm.folder}-{seed}-sst2", "eval_results.txt")))["eval_accuracy"]


def token_rates(settings, config, arms):
    """dict of arm's name -> (share of ids that are real, real tokens a second) of training steps of fixed shapes.

    The steps take turns, each on a batch of its records; the share is that of many batches.
    """
    options = strategies.encoder_options(tf.distribute.get_strategy(), config)
    turns, real = {}, {}
    for arm in arms:
        batches = list(itertools.islice(_batches(settings, config, arm), BATCHES_COUNTED))
        real[arm.name] = statistics.fmean(float(tf.reduce_mean(tf.cast(batch["input_mask"] > 0, tf.float32)))
                                          for batch in batches)
        features = batches[0]
        label = arm.instances(settings).what.sentence_label
        model = BertPretrainer(
            BertEncoder(config, dtype=DTYPE_POLICIES[settings.mixed_precision], **options), sentence_label=label)
        loss = losses.create_pretraining_loss(label)
        turns[arm.name] = encoder_benchmark.model_step(model, features, lambda outputs, loss=loss, features=features:
                                                       loss(outputs, features)["loss"])
    times = encoder_benchmark.time_calls(turns, settings.rounds)
    ids = settings.train_batch_size * settings.max_seq_length
    return {name: (share, ids * share / times[name]) for name, share in real.items()}


def _batches(settings, config, arm):
    """Iterator of an arm's batches of features in training, masked."""
    instances, transform = arm.instances(settings), None
    if arm.masking == "dynamic":
        tokenizer = read_tokenizer(settings.path("vocab.txt"), True, None, config)
        transform = dynamic_masking.make_masker(instances, masking.Vocabulary.of_tokenizer(tokenizer), runs.DATA_SEED)
    return iter(inputs.pretraining_training_data(
        [runs.records_file(settings, "train", arm)], instances.features, settings.train_batch_size, runs.DATA_SEED,
        transform=transform))
