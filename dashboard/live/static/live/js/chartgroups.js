// Which charts a run has: its series grouped by what they measure, with how their workers are summed up.

import { isolated, plural } from "./format.js";

const isCoordinator = (lane) => lane?.info.role === "coordinator";
const GAP_HOST = 15e9;

// The first rule that a metric meets makes its chart; `how` sums up several series at one time.
const RULES = [
  { test: /gpu.*utili[sz]ation/, title: "GPU utilisation", how: "median", top: 1, kind: "compute" },
  { test: /gpu.*memory.*(used|allocated)/, title: "GPU memory", how: "highest", kind: "aggregate" },
  { test: /^host_cpu_utilisation_ratio$/, title: "CPU utilisation", how: "median", top: 1, kind: "compute", of: "machine" },
  { test: /^cgroup_cpu_throttled_ratio$/, title: "CPU throttled", how: "highest", top: 1, kind: "encode", of: "machine" },
  { test: /^process_memory_bytes$/, title: "memory", how: "highest", kind: "apply", byRole: true },
  { test: /^network_receive_bytes_per_second$/, title: "network received", how: "highest", kind: "transfer", of: "machine" },
  { test: /^network_transmit_bytes_per_second$/, title: "network sent", how: "highest", kind: "transfer", of: "machine" },
];

function ruleOf(info) {
  if (info.source === "training") return { title: isolated(info.metric), how: "median", kind: "aggregate", training: true };
  return RULES.find((rule) => rule.test.test(info.metric ?? ""));
}

const rankOf = (rule) => (rule.training ? -1 : RULES.indexOf(rule));

function describe(chart, lanes, words) {
  const count = new Set(chart.series.map(({ info }) => (chart.of === "machine" ? info.machine : (info.lane ?? info.machine)))).size;
  const who = chart.of === "machine" ? plural(count, "machine") : plural(count, words.worker);
  if (count === 1 && chart.of !== "machine") return isolated(lanes.get(chart.series[0].info.lane)?.info.name ?? "");
  return count > 1 || chart.series.length > 1 ? `${who}, ${chart.how}` : who;
}

/**
 * Charts in order: {key, label, unit, how, top, kind, training, gap, series: [{id, info}]}. `gap` (ns) is how far
 * apart two readings may be for a line to join them. `words`: what workers and trainers are called.
 */
export function chartsOf(samples, lanes, words = { worker: "worker", trainer: "trainer" }) {
  const charts = new Map();
  for (const [id, { info }] of samples.lines) {
    const rule = ruleOf(info);
    if (!rule || !info.metric) continue;
    const role = rule.byRole ? (isCoordinator(lanes.get(info.lane)) ? "coordinator " : `${words.trainer} `) : "";
    const key = `${role}${info.metric}`;
    if (!charts.has(key)) {
      const gap = rule.training ? Infinity : GAP_HOST;
      charts.set(key, { ...rule, key, gap, title: `${role}${rule.title}`, unit: info.unit, rank: rankOf(rule), series: [] });
    }
    charts.get(key).series.push({ id, info });
  }
  const found = [...charts.values()].sort((a, b) => a.rank - b.rank || a.title.localeCompare(b.title));
  for (const chart of found) chart.who = describe(chart, lanes, words);
  for (const chart of found) chart.label = [chart.title, chart.title.startsWith(`${chart.who} `) ? "" : chart.who].filter(Boolean).join(" · ");
  return found;
}
