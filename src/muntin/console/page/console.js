// The console's page: takes the run as a whole once, then pictures of it as they come (server-sent events).

import { COLORS, key, node, plot } from "./plot.js";

const $ = (id) => document.getElementById(id);
const ACCENT = "#7048e8";
const MOST = 600;
const room = (id, around) => Math.max($(id).clientWidth - around, 240);
let plan = "", points = [], chosen = null, lastBatch = null, lastRows = 0;

const round = (x) => (x >= 100 ? Math.round(x) : x >= 10 ? Math.round(x * 10) / 10 : Math.round(x * 100) / 100);
function count(x) {
  if (x === null || x === undefined) return "-";
  const size = Math.abs(x);
  if (size >= 1e9) return `${round(x / 1e9)} G`;
  if (size >= 1e6) return `${round(x / 1e6)} M`;
  if (size >= 1e4) return `${round(x / 1e3)} k`;
  return round(x).toLocaleString("en");
}
const rate = (x) => (x === null || x === undefined ? "-" : `${count(x)}/s`);
const bytes = (x) => (x === null || x === undefined ? "-" : x >= 2 ** 30 ? `${round(x / 2 ** 30)} GB`
  : x >= 2 ** 20 ? `${round(x / 2 ** 20)} MB` : x >= 1024 ? `${round(x / 1024)} KB` : `${x} B`);
const percent = (x) => `${round(x * 100)} %`;
function span(us) {
  if (us === null || us === undefined) return "-";
  const s = us / 1e6, size = Math.abs(s);
  if (size >= 172800) return `${round(s / 86400)} days`;
  if (size >= 7200) return `${round(s / 3600)} h`;
  return size >= 120 ? `${round(s / 60)} min` : `${round(s)} s`;
}
const instant = (ms) => new Date(ms).toISOString().replace("T", " ").replace(/\.?0*Z$/, "");
const moment = (us) => (us === null || us === undefined ? "-" : instant(us / 1000));
const clock = (ms) => instant(ms).slice(Date.now() - ms > 864e5 ? 5 : 11, Date.now() - ms > 864e5 ? 16 : 19);
const put = (id, ...children) => $(id).replaceChildren(...children);

function number(value, name, warn = false) {
  return node("div", { class: warn ? "number warn" : "number" }, node("b", {}, value), node("span", {}, name));
}

function showRun(p) {
  const told = { runs: "runs", ended: "ended", failed: "failed" }[p.state];
  $("state").textContent = told;
  $("state").className = `state ${p.state}`;
  $("when").textContent = p.batch === undefined ? "no batch yet" : `batch ${p.batch}, ${instant(p.at).slice(0, 19)} UTC`;
  $("alert").hidden = !p.error;
  $("alert").textContent = p.error || "";
  document.title = `${told === "runs" ? "" : `${told}: `}Muntin`;
  if (!p.run) return;
  const r = p.run;
  put("numbers",
    number(rate(r.row_rate), "rows in"), number(rate(r.result_rate), "results"),
    number(span(r.lag), "lag", r.overdue > 0), number(count(r.rows), "rows so far"), number(count(r.results), "results so far"),
    number(count(r.late), "late", r.late > 0), number(count(r.bad), "without a time", r.bad > 0),
    number(count(r.shed), "not admitted", r.shed > 0), number(count(r.state_rows), "rows held"),
    number(bytes(r.held_bytes), "held"), number(count(r.batches), "batches"),
    number(count(r.overdue), "overdue", r.overdue > 0));
}

function entry(name, value, warn = false, kind = "") {
  return node("div", { class: kind }, node("dt", {}, name), node("dd", warn ? { class: "warn" } : {}, value));
}

function lost(q) {
  const within = q.answered_error >= 0.0005 ? ` (within ${round(q.answered_error * 100)} points)` : "";
  const why = q.shed > 0 ? "rows were not admitted" : "windows of joins were read in part";
  return q.answered < 1 ? `${why}, about ${percent(q.answered)} of the full answer was given${within}` : why;
}

