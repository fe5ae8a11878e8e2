import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { renderCoveragePage } from '../../scripts/guardrails.ts'
import { loadOperations } from '../../src/api/all.ts'
import { CoverageBench, type LayerName, layers } from './coverage/bench.ts'
import type { CoverageCase, WayIn } from './coverage/way-in.ts'
import { waysIn } from './coverage/ways.ts'

const operations = await loadOperations()

const actions = ['block', 'redact', 'flag'] as const
type Action = (typeof actions)[number]

const label = '[CANARY]'
const timeoutMs = 60_000

let bench: CoverageBench
beforeAll(async () => {
  bench = await CoverageBench.open()
})
afterAll(() => bench.close())

let planted = 0

/** Sends a canary, and says what is wrong with what became of it. */
async function check(
  way: WayIn,
  planting: CoverageCase,
  action: Action,
  isStreamed = false,
): Promise<string[]> {
  const canary = `canary-${action}-${++planted}`
  const plain = await planting.plant(canary, bench.setup)
  const request = isStreamed && way.stream ? way.stream(plain) : plain
  const [sent, known] = [bench.upstream.requests.length, await bench.countHits()]
  const { status, text } = await bench.send(way.path, request)
  const isRefused = action === 'block' || (action === 'redact' && planting.isRefused === true)
  const isSent = !isRefused && !way.isEstimated
  // A background response is sent after its reply.
  if (isSent && status < 300) await bench.upstream.waitForRequests(sent + 1)
  const received = bench.readReceived(sent)
  const hits = (await waitForHits(known)).filter(({ rule }) => rule === label)
  const problems: string[] = []
  const demand = (isTrue: boolean, problem: string) => {
    if (!isTrue) problems.push(problem)
  }
  demand(isRefused ? status === 403 : status < 300, `status ${status} ${text.slice(0, 300)}`)
  demand(action === 'flag' || !received.includes(canary), `the provider received the canary: ${received}`)
  demand((received !== '') === isSent, `the provider received ${received || 'nothing'}`)
  const mayRepeat = action === 'flag' || (action === 'redact' && way.returnsInput === true)
  demand(mayRepeat || !text.includes(canary), `the reply has the canary: ${text}`)
  if (action === 'redact' && isSent && !planting.isNotSent)
    demand(received.includes('CANARY'), `no label in ${received}`)
  const found = hits.map((hit) => `${hit.action} ${hit.direction} ${hit.part}`)
  const recorded = isRefused ? 'block' : action
  demand(found.includes(`${recorded} input ${planting.part}`), `hits ${JSON.stringify(found)}`)
  return problems.map((problem) => `${way.name}, ${planting.place}, ${action}: ${problem}`)
}

/** Stored with the record of a request, which may be after its reply. */
async function waitForHits(known: number) {
  for (let round = 0; round < 100; round++) {
    await bench.server.gateway.ledger.flush()
    const hits = await bench.listHits(known)
    if (hits.length > 0) return hits
    await Bun.sleep(5)
  }
  return []
}

const useFilter = (layer: LayerName, action: Action) =>
  bench.use(layer, { content_filters: [{ pattern: 'canary-[a-z]+-[0-9]+', action, label }] })

describe('R35 a canary in any part of a request', () => {
  for (const action of actions) {
    describe(action, () => {
      beforeAll(() => useFilter('key', action))
      for (const way of waysIn) {
        test(
          way.name,
          async () => {
            const problems: string[] = []
            for (const planting of way.cases) problems.push(...(await check(way, planting, action)))
            const [first] = way.cases
            if (first && way.stream) problems.push(...(await check(way, first, action, true)))
            expect(problems).toEqual([])
          },
          timeoutMs,
        )
      }
    })
  }

  for (const layer of layers.filter((name) => name !== 'key')) {
    for (const action of actions) {
      test(
        `${action} by the guardrail of the ${layer}`,
        async () => {
          await useFilter(layer, action)
          const problems: string[] = []
          for (const way of waysIn) {
            const [first] = way.cases
            if (first) problems.push(...(await check(way, first, action)))
          }
          expect(problems).toEqual([])
        },
        timeoutMs,
      )
    }
  }

  test('R11 every operation that reaches a provider has a case', () => {
    const reaching = operations.filter(({ inference }) => inference).map(({ id }) => id)
    const covered = new Set(waysIn.map(({ operation }) => operation))
    // A quote reaches none, pass-through is refused (test/clients/passthrough.test.ts); a file can be sent to a vendor.
    const isScanned = (id: string) => id !== 'quoteRequest' && !id.startsWith('passThrough')
    const expected = [...reaching.filter(isScanned), 'uploadFile']
    expect([...covered].sort()).toEqual(expected.sort())
  })

  test('R40 is in no log line and no row', async () => {
    const everything = await bench.readEverything()
    expect(everything).toContain('canary-flag-')
    const leaked = [...everything.matchAll(/.{0,200}canary-(?:block|redact)-\d.{0,100}/g)].map(
      ([found]) => found,
    )
    expect(leaked.slice(0, 5)).toEqual([])
  })
})

test('docs/guardrails-coverage.md is up to date (npm run guardrails)', async () => {
  expect(await Bun.file('docs/guardrails-coverage.md').text()).toBe(renderCoveragePage())
})
