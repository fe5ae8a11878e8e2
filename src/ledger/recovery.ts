import type { Db } from '../db/db.ts'
import type { HoldTable } from '../db/schema.ts'
import { chargeOf, nothingCharged } from './charge.ts'
import type { Checkpoint, Draft, Generation } from './draft.ts'
import type { Settle } from './engine.ts'
import { generationValues, tokensOf } from './generation.ts'
import type { Ledger } from './ledger.ts'

/** A node that was not heard of for this long is gone. */
const silentMs = 45_000
const atOnce = 500

export interface Node {
  id: string
  /** Nobody else writes to this database. */
  isAlone: boolean
}

/** Tells the others that this node is alive. */
export async function beat(db: Db, node: Node, now: string): Promise<void> {
  await db
    .insertInto('nodes')
    .values({ id: node.id, started_at: now, seen_at: now })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
    .execute()
}

/**
 * Settles the holds whose process is gone, and those that are long past their time: each for what had come
 * of its reply when it was last looked at. Gives how many there were.
 */
export async function settleOrphans(db: Db, ledger: Ledger, node: Node, now: number): Promise<number> {
  const silent = new Date(now - silentMs).toISOString()
  let settled = 0
  for (;;) {
    const holds = await orphans(db, node, { now: new Date(now).toISOString(), silent })
    await Promise.all(holds.map((hold) => ledger.settle(settlementOf(hold))))
    settled += holds.length
    if (holds.length < atOnce) break
  }
  await forgetNodes(db, silent)
  return settled
}

/** Of nodes that said nothing for long; alone, of every other node. */
async function orphans(
  db: Db,
  node: Node,
  { now, silent }: { now: string; silent: string },
): Promise<HoldTable[]> {
  return db
    .selectFrom('holds')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('expires_at', '<', now),
        eb.and([
          eb('owner', '!=', node.id),
          ...(node.isAlone
            ? []
            : [
                eb.not(
                  eb.exists(
                    eb
                      .selectFrom('nodes')
                      .select('nodes.id')
                      .whereRef('nodes.id', '=', 'holds.owner')
                      .where('nodes.seen_at', '>=', silent),
                  ),
                ),
              ]),
        ]),
      ]),
    )
    .orderBy('id')
    .limit(atOnce)
    .execute()
}

async function forgetNodes(db: Db, silent: string): Promise<void> {
  await db
    .deleteFrom('nodes')
    .where('seen_at', '<', silent)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('holds').select('holds.id').whereRef('holds.owner', '=', 'nodes.id'))),
    )
    .execute()
}

/** What is not known to have produced anything is free: nobody has seen any of it. */
function settlementOf(hold: HoldTable): Settle {
  const draft: Draft = JSON.parse(hold.draft)
  const checkpoint: Checkpoint | null = hold.checkpoint === null ? null : JSON.parse(hold.checkpoint)
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
  const { pricing: _, ...at } = place
  const generation: Generation = {
    ...draft.generation,
    ...at,
    ...tokensOf(charge),
    usage_source: charge.source === 'none' ? 'none' : 'estimated',
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
  }
  return {
    op: 'settle',
    id: hold.id,
    organizationId: draft.generation.organization_id,
    isByok: place.is_byok === 1,
    spent: { amount: charge.cost, byok: charge.byok },
    generation: generationValues(generation),
    companions: [],
  }
}