function card(q, i) {
  const mark = node("i", { class: "mark" });
  mark.style.background = COLORS[i % COLORS.length];
  const made = node("article", { class: "card", "data-query": q.name },
    node("h3", {}, mark, q.name), node("pre", {}, q.text.trim()));
  if (q.results !== undefined) {
    made.append(node("dl", {},
      entry("results", rate(q.result_rate)), entry("so far", count(q.results)), entry("lag", span(q.lag)),
      ...(q.lateness === null ? [] : [entry("late by", `${count(q.lateness)} periods`, q.lateness > 0)]),
      entry("late rows", count(q.late), q.late > 0), entry("not admitted", percent(q.shed_share), q.shed > 0),
      entry("rows held", count(q.state_rows)), entry("held", bytes(q.held_bytes)), entry("answered until", moment(q.watermark), false, "two")));
    if (q.holds) made.append(node("p", { class: "dim" }, `time is held by stream ${q.holds}`));
    if (q.waited > 0) made.append(node("p", { class: "note" }, `it has waited ${q.waited} ${q.waited === 1 ? "batch" : "batches"} for its turn`));
    if (q.skipped > 0) made.append(node("p", { class: "note" }, `${count(q.skipped)} instants not reported: its period is longer now`));
    if (q.shed > 0 || q.answered < 1) made.append(node("p", { class: "note" }, `answers are not exact: ${lost(q)}`));
    for (const [stream, [bad, late]] of Object.entries(q.lost || {})) {
      made.append(node("p", { class: "note" },
        `every row that ${stream} brought in the last batch was dropped: ${bad} without a time, ${late} late`));
    }
  }
  if (q.note) made.append(node("p", { class: "note" }, q.note));
  made.append(node("p", { class: "dim" }, `writes to ${q.sink}`));
  const look = node("button", {}, "newest rows");
  look.onclick = () => { choose(q.name); $("results-section").scrollIntoView({ behavior: "smooth" }); };
  made.append(look);
  return made;
}

function table(id, head, rows, right) {
  const side = (i) => (right[i] ? { class: "n" } : {});
  put(id, node("thead", {}, node("tr", {}, ...head.map((h, i) => node("th", side(i), h)))),
    node("tbody", {}, ...rows.map((r) => node("tr", {}, ...r.map((c, i) => node("td", side(i), c))))));
}

function showStreams(p) {
  $("streams-section").hidden = !(p.streams || []).length;
  table("streams", ["stream", "rows/s", "rows so far", "late", "without a time", "complete until"],
    (p.streams || []).map((s) => [s.name, count(s.row_rate), count(s.rows), count(s.late), count(s.bad), moment(s.watermark)]),
    [false, true, true, true, true, false]);
}

function showPlan(p) {
  for (const text of document.querySelectorAll("#plan text.live")) {
    const v = (p.vertices || {})[text.dataset.vertex];
    if (!v) continue;
    const held = v.state_rows ? `, ${count(v.state_rows)} held, ${bytes(v.state_bytes)}` : "";
    const taken = v.rows_in ? `${rate(v.in_rate)} in, ` : "";
    text.textContent = `${taken}${rate(v.out_rate)} out${held}`;
    text.parentNode.querySelector("rect.box").setAttribute("fill", v.in_rate || v.out_rate ? "#f3f0ff" : "white");
  }
}

function charts(p) {
  const now = p.queries.map((q) => q.name); // in the order, and so in the colours, of the drawing; gone ones behind
  const names = [...new Set([...now, ...points.flatMap((q) => Object.keys(q.queries || {}))])];
  const single = (name, of) => [{ name, color: ACCENT, points: points.map((q) => [q.t, of(q)]) }];
  const byQuery = (of) => names.map((n, i) => ({
    name: n, color: COLORS[i % COLORS.length], points: points.map((q) => [q.t, q.queries && q.queries[n] ? of(q.queries[n]) : null]),
  }));
  const shown = [
    ["rows in", single("rows in", (q) => q.row_rate), rate],
    ["results", byQuery((q) => q.result_rate), rate],
    ["lag", byQuery((q) => q.lag), span, true],
    ["rows held", single("rows held", (q) => q.state_rows), count],
  ];
  put("charts", ...shown.map(([title, series, show, lengths]) => {
    const last = points.length && series.length === 1 ? series[0].points.at(-1)[1] : null;
    const made = node("div", { class: "chart" },
      node("h3", {}, title, node("span", {}, last === null || last === undefined ? "" : show(last))),
      plot(series, { show, clock, lengths, nothing: title === "lag" ? "event time does not follow the clock" : "nothing yet" }));
    return made;
  }));
  put("charts-key", ...(names.length > 1 ? [key(byQuery(() => null))] : []));
}

