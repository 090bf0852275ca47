"""Settings for files of texts. Does not import TensorFlow."""

import dataclasses
from typing import ClassVar

from bert_tf.cli import roles
from bert_tf.cli.rules import Needs, Required, any_of, equals
from bert_tf.cli.settings import Settings, setting
from bert_tf.serving import openvino_ranges
from data_prep.tables import dialects
from run.inference import request_files

TEXT_FILES = any_of("input_file", "calibration_file")


@dataclasses.dataclass(frozen=True)
class RequestFormatSettings(Settings):
    """Columns of a file of texts."""

    outer_settings: ClassVar = ("input_file", "calibration_file")

    columns: tuple[str, ...] = setting(
        (),
        "Columns of the table, or keys of the objects, for the inputs of the model in order: "
        "text; text_a, text_b; question, context; or text_a and one column per choice. Defaults "
        "to the names of the inputs, or to common names. For a table without a header: the names "
        "of all its columns.",
        rules=[Needs(TEXT_FILES)],
    )
    table_dialect: str = setting(
        dialects.AUTO,
        "Delimiter of a table, and whether its fields can be quoted. auto: find it from the header "
        "and the first rows.",
        choices=(dialects.AUTO, *dialects.DIALECTS),
        rules=[Needs(TEXT_FILES)],
        rare=True,
    )

    @property
    def options(self):
        """The request_files.RequestOptions."""
        return request_files.RequestOptions(self.columns, dialect=self.table_dialect)


@dataclasses.dataclass(frozen=True)
class RequestSettings(RequestFormatSettings):
    """File of texts."""

    input_file: str | None = setting(
        None,
        f"Input file: {request_files.FORMATS}. Required.",
        rules=[Required()],
        role=roles.INPUT_FILE,
    )
    batch_size: int = setting(32, "Batch size in rows.", min_value=1)


@dataclasses.dataclass(frozen=True)
class CalibrationSettings(RequestFormatSettings):
    """Texts that determine the ranges of an int8 model."""

    outer_settings: ClassVar = (*RequestFormatSettings.outer_settings, "format", "weights")

    calibration_file: str | None = setting(
        None,
        "Texts like those of your requests, for a faster int8 model of OpenVINO: the ranges of the "
        "inputs of matrix multiplications are computed once, from up to "
        f"{openvino_ranges.MAX_EXAMPLES} random rows of this file, instead of for each text. "
        f"Requires nncf ({openvino_ranges.INSTALL}). The file is {request_files.FORMATS}.",
        rules=[Needs(equals("format", "openvino")), Needs(equals("weights", "int8"))],
        role=roles.INPUT_FILE,
    )
