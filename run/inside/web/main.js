const VIEWS = ["grid", "lines", "matrix", "heads", "words"];
const SWITCHES = ["cls", "sep", "join"];
const CONTROLS_OF = { // which controls a view has use for
  grid: ["filter", ...SWITCHES], lines: ["layer", "head", "filter", ...SWITCHES],
  matrix: ["layer", "head", "filter", ...SWITCHES], heads: ["measure"], words: [],
};
const element = (id) => document.getElementById(id);

// What is shown. `head` counts within the layer; `token` is the row of the matrix that is looked at, -1 for all.
const state = { text: 0, view: "grid", layer: LAYERS[0], head: 0, filter: "all", cls: true, sep: true, join: false,
  measure: 0, token: -1 };
Object.defineProperty(state, "headPlace", { get: () => headsOf(state.layer)[state.head] });

/** Takes over what the address says after #, as in #text=0&view=lines&layer=2&head=5; what is none of it is left. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name, count) => {
    const value = Number(given.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value < count ? value : null;
  };
  state.text = number("text", DATA.texts.length) ?? state.text;
  state.measure = number("measure", DATA.measures.length) ?? state.measure;
  const layer = number("layer", Infinity);
  if (LAYERS.includes(layer)) state.layer = layer;
  state.head = number("head", headsOf(state.layer).length) ?? Math.min(state.head, headsOf(state.layer).length - 1);
  if (VIEWS.includes(given.get("view"))) state.view = given.get("view");
  if (Object.hasOwn(FILTERS, given.get("filter") ?? "")) state.filter = given.get("filter");
  for (const name of SWITCHES) if (given.has(name)) state[name] = given.get(name) === "1";
  state.token = number("token", Infinity) ?? -1;
  settle();
}

/** Leaves no state that the text does not have: filters of one text, words of a model that guesses none. */
function settle() {
  const text = DATA.texts[state.text];
  if (!text.segments.includes(1)) state.filter = "all";
  if (state.view === "words" && !text.candidates) state.view = "grid";
  const units = unitsOf(text, state.join);
  if (state.token >= units.length) state.token = -1;
}

