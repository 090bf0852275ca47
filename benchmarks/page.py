"""Writes the stored benchmark results to the benchmark page: tables, a chart, and the machine.

    python -m benchmarks.page

Replaces the content between the two marks on the page and keeps the rest. `make bench` runs this after the benchmarks.
"""

import dataclasses
import os
import platform

import tensorflow as tf

from benchmarks import chart, measurements
from bert_tf.cli import flags, processor, script
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_text
from run.training import utilisation

BEGIN, END = "<!-- measured: what stands here is written by benchmarks.page -->", "<!-- end of what is measured -->"
OWN = ("this project", "the rules")  # Prefixes of peers that are not other projects, omitted from the chart.
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")  # Names in Linux.


@dataclasses.dataclass(frozen=True)
class PageSettings(measurements.KeptResults):
    """Settings for the results to read and the files to write."""

    page_file: str = setting("docs/benchmarks.md", "The page, with the two marks that the measurements go between.")
    chart_file: str = setting("docs/peers.png", "The picture, a PNG file.")


def define_flags():
    """Defines the script's flags."""
    flags.define(PageSettings())


def main(argv):
    """Writes the page with the settings from the flags."""
    del argv
    write(flags.read(PageSettings()), describe_machine())


def write(settings, machine):
    """Writes the page and the chart.

    Args:
      settings: PageSettings.
      machine: str. Sentence that describes the machine of the measurements.

    Raises:
      InputError: If there are no comparisons, if their versions differ, or if the page has no marks.
    """
    results = measurements.read_results(settings.results_dir)
    made_with = versions_of(results, settings.results_dir)
    before, after = around_marks(settings.page_file)
    comparisons = [row for result in results for row in result["comparisons"]]
    with_others = [row for row in comparisons if not row["peer"].startswith(OWN)] or comparisons
    figure = chart.make_figure(sorted(with_others, key=lambda row: row["ratio"]), f"{made_with}; make bench")
    with new_file(settings.chart_file, "wb") as file:
        figure.savefig(file, format="png", dpi=chart.DOTS_PER_INCH)
    picture = os.path.relpath(settings.chart_file, os.path.dirname(settings.page_file) or ".")
    measured = [f"{machine} {made_with}.", f"![how many times as fast as each peer]({picture})",
                *map(section, filter(lambda result: result["comparisons"] or result.get("left_out"), results))]
    with new_file(settings.page_file) as file:
        file.write("\n\n".join([before + BEGIN, *measured, END + after]))
    print(f"{settings.page_file}, {settings.chart_file}: {len(comparisons)} comparisons of {len(results)} benchmarks")


def versions_of(results, results_dir):
    """Describes the package versions of all results; raises InputError if they differ."""
    made_with = {(*result["versions"].items(), ("CPU cores", result["cores"])) for result in results}
    if len(made_with) > 1:
        raise InputError(f"`results_dir`={results_dir}: its measurements are of several versions or numbers of cores: "
                         "run all benchmarks again")
    *versions, (_, cores) = made_with.pop()
    return f"{', '.join(f'{package} {version}' for package, version in versions)}; {cores} CPU cores"


def around_marks(path):
    """Returns the text before and after the marks of a page; raises InputError if it has none."""
    before, begin, rest = read_text(path).partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"`page_file`={path}: lacks the marks {BEGIN} and {END}")
    return before, after


def section(result):
    """Formats the heading and the table of a benchmark's result as Markdown."""
    lines = [f"### benchmarks.{result['benchmark']}", ""]
    if result["comparisons"]:
        lines += ["| what | this project | peer | ratio |", "| --- | --- | --- | ---: |"]
        lines += [f"| {row['name']} | {figure(row['ours'])} {row['unit']} | {row['peer']}, {figure(row['theirs'])} "
                  f"{row['unit']} | {figure(row['ratio'])} |" for row in result["comparisons"]]
    for peer in result.get("left_out", ()):
        lines += ["", f"Left out: {peer} is not installed (`pip install -e '.[peers]'`)."]
    return "\n".join(lines)


def figure(value):
    """Formats a number with three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def describe_machine():
    """Describes the machine in a sentence: processor, memory, and its current rate for large matmuls."""
    model, has = processor.read()
    sets = ", ".join(name for name in INSTRUCTION_SETS if name in has)
    rates = [f"{name} {utilisation.matmul_rate(tf.distribute.get_strategy(), dtype) / 1e9:,.0f}"
             for name, dtype in (("float32", tf.float32), ("bfloat16", tf.bfloat16))]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{model or platform.machine()}{f' ({sets})' if sets else ''}, {memory:.0f} GiB; matrix products "
            f"of TensorFlow after the benchmarks, GFLOP/s: {', '.join(rates)}.")


if __name__ == "__main__":
    script.run(main, define_flags)
