import { readdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { waitUntil } from '../../support/wait-until.ts'
import type { Lab } from './lab.ts'
import type { LabNode } from './lab-node.ts'
import { type Machine, runCommand } from './machine.ts'

/** Longer than a lease and than the silence after which a node counts as dead. */
const longMs = 18_000
const shortMs = 8000
/** What an operator or a tool needs to decide that the primary is lost. */
const decisionMs = 3000
const pollMs = 200
/** The holds of a dead node are free within this time. */
const heldWithinMs = 15_000
/** What the clients of the limited key need to come near its limit. */
export const beforeMs = 2000

/** What a fault may cost: the rest must be served. */
export interface Allowance {
  /** Indexes of the nodes that the fault concerns: their requests may wait until it is over, others may not. */
  nodes: readonly number[]
  /** Whether connections may end under a request. */
  cuts?: boolean
  /** Whether they may reply 503. */
  unavailable?: boolean
}

export interface Fault {
  name: string
  allows: Allowance
  /** Time after its end within which every node serves again, without a restart. */
  recoversWithinMs: number
  /** Resolves when the fault is over. What it returns are figures of its own. */
  run(lab: Lab): Promise<Record<string, number> | undefined>
  /** What has to be done by hand afterwards: until then every node serves. */
  repair?(lab: Lab): Promise<void>
}

const nothing: Allowance = { nodes: [] }
const waits: Allowance = { nodes: [0] }
const allNodes = [0, 1, 2]

/** Drops packets from one machine to the other, or in both directions. */
async function partition(from: Machine, to: Machine, isBoth: boolean): Promise<void> {
  await from.drop(to)
  if (isBoth) await to.drop(from)
}

async function heal(a: Machine, b: Machine): Promise<void> {
  await Promise.all([a.deliver(b), b.deliver(a)])
}

/** Each direction loses packets in bursts, a fifth of the time. */
async function losePackets(a: Machine, b: Machine, ms: number): Promise<void> {
  const directions = [
    [a, b],
    [b, a],
  ] as const
  for (let step = 0; step < ms / 50; step++) {
    for (const [index, [from, to]] of directions.entries())
      await (step % 5 === 2 * index ? from.drop(to) : from.deliver(to))
    await Bun.sleep(50)
  }
  await heal(a, b)
}

async function restart(node: LabNode, clockOffsetMs?: number): Promise<void> {
  await node.gateway.stop()
  await node.start(clockOffsetMs)
  await waitUntil(() => node.backend.isReady)
}

/** Ends a process, and starts it again after a while. */
async function kill(lab: Lab, deadMs: number): Promise<Record<string, number>> {
  const [node] = lab.nodes
  const inFlight = node.backend.inFlight
  await node.gateway.kill()
  const killedAt = performance.now()
  const { id } = await findSilentNode(lab)
  let heldMs = 0
  while (performance.now() - killedAt < deadMs) {
    if ((await countHolds(lab, id)) > 0) heldMs = performance.now() - killedAt
    await Bun.sleep(pollMs)
  }
  await node.start()
  if (heldMs > heldWithinMs) throw new Error(`the holds of the dead node were there for ${heldMs} ms`)
  return { 'in flight when killed': inFlight, 'ms until its holds were free': Math.round(heldMs) }
}

/** The node that is not among those that answer: its heartbeat is the oldest. */
async function findSilentNode(lab: Lab): Promise<{ id: string }> {
  await Bun.sleep(beatMs)
  const [row] = await lab.queryDatabase('select id from nodes order by seen_at limit 1')
  return row as { id: string }
}
const beatMs = 2500

async function countHolds(lab: Lab, owner: string): Promise<number> {
  const [row] = await lab.queryDatabase(
    `select count(*)::integer as count from holds where owner = '${owner}' and amount_nanos > 0`,
  )
  return (row as { count: number }).count
}

const usualDescriptors = 65_536

/** Opens connections until the node has no descriptors left, and keeps them. */
async function exhaustDescriptors(node: LabNode, ms: number): Promise<void> {
  const open = readdirSync(`/proc/${node.gateway.pid}/fd`).length
  await node.limitDescriptors(open + 20)
  const sockets: Socket[] = []
  for (let count = 0; count < 60; count++) {
    const socket = connect(node.backend.port, node.backend.host)
    socket.on('error', () => undefined)
    sockets.push(socket)
  }
  await Bun.sleep(ms)
  for (const socket of sockets) socket.destroy()
}

function canWrite(folder: string): boolean {
  try {
    writeFileSync(join(folder, 'probe'), '')
    return true
  } catch {
    return false
  }
}

function fillDisk(folder: string): void {
  const megabyte = Buffer.alloc(1 << 20)
  for (const size of [megabyte, megabyte.subarray(0, 4096)])
    for (let index = 0; index < 1000; index++) {
      try {
        writeFileSync(join(folder, `full-${size.length}-${index}`), size)
      } catch {
        break
      }
    }
}

export const faults: readonly Fault[] = [
  {
    name: 'a node is killed and started again',
    allows: { nodes: [0], cuts: true },
    recoversWithinMs: 5000,
    run: (lab) => kill(lab, shortMs),
  },
  {
    name: 'a node is killed and stays dead',
    allows: { nodes: [0], cuts: true },
    recoversWithinMs: 5000,
    run: (lab) => kill(lab, longMs + 4000),
  },
  {
    name: 'a node is frozen',
    allows: waits,
    recoversWithinMs: 5000,
    run: async ({ nodes: [node] }) => {
      node.gateway.pause()
      await Bun.sleep(longMs)
      node.gateway.resume()
      return undefined
    },
  },
  ...(['in both directions', 'from the node', 'to the node'] as const).map(
    (direction): Fault => ({
      name: `no packets between a node and the database, ${direction}`,
      allows: { nodes: [0], unavailable: true },
      recoversWithinMs: 20_000,
      run: async ({ nodes: [{ machine }], database }) => {
        const [from, to] =
          direction === 'to the node' ? [database.machine, machine] : [machine, database.machine]
        await partition(from, to, direction === 'in both directions')
        await Bun.sleep(longMs)
        await heal(from, to)
        return undefined
      },
    }),
  ),
  {
    name: 'no packets between a node and Valkey',
    allows: nothing,
    recoversWithinMs: 5000,
    run: async ({ nodes: [{ machine }], valkey }) => {
      await partition(machine, valkey.machine, true)
      await Bun.sleep(shortMs)
      await heal(machine, valkey.machine)
      return undefined
    },
  },
  {
    // Transactions that need the same rows wait for each other's round trips.
    name: '500 ms to the database and back',
    allows: { nodes: allNodes, unavailable: true },
    recoversWithinMs: 20_000,
    run: async ({ database }) => {
      database.delay(250)
      await Bun.sleep(longMs)
      database.delay(0)
      return undefined
    },
  },
  {
    name: 'packets to and from the database are lost',
    allows: waits,
    recoversWithinMs: 5000,
    run: async ({ nodes: [{ machine }], database }) => {
      await losePackets(machine, database.machine, shortMs)
      return undefined
    },
  },
  {
    name: 'connections to the database are reset',
    allows: { nodes: [0], unavailable: true },
    recoversWithinMs: 5000,
    run: async ({ nodes: [{ machine }], database }) => {
      for (let count = 0; count < 10; count++) {
        database.resetClientsOf(machine)
        await Bun.sleep(shortMs / 10)
      }
      return undefined
    },
  },
  {
    name: 'the disk of a node is full',
    allows: nothing,
    recoversWithinMs: 5000,
    run: async ({ nodes: [node] }) => {
      fillDisk(node.dataDir)
      await Bun.sleep(shortMs)
      for (const name of readdirSync(node.dataDir))
        if (name.startsWith('full-')) await runCommand('rm', join(node.dataDir, name))
      return undefined
    },
  },
  {
    name: 'the disk of a node becomes read-only',
    allows: nothing,
    recoversWithinMs: 5000,
    run: async ({ nodes: [node] }) => {
      await node.failDisk()
      if (canWrite(node.dataDir)) throw new Error('the disk is not read-only')
      await Bun.sleep(shortMs)
      return undefined
    },
    repair: ({ nodes: [node] }) => node.repairDisk(),
  },
  {
    name: 'the database is frozen',
    allows: { nodes: allNodes, unavailable: true },
    recoversWithinMs: 20_000,
    run: async ({ primary }) => {
      primary.freeze()
      await Bun.sleep(longMs)
      primary.resume()
      return undefined
    },
  },
  {
    name: 'Valkey is lost with all its data',
    allows: nothing,
    recoversWithinMs: 5000,
    run: async ({ valkey }) => {
      await valkey.kill()
      await Bun.sleep(shortMs)
      await valkey.start()
      return undefined
    },
  },
  {
    name: 'clocks are three minutes apart',
    allows: nothing,
    recoversWithinMs: 5000,
    run: async ({ nodes: [ahead, behind] }) => {
      await restart(ahead, 90_000)
      await restart(behind, -90_000)
      await Bun.sleep(shortMs)
      await restart(ahead)
      await restart(behind)
      return undefined
    },
  },
  {
    name: 'a node has no file descriptors left',
    allows: { nodes: [0], unavailable: true, cuts: true },
    recoversWithinMs: 10_000,
    run: async ({ nodes: [node] }) => {
      await exhaustDescriptors(node, longMs)
      return undefined
    },
    repair: ({ nodes: [node] }) => node.limitDescriptors(usualDescriptors),
  },
  {
    name: 'the primary is lost and the standby promoted',
    allows: { nodes: allNodes, unavailable: true },
    recoversWithinMs: 15_000,
    run: async (lab) => {
      await lab.primary.kill()
      await Bun.sleep(decisionMs)
      await lab.failOver()
      return undefined
    },
  },
]
