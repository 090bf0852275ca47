const VIEWS = ["grid", "lines", "matrix", "heads", "words"];
const SWITCHES = ["cls", "sep", "join"];
const CONTROLS = { // controls of each view
  grid: ["filter", ...SWITCHES], lines: ["layer", "head", "filter", ...SWITCHES],
  matrix: ["layer", "head", "filter", ...SWITCHES], heads: ["measure"], words: [],
};
const element = (id) => document.getElementById(id);

// State of the page. `head`: index within the layer; `token`: selected row of the matrix, -1 for all.
const state = { text: 0, view: "grid", layer: LAYERS[0], head: 0, filter: "all", cls: true, sep: true, join: false,
  measure: 0, token: -1 };
Object.defineProperty(state, "headPlace", { get: () => getHeads(state.layer)[state.head] });

/** Reads the state from the URL fragment, for example #text=0&view=lines&layer=2&head=5; ignores invalid values. */
function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const number = (name, count) => {
    const value = Number(parameters.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value < count ? value : null;
  };
  state.text = number("text", DATA.texts.length) ?? state.text;
  state.measure = number("measure", DATA.measures.length) ?? state.measure;
  const layer = number("layer", Infinity);
  if (LAYERS.includes(layer)) state.layer = layer;
  state.head = number("head", getHeads(state.layer).length) ?? Math.min(state.head, getHeads(state.layer).length - 1);
  if (VIEWS.includes(parameters.get("view"))) state.view = parameters.get("view");
  if (Object.hasOwn(FILTERS, parameters.get("filter") ?? "")) state.filter = parameters.get("filter");
  for (const name of SWITCHES) if (parameters.has(name)) state[name] = parameters.get(name) === "1";
  state.token = number("token", Infinity) ?? -1;
  resetInvalidState();
}

/** Resets state that does not apply to the text: filters of single texts, candidates of models without any. */
function resetInvalidState() {
  const text = DATA.texts[state.text];
  if (!text.segments.includes(1)) state.filter = "all";
  if (state.view === "words" && !text.candidates) state.view = "grid";
  const units = getUnits(text, state.join);
  if (state.token >= units.length) state.token = -1;
}

