import { expect, test } from 'bun:test'
import { buildResult, buildRun } from '../../../test/support/benchmarks.ts'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { Benchmarks } from './benchmarks.ts'
import { readResults, saveResults } from './store.ts'

describeOnEachDatabase('benchmark results', (server) => {
  test('saving the same results again changes nothing, and an older score does not replace a newer one', async () => {
    const { db } = server().gateway
    const results = [buildResult(), buildResult({ benchmark: 'agentic', score: 12.25 })]
    expect(await saveResults(db, results)).toEqual({ added: 2, updated: 0, unchanged: 0, outdated: 0 })
    const again = results.map((result) => ({ ...result, importedAt: '2027-01-01T00:00:00.000Z' }))
    expect(await saveResults(db, again)).toMatchObject({ added: 0, updated: 0, unchanged: 2 })
    const older = buildResult({ score: 1, measuredAt: '2026-10-01T00:00:00.000Z' })
    expect(await saveResults(db, [older])).toMatchObject({ updated: 0, outdated: 1 })
    const newer = buildResult({
      score: 99,
      measuredAt: '2026-12-01T00:00:00.000Z',
      sourceUrl: 'https://a.example/',
    })
    expect(await saveResults(db, [newer])).toMatchObject({ updated: 1 })
    const stored = (await readResults(db)).results.find(({ benchmark }) => benchmark === 'coding')
    expect(stored).toEqual(newer)
  })

  test('another node sees results at its next poll', async () => {
    const { db } = server().gateway
    const node = new Benchmarks()
    await saveResults(db, [buildRun({ model: 'acme/polled', costNanos: 1_234_567_890_123n, score: 0.125 })])
    expect(node.current.scoresOf({ canonical_slug: 'acme/polled' }).toolCalling).toBeNull()
    await node.poll(db)
    expect(node.current.scoresOf({ canonical_slug: 'acme/polled' }).toolCalling).toBe(0.125)
    const polled = node.current
    expect(polled.results.find(({ model }) => model === 'acme/polled')?.costNanos).toBe(1_234_567_890_123n)
    await node.poll(db)
    expect(node.current).toBe(polled)
  })

  test('the newest hundred runs are kept', async () => {
    const { db } = server().gateway
    const runs = Array.from({ length: 103 }, (_, index) =>
      buildRun({
        model: 'acme/often',
        measuredAt: new Date(1_700_000_000_000 + index * 60_000).toISOString(),
      }),
    )
    await saveResults(db, runs)
    const kept = (await readResults(db)).results.filter(({ model }) => model === 'acme/often')
    expect(kept.map(({ measuredAt }) => measuredAt).sort()).toEqual(
      runs.slice(3).map(({ measuredAt }) => measuredAt),
    )
  })
})
