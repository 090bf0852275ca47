"""The split_sentences job: reads raw text and writes its sentences, all files or none."""

import contextlib
import dataclasses
import io
import os
import re
import sys
import time

import tqdm

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.files import LineDecoder, describe_dropped_bytes, new_file
from bert_tf.notes import tell
from data_prep.pretraining.parts import shard_file
from data_prep.reading import read_blocks
from data_prep.sentences import formats, splitting

OUTPUT_FILE = "sentences.txt"
SHARD_FILE = "sentences-00000-of-00001.txt"
OUTPUT_FILES = r"sentences(-\d{5,}-of-\d{5,})?\.txt"


@dataclasses.dataclass
class Counts:
    """Counts of a run.

    Attributes:
      num_bytes: int. Bytes of text after decompression.
      num_read: float. Bytes of the input files up to the last line.
      num_documents, num_sentences: int. Number of documents and of their sentences.
      num_written: int. Bytes written.
    """

    num_bytes: int = 0
    num_read: float = 0
    num_documents: int = 0
    num_sentences: int = 0
    num_written: int = 0


def run(settings):
    """Splits raw text into sentences.

    Args:
      settings: SentenceSettings.

    Returns:
      Counts.

    Raises:
      InputError: If files or settings are incompatible, if a file is not in its format, or if there
        are fewer documents with a sentence than files to write.
      OSError: If a file cannot be read or written. No output file exists then, or the old ones are
        unchanged.
    """
    start = time.perf_counter()
    input_files = paths.expand_globs("input_file", settings.input_file)
    output_files = check_output_files(settings, input_files)
    text_formats = [
        formats.detect_format(path) if settings.format == "auto" else settings.format
        for path in input_files
    ]
    num_bytes = sum(files.at(path).size() for path in input_files)
    counts = Counts()
    decoder = LineDecoder()
    files.at(settings.output_dir).make_dirs()
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(new_file(path, "wb")) for path in output_files]
        bar = stack.enter_context(_create_bar(num_bytes))
        documents = (
            sentences
            for path, text_format in zip(input_files, text_formats, strict=True)
            for sentences in _read_documents(
                _read_lines(path, counts, bar), path, text_format, decoder, settings.language
            )
        )
        num_used = _write_documents(documents, outputs, counts, num_bytes)
        if not counts.num_documents:
            raise InputError(
                f"no sentence in {settings.input_file}; input files must have text in one of the "
                "formats of `format`"
            )
        if num_used < len(outputs):
            raise InputError(
                "the text has too few documents for this number of files",
                "num_output_shards",
                len(outputs),
            )
    _announce_counts(counts, time.perf_counter() - start)
    if decoder.num_garbled:
        tell(describe_dropped_bytes(decoder.num_garbled))
    return counts


def _create_bar(num_bytes):
    """Creates the progress bar for this many bytes, which is redrawn rarely in a log."""
    return tqdm.tqdm(
        desc="splitting",
        total=num_bytes,
        unit="B",
        unit_scale=True,
        file=sys.stderr,
        mininterval=0.2 if sys.stderr.isatty() else 10,
    )


def _announce_counts(counts, seconds):
    """Reports the counts and the speed of a finished run."""
    announce(
        f"read     {counts.num_bytes / 1e6:,.2f} MB of text in {seconds:.1f} s, "
        f"{counts.num_bytes / 1e6 / seconds:.2f} MB per second"
    )
    announce(
        f"wrote    {counts.num_documents:,} documents, {counts.num_sentences:,} sentences, "
        f"{counts.num_written / 1e6:,.2f} MB"
    )


def check_output_files(settings, input_files):
    """Returns the paths of the files to write, a list.

    Raises:
      InputError: If they would replace or become inputs.
    """
    folder = settings.output_dir
    for path in input_files:
        paths.check_files_not_overwritten("output_dir", folder, OUTPUT_FILES, {"input_file": path})
    for name in (OUTPUT_FILE, SHARD_FILE):
        paths.check_not_read(
            "output_dir", os.path.join(folder, name), {"input_file": settings.input_file}
        )
    names = [
        shard_file(OUTPUT_FILE, number, settings.num_output_shards)
        for number in range(settings.num_output_shards)
    ]
    for name in files.at(folder).names_if_dir():
        if re.fullmatch(OUTPUT_FILES, name) and name not in names:
            raise InputError(
                f"contains {name}, of a run with another `num_output_shards`; remove it, or choose "
                "another directory",
                "output_dir",
                folder,
            )
    output_files = [os.path.join(folder, name) for name in names]
    for path in output_files:
        paths.check_replaceable("output_dir", path)
    return output_files


def _read_lines(path, counts, bar):
    """Yields the lines of a file, as bytes.

    Advances the progress bar by the bytes of the file that were read for each line.
    """
    for block, size in read_blocks(path):
        for line in io.BytesIO(block):  # Unlike bytes.splitlines, ends lines only at \n.
            counts.num_bytes += len(line)
            num_read = min(size * len(line) / len(block), bar.total - counts.num_read)
            counts.num_read += num_read
            bar.update(num_read)
            yield line


def _read_documents(lines, path, text_format, decoder, language):
    """Yields the list of sentences of each document that contains one."""
    sentences = []
    for paragraph in formats.read_paragraphs(lines, text_format, path, decoder):
        if paragraph:
            sentences += splitting.split_paragraph(paragraph, language)
        elif sentences:
            yield sentences
            sentences = []


def _write_documents(documents, outputs, counts, num_bytes):
    """Writes documents to files, each with about the same amount of the input.

    Args:
      documents: Iterable of the list of sentences of each document.
      outputs: List of open files.
      counts: Counts, which increase by the documents.
      num_bytes: int. Bytes of the input files.

    Returns:
      The number of files with a document.
    """
    output = 0
    position = 0  # At the end of the previous document.
    for sentences in documents:
        if counts.num_documents and position >= num_bytes * (output + 1) / len(outputs):
            # The next file begins with the first document after this part of the input. Several
            # documents can end with the last line.
            output = min(output + 1, len(outputs) - 1)
        data = "".join(f"{sentence}\n" for sentence in [*sentences, ""]).encode()
        outputs[output].write(data)
        counts.num_documents += 1
        counts.num_sentences += len(sentences)
        counts.num_written += len(data)
        position = counts.num_read
    return output + 1
