import type { Db } from '../db/db.ts'
import type { HoldTable } from '../db/schema.ts'
import { newId } from '../lib/ids.ts'
import { chargeOf, nothingCharged } from './charge.ts'
import { NewerFormError, readCheckpoint, readDraft } from './draft.ts'
import type { Settle } from './engine.ts'
import { type GenerationParts, generationValues, tokensOf } from './generation.ts'
import { type Ledger, release } from './ledger.ts'

/**
 * How often a node sends a heartbeat, and after how long without one, while we were looking, it is taken for dead.
 * Nothing is gained by haste: one that is only cut off from the database still waits to settle what it has. Whatever
 * it settles later corrects what was settled in its place.
 */
export const liveness = { beatMs: 5000, silentMs: 120_000 }
const atOnce = 500

interface Sign {
  seenAt: string
  /** Since when we have seen no later one. */
  since: number
}

/** This process among those that share the database. */
export class Node {
  readonly id = newId('node')
  /** Nobody else writes to this database. */
  readonly #isAlone: boolean
  readonly #steady: () => number
  readonly #signs = new Map<string, Sign>()
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Orphans that only a newer version can read, and so can settle. */
  newerHolds = 0

  /** `steady` is a clock that nobody sets. */
  constructor(isAlone: boolean, steady: () => number = () => performance.now()) {
    this.#isAlone = isAlone
    this.#steady = steady
  }

  /** Tells the others, if there are any, that this node is alive. */
  async beat(db: Db, now: string): Promise<void> {
    if (this.#isAlone) return
    await db
      .insertInto('nodes')
      .values({ id: this.id, started_at: now, seen_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
      .execute()
  }

  async leave(db: Db): Promise<void> {
    await db.deleteFrom('nodes').where('id', '=', this.id).execute()
  }

  /**
   * Settles the holds whose process is gone, and those that are long past their time: each for what had come
   * of its reply when it was last looked at. Gives how many there were.
   */
  async settleOrphans(db: Db, ledger: Pick<Ledger, 'isOpen' | 'settle'>, now: string): Promise<number> {
    const gone = await this.#goneNodes(db)
    let settled = 0
    this.newerHolds = 0
    for (let after = ''; ; ) {
      const found = await this.#orphans(db, gone, now, after)
      const holds = found.filter(({ id }) => !ledger.isOpen(id))
      const settlements = holds.map(readable).filter((settlement) => settlement !== null)
      await Promise.all(settlements.map((settlement) => ledger.settle(settlement)))
      settled += settlements.length
      this.newerHolds += holds.length - settlements.length
      after = found.at(-1)?.id ?? ''
      if (found.length < atOnce) break
    }
    if (gone.length > 0) await db.deleteFrom('nodes').where('id', 'in', gone).execute()
    return settled
  }

  /** Of nodes that are gone, and our own that are long past their time; those of others are their affair. */
  async #orphans(db: Db, gone: string[], now: string, after: string): Promise<HoldTable[]> {
    return db
      .selectFrom('holds')
      .selectAll()
      .where((eb) =>
        eb.or([
          eb.and([eb('owner', '=', this.id), eb('expires_at', '<', now)]),
          ...(gone.length > 0 ? [eb('owner', 'in', gone)] : []),
        ]),
      )
      .where('id', '>', after)
      .orderBy('id')
      .limit(atOnce)
      .execute()
  }

  /** After a time without looking, an outage for one, everybody has all of theirs again to give a sign. */
  async #goneNodes(db: Db): Promise<string[]> {
    const others = (await owners(db)).filter(({ owner }) => owner !== this.id)
    if (this.#isAlone) return others.map(({ owner }) => owner)
    const looked = this.#steady()
    if (looked - this.#lookedAt > liveness.silentMs / 2) this.#signs.clear()
    this.#lookedAt = looked
    return others.flatMap(({ owner, seen_at }) => {
      const seenAt = seen_at ?? ''
      const known = this.#signs.get(owner)
      if (known?.seenAt === seenAt) return looked - known.since > liveness.silentMs ? [owner] : []
      this.#signs.set(owner, { seenAt, since: looked })
      return []
    })
  }
}

/** Everybody who has holds, and every node that says it is there. */
async function owners(db: Db): Promise<{ owner: string; seen_at: string | null }[]> {
  const nodes = await db.selectFrom('nodes').select(['id', 'seen_at']).execute()
  const seen = new Map<string, string | null>(nodes.map(({ id, seen_at }) => [id, seen_at]))
  const holders = await db.selectFrom('holds').select('owner').distinct().execute()
  for (const { owner } of holders) if (!seen.has(owner)) seen.set(owner, null)
  return [...seen].map(([owner, seen_at]) => ({ owner, seen_at }))
}

/** One hold that cannot be read must not keep the others open. Null: a newer version can read it. */
function readable(hold: HoldTable): Settle | null {
  try {
    return settlementOf(hold)
  } catch (error) {
    return error instanceof NewerFormError ? null : release(hold.id, '')
  }
}

/** What is not known to have produced anything is free: nobody has seen any of it. */
function settlementOf(hold: HoldTable): Settle {
  const draft = readDraft(hold.draft)
  const checkpoint = hold.checkpoint === null ? null : readCheckpoint(hold.checkpoint)
  const place = checkpoint?.place ?? draft.first
  const charge = checkpoint
    ? chargeOf(checkpoint.reply, {
        pricing: place.pricing,
        at: Date.parse(draft.generation.created_at),
        isByok: place.is_byok === 1,
        byokFee: draft.byokFee,
        hold: { amount: hold.amount_nanos, byok: hold.byok_nanos },
        promptEstimate: () => draft.promptTokens,
        inputImages: draft.generation.input_images,
      })
    : nothingCharged
  const source = charge.source === 'none' ? 'none' : 'estimated'
  const end: GenerationParts['end'] = {
    status: 'failed',
    error_code: 'interrupted',
    finish_reason: null,
    native_finish_reason: null,
    hold_nanos: hold.amount_nanos,
    flag: 'interrupted',
    latency_ms: 0,
    first_token_ms: checkpoint?.firstTokenMs ?? null,
    attempts: checkpoint?.attempts ?? '[]',
    dropped: null,
    upstream_id: null,
    service_tier: checkpoint?.tier ?? null,
    response_cache_source_id: null,
  }
  const tokens = { ...tokensOf(charge), usage_source: source } as const
  return {
    op: 'settle',
    id: hold.id,
    organizationId: draft.generation.organization_id,
    isByok: place.is_byok === 1,
    spent: { amount: charge.cost, byok: charge.byok },
    generation: generationValues({ draft: draft.generation, place, tokens, end }),
    countsIn: null,
    companions: [],
  }
}
