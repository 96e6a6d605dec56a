import assert from "node:assert/strict";
import test from "node:test";
import { Details } from "../../dashboard/live/static/live/js/detail.js";
import { reading } from "../../dashboard/live/static/live/js/format.js";
import { readingRows } from "../../dashboard/live/static/live/js/readings.js";

const over = (metric, mean, more = {}) => ({ metric, unit: "", device: "", own: true, count: 9, low: mean, high: mean, mean, rise: 0, span_s: 18, age_s: null, ...more });
const rows = (...all) => Object.fromEntries(readingRows({ seconds: 18, held: false, over: all }).map(([label, text, tone]) => [label, [text.replaceAll("\u00a0", " "), tone]]));

test("a starved encoder is told by its throttling and its quota against what software sees", () => {
  const found = rows(over("cgroup_cpu_throttled_ratio", 0.71), over("cgroup_cpu_throttled_seconds_total", 40, { rise: 61.5 }), over("cgroup_cpu_quota_cpus", 6), over("visible_cpus", 32), over("process_threads", 41), over("cgroup_cpu_usage_cpus", 5.9));
  assert.deepEqual(found["CPU throttled"], ["in 71 % of the periods · 61.5 s held back, summed over CPUs", "warn"]);
  assert.deepEqual(found["CPU quota"], ["6 CPUs · software sees 32 · 41 threads · its group used 5.9 CPUs", "warn"]);
});

test("what a process used itself is told before what its group did, in which others may be", () => {
  const group = over("cgroup_cpu_usage_cpus", 1.96);
  assert.deepEqual(rows(group)["CPUs, no quota"], ["its group used 1.96 CPUs", ""]);
  assert.deepEqual(rows(group, over("process_cpu_usage_cpus", 0))["CPUs, no quota"], ["used 0 CPUs", ""]);
});

test("what was not throttled is said to be so, and raises no alarm", () => {
  const found = rows(over("cgroup_cpu_throttled_ratio", 0), over("cgroup_cpu_quota_cpus", 8), over("visible_cpus", 8));
  assert.deepEqual(found["CPU throttled"], ["0 % of the periods", ""]);
  assert.equal(found["CPU quota"][1], "");
});

test("what could not be read is not there, rather than zero", () => {
  assert.deepEqual(readingRows(null), []);
  assert.deepEqual(readingRows({ seconds: 1, held: false, over: [] }), []);
  assert.deepEqual(Object.keys(rows(over("process_memory_bytes", 3 * 2 ** 30))), ["process memory"]);
});

test("the process's own group is told before its host, which is named as such", () => {
  const host = over("host_pressure_cpu_waiting_ratio", 0.5, { own: false });
  assert.deepEqual(rows(host)["host waited for"], ["CPU 50 %", "warn"]);
  assert.deepEqual(rows(host, over("cgroup_pressure_cpu_waiting_ratio", 0.1))["waited for"], ["CPU 10 %", ""]);
});

test("a range is told where a reading moved, and the time of which it speaks where that is not the phase's", () => {
  assert.equal(rows(over("host_cpu_utilisation_ratio", 0.5, { low: 0.1, high: 0.9 }))["host busy"][0], "CPUs 50 % (10 % to 90 %)");
  const short = [over("host_cpu_utilisation_ratio", 0.5, { span_s: 2 }), over("gpu_utilisation_ratio", 0.97, { own: false, device: "a", age_s: 1.2 })];
  const found = readingRows({ seconds: 0.3, held: true, over: short }).map(([, text]) => text.replaceAll("\u00a0", " "));
  assert.deepEqual(found, ["CPUs 50 % (in 2.00 s around it)", "utilisation 97 % (1.20 s before)"]);
});

test("of several devices the spread is told, and that they are the machine's where none is known to be its own", () => {
  const both = ["a", "b"].flatMap((device, i) => [over("gpu_utilisation_ratio", 0.2 + i * 0.7, { own: false, device }), over("gpu_memory_used_bytes", (30 + i) * 2 ** 30, { own: false, device }), over("gpu_throttled_by_heat", i, { own: false, device })]);
  const found = rows(...both);
  assert.deepEqual(found["GPU · 2 of the machine"], ["utilisation 20 % to 90 %", ""]);
  assert.equal(found["GPU memory"][0], "30.0 GiB to 31.0 GiB");
  assert.deepEqual(found["GPU power, clock"], ["held back by heat for 100 % of the time", "warn"]);
});

test("clocks that were held back for a moment at a phase's begin raise no alarm, and power stands out of its limit", () => {
  const found = rows(over("gpu_throttled_by_power", 0.02, { high: 1, low: 0 }), over("gpu_power_watts", 80), over("gpu_power_limit_watts", 300));
  assert.deepEqual(found["GPU power, clock"], ["80 W of 300 W · held back by power for 2 % of the time", ""]);
});

test("a quota below the threads alarms only where it was felt", () => {
  const [allowed, seen] = [over("cgroup_cpu_quota_cpus", 6), over("visible_cpus", 32)];
  assert.equal(rows(allowed, seen, over("cgroup_cpu_throttled_ratio", 0.01))["CPU quota"][1], "");
  assert.equal(rows(allowed, seen)["CPU quota"][1], "warn");
});

test("the card says of network and disks only beside phases that they may explain, the panel always", () => {
  const readings = { seconds: 18, held: false, over: [over("network_transmit_bytes_per_second", 5), over("disk_busy_ratio", 0.9)] };
  assert.deepEqual([null, "encode", "transfer", "persist"].map((kind) => readingRows(readings, kind).map(([label]) => label)), [["network", "disks"], [], ["network"], ["disks"]]);
});

test("units that agents send are written as people do", () => {
  const said = [[1.41e9, "hertz"], [8e8, "hertz"], [6, "cpus"], [312.4, "watts"], [71, "celsius"]].map(([value, unit]) => reading(value, unit).replaceAll("\u00a0", " "));
  assert.deepEqual(said, ["1.41 GHz", "800 MHz", "6 CPUs", "312 W", "71 °C"]);
});

test("a phase is asked for again until no reading of it is still to come", async () => {
  const answers = [{ readings: { settled: false } }, { readings: { settled: true } }];
  let asked = 0;
  globalThis.fetch = async () => ({ ok: true, json: async () => answers[Math.min(asked++, 1)] });
  const details = new Details("/phase");
  for (let i = 0; i < 4; i++) await details.of({ attempt: 0, id: 1, open: null });
  assert.equal(asked, 2);
  delete globalThis.fetch;
});
