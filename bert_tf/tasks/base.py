"""The contract of a kind of task: what the code needs to know of its models without TensorFlow."""

from typing import ClassVar

TEXT = {"text": 1}
PAIR = {"text_a": 1, "text_b": 1}


class Kind:
    """A kind of task. A subclass for each is in the module of its name.

    Attributes:
      name: str. Name in task.json and of `--task`.
      is_fine_tuned: bool. False if any checkpoint can serve as it, fine-tuned or not.
      hugging_face: Tuple of str. Model classes of transformers for this kind; the first is the one to write.
      card_fields: Frozenset of str. Fields of task.json that belong to this kind and not to all.
      may_give_number: bool. Whether a model without labels answers with a number (regression).
      head_scope: str. Prefix of the names of the head's variables.
      unused_variables: Tuple of str. Prefixes of the names of variables on which no answer depends.
      per_position: Dict of name of a model's output -> its axis of positions, negative. Other outputs have none.
      signature: Frozenset of str. Outputs of serving_default that only exports of this kind have.
      has_several_rows: bool. Whether one request becomes several rows of IDs.
    """

    name: ClassVar[str]
    is_fine_tuned: ClassVar[bool] = True
    hugging_face: ClassVar[tuple] = ()
    card_fields: ClassVar[frozenset] = frozenset()
    may_give_number: ClassVar[bool] = False
    head_scope: ClassVar[str] = ""
    unused_variables: ClassVar[tuple] = ()
    per_position: ClassVar[dict] = {}
    signature: ClassVar[frozenset] = frozenset()
    has_several_rows: ClassVar[bool] = False

    @property
    def has_labels(self):
        """Whether task.json names labels."""
        return "labels" in self.card_fields

    def gives_number(self, card):
        """Returns whether a model with a TaskMetadata answers with a number instead of labels."""
        return self.may_give_number and not card.labels

    def num_outputs(self, card):
        """Returns the number of rows of the head's kernel: one for each label, 1 without labels."""
        return len(card.labels) or 1

    def needs(self, variable):
        """Returns whether answers depend on the variable of that name."""
        return not variable.startswith(self.unused_variables)

    def inputs(self, pairs=False):
        """Returns the inputs of serving_default.

        Args:
          pairs: bool. Whether an example is two texts, for the kinds whose card has this field.

        Returns:
          Dict of name -> rank: 1 for string [B], 2 for string [B, choices].
        """
        return PAIR if pairs and "pairs" in self.card_fields else TEXT
