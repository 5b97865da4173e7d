// Lines over time as SVG. A series is {name, color, points: [[t, value or null], ...]}; t is milliseconds since 1970.

const SVG = "http://www.w3.org/2000/svg";
// Those of queries in drawings of plans, in the same order: they can be told from a white ground and from a dark one.
export const COLORS = [
  "#7048e8", "#15aabf", "#f06595", "#e0a800", "#8d6e63", "#82c91e", "#b197fc", "#868e96",
  "#4c6ef5", "#20c997", "#cc5de8", "#7c7a1e", "#74c0fc", "#a61e4d", "#ff9f80", "#0b7285",
];

export function node(name, attributes = {}, ...children) {
  const made = ["svg", "path", "g", "text", "line", "circle", "title"].includes(name)
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const LENGTHS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200].map((s) => s * 1e6);

// Values between low and high at which an axis has a line: decimal ones; of lengths of time those of a clock.
export function steps(low, high, count, lengths = false) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const unit = lengths && rough > LENGTHS.at(-1) ? 86400e6 : 1;
  const power = unit * 10 ** Math.floor(Math.log10(rough / unit));
  const step = (lengths && rough > 5e5 && LENGTHS.find((x) => x >= rough))
    || [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step / 1e6; x += step) found.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return found;
}

// How long nothing may come until a line is broken: there was no run in between.
function pause(points) {
  const between = points.slice(1).map((p, i) => p[0] - points[i][0]).sort((a, b) => a - b);
  return Math.max(60000, 8 * (between[between.length >> 1] ?? 0));
}

export function plot(series, { width = 320, height = 120, show = String, clock, nothing = "nothing yet", lengths = false }) {
  const all = series.flatMap((s) => s.points).filter((p) => p[1] !== null && p[1] !== undefined);
  const drawn = node("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img" });
  if (!all.length) {
    drawn.append(node("text", { x: 8, y: height / 2, "font-size": 12, fill: "currentColor", opacity: 0.6 }, nothing));
    return drawn;
  }
  const times = all.map((p) => p[0]), values = all.map((p) => p[1]);
  const t0 = Math.min(...times), t1 = Math.max(...times);
  const low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
  const lines = steps(low, high, 3, lengths);
  const left = 12 + 6.2 * Math.max(4, ...lines.map((v) => show(v).length)), right = 8, top = 8, bottom = 18;
  const x = (t) => (t1 === t0 ? (left + width - right) / 2 : left + ((t - t0) / (t1 - t0)) * (width - left - right));
  const y = (v) => top + (1 - (v - low) / (high - low)) * (height - top - bottom);
  for (const v of lines) {
    drawn.append(
      node("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), stroke: "currentColor", opacity: 0.12 }),
      node("text", { x: left - 6, y: y(v) + 4, "font-size": 11, "text-anchor": "end", fill: "currentColor", opacity: 0.65 },
        show(v)));
  }
  const ends = t1 === t0 ? [[t0, "middle"]] : [[t0, "start"], [t1, "end"]];
  for (const [t, anchor] of ends) {
    drawn.append(node("text", { x: x(t), y: height - 4, "font-size": 11, "text-anchor": anchor, fill: "currentColor",
      opacity: 0.65 }, clock(t)));
  }
  for (const s of series) {
    let path = "", pen = "M", count = 0, before = null;
    const longest = pause(s.points);
    for (const [t, v] of s.points) {
      if (v === null || v === undefined) { pen = "M"; continue; }
      if (before !== null && t - before > longest) pen = "M";
      path += `${pen}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = "L";
      before = t;
      count += 1;
    }
    const line = node("path", { d: path, fill: "none", stroke: s.color, "stroke-width": 1.6, "stroke-linejoin": "round" });
    line.append(node("title", {}, s.name));
    drawn.append(line);
    const last = s.points.findLast((p) => p[1] !== null && p[1] !== undefined);
    if (last && count < 2) drawn.append(node("circle", { cx: x(last[0]), cy: y(last[1]), r: 2.5, fill: s.color }));
  }
  return drawn;
}

export function key(series) {
  const made = node("div", { class: "key" });
  for (const s of series) {
    const mark = node("i");
    mark.style.background = s.color;
    made.append(node("span", {}, mark, s.name));
  }
  return made;
}
