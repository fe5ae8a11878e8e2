import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { buildComparisonInsert, buildSkipCount, listSkips, trimComparisons } from './comparison-store.ts'

const dayMs = 86_400_000
const side = {
  ...{ generation_id: null, external_id: null, model: 'm', provider: 'p', status: 'completed' as const },
  ...{ error: null, finish_reason: null, prompt_tokens: null, completion_tokens: null, cost_nanos: null },
  ...{ latency_ms: null, first_token_ms: null },
}
const comparison = {
  ...{ original: side, mirror: side, differences: [], omitted: 0 },
  structured_output: { original: null, mirror: null },
}

describeOnEachDatabase('the comparisons of shadows', (server) => {
  test('are deleted when they are old, or their shadow is gone', async () => {
    const { gateway, call } = server()
    const { db, clock, statementWriter } = gateway
    const { id } = (await call('POST', '/shadows', { body: { name: 'Kept', daily_usd: 1 } })).body.data
    const now = clock.now()
    for (const [shadow, at] of [
      [id, now],
      [id, now - 31 * dayMs],
      ['gone', now],
    ] as const) {
      await statementWriter.write(buildComparisonInsert(db, shadow, at, comparison))
      await statementWriter.write(buildSkipCount(db, shadow, at, 'tools'))
      await statementWriter.write(buildSkipCount(db, shadow, at, 'tools'))
    }
    await trimComparisons(gateway)
    const left = await db.selectFrom('shadow_comparisons').select(['shadow_id', 'created_at']).execute()
    expect(left).toEqual([{ shadow_id: id, created_at: new Date(now).toISOString() }])
    expect(await listSkips(db, id, '')).toEqual([{ reason: 'tools', requests: 2 }])
    expect(await listSkips(db, 'gone', '')).toEqual([])
  })
})
