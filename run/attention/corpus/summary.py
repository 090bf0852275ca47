"""The page of an analysis: tables and pictures, each head a link into the attention report. No script, no network."""

import base64
import hashlib
import html
import math
import os

from bert_tf.analysis.behaviours import MEASURES
from bert_tf.files import new_file
from run.attention.page import read_web_file

PAGE_FILE = "index.html"
SHADES = 20  # steps of a cell's colour
MAP_SIZE, MAP_EDGE = 640, 36  # of the map, in pixels


def write(folder, report, facts, heads, values, coordinates, relations, curve):
    """Writes the page.

    Args:
      folder: where it goes, with the attention report.
      report: name of that file.
      facts: list of (name, text) of what was read.
      heads: list of (layer, head), K of them.
      values: float64 [K, M] of MEASURES.
      coordinates: float64 [K, 2] of the map, or None.
      relations: list of run.attention.corpus.relations.Relation.
      curve: run.attention.importance.Curve, or None.
    """
    links = _Links(report, heads)
    body = ["<h1>What the heads do</h1>", _facts(facts),
            f'<p><a href="{html.escape(report)}">The attention report</a> of the first texts; each number of a head '
            "below leads to that head there.</p>"]
    if relations:
        body.append(_relations(links, relations))
    if curve:
        body.append(_curve(links, curve))
    body += [_measure(links, place, measure, values[:, place]) for place, measure in enumerate(MEASURES)
             if not all(map(math.isnan, values[:, place]))]
    if coordinates is not None:
        body.append(_map(links, coordinates))
    style = read_web_file("analysis.css") + "".join(
        f".s{step} {{ background: color-mix(in srgb, var(--accent) {100 * step // SHADES}%, var(--back)); }}\n"
        for step in range(SHADES + 1))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    with new_file(os.path.join(folder, PAGE_FILE)) as file:
        file.write('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                   '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                   f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
                   f"style-src 'sha256-{digest}'; img-src 'self'\">\n"
                   f"<title>What the heads do</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n")
        file.write("\n".join(body))
        file.write("\n</main>\n</body>\n</html>\n")


class _Links:
    """Links to heads in the attention report."""

    def __init__(self, report, heads):
        self._report, self.heads = report, heads

    def address(self, place):
        """Where a head is, as the text of an attribute."""
        layer, head = self.heads[place]
        return html.escape(f"{self._report}#view=lines&layer={layer}&head={head}")

    def link(self, place, text=None):
        """A link to a head, with a text or its number."""
        layer, head = self.heads[place]
        return f'<a href="{self.address(place)}">{html.escape(text or f"{layer}.{head}")}</a>'


def _facts(facts):
    rows = (f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in facts)
    return f"<dl>{''.join(rows)}</dl>"


def _relations(links, relations):
    rows = []
    for each in relations:
        held_out = "" if each.held_out is None else _share(each.held_out)
        rows.append(f"<tr><th scope=row>{html.escape(each.name)}</th><td>{each.direction}</td><td>{each.cases:,}</td>"
                    f"<td>{links.link(each.head)}</td><td>{_with_interval(each.score)}</td><td>{held_out}</td>"
                    f"<td>{each.offset:+d}</td><td>{_with_interval(each.baseline)}</td></tr>")
    return ("<section><h2>Dependencies</h2><p>For each relation the head whose attention finds it most often: of all "
            "other words the dependent attends most to its head, or of all other words its head attends most to the "
            "dependent. Beside it the best fixed offset from a word to its head. In brackets 95&nbsp;% confidence "
            "intervals. Held out: the head chosen on one half of the sentences and judged on the other.</p>"
            "<div class=wide><table><tr><th>relation<th>direction<th>cases<th>layer.head<th>accuracy<th>held out"
            "<th>offset<th>its accuracy</tr>" + "".join(rows) + "</table></div></section>")


def _curve(links, curve):
    order = sorted(range(len(curve.heads)), key=lambda place: -curve.importance[place])
    metric = html.escape(curve.metric.removeprefix("eval_"))
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}" for name in curve.scores)
    rows = "".join(f"<tr><th scope=row>{count}</th>" + "".join(
        f"<td>{scores[place]:.4f}</td>" for scores in curve.scores.values()) + "</tr>"
        for place, count in enumerate(curve.counts))
    listed = ", ".join(f"{links.link(place)} {curve.importance[place]:.2f}" for place in order)
    return (f"<section><h2>Importance</h2><p>{metric} as heads go, the least important first, and in random orders.</p>"
            '<p><img src="curve.png" alt="the curve of the table below"></p>'
            f"<div class=wide><table><tr><th>heads out{head}</tr>{rows}</table></div>"
            f"<p>The heads by importance, of norm 1 in each layer: {listed}.</p></section>")


def _measure(links, place, measure, values):
    largest = 1.0 if measure.is_behaviour else max(1e-9, *(value for value in values if not math.isnan(value)))
    layers = sorted({layer for layer, _ in links.heads})
    most = 1 + max(head for _, head in links.heads)
    rows = []
    for layer in layers:
        cells = []
        for number in (number for number, (of, _) in enumerate(links.heads) if of == layer):
            value = values[number]
            text = "–" if math.isnan(value) else f"{value:.2f}"
            step = 0 if math.isnan(value) else round(SHADES * min(1.0, value / largest))
            cells.append(f'<td class="s{step}">{links.link(number, text)}</td>')
        rows.append(f"<tr><th scope=row>{layer}</th>{''.join(cells)}</tr>")
    header = "".join(f"<th>{head}" for head in range(most))
    return (f'<section id="measure-{place}"><h2>{html.escape(measure.title)}</h2><p>{html.escape(measure.help)}</p>'
            f"<div class=wide><table class=cells><tr><th>layer{header}</tr>{''.join(rows)}</table></div></section>")


def _map(links, coordinates):
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    scale = (MAP_SIZE - 2 * MAP_EDGE) / max(1e-9, *(high - low))
    layers = 1 + max(layer for layer, _ in links.heads)
    points = []
    for place, (x, y) in enumerate((coordinates - low) * scale + MAP_EDGE):
        layer, head = links.heads[place]
        colour = f"hsl({250 - 210 * layer // max(1, layers - 1)} 75% 45%)"
        points.append(f'<a href="{links.address(place)}" aria-label="layer {layer}, head {head}">'
                      f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>'
                      f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{layer}.{head}</text></a>')
    height = (high - low)[1] * scale + 2 * MAP_EDGE
    return ("<section><h2>Heads that attend alike</h2><p>Jensen-Shannon divergences between heads, the mean over "
            "tokens, scaled to two dimensions; the deeper the layer, the redder.</p><div class=wide>"
            f'<svg viewBox="0 0 {MAP_SIZE} {height:.0f}" width="{MAP_SIZE}" height="{height:.0f}">'
            f'{"".join(points)}</svg></div></section>')


def _share(value):
    return f"{100 * value:.1f}"


def _with_interval(share):
    return f"{_share(share.value)} <small>[{_share(share.low)}, {_share(share.high)}]</small>"
