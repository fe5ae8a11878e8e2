import type { Selectable } from 'kysely'
import {
  type GenerationColumn,
  type GenerationTable,
  generationColumns,
  generationTable,
} from '../../platform/db/generation-table.ts'
import { millisecondsOf } from './sql.ts'
import { versionColumns } from './usage-table.ts'

type GenerationRow = Selectable<GenerationTable>

/** One row for each request, with all columns of its record. */
export const generationsTable = 'headgate_generations'

/** Columns with few different values, of which only the number in a dictionary is stored. */
const repetitive: ReadonlySet<GenerationColumn> = new Set<GenerationColumn>([
  ...(['workspace_id', 'user_id', 'requested_model', 'dialect', 'preset_id', 'region', 'app_url'] as const),
  ...([
    'app_title',
    'api_type',
    'model',
    'provider',
    'endpoint',
    'upstream_dialect',
    'usage_source',
  ] as const),
  ...(['flag', 'status', 'error_code', 'finish_reason', 'native_finish_reason', 'service_tier'] as const),
  ...(['attempts', 'user_agent', 'routing_plan_id', 'nearest_limit'] as const),
])

export const generationRowColumns = [
  ...generationColumns.map((name) => ({ name, type: typeOf(name) })),
  ...versionColumns,
]

function typeOf(name: GenerationColumn): string {
  const { kind, empty } = generationTable[name]
  if (kind === 'time') return "DateTime64(3, 'UTC')"
  const base = kind === 'text' ? 'String' : 'Int64'
  const type = empty === null ? `Nullable(${base})` : base
  return repetitive.has(name) ? `LowCardinality(${type})` : type
}

export function encodeGeneration(row: GenerationRow, version: number): unknown[] {
  return [...generationColumns.map((name) => encodeValue(row[name])), version, 0]
}

/** A row that removes the one under an earlier arrival. */
export function encodeRemovedGeneration(row: GenerationRow, arrival: string, version: number): unknown[] {
  const identity: Partial<GenerationRow> = {
    id: row.id,
    organization_id: row.organization_id,
    created_at: arrival,
    ended_at: row.ended_at,
  }
  return [
    ...generationColumns.map((name) => encodeValue(identity[name] ?? generationTable[name].empty)),
    ...[version, 1],
  ]
}

function encodeValue(value: GenerationRow[GenerationColumn]): string | number | null {
  return typeof value === 'bigint' ? String(value) : value
}

/** What is selected for `decodeGeneration`. */
export const generationSelection = generationColumns
  .map((name) => (generationTable[name].kind === 'time' ? millisecondsOf(name) : name))
  .join(', ')

export function decodeGeneration(values: readonly unknown[]): GenerationRow {
  const entries = generationColumns.map((name, index) => [name, decodeValue(name, values[index])])
  return Object.fromEntries(entries) as GenerationRow
}

function decodeValue(name: GenerationColumn, value: unknown): string | number | bigint | null {
  if (value === null || value === undefined) return null
  const { kind } = generationTable[name]
  if (kind === 'nanos') return BigInt(String(value))
  if (kind === 'integer') return Number(value)
  return kind === 'time' ? new Date(Number(value)).toISOString() : String(value)
}
