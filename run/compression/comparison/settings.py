"""What a comparison is told. Free of TensorFlow: the script defines its flags of it."""

import dataclasses
import os

from bert_tf.cli import places
from bert_tf.cli.model_settings import ModelSettings
from bert_tf.cli.settings import LARGEST_SEED, Settings, setting
from bert_tf.errors import InputError
from run.inference.settings import ExportEvaluationSettings

FORMATS = ("saved_model", "litert_float32", "litert_float16", "litert_int8")
DATA = ("task_name", "data_dir", "dev_file", "predict_file", "eval_batch_size")


@dataclasses.dataclass(frozen=True)
class ComparisonSettings(Settings):
    """Fine-tuned models of one task, and the development data that they are judged on."""

    models: tuple[str, ...] = setting(
        (), "Folders or checkpoints of fine-tuned models of one task, as --init_checkpoint of the other scripts; what "
            "all others are compared with comes first. Needed.", required=True, place=places.CHECKPOINT)
    formats: tuple[str, ...] = setting(
        ("saved_model", "litert_int8"), f"What each is exported as: {', '.join(FORMATS)}.", required=True)
    output_dir: str | None = setting(
        None, "Folder for comparison.txt, comparison.tsv and comparison.png; made if missing. Needed.", required=True,
        place=places.SHARED_FOLDER)
    max_seq_length: int | None = setting(
        None, "Longest sequence in WordPiece tokens; unset means that of each model's task.json.", lower=4)
    task_name: str | None = setting(
        None, "Of classifiers: as run_classifier's; unset means what each model's run.json says.")
    data_dir: str | None = setting(None, "Of classifiers: folder of the task's files, as run_classifier's.")
    dev_file: str | None = setting(None, "Of taggers or of multiple choice: file to evaluate on.")
    predict_file: str | None = setting(None, "Of span labelers: SQuAD JSON to evaluate on.")
    eval_batch_size: int = setting(32, "Examples that go through a model together when it is scored.", lower=1)
    timed_texts: int = setting(
        64, "Texts of the development data, drawn by chance, that the models are timed with.", lower=8)
    random_seed: int = setting(12345, "Fixes which texts these are.", most=LARGEST_SEED)

    def check(self):
        """See Settings."""
        for each in self.formats:
            if each not in FORMATS:
                raise InputError(f"it must be among {', '.join(FORMATS)}", "formats", each)
        for path in self.models:
            if self.models.count(path) > 1:
                raise InputError("is named twice", "models", path)

    def of_model(self, path):
        """The ExportEvaluationSettings of the checkpoint at `path`."""
        return ExportEvaluationSettings(
            ModelSettings(init_checkpoint=path), **{name: getattr(self, name) for name in DATA})

    @property
    def names(self):
        """A short name for each model: its folder's, as far up as tells it from the others."""
        parts = [os.path.normpath(path).split(os.sep) for path in self.models]
        for count in range(1, max(map(len, parts)) + 1):
            names = ["/".join(each[-count:]) for each in parts]
            if len(set(names)) == len(names):
                return names
        return list(self.models)
