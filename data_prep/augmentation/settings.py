"""The settings of augment_data. Does not import TensorFlow, because the script defines its flags from them."""

import dataclasses

from bert_tf.cli import roles
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from data_prep.tasks import tables
from data_prep.tasks.glue import find_task

NO_STOP_WORDS, ENGLISH = STOP_WORDS = ("none", "english")


@dataclasses.dataclass(frozen=True)
class AugmentationSettings(Settings):
    """Settings for the texts to copy and the replacement of their words."""

    input_file: str | None = setting(
        None, "Table of examples with a header: CSV if the name ends in .csv, otherwise TSV.", required=True,
        role=roles.INPUT_FILE)
    output_file: str | None = setting(
        None, "Table to write, in the same format: each row of the input, followed by its copies.", required=True,
        role=roles.OUTPUT_FILE)
    task_name: str | None = setting(
        None, "Published task whose training file is the input, such as mrpc or sst-2. It determines the columns of "
              "the texts.")
    text_columns: tuple[str, ...] = setting(
        (), "One or two columns of the header with the texts, instead of `task_name`.", not_with="task_name")
    init_checkpoint: str | None = setting(
        None, "Pre-trained BERT: a directory, prefix, or file. Its masked LM and its word embeddings propose "
              "replacements.", required=True, role=roles.INPUT)
    bert_config_file: str | None = setting(None, "bert_config.json. Defaults to the one in the checkpoint's directory.",
                                           role=roles.INPUT)
    vocab_file: str | None = setting(None, "Vocabulary of the checkpoint. Defaults to the one in its directory.",
                                     role=roles.INPUT_FILE)
    do_lower_case: bool | None = setting(
        None, "Lowercase the text. Defaults to the setting in the checkpoint's directory, otherwise to true.")
    strip_accents: bool | None = setting(
        None, "Strip accents. Defaults to the setting in the checkpoint's directory, otherwise to --do_lower_case.")
    copies: int = setting(20, "Copies of each row; duplicates are omitted.", lower=1, upper=1000)
    replace_probability: float = setting(0.4, "Probability of replacing a word in a copy.", lower=1e-6, upper=1.0)
    num_candidates: int = setting(15, "Replacements to propose for each word; all are equally likely.",
                                  lower=1, upper=1000)
    masked_lm: bool = setting(
        True, "Propose replacements of single-token words with the masked LM. If false, and for words of several "
              "tokens, proposes the nearest word embeddings.")
    stop_words: str = setting(
        ENGLISH, "Words that are never replaced: scikit-learn's list of English stop words, or none.",
        choices=STOP_WORDS)
    max_seq_length: int = setting(
        128, "Maximum number of tokens in an input of the masked LM; for a longer text, it reads the tokens around the "
             "word.", lower=8, needs="masked_lm=true")
    batch_size: int = setting(64, "Words per batch of the masked LM.", lower=1, needs="masked_lm=true")
    random_seed: int = setting(12345, "Seed of the replacements. The same input, seed, and model create the same file.",
                               most=LARGEST_SEED)

    def check(self):
        """See Settings."""
        if len(self.text_columns) > 2:
            raise InputError(f"`text_columns`={','.join(self.text_columns)}: must be one or two columns")

    def check_files(self):
        """See Settings."""
        if self.output_file.lower().endswith(".csv") != self.input_file.lower().endswith(".csv"):
            raise InputError(f"`output_file`={self.output_file}: must have the same format as `input_file`="
                             f"{self.input_file}; both must end in .csv, or neither")

    @property
    def has_header(self):
        """True if the first row of the input names its columns. In CoLA's training file, it does not."""
        return not self.task_name or find_task(self.task_name).first_split.header

    def find_text_positions(self, header):
        """Returns the 0-based positions of the texts in a row, one or two; header: fields of the first row.

        Raises:
          InputError: If no setting specifies the texts, or if a column or a published task does not exist.
        """
        if self.text_columns:
            return [tables.find_position(column, header, self.input_file) for column in self.text_columns]
        if not self.task_name:
            raise InputError(f"`text_columns` or `task_name` is required; the columns are "
                             f"{tables.list_names(header)}")
        split = find_task(self.task_name).first_split
        return [column for column in (split.text_a, split.text_b) if column is not None]
