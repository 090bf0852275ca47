"""What an analysis comes to, in files: tables, pictures and the page of them."""

import os

from run.attention.corpus import pictures, scaling, summary, tables
from run.attention.corpus.relations import relations_of

SHOWN = 12  # relations that are printed


def write(folder, settings, heads, sums, curve, report):
    """Writes all files, and prints what there is.

    Args:
      folder: where they go.
      settings: AnalyzeAttentionSettings.
      heads: list of (layer, head).
      sums: run.attention.corpus.sums.Sums.
      curve: run.attention.importance.Curve, or None.
      report: name of the attention report in the folder.
    """
    measures, divergences, relations = sums.measures(), sums.mean_divergences(), relations_of(sums)
    coordinates = None if divergences is None else scaling.two_dimensions(divergences)
    tables.write_heads(folder, heads, measures, coordinates)
    tables.write_numbers(folder, heads, sums)
    pictures.measures(folder, heads, measures)
    if coordinates is not None:
        pictures.head_map(folder, heads, coordinates)
    if relations:
        tables.write_relations(folder, heads, relations)
        pictures.relations(folder, heads, relations)
    if curve:
        tables.write_curve(folder, curve)
        pictures.curve(folder, curve)
    summary.write(folder, report, _facts(settings, heads, sums), heads, measures, coordinates, relations, curve)
    _print(folder, heads, sums, relations, curve)


def _facts(settings, heads, sums):
    facts = [("model", os.path.basename(os.path.normpath(settings.model.init_checkpoint))),
             ("heads", f"{len(heads)} in {1 + max(layer for layer, _ in heads)} layers"),
             ("texts", f"{sums.num_texts:,}, {int(sums.counts[0]):,} tokens; {sums.num_cut:,} texts were cut")]
    if sums.relations:
        read = sums.num_sentences - sums.num_skipped
        facts.append(("treebank", f"{read:,} sentences, {int(sums.cases.sum()):,} words with a head; "
                                  f"{sums.num_skipped:,} sentences were too long"))
    return facts


def _print(folder, heads, sums, relations, curve):
    if relations:
        print(f"{'relation':<14}{'cases':>7}  {'direction':<19}{'head':>6}{'accuracy':>10}{'held out':>10}"
              f"{'offset':>8}{'accuracy':>10}")
    names = list(dict.fromkeys(each.name for each in relations))[:SHOWN]
    for name in names:
        each = max((each for each in relations if each.name == name), key=lambda each: each.score.value)
        layer, head = heads[each.head]
        held_out = "-" if each.held_out is None else f"{each.held_out:.3f}"
        print(f"{each.name:<14}{each.cases:>7,}  {each.direction:<19}{f'{layer}.{head}':>6}{each.score.value:>10.3f}"
              f"{held_out:>10}{each.offset:>+8}{each.baseline.value:>10.3f}")
    if curve:
        for name, scores in curve.scores.items():
            print(f"{curve.metric}, heads out by {name}: "
                  + ", ".join(f"{count}: {score:.3f}" for count, score in zip(curve.counts, scores, strict=True)))
    print(f"{os.path.join(folder, summary.PAGE_FILE)}: {sums.num_texts:,} texts, {sums.num_sentences:,} sentences")
