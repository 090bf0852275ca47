"use strict";

// Data of the page: texts, heads, and their measures as JSON, matrices as base64.
const DATA = JSON.parse(document.getElementById("data").textContent);
const HEADS = DATA.heads; // [layer, head] of each matrix
const LAYERS = [...new Set(HEADS.map(([layer]) => layer))];
const FILTERS = { all: [null, null], aa: [0, 0], ab: [0, 1], ba: [1, 0], bb: [1, 1] }; // source and target text
const SQUARES = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** 2); // codes represent square roots

let decoded = { text: -1, bytes: null }; // matrices of the current text

/** Returns the attention of a head in a text, row by row: Float32Array [S * S]. */
function getAttention(text, head) {
  if (decoded.text !== text) {
    const binary = atob(document.getElementById(`attention-${text}`).textContent);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
    decoded = { text, bytes };
  }
  const size = DATA.texts[text].pieces.length ** 2;
  return Float32Array.from(decoded.bytes.subarray(head * size, (head + 1) * size), (code) => SQUARES[code]);
}

/** Converts attention between tokens to words: summed over target tokens, averaged over source tokens. */
function joinWords(values, words) {
  const size = words.length, count = words[size - 1] + 1;
  const lengths = new Float32Array(count), joined = new Float32Array(count * count);
  for (const word of words) lengths[word] += 1;
  for (let from = 0; from < size; from++) {
    for (let to = 0; to < size; to++) {
      joined[words[from] * count + words[to]] += values[from * size + to] / lengths[words[from]];
    }
  }
  return joined;
}

/** Returns the tokens or words of a text, each with label, number of its text, and "cls", "sep", or "". */
function getUnits(text, join) {
  const unit = (label, index) => ({ label, segment: text.segments[index], special: text.special[index] });
  if (!join) return text.pieces.map(unit);
  return text.surfaces.map((label, word) => unit(label, text.words.indexOf(word)));
}

/** Applies filters and switches to a head's attention: units, numbers of the remaining rows and columns, and values. */
function filterAttention(state, head) {
  const text = DATA.texts[state.text], units = getUnits(text, state.join);
  let values = getAttention(state.text, head);
  if (state.join) values = joinWords(values, text.words);
  const stays = (segment) => [...units.keys()].filter((index) => {
    const unit = units[index];
    if ((unit.special === "cls" && !state.cls) || (unit.special === "sep" && !state.sep)) return false;
    return segment === null || unit.segment === segment;
  });
  const [from, to] = FILTERS[state.filter];
  return { units, rows: stays(from), columns: stays(to), value: (row, column) => values[row * units.length + column] };
}

/** Returns the indices in HEADS of a layer's heads. */
function getHeads(layer) {
  return [...HEADS.keys()].filter((index) => HEADS[index][0] === layer);
}

/** Returns the measure that characterizes a head: the largest fraction of its attention. */
function getBehavior(text, head) {
  const values = DATA.texts[text].measures[head];
  let best = -1;
  DATA.measures.forEach((measure, index) => {
    if (measure.behavior && values[index] !== null && (best < 0 || values[index] > values[best])) best = index;
  });
  return { name: DATA.measures[best].title, value: values[best] };
}

/** Describes a head in a label. */
function describeHead(text, head) {
  const [layer, number] = HEADS[head], best = getBehavior(text, head);
  const entropy = DATA.texts[text].measures[head][0];
  return `Layer ${layer}, head ${number}: ${best.name} ${best.value.toFixed(2)}, entropy ${entropy.toFixed(2)} nats`;
}
