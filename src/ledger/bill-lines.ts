import type { Selectable } from 'kysely'
import { z } from 'zod'
import { countCompletionTokens, countPromptTokens } from '../formats/call/usage.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import type { GenerationLineTable } from '../platform/db/schema.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import type { BillLine } from './bill.ts'
import type { NestedLine } from './recovery.ts'

export type LineRow = Selectable<GenerationLineTable>

export const lineRecord = z
  .strictObject({
    kind: z
      .enum(['turn', 'tool', 'plugin', 'request'])
      .describe('A reply of the model, a server tool, a plugin, or a request with a generation of its own.'),
    name: z.string().describe('The model, the tool or the plugin.'),
    provider: z.string().nullable().describe('The provider or engine that was paid.'),
    quantity: z
      .int()
      .describe('Results of a search, pages that were read, or seconds of a container; otherwise 1.'),
    tokens_prompt: z.int().nullable(),
    tokens_completion: z.int().nullable(),
    cost: z.number().describe('In USD.'),
    duration: z.int().describe('In milliseconds.'),
    started: z
      .int()
      .nullable()
      .describe('Milliseconds from the arrival of the request; null if it is not recorded.'),
    generation_id: z.string().nullable().describe('The generation in which a nested request is charged.'),
  })
  .meta({ id: 'BillLine' })

export function toLineRecord(row: LineRow): z.input<typeof lineRecord> {
  const { kind, name, provider, quantity, tokens_prompt, tokens_completion } = row
  return {
    ...{ kind, name, provider, quantity, tokens_prompt, tokens_completion },
    cost: usdFromNanos(row.cost_nanos),
    duration: row.duration_ms,
    started: row.started_ms,
    generation_id: row.nested_id,
  }
}

/** Repeating the statement changes nothing. */
export function buildLineStatement(db: Db, generationId: string, lines: readonly BillLine[]): Statement {
  const { sql, parameters } = db
    .insertInto('generation_lines')
    .values(lines.map((line, position) => toRow(generationId, position, line)))
    .onConflict((conflict) => conflict.columns(['generation_id', 'position']).doNothing())
    .compile()
  return { sql, values: parameters.map((value) => (typeof value === 'bigint' ? String(value) : value)) }
}

/** A line after those that were committed with the charge. */
export async function insertLine(
  db: Db,
  generationId: string,
  position: number,
  line: BillLine,
): Promise<void> {
  await db
    .insertInto('generation_lines')
    .values(toRow(generationId, position, line))
    .execute()
}

/** Adds a nested request to the bill of a recorded generation. Repeating it changes nothing. */
export async function addNestedLine(db: Db, { outerId, line }: NestedLine): Promise<void> {
  const outer = await db.selectFrom('generations').select('id').where('id', '=', outerId).executeTakeFirst()
  const lines = await listLines(db, outerId)
  if (!outer || lines.some(({ nested_id }) => nested_id === line.nestedId)) return
  await insertLine(db, outerId, (lines.at(-1)?.position ?? -1) + 1, line)
}

function toRow(generationId: string, position: number, line: BillLine): LineRow {
  const { kind, name, provider, quantity, usage, cost, durationMs, startedMs, nestedId } = line
  return {
    generation_id: generationId,
    position,
    kind,
    name,
    provider,
    quantity,
    tokens_prompt: usage && countPromptTokens(usage),
    tokens_completion: usage && countCompletionTokens(usage),
    cost_nanos: cost,
    duration_ms: Math.round(durationMs),
    started_ms: startedMs === undefined ? null : Math.round(startedMs),
    nested_id: nestedId,
  }
}

export function listLines(db: Db, generationId: string): Promise<LineRow[]> {
  return db
    .selectFrom('generation_lines')
    .selectAll()
    .where('generation_id', '=', generationId)
    .orderBy('position')
    .execute()
}

/** The lines of several generations, by generation; omits those without any. */
export async function listLinesOf(
  db: Db,
  generationIds: readonly string[],
): Promise<ReadonlyMap<string, LineRow[]>> {
  if (generationIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('generation_lines')
    .selectAll()
    .where('generation_id', 'in', generationIds)
    .orderBy('generation_id')
    .orderBy('position')
    .execute()
  return Map.groupBy(rows, ({ generation_id }) => generation_id)
}

/** Sums the costs of nested requests by generation; omits generations without any. */
export async function sumNestedCosts(
  db: Db,
  generationIds: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  if (generationIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('generation_lines')
    .select(['generation_id', (eb) => eb.fn.sum<bigint>('cost_nanos').as('sum_nanos')])
    .where('generation_id', 'in', generationIds)
    .where('kind', '=', 'request')
    .groupBy('generation_id')
    .execute()
  return new Map(rows.map(({ generation_id, sum_nanos }) => [generation_id, sum_nanos]))
}

/** The generation on whose behalf a nested request was made. */
export async function findParentId(db: Db, nestedId: string): Promise<string | null> {
  const row = await db
    .selectFrom('generation_lines')
    .select('generation_id')
    .where('nested_id', '=', nestedId)
    .executeTakeFirst()
  return row?.generation_id ?? null
}

/** Those of these generations that another one made, through a plugin or a tool. */
export async function findNestedIds(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const nested = new Set<string>()
  for (let at = 0; at < ids.length; at += idsPerStatement) {
    const rows = await db
      .selectFrom('generation_lines')
      .select('nested_id')
      .where('nested_id', 'in', ids.slice(at, at + idsPerStatement))
      .execute()
    for (const { nested_id } of rows) if (nested_id !== null) nested.add(nested_id)
  }
  return nested
}

const idsPerStatement = 500
