// How much of the machine was used by others while a block ran: other processes, and the hypervisor's other guests.
import { readdirSync, readFileSync } from 'node:fs'

/** Share of the CPU time of the machine above which a block is too disturbed to believe. */
export const disturbanceLimit = 0.1

/** All in clock ticks. */
export interface MachineTimes {
  total: number
  /**
   * Time of processes, without interrupts: those of loopback traffic are the benchmark's own, and belong to no process.
   */
  processes: number
  stolen: number
}

interface ProcessTimes {
  parent: number
  /** Time of the process and of its children that have ended. */
  ticks: number
}

export interface LoadSnapshot {
  machine: MachineTimes
  ownTicks: number
}

/** `roots` are the processes of the block besides this one, each with its descendants. */
export function takeLoadSnapshot(roots: number[]): LoadSnapshot {
  const machine = parseMachineTimes(readFileSync('/proc/stat', 'utf8'))
  const processes = readProcesses()
  // Without its descendants: candidates that are not measured in the block count as others.
  const client = processes.get(process.pid)?.ticks ?? 0
  return { machine, ownTicks: client + sumTrees(processes, roots) }
}

/** The share of the machine's CPU time between the snapshots that was stolen or used by other processes. */
export function disturbanceBetween(before: LoadSnapshot, after: LoadSnapshot): number {
  const elapsed = after.machine.total - before.machine.total
  const stolen = after.machine.stolen - before.machine.stolen
  const used = after.machine.processes - before.machine.processes
  const own = after.ownTicks - before.ownTicks
  return elapsed <= 0 ? 0 : Math.max(0, used - own + stolen) / elapsed
}

export function parseMachineTimes(stat: string): MachineTimes {
  const fields = stat.slice(0, stat.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number)
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = fields
  return { total: fields.reduce((sum, field) => sum + field, 0), processes: user + nice + system, stolen }
}

export function parseProcessTimes(stat: string): ProcessTimes {
  // The second field is the name and may contain spaces; the rest begins with field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { parent: Number(fields[1]), ticks }
}

export function sumTrees(processes: ReadonlyMap<number, ProcessTimes>, roots: number[]): number {
  const children = Map.groupBy(processes.keys(), (pid) => processes.get(pid)?.parent ?? 0)
  const seen = new Set<number>()
  const pending = [...roots]
  let sum = 0
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    if (seen.has(pid)) continue
    seen.add(pid)
    sum += processes.get(pid)?.ticks ?? 0
    pending.push(...(children.get(pid) ?? []))
  }
  return sum
}

function readProcesses(): Map<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      processes.set(Number(name), parseProcessTimes(readFileSync(`/proc/${name}/stat`, 'utf8')))
    } catch {
      // It has ended since the folder was listed.
    }
  }
  return processes
}
