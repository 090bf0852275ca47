"""Evaluation of pre-training under a strategy."""

import tensorflow as tf
import tf_keras
from tqdm import tqdm

from bert_tf import losses
from bert_tf.errors import InputError
from run.training import host_batches


class PretrainingEvaluator:
    """Evaluates a BertPretrainer on records, like `run_pretraining.metric_fn` of the original BERT.

    Args:
      strategy: tf.distribute.Strategy under whose scope the model was created.
      model: BertPretrainer.
      sentence_label: `sentence_label` of the model.
      token_loss: str. See `losses.create_pretraining_loss`.
    """

    def __init__(self, strategy, model, sentence_label, token_loss="masked_lm"):
        self._strategy = strategy
        self._model = model
        self._sentence_label = sentence_label
        self._token_loss = token_loss
        self._loss = losses.create_pretraining_loss(sentence_label, token_loss)
        self._score_all = tf.function(
            lambda features: strategy.run(self._score, args=(features,)),
            autograph=False,
            reduce_retracing=True,
        )
        with strategy.scope():
            self._means = {
                name: tf_keras.metrics.Mean(name)
                for name in [
                    "loss",
                    *(
                        name.removesuffix("loss") + measure
                        for name in self._loss.names[1:]
                        for measure in ("accuracy", "loss")
                    ),
                ]
            }

    def __call__(self, make_batches, max_steps):
        """Evaluates the current weights.

        Args:
          make_batches: Callable (HostShare) -> finite dataset of that host's rows of each batch of
            pre-training features. See `run.training.host_batches`.
          max_steps: int. Maximum number of batches.

        Returns:
          Dict of name to float: masked_lm_accuracy and masked_lm_loss (or those of next_token) over
          predictions, next_sentence_accuracy and next_sentence_loss (or those of another label)
          over sequences, and loss, the mean training loss of the batches.

        Raises:
          InputError: If there is no batch.
        """
        for mean in self._means.values():
            mean.reset_state()
        batches = host_batches.distribute(
            self._strategy, lambda share: make_batches(share).take(max_steps), is_endless=False
        )
        scored = 0
        for features in tqdm(
            batches, desc="evaluating", unit="batch", leave=False, dynamic_ncols=True, disable=None
        ):  # None shows it in terminals only.
            self._score_all(features)
            scored += 1
        if not scored:
            raise InputError(
                "there are too few records for a batch; add records, or set a smaller "
                "`eval_batch_size`"
            )
        return {name: float(mean.result()) for name, mean in self._means.items()}

    @tf.autograph.experimental.do_not_convert  # Nothing to convert; the search takes seconds.
    def _score(self, features):
        """Updates the means with a replica's part of a batch, which may be empty."""
        outputs = self._model(features, training=False)
        replica = tf.distribute.get_replica_context()
        normalizers = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, self._loss.normalizers(features)
        )
        loss = self._loss.partial_losses(outputs, features, normalizers)["loss"]
        self._means["loss"].update_state(replica.all_reduce(tf.distribute.ReduceOp.SUM, loss))
        self._update(
            self._token_loss,
            outputs["masked_lm_logits"],
            features["masked_lm_ids"],
            features["masked_lm_weights"],
        )
        if self._sentence_label:
            logits, labels = losses.sentence_scores(self._sentence_label, outputs, features)
            weights = losses.get_sentence_weights(self._sentence_label, features)
            if weights is None:
                weights = tf.ones_like(labels, tf.float32)
            self._update(self._sentence_label, logits, labels, weights)

    def _update(self, prefix, logits, labels, weights):
        """Updates the means `prefix`_loss and `prefix`_accuracy with weighted losses and hits."""
        items = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        hits = tf.equal(tf.argmax(logits, axis=-1, output_type=labels.dtype), labels)
        self._means[f"{prefix}_loss"].update_state(items, weights)
        self._means[f"{prefix}_accuracy"].update_state(hits, weights)
