import { newId } from '../platform/crypto/ids.ts'
import { isRejectedData, type Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import { latestMigration } from '../platform/db/migrate/record.ts'
import type { HoldTable } from '../platform/db/schema.ts'
import type { BillLine } from './bill.ts'
import { jobOwner } from './engine.ts'
import { extensionPattern, isExtension, requestIdOf } from './hold-extension.ts'
import { leasePattern } from './lease-id.ts'
import type { Ledger } from './ledger.ts'
import { countNodes } from './nodes.ts'
import {
  buildUnrecovered,
  type RecoveredRequest,
  recoverRequest,
  type UnrecoveredRequest,
} from './recovered-request.ts'
import { buildSettlement, createRelease, type SettledGeneration } from './settlement.ts'

/**
 * Interval of a node's heartbeats, and the silence, while this node was watching, after which a node is considered
 * dead. One that only lost its connection to the database still waits to settle its requests, and what it settles later
 * corrects what was settled for it.
 */
export const liveness = { beatMs: 2000, silentMs: 12_000 }

/** Longest delay of a migration by a killed node. */
export const migrationLeaseMs = 30_000
/** A node without a heartbeat for this long has no share of what nodes divide. */
const liveMs = 20_000
const batchSize = 500

interface Heartbeat {
  seenAt: string
  /** Time since which this node has seen no later heartbeat. */
  observedSince: number
}

/** This process as one of the nodes that share the database. */
export class ClusterNode {
  readonly id = newId('node')
  /** No other process writes to this database. */
  readonly #isSingleNode: boolean
  readonly #monotonicNow: () => number
  readonly #heartbeats = new Map<string, Heartbeat>()
  #checkedAt = Number.NEGATIVE_INFINITY
  /** Orphaned holds that only a newer version can decode and settle. */
  newerFormatHolds = 0
  /** Nodes that share the database, as last counted. */
  liveNodes = 1

  /** `monotonicNow` is a clock that is never adjusted. */
  constructor(isSingleNode: boolean, monotonicNow: () => number = () => performance.now()) {
    this.#isSingleNode = isSingleNode
    this.#monotonicNow = monotonicNow
  }

  /** Shows other nodes, if there are any, that this one is alive. */
  async sendHeartbeat(db: Db, now: string): Promise<void> {
    if (this.#isSingleNode) return
    await db
      .insertInto('nodes')
      .values({ id: this.id, started_at: now, seen_at: now, schema: latestMigration() })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
      .execute()
  }

  /** Counts the nodes by their heartbeats, for what they divide among them. */
  async countLiveNodes(db: Db, now: string): Promise<void> {
    if (this.#isSingleNode) return
    const since = new Date(Date.parse(now) - liveMs).toISOString()
    this.liveNodes = Math.max(1, await countNodes(db, since))
  }

  async deregister(db: Db): Promise<void> {
    await db.deleteFrom('nodes').where('id', '=', this.id).execute()
  }

  /**
   * Settles the holds of dead nodes, and those of this node that are long expired: each for what its last
   * checkpoint shows. One that cannot be charged is recorded without a charge, for the operator to decide.
   */
  async settleOrphans(
    db: Db,
    ledger: Pick<Ledger, 'isOpen' | 'settle'> & Partial<Pick<Ledger, 'endedNodes'>>,
    now: string,
    buildStatements: RecoveryStatements = async () => [],
  ): Promise<OrphanOutcome> {
    const deadNodes = await this.#findDeadNodes(db, ledger.endedNodes ?? [])
    const newer = new Set<string>()
    const outcome: OrphanOutcome = { settled: 0, unrecovered: [], nested: [] }
    for (let after = ''; ; ) {
      const orphans = await this.#findOrphans(db, deadNodes, now, after)
      const { requests, extensions } = await groupHolds(
        db,
        orphans.filter(({ id }) => !isInUse(ledger, id)),
      )
      const settle = (hold: HoldTable) => settleOrphan(ledger, hold, buildStatements)
      const results = await Promise.all(requests.map(settle))
      for (const [index, { id }] of requests.entries()) if (results[index] === null) newer.add(id)
      // Only now: if this process ends before, the next recovery still finds all that was held for a request.
      const released = extensions.filter((id) => !newer.has(requestIdOf(id)))
      await Promise.all(released.map((id) => ledger.settle(createRelease(id, ''))))
      countResults(outcome, results)
      after = orphans.at(-1)?.id ?? ''
      if (orphans.length < batchSize) break
    }
    this.newerFormatHolds = newer.size
    if (deadNodes.length > 0) await db.deleteFrom('nodes').where('id', 'in', deadNodes).execute()
    return outcome
  }

  /** Holds of dead nodes, and expired ones of this node; those of live nodes are settled by them. */
  async #findOrphans(db: Db, deadNodes: string[], now: string, after: string): Promise<HoldTable[]> {
    return (
      db
        .selectFrom('holds')
        .selectAll()
        .where((eb) =>
          eb.or([
            eb.and([eb('owner', '=', this.id), eb('expires_at', '<', now)]),
            ...(deadNodes.length > 0 ? [eb('owner', 'in', deadNodes)] : []),
          ]),
        )
        // Leases are taken over instead: see lease-takeover.ts.
        .where('id', 'not like', leasePattern)
        .where('id', '>', after)
        .orderBy('id')
        .limit(batchSize)
        .execute()
    )
  }

  /**
   * Finds the nodes that are silent for too long. After a gap in watching, such as an outage, every node has the full
   * timeout again to send a heartbeat.
   */
  async #findDeadNodes(db: Db, endedNodes: readonly string[]): Promise<string[]> {
    const others = (await listHoldOwners(db)).filter(({ owner }) => owner !== this.id)
    if (this.#isSingleNode) return others.map(({ owner }) => owner)
    const checkedAt = this.#monotonicNow()
    if (checkedAt - this.#checkedAt > liveness.silentMs / 2) this.#heartbeats.clear()
    this.#checkedAt = checkedAt
    return others.flatMap(({ owner, seen_at }) => {
      if (endedNodes.includes(owner)) return [owner]
      const seenAt = seen_at ?? ''
      const known = this.#heartbeats.get(owner)
      if (known?.seenAt === seenAt) return checkedAt - known.observedSince > liveness.silentMs ? [owner] : []
      this.#heartbeats.set(owner, { seenAt, observedSince: checkedAt })
      return []
    })
  }
}

/** An extension is not, once its request has ended, whatever has prevented its release. */
function isInUse(ledger: Pick<Ledger, 'isOpen'>, id: string): boolean {
  return ledger.isOpen(id) && (!isExtension(id) || ledger.isOpen(requestIdOf(id)))
}

/** Every node that owns a hold, and every registered node. */
function listHoldOwners(db: Db): Promise<{ owner: string; seen_at: string | null }[]> {
  const unregistered = db
    .selectFrom('holds')
    .leftJoin('nodes', 'nodes.id', 'holds.owner')
    .select(['holds.owner', 'nodes.seen_at'])
    .where('holds.owner', '<>', jobOwner)
    .where('holds.owner', 'not like', 'journal%')
    .where('holds.id', 'not like', leasePattern)
    .where('nodes.id', 'is', null)
  return unregistered.union(db.selectFrom('nodes').select(['id as owner', 'seen_at'])).execute()
}

/** The holds of requests, each with the amounts of its extensions, and the ids of the extensions among `holds`. */
async function groupHolds(
  db: Db,
  holds: readonly HoldTable[],
): Promise<{ requests: HoldTable[]; extensions: string[] }> {
  const requests = holds.filter(({ id }) => !isExtension(id))
  const extensions = holds.filter(({ id }) => isExtension(id)).map(({ id }) => id)
  if (requests.length === 0) return { requests, extensions }
  const added = await loadExtensions(db, [...new Set(requests.map(({ owner }) => owner))])
  return { requests: requests.map((hold) => addExtensions(hold, added.get(hold.id) ?? [])), extensions }
}

type HeldAmounts = Pick<HoldTable, 'id' | 'amount_nanos' | 'byok_nanos'>

/** Loads extensions by the id of their request. They may be in a later batch than its hold. */
async function loadExtensions(db: Db, owners: string[]): Promise<Map<string, HeldAmounts[]>> {
  const rows = await db
    .selectFrom('holds')
    .select(['id', 'amount_nanos', 'byok_nanos'])
    .where('owner', 'in', owners)
    .where('id', 'like', extensionPattern)
    .execute()
  return Map.groupBy(rows, ({ id }) => requestIdOf(id))
}

function addExtensions(hold: HoldTable, extensions: readonly HeldAmounts[]): HoldTable {
  return {
    ...hold,
    amount_nanos: extensions.reduce((sum, { amount_nanos }) => sum + amount_nanos, hold.amount_nanos),
    byok_nanos: extensions.reduce((sum, { byok_nanos }) => sum + byok_nanos, hold.byok_nanos),
  }
}

/** Builds the statements that store a recovered generation besides its record. */
type RecoveryStatements = (settled: SettledGeneration) => Promise<Statement[]>

/** The settlement of requests whose process has ended. */
export interface OrphanOutcome {
  /** Charged for what their checkpoints show. */
  settled: number
  unrecovered: UnrecoveredRequest[]
  /** Charged requests that were made on behalf of others: their bills do not have them. */
  nested: NestedLine[]
}

/** A line of the bill of another request. */
export interface NestedLine {
  outerId: string
  line: BillLine
}

function countResults(outcome: OrphanOutcome, results: readonly (RecoveredRequest | null)[]): void {
  for (const result of results) {
    if (result?.unrecovered) outcome.unrecovered.push(result.unrecovered)
    else if (result) outcome.settled++
    const { settled, outer } = result ?? {}
    if (settled && outer && settled.charge.cost > 0n)
      outcome.nested.push({ outerId: outer.id, line: buildNestedLine(settled, outer.purpose) })
  }
}

function buildNestedLine(
  { draft, target, charge, lines = [] }: SettledGeneration,
  purpose: string,
): BillLine {
  const nested = lines.filter(({ kind }) => kind === 'request').reduce((sum, { cost }) => sum + cost, 0n)
  return {
    kind: 'request',
    name: purpose,
    provider: target.provider,
    quantity: 1,
    usage: charge.usage,
    cost: charge.cost + nested,
    durationMs: 0,
    nestedId: draft.id,
  }
}

/** Null: a newer version settles it. */
async function settleOrphan(
  ledger: Pick<Ledger, 'settle'>,
  hold: HoldTable,
  buildStatements: RecoveryStatements,
): Promise<RecoveredRequest | null> {
  const recovered = recoverRequest(hold)
  return recovered && settleRecovered(ledger, hold, recovered, buildStatements)
}

/** One hold that cannot be settled as it should must not keep the others open. Returns how it was settled. */
export async function settleRecovered(
  ledger: Pick<Ledger, 'settle'>,
  hold: HoldTable,
  recovered: RecoveredRequest,
  buildStatements: RecoveryStatements,
): Promise<RecoveredRequest> {
  const rejection = await trySettle(ledger, hold, recovered, buildStatements)
  if (rejection === null) return recovered
  const bare = buildUnrecovered(hold, null, 'unrecovered_record', rejection)
  const isRejected = (await trySettle(ledger, hold, bare, buildStatements)) !== null
  if (isRejected) await ledger.settle(createRelease(hold.id, ''))
  return bare
}

/** The error of a database that rejects the record; null if it is settled. */
async function trySettle(
  ledger: Pick<Ledger, 'settle'>,
  { id }: HoldTable,
  { settled }: RecoveredRequest,
  buildStatements: RecoveryStatements,
): Promise<unknown> {
  const settlement = settled
    ? buildSettlement(settled, null, await buildStatements(settled))
    : createRelease(id, '')
  try {
    await ledger.settle(settlement)
    return null
  } catch (error) {
    if (!isRejectedData(error)) throw error
    return error
  }
}
