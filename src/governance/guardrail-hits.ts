import { type Selectable, sql } from 'kysely'
import { z } from 'zod'
import { newUuid } from '../platform/crypto/ids.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import type { GuardrailHitTable } from '../platform/db/schema.ts'
import type { GuardrailHit } from './policy/content-rules.ts'
import { layerNames } from './policy/effective.ts'
import { filterActions } from './policy/guardrail.ts'

export type HitRow = Selectable<GuardrailHitTable>

/** A hit of a rule in records. */
export const hitRecord = z
  .strictObject({
    rule: z
      .string()
      .describe(
        'The slug of a built-in filter, the label of a custom filter (or the start of its pattern), or the name of another rule.',
      ),
    action: z.enum(filterActions),
    enforced: z.boolean().describe('false if the rule was only recorded: a dry run.'),
    direction: z.enum(['input', 'output']),
    part: z.string().describe('Where: a kind of content, or the name of the rule.'),
    role: z.string().nullable().describe('Whose message; null outside of messages.'),
    count: z.int().describe('The number of matches.'),
    kinds: z.array(z.string()).describe('What a filter of several kinds recognized.'),
    layers: z.array(z.enum(layerNames)).describe('The guardrails that have the rule.'),
  })
  .meta({ id: 'GuardrailHit' })

/** A hit that is not stored yet. */
export function describeHit(hit: GuardrailHit): z.input<typeof hitRecord> {
  const { rule, action, isEnforced: enforced, direction, part, role, count } = hit
  const layers = layerNames.filter((layer) => hit.layers.includes(layer))
  return { rule, action, enforced, direction, part, role, count, kinds: [...hit.kinds], layers }
}

export function toHitRecord(row: HitRow): z.input<typeof hitRecord> {
  return {
    rule: row.rule,
    action: row.action,
    enforced: row.enforced === 1,
    direction: row.direction,
    part: row.part,
    role: row.role,
    count: row.count,
    kinds: JSON.parse(row.kinds),
    layers: JSON.parse(row.layers),
  }
}

/** The request that the hits are of. */
export interface HitOwner {
  generationId: string
  organizationId: string
  workspaceId: string
  keyId: number
  userId: string | null
  createdAt: string
}

/** Hits of one request that are stored; further ones are dropped. */
const maxHits = 100

/** Repeating the statement changes nothing. */
export function buildHitStatement(db: Db, owner: HitOwner, hits: readonly GuardrailHit[]): Statement {
  const rows = mergeHits(hits).slice(0, maxHits)
  const { sql, parameters } = db
    .insertInto('guardrail_hits')
    .values(rows.map((hit) => toRow(owner, hit)))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .compile()
  return { sql, values: parameters }
}

function toRow(owner: HitOwner, hit: GuardrailHit) {
  return {
    id: newUuid(),
    organization_id: owner.organizationId,
    workspace_id: owner.workspaceId,
    key_id: owner.keyId,
    user_id: owner.userId,
    generation_id: owner.generationId,
    // PostgreSQL has no text with a NUL.
    rule: hit.rule.replaceAll('\0', ''),
    action: hit.action,
    enforced: hit.isEnforced ? (1 as const) : (0 as const),
    direction: hit.direction,
    part: hit.part,
    role: hit.role,
    count: hit.count,
    kinds: JSON.stringify(hit.kinds),
    layers: JSON.stringify(hit.layers),
    created_at: owner.createdAt,
  }
}

/** Hits of a rule in the same kind of place are one. */
export function mergeHits(hits: readonly GuardrailHit[]): GuardrailHit[] {
  const merged = new Map<string, GuardrailHit>()
  for (const hit of hits) {
    const key = JSON.stringify([hit.rule, hit.action, hit.isEnforced, hit.direction, hit.part, hit.role])
    const known = merged.get(key)
    merged.set(key, known ? addHit(known, hit) : hit)
  }
  return [...merged.values()]
}

function addHit(known: GuardrailHit, { count, kinds }: GuardrailHit): GuardrailHit {
  return { ...known, count: known.count + count, kinds: [...new Set([...known.kinds, ...kinds])] }
}

/** The hits of one request, in a fixed order. */
export async function listHitsOf(db: Db, organizationId: string, generationId: string): Promise<HitRow[]> {
  // The organization is not part of the condition, or the planner may choose its index.
  const rows = await db
    .selectFrom('guardrail_hits')
    .selectAll()
    .where('generation_id', '=', generationId)
    .execute()
  return rows
    .filter((row) => row.organization_id === organizationId)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
}

/** Hits of an organization, or of one of its keys, from a time on and before another. */
export interface HitScope {
  organizationId: string
  keyId: number | null
  from: string | null
  to: string | null
}

/** The place of a hit in a list. */
export type HitPosition = Pick<HitRow, 'created_at' | 'id'>

/** Hits per query: few enough that other requests do not wait for it. */
const walkBatchSize = 500

/** Walks hits in batches, newest first, beginning behind a position. */
export async function* walkHits(
  db: Db,
  { organizationId, keyId, from, to }: HitScope,
  start: HitPosition | null,
): AsyncGenerator<HitRow[]> {
  const owned =
    keyId === null
      ? db.selectFrom('guardrail_hits').selectAll().where('organization_id', '=', organizationId)
      : db.selectFrom('guardrail_hits').selectAll().where('key_id', '=', keyId)
  for (let position = start; ; ) {
    const rows: HitRow[] = await owned
      .$if(from !== null, (query) => query.where('created_at', '>=', from ?? ''))
      .$if(to !== null, (query) => query.where('created_at', '<', to ?? ''))
      .$if(position !== null, (query) =>
        query.where(sql<boolean>`(created_at, id) < (${position?.created_at}, ${position?.id})`),
      )
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(walkBatchSize)
      .execute()
    if (rows.length > 0) yield rows
    if (rows.length < walkBatchSize) return
    position = rows.at(-1) ?? null
  }
}
