"""The contract of the TensorFlow side of a kind of task."""

import abc
import dataclasses


@dataclasses.dataclass(frozen=True)
class ServingOptions:
    """How a model answers, beyond its TaskMetadata: settings of the same names of run.inference.settings."""

    max_answer_length: int = 30
    top_k: int = 5
    version_2_with_negative: bool = False
    null_score_diff_threshold: float = 0.0
    static_length: bool = False


class Graph(abc.ABC):
    """The model, the loss, and the served model of a kind of task. A subclass for each is in the module of its name.

    Only kinds that are fine-tuned have a loss.
    """

    @abc.abstractmethod
    def model(self, encoder, card):
        """Returns a model of bert_tf.models: BertEncoder, TaskMetadata -> tf_keras.Model."""

    def loss(self, card, ignore_padding=False):
        """Returns the `bert_tf.losses.TotalLoss` of the model's outputs.

        Args:
          card: TaskMetadata.
          ignore_padding: bool. Whether the model's outputs at padding have no meaning.
        """
        raise NotImplementedError

    def teaching(self, card):
        """Returns the key in `bert_tf.techniques.distillation.LOGITS_LOSSES` of the comparison with a teacher's logits.

        Args:
          card: TaskMetadata.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def servable(self, model, tokenizer, card, options):
        """Returns a `bert_tf.export.Servable` of a model: its BertTokenizer, TaskMetadata, ServingOptions."""
