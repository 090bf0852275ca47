const NAMESPACE = "http://www.w3.org/2000/svg"; // a name, not an address: nothing is loaded from it
const FONT = "system-ui, sans-serif";
const FAINTEST = 0.01; // attention below it is not drawn as a line

/** Returns the page's colors, from the style sheet. */
function readColors() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["back", "panel", "ink", "faint", "edge", "accent", "mark", "first", "second"].map(
    (name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Creates an HTML element with a text and attributes. */
function html(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Creates an SVG element with attributes and a text. */
function svg(tag, attributes = {}, text = null) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** Creates an empty drawing. Colors are attributes, not style, so that a saved file keeps them. */
function createDrawing(width, height, label) {
  return svg("svg", { xmlns: NAMESPACE, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT,
    "font-size": 14, role: "group", "aria-label": label });
}

/** Truncates a label to a width in pixels. */
function truncateLabel(label, pixels) {
  const most = Math.max(2, Math.floor(pixels / 8)), characters = [...label];
  return characters.length <= most ? label : `${characters.slice(0, most - 1).join("")}…`;
}

/** Converts a color #rrggbb to three numbers. */
function toChannels(color) {
  return [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16));
}

/** Interpolates between two colors; `fraction`: 0 for the first, 1 for the second. */
function interpolate(first, second, fraction) {
  const [from, to] = [toChannels(first), toChannels(second)];
  return from.map((value, place) => Math.round(value + (to[place] - value) * fraction));
}

/** Creates a canvas with one pixel per pair; its shade is the square root of attention. */
function createCanvas(view, colors) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, view.columns.length);
  canvas.height = Math.max(1, view.rows.length);
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  const shades = Array.from({ length: 256 }, (_, place) => interpolate(colors.panel, colors.accent, place / 255));
  let place = 0;
  for (const row of view.rows) {
    for (const column of view.columns) {
      const shade = shades[Math.round(255 * Math.sqrt(Math.min(1, view.value(row, column))))];
      image.data.set([...shade, 255], place);
      place += 4;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Draws words on the left and on the right, and lines for the attention from left to right. */
function drawLines(view, state, colors, width, label) {
  const height = 22, top = 26, left = Math.round(width * 0.36), right = Math.round(width * 0.64);
  const most = Math.max(view.rows.length, view.columns.length, 1);
  const root = createDrawing(width, top + most * height + 8, label);
  const middle = (place) => top + place * height + height / 2;
  root.append(svg("text", { x: left - 8, y: 16, "text-anchor": "end", fill: colors.faint, "font-size": 12 }, "from"));
  root.append(svg("text", { x: right + 8, y: 16, fill: colors.faint, "font-size": 12 }, "to"));
  const lines = svg("g", { "stroke-width": 2, fill: "none" });
  view.rows.forEach((row, y) => {
    if (state.token >= 0 && state.token !== row) return;
    view.columns.forEach((column, place) => {
      const weight = view.value(row, column);
      if (weight < FAINTEST) return;
      const color = view.units[column].segment ? colors.second : colors.first;
      lines.append(svg("line", { x1: left, y1: middle(y), x2: right, y2: middle(place), stroke: color,
        "stroke-opacity": (Math.min(1, weight) ** (state.token < 0 ? 0.8 : 0.5)).toFixed(3), "data-from": row, "data-to": column,
        "data-weight": weight.toFixed(3) }));
    });
  });
  root.append(lines);
  view.rows.forEach((row, y) => {
    const unit = view.units[row], chosen = state.token === row;
    const group = svg("g", { role: "button", tabindex: -1, "data-row": row, "aria-pressed": chosen,
      "aria-label": describeStrongest(view, row) });
    group.append(svg("rect", { x: 0, y: top + y * height, width: left, height, rx: 3,
      fill: chosen ? colors.accent : colors.back, "fill-opacity": chosen ? 1 : 0 }));
    group.append(svg("text", { x: left - 8, y: middle(y) + 5, "text-anchor": "end",
      fill: chosen ? colors.back : colors.ink }, truncateLabel(unit.label, left - 12)));
    root.append(group);
  });
  view.columns.forEach((column, place) => {
    const weight = state.token < 0 || !view.rows.includes(state.token) ? null : view.value(state.token, column);
    if (weight !== null) {
      root.append(svg("rect", { x: right, y: top + place * height, width: width - right, height, rx: 3,
        fill: view.units[column].segment ? colors.second : colors.first,
        "fill-opacity": (0.5 * Math.min(1, weight)).toFixed(3) }));
      root.append(svg("text", { x: width - 4, y: middle(place) + 4, "text-anchor": "end", fill: colors.ink,
        "font-size": 12 }, weight < 0.005 ? "" : weight.toFixed(2)));
    }
    root.append(svg("text", { x: right + 8, y: middle(place) + 5, fill: colors.ink },
      truncateLabel(view.units[column].label, width - right - (weight === null ? 10 : 56))));
  });
  return root;
}

/** Describes the strongest attention of a word. */
function describeStrongest(view, row) {
  const order = [...view.columns].sort((one, other) => view.value(row, other) - view.value(row, one)).slice(0, 3);
  const parts = order.map((column) => `${view.units[column].label} ${view.value(row, column).toFixed(2)}`);
  return `from ${view.units[row].label} to ${parts.join(", ")}`;
}

/** Draws the matrix of a head, one cell per pair, with the words next to it. */
function drawMatrix(view, colors, width, label) {
  const rows = view.rows.length, columns = view.columns.length, side = 104, top = 96;
  const cell = Math.max(9, Math.min(28, Math.floor((width - side - 4) / Math.max(1, columns))));
  const root = createDrawing(Math.max(width, side + columns * cell + 4), top + rows * cell + 4, label);
  root.append(svg("image", { x: side, y: top, width: Math.max(1, columns * cell), height: Math.max(1, rows * cell),
    preserveAspectRatio: "none", "image-rendering": "pixelated", href: createCanvas(view, colors).toDataURL() }));
  const size = Math.min(13, cell + 2);
  view.rows.forEach((row, place) => root.append(svg("text", { x: side - 5, y: top + (place + 0.5) * cell + size / 3,
    "text-anchor": "end", fill: colors.ink, "font-size": size }, truncateLabel(view.units[row].label, side - 8))));
  view.columns.forEach((column, place) => {
    const x = side + (place + 0.5) * cell + size / 3;
    root.append(svg("text", { x, y: top - 5, transform: `rotate(-90 ${x} ${top - 5})`, fill: colors.ink,
      "font-size": size }, truncateLabel(view.units[column].label, top - 8)));
  });
  root.pairAt = (x, y) => {
    const row = view.rows[Math.floor((y - top) / cell)], column = view.columns[Math.floor((x - side) / cell)];
    return row === undefined || column === undefined || x < side || y < top ? null : [row, column];
  };
  return root;
}

/** Draws a measure of all heads: one cell per head, one row per layer. */
function drawHeads(state, colors, width, label) {
  const measures = DATA.texts[state.text].measures, measure = DATA.measures[state.measure];
  const most = Math.max(...LAYERS.map((layer) => getHeads(layer).length)), side = 34, top = 24;
  const cell = Math.max(26, Math.min(56, Math.floor((width - side) / most))), high = Math.min(cell, 34);
  const root = createDrawing(Math.max(side + most * cell, 60), top + LAYERS.length * high + 4, label);
  const values = measures.map((row) => row[state.measure]).filter((value) => value !== null);
  const largest = measure.behavior ? 1 : Math.max(...values, 1e-9);
  for (let head = 0; head < most; head++) {
    root.append(svg("text", { x: side + (head + 0.5) * cell, y: 16, "text-anchor": "middle", fill: colors.faint,
      "font-size": 12 }, head));
  }
  LAYERS.forEach((layer, y) => {
    root.append(svg("text", { x: side - 8, y: top + y * high + high / 2 + 4, "text-anchor": "end", fill: colors.faint,
      "font-size": 12 }, layer));
    getHeads(layer).forEach((head, x) => {
      const value = measures[head][state.measure], fraction = value === null ? 0 : Math.min(1, value / largest);
      const text = value === null ? "–" : value.toFixed(value >= 9.995 ? 1 : 2);
      const group = svg("g", { role: "button", tabindex: -1, "data-head": head,
        "aria-label": `Layer ${layer}, head ${HEADS[head][1]}: ${measure.title} ${text}` });
      group.append(svg("rect", { x: side + x * cell + 1, y: top + y * high + 1, width: cell - 2, height: high - 2, rx: 2,
        fill: `rgb(${interpolate(colors.panel, colors.accent, fraction)})`,
        stroke: head === state.headPlace ? colors.mark : "none", "stroke-width": 3 }));
      group.append(svg("text", { x: side + (x + 0.5) * cell, y: top + y * high + high / 2 + 4, "text-anchor": "middle",
        "font-size": cell < 34 ? 10 : 12, fill: fraction > 0.55 ? colors.back : colors.ink },
      cell < 34 ? text.replace(/^0/, "") : text));
      root.append(group);
    });
  });
  return root;
}

/** Draws the matrices of all heads, for saving. */
function drawGrid(state, colors) {
  const size = 60, side = 30, most = Math.max(...LAYERS.map((layer) => getHeads(layer).length));
  const root = createDrawing(side + most * (size + 4), 20 + LAYERS.length * (size + 4), "all heads");
  LAYERS.forEach((layer, y) => {
    root.append(svg("text", { x: side - 8, y: 20 + y * (size + 4) + size / 2, "text-anchor": "end", fill: colors.ink },
      layer));
    getHeads(layer).forEach((head, x) => {
      if (!y) root.append(svg("text", { x: side + x * (size + 4) + size / 2, y: 14, "text-anchor": "middle",
        fill: colors.ink }, x));
      root.append(svg("image", { x: side + x * (size + 4), y: 20 + y * (size + 4), width: size, height: size,
        preserveAspectRatio: "none", "image-rendering": "pixelated",
        href: createCanvas(filterAttention(state, head), colors).toDataURL() }));
    });
  });
  return root;
}

/** Draws a table, for saving. */
function drawTable(table, colors) {
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  const widths = rows[0].map((_, column) => 14 + 8 * Math.max(...rows.map((row) => (row[column] || "").length)));
  const starts = widths.map((_, column) => 6 + widths.slice(0, column).reduce((sum, width) => sum + width, 0));
  const root = createDrawing(starts.at(-1) + widths.at(-1), rows.length * 20 + 10, "table");
  rows.forEach((row, y) => row.forEach((text, column) => root.append(svg("text", { x: starts[column], y: 20 * (y + 1),
    fill: y ? colors.ink : colors.faint, "font-family": "monospace", "font-size": 13 }, text))));
  return root;
}

/** Converts a drawing to the text of an SVG file, with the background color of the page. */
function toFile(root, colors) {
  const copy = root.cloneNode(true);
  copy.insertBefore(svg("rect", { width: "100%", height: "100%", fill: colors.back }), copy.firstChild);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
