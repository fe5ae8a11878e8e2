import type { Statement } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import { newUuid } from '../lib/ids.ts'
import type { GuardrailHit } from '../policy/content-rules.ts'

/** The request that the hits are of. */
export interface HitOwner {
  generationId: string
  organizationId: string
  workspaceId: string
  keyId: number
  createdAt: string
}

/** Of one request; further ones are not stored. */
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
