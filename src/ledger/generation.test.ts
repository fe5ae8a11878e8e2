import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { emptyGeneration, generationColumns } from '../db/generation-table.ts'
import { zeroCharge } from './charge.ts'
import { bucketColumns, encodeGeneration, providedColumns, readUsage, toUsageColumns } from './generation.ts'

test('a part that leaves a column out gives it the empty value', () => {
  const values = encodeGeneration({
    draft: { ...emptyGeneration, id: 'gen-1' },
    target: { ...emptyGeneration, is_byok: 1 },
    usage: toUsageColumns({ ...zeroCharge, cost: 7n }),
    end: { status: 'completed' },
  })
  const row = Object.fromEntries(providedColumns.map((column, index) => [column, values[index]]))
  expect(row).toMatchObject({ id: 'gen-1', is_byok: 1, cost_nanos: '7', status: 'completed' })
  expect(row).toMatchObject({ attempts: '[]', hold_nanos: '0', latency_ms: 0, upstream_id: null })
})

test('the columns that the ledger fills come last, in the order in which it appends them', () => {
  expect(generationColumns).toEqual([...providedColumns, 'posting_id', 'ended_at'])
})

test('every counter of a charge is read back from its column', () => {
  const counts = bucketColumns.map((column, index) => [column, index + 1] as const)
  const row = { ...emptyGeneration, ...Object.fromEntries(counts) }
  const usage = readUsage(row)
  expect(new Set(Object.values(usage))).toEqual(new Set([0, null, ...counts.map(([, count]) => count)]))
  expect(toUsageColumns({ ...zeroCharge, usage })).toMatchObject(Object.fromEntries(counts))
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
