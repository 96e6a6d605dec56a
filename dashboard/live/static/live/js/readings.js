// What was sampled while a phase ran, in words: the throttling, pressure, memory and devices that may explain it.

import { bytes, duration, plural, reading, share } from "./format.js";

const THROTTLED_BY = ["power", "heat", "board"];
// From which share of the time on it may explain why a phase is slow.
const THROTTLED = 0.05;
const WAITED = 0.2;
const DIRECTIONS = [["receive", "received"], ["transmit", "sent"]];

/** Picks readings by their metric, and words them. */
class Picked {
  constructor({ over, seconds, held }) {
    Object.assign(this, { over, seconds, held });
  }

  all(metric) {
    return this.over.filter((one) => one.metric === metric);
  }

  /** Of a metric of which a process or a machine has one. */
  one(metric) {
    return this.over.find((one) => one.metric === metric);
  }

  /** The reading that is highest, as of the busiest of several disks. */
  most(metric) {
    return this.all(metric).reduce((most, one) => (most && most.mean >= one.mean ? most : one), undefined);
  }

  /** Value over the phase: its mean, with its range where that is wide; or how long before the phase it was read. */
  mean(one, unit, word = "") {
    if (!one) return "";
    const wide = one.high - one.low > Math.max(0.05, Math.abs(one.mean) * 0.1);
    const range = wide ? ` (${reading(one.low, unit)} to ${reading(one.high, unit)})` : "";
    return `${word}${reading(one.mean, unit)}${range}${this.#when(one)}`;
  }

  #when({ span_s: span, age_s: age }) {
    if (age !== null) return ` (${duration(age * 1e9)} before)`;
    return span > this.seconds * 1.5 + 0.1 ? ` (in ${duration(span * 1e9)} around it)` : "";
  }

  /** Lowest and highest of several devices, each by its mean. */
  spread(metric, unit, word = "") {
    const found = this.all(metric);
    if (found.length < 2) return this.mean(found[0], unit, word);
    const means = found.map((one) => one.mean);
    return `${word}${reading(Math.min(...means), unit)} to ${reading(Math.max(...means), unit)}`;
  }
}

function throttling(of) {
  const [ratio, seconds] = [of.one("cgroup_cpu_throttled_ratio"), of.one("cgroup_cpu_throttled_seconds_total")];
  const parts = [];
  if (ratio) parts.push(of.mean(ratio, "ratio", ratio.high > 0 ? "in " : "").replace("%", "% of the periods"));
  if (seconds?.rise > 0) parts.push(`${duration(seconds.rise * 1e9)} held back, summed over CPUs`);
  const tone = ratio?.mean >= THROTTLED ? "warn" : "";
  return ["CPU throttled", parts, tone];
}

function quota(of) {
  const [allowed, seen, threads] = ["cgroup_cpu_quota_cpus", "visible_cpus", "process_threads"].map((name) => of.one(name));
  // The group of a process may hold others beside it.
  const [own, group] = ["process_cpu_usage_cpus", "cgroup_cpu_usage_cpus"].map((name) => of.one(name));
  const parts = [
    allowed && reading(allowed.mean, "cpus"),
    seen && `software sees ${seen.high}`,
    threads && plural(threads.high, "thread"),
    own ? of.mean(own, "cpus", "used ") : of.mean(group, "cpus", "its group used "),
  ];
  const throttled = of.one("cgroup_cpu_throttled_ratio")?.mean ?? 1;
  return [allowed ? "CPU quota" : "CPUs, no quota", parts, throttled >= THROTTLED && allowed && seen && allowed.mean < seen.high ? "warn" : ""];
}

function pressure(of) {
  const whose = of.one("cgroup_pressure_cpu_waiting_ratio") ? "cgroup" : "host";
  const parts = [["cpu", "CPU"], ["memory", "memory"], ["io", "disks"]].map(([what, word]) => of.mean(of.one(`${whose}_pressure_${what}_waiting_ratio`), "ratio", `${word} `));
  const most = Math.max(...["cpu", "memory", "io"].map((what) => of.one(`${whose}_pressure_${what}_waiting_ratio`)?.mean ?? 0));
  return [whose === "host" ? "host waited for" : "waited for", parts, most >= WAITED ? "warn" : ""];
}

