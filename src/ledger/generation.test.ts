import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { zeroUsage } from '../formats/call/usage.ts'
import {
  draftFormats,
  emptyGeneration,
  type GenerationColumn,
  type GenerationTable,
  generationColumns,
  generationTable,
} from '../platform/db/generation-table.ts'
import { type Charge, zeroCharge } from './charge.ts'
import {
  bucketColumns,
  draftColumns,
  encodeOutcome,
  listDraftValues,
  outcomeColumns,
  readUsage,
} from './generation.ts'

function readOutcome(...parts: Parameters<typeof encodeOutcome>): Record<string, unknown> {
  const values = encodeOutcome(...parts)
  expect(values).toHaveLength(outcomeColumns.length)
  return Object.fromEntries(outcomeColumns.map((column, index) => [column, values[index]]))
}

test('a part that leaves a column out gives it the empty value', () => {
  const target = { ...emptyGeneration, is_byok: 1 } as const
  const row = readOutcome(target, { ...zeroCharge, cost: 7n }, { status: 'completed' })
  expect(row).toMatchObject({ is_byok: 1, cost_nanos: '7', status: 'completed' })
  expect(row).toMatchObject({ attempts: '[]', hold_nanos: '0', latency_ms: 0, upstream_id: null })
})

test('every value is in the place of its column', () => {
  const columns = generationColumns.filter((column) => column !== 'hold_nanos')
  const named = Object.fromEntries(columns.map((column) => [column, column])) as unknown as GenerationTable
  expect(listDraftValues(named)).toEqual(draftColumns)
  const usage = { ...zeroUsage, reportedCost: 0.5 }
  const units = [{ unit: 'images', quantity: 1 }] as unknown as Charge['units']
  const charge = { usage, units, source: 'reported', cost: 1n, upstream: 2n, flag: 'capped' } as const
  const row = readOutcome(named, { ...zeroCharge, ...charge }, { ...named, hold_nanos: 3n })
  const isPart = (part: string) => (column: GenerationColumn) => generationTable[column].part === part
  for (const column of [...columns.filter(isPart('target')), ...columns.filter(isPart('end'))])
    expect(row[column]).toBe(column)
  expect(row).toMatchObject({
    ...{ usage_source: 'reported', cost_nanos: '1', upstream_cost_nanos: '2', flag: 'capped' },
    ...{ reported_cost_nanos: '500000000', billed_units: JSON.stringify(units), hold_nanos: '3' },
  })
})

test('the columns of the draft come first, and those that the ledger fills last', () => {
  expect(generationColumns).toEqual([...draftColumns, ...outcomeColumns, 'posting_id', 'ended_at'])
  expect(draftFormats.at(-1)?.generation).toEqual(draftColumns)
})

test('every counter of a charge is read back from its column', () => {
  const counts = bucketColumns.map((column, index) => [column, index + 1] as const)
  const row = { ...emptyGeneration, ...Object.fromEntries(counts) }
  const usage = readUsage(row)
  expect(new Set(Object.values(usage))).toEqual(new Set([0, null, ...counts.map(([, count]) => count)]))
  const written = readOutcome(emptyGeneration, { ...zeroCharge, usage }, { status: 'completed' })
  expect(written).toMatchObject(Object.fromEntries(counts))
})

describeOnEachDatabase('the table of generations', (server) => {
  test('has the columns that are declared, and no others', async () => {
    const tables = await server().gateway.db.introspection.getTables()
    const columns = tables.find(({ name }) => name === 'generations')?.columns ?? []
    expect(columns.map(({ name }) => name).sort()).toEqual(generationColumns.toSorted())
    // SQLite calls a text key nullable.
    const nullable = columns.filter(({ name, isNullable }) => isNullable && name !== 'id')
    const empty = generationColumns.filter((column) => emptyGeneration[column] === null)
    expect(nullable.map(({ name }) => name).sort()).toEqual(empty.toSorted())
  })
})
