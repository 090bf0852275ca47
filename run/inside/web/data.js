"use strict";

// What the page was made with: texts, heads and their measures as JSON, matrices as base64.
const DATA = JSON.parse(document.getElementById("data").textContent);
const HEADS = DATA.heads; // [layer, head] of each matrix
const LAYERS = [...new Set(HEADS.map(([layer]) => layer))];
const FILTERS = { all: [null, null], aa: [0, 0], ab: [0, 1], ba: [1, 0], bb: [1, 1] }; // texts that attention is from, to
const SQUARES = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** 2); // codes are of square roots

let decoded = { text: -1, bytes: null }; // of the one text that is shown

/** The attention of a head in a text, row by row: Float32Array [S * S]. */
function attentionOf(text, head) {
  if (decoded.text !== text) {
    const packed = atob(document.getElementById(`attention-${text}`).textContent);
    const bytes = new Uint8Array(packed.length);
    for (let place = 0; place < packed.length; place++) bytes[place] = packed.charCodeAt(place);
    decoded = { text, bytes };
  }
  const size = DATA.texts[text].pieces.length ** 2;
  return Float32Array.from(decoded.bytes.subarray(head * size, (head + 1) * size), (code) => SQUARES[code]);
}

/** Attention between words out of that between pieces: summed to the pieces of a word, averaged from them. */
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

/** What attention is between: pieces or words, each with label, number of its text, and "cls", "sep" or "". */
function unitsOf(text, join) {
  const unit = (label, place) => ({ label, segment: text.segments[place], special: text.special[place] });
  if (!join) return text.pieces.map(unit);
  return text.surfaces.map((label, word) => unit(label, text.words.indexOf(word)));
}

/** A head's attention as filters and switches leave it: units, the numbers of rows and columns that stay, values. */
function shown(state, head) {
  const text = DATA.texts[state.text], units = unitsOf(text, state.join);
  let values = attentionOf(state.text, head);
  if (state.join) values = joinWords(values, text.words);
  const stays = (segment) => [...units.keys()].filter((place) => {
    const unit = units[place];
    if ((unit.special === "cls" && !state.cls) || (unit.special === "sep" && !state.sep)) return false;
    return segment === null || unit.segment === segment;
  });
  const [from, to] = FILTERS[state.filter];
  return { units, rows: stays(from), columns: stays(to), value: (row, column) => values[row * units.length + column] };
}

/** The places in HEADS of a layer's heads. */
function headsOf(layer) {
  return [...HEADS.keys()].filter((place) => HEADS[place][0] === layer);
}

/** The measure that says most of a head: of those that are shares of its attention the largest. */
function behaviourOf(text, head) {
  const values = DATA.texts[text].measures[head];
  let best = -1;
  DATA.measures.forEach((measure, place) => {
    if (measure.behaviour && values[place] !== null && (best < 0 || values[place] > values[best])) best = place;
  });
  return { name: DATA.measures[best].title, value: values[best] };
}

/** A few words on a head, for labels. */
function describe(text, head) {
  const [layer, number] = HEADS[head], best = behaviourOf(text, head);
  const entropy = DATA.texts[text].measures[head][0];
  return `Layer ${layer}, head ${number}: ${best.name} ${best.value.toFixed(2)}, entropy ${entropy.toFixed(2)} nats`;
}
