// Which reading is drawn under lanes: what there is to choose from, and whose series belong under which lane.

import { isolated, natural } from "./format.js";

const HELD_DEVICE = "process_gpu_memory_bytes";
// What only ever rises tells nothing as a curve.
const COUNTED = /_total$/;
const UNIT = /_(ratio|bytes|cpus|watts|hertz|celsius|bytes_per_second|per_second)$/;
const UPPER = /\b(cpu|gpu|sm|ecc|xid|pcie|dram|io)\b/g;
const TITLES = {
  cgroup_cpu_throttled_ratio: "CPU throttled",
  cgroup_cpu_usage_cpus: "CPUs used by the group",
  cgroup_cpu_quota_cpus: "CPU quota",
  cgroup_pressure_cpu_waiting_ratio: "waited for CPU",
  cgroup_pressure_memory_waiting_ratio: "waited for memory",
  cgroup_pressure_io_waiting_ratio: "waited for disks",
  host_pressure_cpu_waiting_ratio: "host waited for CPU",
  host_pressure_memory_waiting_ratio: "host waited for memory",
  host_pressure_io_waiting_ratio: "host waited for disks",
  host_cpu_utilisation_ratio: "host CPUs busy",
  host_cpu_busiest_ratio: "busiest CPU",
  process_cpu_usage_cpus: "CPUs used",
  process_memory_bytes: "process memory",
  process_gpu_memory_bytes: "process GPU memory",
  visible_cpus: "CPUs seen",
  gpu_memory_used_bytes: "GPU memory",
  gpu_tensor_active_ratio: "tensor active",
};

/** What a metric is called on the page; a name from the training's code stays as it is. */
export function titleOf({ metric, source }) {
  if (source === "training") return isolated(metric);
  if (Object.hasOwn(TITLES, metric)) return TITLES[metric];
  return isolated(metric.replace(UNIT, "").replaceAll("_", " ").replace(UPPER, (word) => word.toUpperCase()));
}

/** Metrics that may be drawn, as [metric, title] by title. */
export function choices(samples) {
  const found = new Map();
  for (const { info } of samples.lines.values()) {
    if (info.metric && !COUNTED.test(info.metric)) found.set(info.metric, titleOf(info));
  }
  return [...found].sort((a, b) => natural(a[1], b[1]));
}

function put(map, key, id) {
  map.set(key, [...(map.get(key) ?? []), id]);
}

/** For each machine: which device belongs to which lanes, as far as processes were seen to hold its memory. */
function holders(samples) {
  const found = new Map();
  for (const { info } of samples.lines.values()) {
    if (info.metric === HELD_DEVICE && Number.isInteger(info.lane)) put(found, `${info.machine}\n${info.device}`, info.lane);
  }
  return found;
}

/**
 * What to draw of a metric under a lane, given the lane that follows: {ids, of} or null. A worker's own series, and
 * those of devices that its process holds, stand under its lane; any other under the last of its machine's lanes in a row.
 */
export function tracksOf(samples, metric) {
  const [own, machines] = [new Map(), new Map()];
  const held = holders(samples);
  for (const [id, { info }] of metric ? samples.lines : []) {
    if (info.metric !== metric) continue;
    const lanes = Number.isInteger(info.lane) ? [info.lane] : held.get(`${info.machine}\n${info.device}`);
    if (lanes) for (const lane of lanes) put(own, lane, id);
    else put(machines, info.machine, id);
  }
  return (lane, next) => {
    if (own.has(lane.index)) return { ids: own.get(lane.index), of: lane.info.name };
    const { machine, host } = lane.info;
    if (!machine || !machines.has(machine) || next?.info.machine === machine) return null;
    return { ids: machines.get(machine), of: host || machine };
  };
}