function writeAddress() {
  const parts = ["text", "view", "layer", "head", "filter", "measure"].map((name) => `${name}=${state[name]}`);
  parts.push(...SWITCHES.map((name) => `${name}=${Number(state[name])}`));
  if (state.token >= 0) parts.push(`token=${state.token}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

/** Changes what is shown. */
function change(values) {
  Object.assign(state, values);
  const heads = headsOf(state.layer).length;
  state.head = Math.max(0, Math.min(state.head, heads - 1));
  if ("text" in values || "join" in values) state.token = -1;
  settle();
  writeAddress();
  render();
}

function say(text) {
  element("status").textContent = text;
}

function width() {
  return Math.max(300, Math.min(element("view").clientWidth - 8, 900));
}

// Controls.

function options(select, labels, chosen) {
  select.replaceChildren(...labels.map(([value, label]) => html("option", label, { value })));
  select.value = chosen;
}

function renderControls() {
  const text = DATA.texts[state.text], isPair = text.segments.includes(1);
  options(element("text"), DATA.texts.map((each, place) => [place, `${place + 1}. ${each.title}`]), state.text);
  options(element("layer"), LAYERS.map((layer) => [layer, layer]), state.layer);
  options(element("head"), headsOf(state.layer).map((place, head) => [head, HEADS[place][1]]), state.head);
  element("filter").value = state.filter;
  element("filter").disabled = !isPair;
  element("measure").value = state.measure;
  for (const name of SWITCHES) element(name).checked = state[name];
  const used = CONTROLS_OF[state.view];
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

/** The text itself, and what the model answers. */
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
    const item = html("li"), shownValue = typeof value === "number" ? value.toFixed(3) : value;
    item.append(html("span", name), html("span", shownValue));
    if (typeof value === "number" && value >= 0 && value <= 1) {
      const meter = html("meter", "", { min: 0, max: 1, "aria-label": name });
      meter.value = value;
      item.append(meter);
    }
    return item;
  }));
}

// Views.

function renderGrid(colours) {
  const most = Math.max(...LAYERS.map((layer) => headsOf(layer).length));
  const grid = html("div", "", { class: "grid", role: "group", "aria-label": "all heads, a row a layer" });
  grid.style.gridTemplateColumns = `max-content repeat(${most}, minmax(0, 5.5rem))`;
  grid.append(html("span", "", { class: "layer" }));
  for (let head = 0; head < most; head++) grid.append(html("span", head, { class: "number" }));
  for (const layer of LAYERS) {
    grid.append(html("span", layer, { class: "layer" }));
    const heads = headsOf(layer);
    heads.forEach((place) => {
      const chosen = place === state.headPlace;
      const button = html("button", "", { type: "button", "data-head": place, "aria-pressed": chosen,
        "aria-label": describe(state.text, place), title: describe(state.text, place), tabindex: chosen ? 0 : -1 });
      button.append(picture(shown(state, place), colours));
      grid.append(button);
    });
    for (let head = heads.length; head < most; head++) grid.append(html("span"));
  }
  return grid;
}

function renderWords() {
  const text = DATA.texts[state.text];
  const table = html("table", "", { class: "guesses", role: "table", "aria-label": "words when each is masked" });
  const most = Math.max(...text.candidates.map((each) => (each ? each.best.length : 0)));
  table.style.setProperty("--columns", most);
  const chance = (value) => (value < 0.0005 ? "<0.001" : value.toFixed(3));
  const header = html("tr", "", { role: "row" });
  for (const name of ["piece", "its own", ...Array.from({ length: most }, (_, rank) => rank + 1)]) {
    header.append(html("th", name, { role: "columnheader" }));
  }
  table.append(header);
  text.candidates.forEach((each, place) => {
    if (!each) return;
    const row = html("tr", "", { role: "row", "aria-selected": !state.join && state.token === place });
    row.append(html("th", text.pieces[place], { role: "rowheader" }));
    row.append(html("td", each.own === null ? "" : chance(each.own), { role: "cell", class: "own" }));
    for (const [piece, probability] of each.best) {
      const cell = html("td", piece, { role: "cell", class: piece === text.pieces[place] ? "guess same" : "guess" });
      cell.style.setProperty("--share", `${Math.round(45 * probability)}%`);
      cell.append(html("small", ` ${chance(probability)}`));
      row.append(cell);
    }
    table.append(row);
  });
  return table;
}

/** What the view is, and what of a word that is looked at. */
function statusOf(view) {
  const about = describe(state.text, state.headPlace);
  if (state.view === "words") return "Guesses: the likeliest pieces at each place when it is masked; bold is the piece itself, the deeper the shade the likelier.";
  if (state.view === "heads") return `${DATA.measures[state.measure].help} ${about}.`;
  return view && view.rows.includes(state.token) ? `${about}; ${strongest(view, state.token)}` : about;
}

function render() {
  renderControls();
  renderText();
  const colours = palette(), label = describe(state.text, state.headPlace);
  let view = null, content;
  if (state.view === "grid") content = renderGrid(colours);
  else if (state.view === "words") content = renderWords();
  else if (state.view === "heads") content = headsDrawing(state, colours, width(), DATA.measures[state.measure].title);
  else {
    view = shown(state, state.headPlace);
    content = state.view === "lines" ? linesDrawing(view, state, colours, width(), label)
      : matrixDrawing(view, colours, width(), label);
  }
  element("view").replaceChildren(content);
  say(statusOf(view));
}

/** The current view as the text of an SVG file. */
function currentFile() {
  const colours = palette(), content = element("view").firstElementChild;
  if (state.view === "grid") return fileOf(gridDrawing(state, colours), colours);
  return fileOf(state.view === "words" ? tableDrawing(content, colours) : content, colours);
}

function save() {
  const link = html("a", "", { download: `text${state.text}_layer${state.layer}_head${state.head}_${state.view}.svg` });
  link.href = URL.createObjectURL(new Blob([currentFile()], { type: "image/svg+xml" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Moves by steps within a list. */
function stepped(list, value, step) {
  return list[Math.max(0, Math.min(list.length - 1, list.indexOf(value) + step))];
}

function stepToken(step) {
  const rows = shown(state, state.headPlace).rows;
  if (!rows.length) return;
  const first = step > 0 ? rows[0] : rows.at(-1);
  change({ token: rows.includes(state.token) ? stepped(rows, state.token, step) : first });
}

const KEYS = {
  ArrowLeft: () => change({ head: state.head - 1 }), ArrowRight: () => change({ head: state.head + 1 }),
  ArrowUp: () => change({ layer: stepped(LAYERS, state.layer, -1) }),
  ArrowDown: () => change({ layer: stepped(LAYERS, state.layer, 1) }),
  "[": () => change({ text: Math.max(0, state.text - 1) }),
  "]": () => change({ text: Math.min(DATA.texts.length - 1, state.text + 1) }),
  n: () => stepToken(1), p: () => stepToken(-1), Escape: () => change({ token: -1 }),
  c: () => change({ cls: !state.cls }), e: () => change({ sep: !state.sep }), w: () => change({ join: !state.join }),
  s: save,
};
VIEWS.forEach((view, place) => { KEYS[place + 1] = () => change({ view }); });

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT|SUMMARY)$/.test(event.target.tagName)) return;
  const isTab = event.target.getAttribute("role") === "tab";
  if (isTab && (event.key === "ArrowLeft" || event.key === "ArrowRight")) { // as tabs move everywhere
    const open = VIEWS.filter((view) => !element(`tab-${view}`).hidden);
    change({ view: stepped(open, state.view, event.key === "ArrowRight" ? 1 : -1) });
    element(`tab-${state.view}`).focus();
  } else if (KEYS[event.key]) {
    const inGrid = event.target.closest(".grid") !== null;
    KEYS[event.key]();
    if (inGrid) element("view").querySelector('[aria-pressed="true"]')?.focus();
  } else return;
  event.preventDefault();
}

function clicked(event) {
  const head = event.target.closest("[data-head]"), row = event.target.closest("[data-row]");
  if (head) {
    const [layer] = HEADS[Number(head.dataset.head)];
    change({ layer, head: headsOf(layer).indexOf(Number(head.dataset.head)), view: "lines" });
  } else if (row) {
    const token = Number(row.dataset.row);
    change({ token: state.token === token ? -1 : token });
  }
}

/** In the matrix, says what the cell under the pointer holds. */
function pointed(event) {
  const root = element("view").firstElementChild;
  if (!root?.pairAt) return;
  const corner = root.getBoundingClientRect(), pair = root.pairAt(event.clientX - corner.left, event.clientY - corner.top);
  if (!pair) return;
  const view = shown(state, state.headPlace);
  say(`from ${view.units[pair[0]].label} to ${view.units[pair[1]].label} ${view.value(...pair).toFixed(3)}`);
}

function start() {
  element("model").textContent = DATA.model;
  options(element("measure"), DATA.measures.map((measure, place) => [place, measure.title]), 0);
  for (const name of ["text", "layer", "head", "measure"]) {
    element(name).addEventListener("change", (event) => change({ [name]: Number(event.target.value) }));
  }
  element("filter").addEventListener("change", (event) => change({ filter: event.target.value }));
  for (const name of SWITCHES) element(name).addEventListener("change", (event) => change({ [name]: event.target.checked }));
  for (const view of VIEWS) element(`tab-${view}`).addEventListener("click", () => change({ view }));
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("save").addEventListener("click", save);
  element("view").addEventListener("click", clicked);
  element("view").addEventListener("pointermove", pointed);
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", () => { readAddress(); render(); });
  let timer;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(render, 100); });
  readAddress();
  render();
}

start();