function writeAddress() {
  const parts = ["text", "view", "layer", "head", "filter", "measure"].map((name) => `${name}=${state[name]}`);
  parts.push(...SWITCHES.map((name) => `${name}=${Number(state[name])}`));
  if (state.token >= 0) parts.push(`token=${state.token}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

/** Changes the state. */
function change(values) {
  Object.assign(state, values);
  const heads = getHeads(state.layer).length;
  state.head = Math.max(0, Math.min(state.head, heads - 1));
  if ("text" in values || "join" in values) state.token = -1;
  resetInvalidState();
  writeAddress();
  render();
}

function showStatus(text) {
  element("status").textContent = text;
}

function getWidth() {
  return Math.max(300, Math.min(element("view").clientWidth - 8, 900));
}

// Controls.

function setOptions(select, labels, chosen) {
  select.replaceChildren(...labels.map(([value, label]) => html("option", label, { value })));
  select.value = chosen;
}

function renderControls() {
  const text = DATA.texts[state.text], isPair = text.segments.includes(1);
  setOptions(element("text"), DATA.texts.map((each, place) => [place, `${place + 1}. ${each.title}`]), state.text);
  setOptions(element("layer"), LAYERS.map((layer) => [layer, layer]), state.layer);
  setOptions(element("head"), getHeads(state.layer).map((place, head) => [head, HEADS[place][1]]), state.head);
  element("filter").value = state.filter;
  element("filter").disabled = !isPair;
  element("measure").value = state.measure;
  for (const name of SWITCHES) element(name).checked = state[name];
  const used = CONTROLS[state.view];
  for (const name of ["layer", "head", "filter", "measure", ...SWITCHES]) {
    element(name).parentElement.hidden = !used.includes(name) || (name === "filter" && !isPair);
  }
  for (const view of VIEWS) {
    const tab = element(`tab-${view}`), chosen = view === state.view;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  element("tab-words").hidden = !text.candidates;
  element("view").setAttribute("aria-labelledby", `tab-${state.view}`);
}

/** Shows the text and the prediction. */
function renderText() {
  const text = DATA.texts[state.text];
  element("reading").replaceChildren(...text.texts.map((each, place) => {
    const part = html("span", "", { class: place ? "second" : "first" });
    if (text.texts.length > 1) part.append(html("b", place ? " B " : "A "));
    part.append(each);
    return part;
  }));
  const answer = element("answer");
  answer.hidden = !text.answer;
  if (!text.answer) return;
  answer.querySelector("summary").textContent = text.answer.summary;
  answer.querySelector("ul").replaceChildren(...text.answer.rows.map(([name, value]) => {
    const item = html("li"), formatted = typeof value === "number" ? value.toFixed(3) : value;
    item.append(html("span", name), html("span", formatted));
    if (typeof value === "number" && value >= 0 && value <= 1) {
      const meter = html("meter", "", { min: 0, max: 1, "aria-label": name });
      meter.value = value;
      item.append(meter);
    }
    return item;
  }));
}

// Views.

function renderGrid(colors) {
  const most = Math.max(...LAYERS.map((layer) => getHeads(layer).length));
  const grid = html("div", "", { class: "grid", role: "group", "aria-label": "all heads, one row per layer" });
  grid.style.gridTemplateColumns = `max-content repeat(${most}, minmax(0, 5.5rem))`;
  grid.append(html("span", "", { class: "layer" }));
  for (let head = 0; head < most; head++) grid.append(html("span", head, { class: "number" }));
  for (const layer of LAYERS) {
    grid.append(html("span", layer, { class: "layer" }));
    const heads = getHeads(layer);
    heads.forEach((place) => {
      const chosen = place === state.headPlace;
      const button = html("button", "", { type: "button", "data-head": place, "aria-pressed": chosen,
        "aria-label": describeHead(state.text, place), title: describeHead(state.text, place), tabindex: chosen ? 0 : -1 });
      button.append(createCanvas(filterAttention(state, place), colors));
      grid.append(button);
    });
    for (let head = heads.length; head < most; head++) grid.append(html("span"));
  }
  return grid;
}

function renderWords() {
  const text = DATA.texts[state.text];
  const table = html("table", "", { class: "candidates", role: "table", "aria-label": "candidates per token" });
  const most = Math.max(...text.candidates.map((each) => (each ? each.best.length : 0)));
  table.style.setProperty("--columns", most);
  const chance = (value) => (value < 0.0005 ? "<0.001" : value.toFixed(3));
  const header = html("tr", "", { role: "row" });
  for (const name of ["token", "probability", ...Array.from({ length: most }, (_, rank) => rank + 1)]) {
    header.append(html("th", name, { role: "columnheader" }));
  }
  table.append(header);
  text.candidates.forEach((each, place) => {
    if (!each) return;
    const row = html("tr", "", { role: "row", "aria-selected": !state.join && state.token === place });
    row.append(html("th", text.pieces[place], { role: "rowheader" }));
    row.append(html("td", each.own === null ? "" : chance(each.own), { role: "cell", class: "own" }));
    for (const [piece, probability] of each.best) {
      const cell = html("td", piece, { role: "cell", class: `candidate${piece === text.pieces[place] ? " same" : ""}` });
      cell.style.setProperty("--share", `${Math.round(45 * probability)}%`);
      cell.append(html("small", ` ${chance(probability)}`));
      row.append(cell);
    }
    table.append(row);
  });
  return table;
}

/** Describes the view and the selected word. */
function describeView(view) {
  const about = describeHead(state.text, state.headPlace);
  if (state.view === "words") {
    return "Candidates: the most probable tokens at each position if it is masked. Bold: the original token. "
      + "Darker: more probable.";
  }
  if (state.view === "heads") return `${DATA.measures[state.measure].help} ${about}.`;
  return view && view.rows.includes(state.token) ? `${about}; ${describeStrongest(view, state.token)}` : about;
}

function render() {
  renderControls();
  renderText();
  const colors = readColors(), label = describeHead(state.text, state.headPlace);
  let view = null, content;
  if (state.view === "grid") content = renderGrid(colors);
  else if (state.view === "words") content = renderWords();
  else if (state.view === "heads") content = drawHeads(state, colors, getWidth(), DATA.measures[state.measure].title);
  else {
    view = filterAttention(state, state.headPlace);
    content = state.view === "lines" ? drawLines(view, state, colors, getWidth(), label)
      : drawMatrix(view, colors, getWidth(), label);
  }
  element("view").replaceChildren(content);
  showStatus(describeView(view));
}

/** Returns the current view as the text of an SVG file. */
function createFile() {
  const colors = readColors(), content = element("view").firstElementChild;
  if (state.view === "grid") return toFile(drawGrid(state, colors), colors);
  return toFile(state.view === "words" ? drawTable(content, colors) : content, colors);
}

function save() {
  const link = html("a", "", { download: `text${state.text}_layer${state.layer}_head${state.head}_${state.view}.svg` });
  link.href = URL.createObjectURL(new Blob([createFile()], { type: "image/svg+xml" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Returns the element of a list that is `step` after a value, limited to the ends. */
function moveBy(list, value, step) {
  return list[Math.max(0, Math.min(list.length - 1, list.indexOf(value) + step))];
}

function stepToken(step) {
  const rows = filterAttention(state, state.headPlace).rows;
  if (!rows.length) return;
  const first = step > 0 ? rows[0] : rows.at(-1);
  change({ token: rows.includes(state.token) ? moveBy(rows, state.token, step) : first });
}

const KEYS = {
  ArrowLeft: () => change({ head: state.head - 1 }), ArrowRight: () => change({ head: state.head + 1 }),
  ArrowUp: () => change({ layer: moveBy(LAYERS, state.layer, -1) }),
  ArrowDown: () => change({ layer: moveBy(LAYERS, state.layer, 1) }),
  "[": () => change({ text: Math.max(0, state.text - 1) }),
  "]": () => change({ text: Math.min(DATA.texts.length - 1, state.text + 1) }),
  n: () => stepToken(1), p: () => stepToken(-1), Escape: () => change({ token: -1 }),
  c: () => change({ cls: !state.cls }), e: () => change({ sep: !state.sep }), w: () => change({ join: !state.join }),
  s: save,
};
VIEWS.forEach((view, place) => { KEYS[place + 1] = () => change({ view }); });

function onKeyDown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT|SUMMARY)$/.test(event.target.tagName)) return;
  const isTab = event.target.getAttribute("role") === "tab";
  if (isTab && (event.key === "ArrowLeft" || event.key === "ArrowRight")) { // as usual for tabs
    const open = VIEWS.filter((view) => !element(`tab-${view}`).hidden);
    change({ view: moveBy(open, state.view, event.key === "ArrowRight" ? 1 : -1) });
    element(`tab-${state.view}`).focus();
  } else if (KEYS[event.key]) {
    const inGrid = event.target.closest(".grid") !== null;
    KEYS[event.key]();
    if (inGrid) element("view").querySelector('[aria-pressed="true"]')?.focus();
  } else return;
  event.preventDefault();
}

function onClick(event) {
  const head = event.target.closest("[data-head]"), row = event.target.closest("[data-row]");
  if (head) {
    const [layer] = HEADS[Number(head.dataset.head)];
    change({ layer, head: getHeads(layer).indexOf(Number(head.dataset.head)), view: "lines" });
  } else if (row) {
    const token = Number(row.dataset.row);
    change({ token: state.token === token ? -1 : token });
  }
}

/** Describes the cell of the matrix under the pointer. */
function onPointerMove(event) {
  const root = element("view").firstElementChild;
  if (!root?.pairAt) return;
  const corner = root.getBoundingClientRect(), pair = root.pairAt(event.clientX - corner.left, event.clientY - corner.top);
  if (!pair) return;
  const view = filterAttention(state, state.headPlace);
  showStatus(`from ${view.units[pair[0]].label} to ${view.units[pair[1]].label} ${view.value(...pair).toFixed(3)}`);
}

function start() {
  element("model").textContent = DATA.model;
  setOptions(element("measure"), DATA.measures.map((measure, place) => [place, measure.title]), 0);
  for (const name of ["text", "layer", "head", "measure"]) {
    element(name).addEventListener("change", (event) => change({ [name]: Number(event.target.value) }));
  }
  element("filter").addEventListener("change", (event) => change({ filter: event.target.value }));
  for (const name of SWITCHES) element(name).addEventListener("change", (event) => change({ [name]: event.target.checked }));
  for (const view of VIEWS) element(`tab-${view}`).addEventListener("click", () => change({ view }));
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("save").addEventListener("click", save);
  element("view").addEventListener("click", onClick);
  element("view").addEventListener("pointermove", onPointerMove);
  document.addEventListener("keydown", onKeyDown);
  window.addEventListener("hashchange", () => { readAddress(); render(); });
  let timer;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(render, 100); });
  readAddress();
  render();
}

start();
