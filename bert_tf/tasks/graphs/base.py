"""The contract of the TensorFlow part of a kind of task."""

import abc
import dataclasses


@dataclasses.dataclass(frozen=True)
class ServingOptions:
    """Serving settings that are not in TaskMetadata; see the settings with these names in run.inference.settings."""

    max_answer_length: int = 30
    top_k: int = 5
    version_2_with_negative: bool = False
    null_score_diff_threshold: float = 0.0
    static_length: bool = False
    next_sentence: bool = False  # Not a setting; see bert_tf.serving.checkpoint.
    has_pooler: bool = True  # Not a setting either.


class Graph(abc.ABC):
    """The model, the loss, and the served model of a kind of task. Each subclass is in the module of its name.

    Only kinds that are fine-tuned have a loss.
    """

    @abc.abstractmethod
    def model(self, encoder, metadata):
        """Creates a model of bert_tf.models: BertEncoder, TaskMetadata -> tf_keras.Model."""

    def loss(self, metadata, ignore_padding=False):
        """Returns the `bert_tf.losses.TotalLoss` of the model's outputs.

        Args:
          metadata: TaskMetadata.
          ignore_padding: bool. Whether the model's outputs at padding are meaningless.
        """
        raise NotImplementedError

    def teaching(self, metadata):
        """Returns the key in `bert_tf.techniques.distillation.LOGITS_LOSSES` of the distillation loss.

        Args:
          metadata: TaskMetadata.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def servable(self, model, tokenizer, metadata, options):
        """Creates a `bert_tf.export.Servable` from a model, its BertTokenizer, TaskMetadata, and ServingOptions."""