function lines(found) {
  const at = found.columns.findIndex((c) => c.kind === "time");
  const value = found.columns.findIndex((c) => c.kind === "number" && !["k", "id", "key"].includes(c.name));
  if (at < 0 || value < 0) return null;
  const by = found.columns.findIndex((c, i) => i !== at && i !== value && c.name !== "op" && c.kind !== "time");
  const groups = new Map();
  found.rows.forEach((row, i) => {
    const name = by < 0 ? found.columns[value].name : row[by];
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push([found.values[at][i], found.values[value][i]]);
  });
  const largest = [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, COLORS.length);
  return { title: found.columns[value].name, series: largest.map(([name, own], i) => ({
    name, color: COLORS[i], points: own.sort((a, b) => a[0] - b[0]) })) };
}

async function showResults() {
  if (chosen === null) return;
  const name = chosen;
  const answer = await fetch(`api/results/${encodeURIComponent(name)}`);
  const found = await answer.json();
  if (name !== chosen) return;
  $("results-note").textContent = found.note || `the newest ${found.rows.length} rows`;
  const columns = found.columns || [];
  table("results", columns.map((c) => c.name), (found.rows || []).slice().reverse(), columns.map((c) => c.kind === "number"));
  const drawn = found.rows && found.rows.length ? lines(found) : null;
  put("plot", ...(drawn ? [node("b", {}, drawn.title), plot(drawn.series, { width: room("results-section", 26), height: 180, show: count,
    clock: (t) => instant(t).slice(0, 19) }), key(drawn.series)] : []));
}

function choose(name) {
  chosen = name;
  $("which").value = name;
  showResults();
}

function showQueries(p) {
  put("queries", ...p.queries.map((q, i) => card(q, i)));
  const names = p.queries.map((q) => q.name);
  if ([...$("which").options].map((o) => o.value).join("\n") !== names.join("\n")) {
    put("which", ...names.map((n) => node("option", { value: n }, n)));
    $("results-section").hidden = !names.length;
    if (!names.includes(chosen)) chosen = names[0] ?? null;
    $("which").value = chosen;
  }
}

function showMessages(p) {
  $("messages-section").hidden = !(p.messages || []).length;
  put("messages", ...(p.messages || []).slice(-30).reverse().map((m) =>
    node("li", {}, node("span", { class: "dim" }, `${instant(m.t).slice(0, 19)} `), m.text)));
}

function keep(p) {
  if (!p.run || p.run.batches === lastBatch) return;
  lastBatch = p.run.batches;
  const queries = Object.fromEntries(p.queries.map((q) => [q.name, q]));
  if (!points.length || points.at(-1).t < p.at - 50) {
    points.push({ t: p.at, row_rate: p.run.row_rate, state_rows: p.run.state_rows, queries });
  }
  if (points.length > MOST) points = [...points.slice(0, MOST / 2).filter((_, i) => i % 2 === 0), ...points.slice(MOST / 2)];
}

async function show(p) {
  if (p.plan !== plan) {
    const whole = await (await fetch("api/run")).json();
    plan = whole.plan;
    points = whole.history;
    lastBatch = whole.run ? whole.run.batches : null;
    // The drawing is made by the server, which escapes what users wrote.
    $("plan").replaceChildren(document.importNode(
      new DOMParser().parseFromString(whole.svg, "image/svg+xml").documentElement, true));
    p = whole;
  } else {
    keep(p);
  }
  showRun(p);
  showQueries(p);
  showStreams(p);
  showPlan(p);
  charts(p);
  showMessages(p);
  document.body.dataset.batch = p.batch ?? "";
  if (Date.now() - lastRows > 1500) {
    lastRows = Date.now();
    await showResults();
  }
}

$("fit").onclick = () => {
  const fits = $("plan").classList.toggle("fit");
  $("fit").textContent = fits ? "full size" : "fit the page";
  $("fit").setAttribute("aria-pressed", String(fits));
};
$("which").onchange = () => choose($("which").value);
let queue = Promise.resolve();
const events = new EventSource("events");
events.onmessage = (e) => { queue = queue.then(() => show(JSON.parse(e.data))).catch((x) => console.error(x)); };
events.onerror = () => {
  $("state").textContent = "out of sight";
  $("state").className = "state lost";
  $("when").textContent = "the run does not answer; this page tries again";
};
