import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import {
  type HitPosition,
  type HitRow,
  hitRecord,
  listHitsOf,
  toHitRecord,
  walkHits,
} from '../../../governance/guardrail-hits.ts'
import { defineOperation } from '../../../http/operation.ts'
import { type KeyName, loadKeyNames } from '../../../identity/record-names.ts'
import { encryptTimeCursor, openTimeCursor } from '../../../platform/crypto/encrypted-cursor.ts'
import { yieldToEventLoop } from '../../../platform/time/time-slicer.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { hitFilters, isInScope, matchesFilters, type ResolvedFilters, resolveFilters } from './hit-filters.ts'
import { summaryOperation } from './hit-summary.ts'

const listedHit = z
  .strictObject({
    id: z.uuid(),
    created_at: z.string().describe('When the request began.'),
    generation_id: z.string().describe('The id of the request. A request that was refused has no record.'),
    workspace_id: z.uuid(),
    api_key_hash: z.string().nullable().describe('null if the key was deleted.'),
    api_key_name: z.string().nullable(),
    user_id: z.string().nullable().describe('The member who created the key.'),
    ...hitRecord.shape,
  })
  .meta({ id: 'ListedGuardrailHit' })

/** Filters other than the key, the request and the time are applied to this many hits for one page. */
const maxExamined = 10_000

const listGuardrailHits = defineOperation({
  id: 'listGuardrailHits',
  method: 'GET',
  path: '/guardrails/hits',
  tag: 'Guardrails',
  summary: 'Lists what the guardrails found in requests and replies, newest first.',
  description:
    'The matched text is not stored. A page can have fewer hits than `limit` although there are more: continue until `cursor` is null.',
  permission: 'guardrails:read',
  query: hitFilters.extend({
    generation_id: z.string().min(1).max(256).optional(),
    limit: queryInteger({ min: 1, max: 1000, fallback: 100 }),
    cursor: z.string().min(1).max(1024).optional().describe('The cursor from the previous page.'),
  }),
  errors: [404],
  response: z.strictObject({
    data: z.array(listedHit),
    cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  }),
  handle: async (context) => {
    const { gateway, query } = context
    const { organizationId } = context.caller
    const filters = await resolveFilters(context, query)
    const { rows, last } = await readHits(gateway, filters, query)
    const keys = await loadKeyNames(
      gateway.db,
      organizationId,
      rows.map(({ key_id }) => key_id),
    )
    return {
      data: rows.map((row) => toListedHit(row, keys.get(row.key_id))),
      cursor: last && encryptTimeCursor(gateway.vault, cursorContextOf(organizationId), last),
    }
  },
})

export const hitOperations = [listGuardrailHits, summaryOperation]

async function readHits(
  gateway: Gateway,
  filters: ResolvedFilters,
  query: { generation_id?: string | undefined; limit: number; cursor?: string | undefined },
): Promise<HitPage> {
  const { organizationId } = filters.scope
  const start = openTimeCursor(gateway.vault, cursorContextOf(organizationId), query.cursor)
  if (query.generation_id === undefined) return readPage(gateway, filters, { limit: query.limit, start })
  const rows = await listHitsOf(gateway.db, organizationId, query.generation_id)
  return {
    rows: rows.filter((row) => isInScope(filters.scope, row) && matchesFilters(filters, row)),
    last: null,
  }
}

interface HitPage {
  rows: HitRow[]
  /** The next page begins behind it; null if there are no more hits. */
  last: HitPosition | null
}

async function readPage(
  { db }: Gateway,
  filters: ResolvedFilters,
  { limit, start }: { limit: number; start: HitPosition | null },
): Promise<HitPage> {
  const rows: HitRow[] = []
  let examined = 0
  let last: HitPosition | null = null
  for await (const batch of walkHits(db, filters.scope, start)) {
    for (const row of batch) {
      if (rows.length === limit || examined === maxExamined) return { rows, last }
      if (matchesFilters(filters, row)) rows.push(row)
      examined++
      last = row
    }
    await yieldToEventLoop()
  }
  return { rows, last: null }
}

function cursorContextOf(organizationId: string): string {
  return `guardrails/hits/${organizationId}`
}

function toListedHit(row: HitRow, key: KeyName | undefined): z.input<typeof listedHit> {
  return {
    id: row.id,
    created_at: row.created_at,
    generation_id: row.generation_id,
    workspace_id: row.workspace_id,
    api_key_hash: key?.hash ?? null,
    api_key_name: key?.name ?? null,
    user_id: row.user_id,
    ...toHitRecord(row),
  }
}