function host(of) {
  const parts = [of.mean(of.one("host_cpu_utilisation_ratio"), "ratio", "CPUs "), of.mean(of.one("host_cpu_busiest_ratio"), "ratio", "the busiest ")];
  return ["host busy", parts, ""];
}

function memory(of) {
  const [used, group, limit] = ["process_memory_bytes", "cgroup_memory_bytes", "cgroup_memory_limit_bytes"].map((name) => of.one(name));
  const [killed, hits, faults] = ["cgroup_oom_kills_total", "cgroup_memory_limit_hits_total", "process_major_page_faults_per_second"].map((name) => of.one(name));
  const parts = [
    of.mean(used, "bytes"),
    limit && `${group ? `group ${bytes(group.high)} of ` : "limit "}${bytes(limit.mean)}`,
    hits?.rise > 0 && `limit hit ${plural(hits.rise, "time")}`,
    killed?.rise > 0 && `${plural(killed.rise, "process", "processes")} killed for want of it`,
    faults?.mean >= 1 && of.mean(faults, "faults/s", "from disk "),
  ];
  return ["process memory", parts, killed?.rise > 0 || hits?.rise > 0 ? "warn" : ""];
}

function devices(of) {
  const count = new Set(of.over.filter((one) => one.metric.startsWith("gpu_")).map((one) => one.device)).size;
  return count > 1 ? ` · ${count}${of.held ? "" : " of the machine"}` : "";
}

function gpu(of) {
  const parts = [
    of.spread("gpu_utilisation_ratio", "ratio", "utilisation "),
    of.spread("gpu_sm_active_ratio", "ratio", "SM active "),
    of.spread("gpu_tensor_active_ratio", "ratio", "tensor active "),
  ];
  return [`GPU${devices(of)}`, parts, of.all("gpu_reachable").some((one) => one.low === 0) ? "warn" : ""];
}

const outOf = (text, limit, unit) => (text && limit ? `${text} of ${reading(limit.mean, unit)}` : text);

function gpuMemory(of) {
  const total = of.most("gpu_memory_total_bytes");
  const parts = [
    outOf(of.spread("gpu_memory_used_bytes", "bytes"), total, "bytes"),
    of.spread("process_gpu_memory_bytes", "bytes", "this process "),
  ];
  return ["GPU memory", parts, ""];
}

function gpuPower(of) {
  const [limit, top] = [of.most("gpu_power_limit_watts"), of.most("gpu_sm_clock_max_hertz")];
  const by = THROTTLED_BY.map((what) => [what, of.most(`gpu_throttled_by_${what}`)?.mean ?? 0]).filter(([, part]) => part > 0);
  const parts = [
    outOf(of.spread("gpu_power_watts", "watts"), limit, "watts"),
    outOf(of.spread("gpu_sm_clock_hertz", "hertz"), top, "hertz"),
    of.spread("gpu_temperature_celsius", "celsius"),
    ...by.map(([what, part]) => `held back by ${what} for ${share(part)} of the time`),
  ];
  return ["GPU power, clock", parts, by.some(([, part]) => part >= THROTTLED) ? "warn" : ""];
}

function traffic(of) {
  const parts = DIRECTIONS.map(([way, word]) => of.mean(of.most(`network_${way}_bytes_per_second`), "bytes/s", `${word} `));
  return ["network", parts, ""];
}

function disks(of) {
  return ["disks", [of.mean(of.most("disk_busy_ratio"), "ratio", "the busiest "), of.mean(of.most("disk_written_bytes_per_second"), "bytes/s", "written ")], ""];
}

const RULES = [throttling, quota, pressure, host, memory, gpu, gpuMemory, gpuPower, traffic, disks];
// What the card, which is to stay small, says only of phases that it may explain.
const ONLY_FOR = new Map([[traffic, ["transfer", "aggregate", "wait"]], [disks, ["persist", "input", "apply"]]]);

/**
 * Rows [label, text, tone] on what was sampled while a phase ran; `tone` is "warn" where it may explain slowness. Of a
 * phase of a `kind` only what is likely to matter to it.
 */
export function readingRows(readings, kind = null) {
  if (!readings?.over?.length) return [];
  const of = new Picked(readings);
  const rules = RULES.filter((rule) => kind === null || (ONLY_FOR.get(rule)?.includes(kind) ?? true));
  const rows = rules.map((rule) => rule(of)).map(([label, parts, tone]) => [label, parts.filter(Boolean).join(" · "), tone]);
  return rows.filter(([, text]) => text);
}
