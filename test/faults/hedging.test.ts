import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { readLedgerSnapshot } from './reconciliation.ts'

afterAll(closeScenarios)

function buildSettings([first, second]: readonly Upstream[]): string {
  const provider = (slug: string, upstream?: Upstream) => ({
    ...{ slug, name: slug, base_url: upstream?.url, dialects: ['chat'], api_key: 'vendor-secret' },
  })
  const model = (id: string, request: string, slugs: string[]) => ({
    ...{ id: `faults/${id}`, name: id },
    endpoints: slugs.map((slug) => ({
      provider: slug,
      upstream_model: id,
      pricing: { prompt: '0', completion: '0', request },
    })),
  })
  return JSON.stringify({
    providers: [provider('first', first), provider('second', second)],
    models: [
      model('both', '0.01', ['first', 'second']),
      model('cheap', '0.01', ['first']),
      model('dear', '0.05', ['second']),
    ],
  })
}

const broken = { status: 500, json: { error: { message: 'out of order' } } }

for (const kind of databaseKinds) {
  describe(`kill -9 (${kind})`, () => {
    let gateway: GatewayProcess
    let upstreams: Upstream[] = []
    let scenario: FaultScenario
    beforeAll(async () => {
      upstreams = await Promise.all([startUpstream(), startUpstream()])
      scenario = await createScenario(kind, undefined, buildSettings(upstreams))
      gateway = await scenario.start()
    }, testTimeoutMs)
    afterAll(() => Promise.all(upstreams.map((upstream) => upstream.stop())))

    test.each([
      ['while two endpoints are tried', { model: 'faults/both', provider: { hedge: { after: 0.3 } } }],
      ['during a fallback', { model: 'faults/cheap', fallbacks: { error: ['faults/dear'] } }],
    ])(
      '%s: nothing is charged and no hold stays',
      async (moment, body) => {
        const key = await gateway.createKey()
        const [first, second] = upstreams
        // Both, in any order: what one does not receive, the next test would.
        const received = upstreams.map((upstream) => upstream.waitForRequests(upstream.requests.length + 1))
        first?.enqueue(moment === 'during a fallback' ? broken : { hang: true })
        second?.enqueue({ hang: true })
        const replying = fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...body, stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
        }).then((response) => response.text(), String)
        await Promise.all(received)
        await gateway.kill()
        await replying
        await settleOrphans(scenario)
        gateway = await scenario.start()
        // A request about money flushes the journal.
        await gateway.manage('GET', '/credits')
        const { generations, holds, findings } = await readLedgerSnapshot(scenario.databaseUrl)
        expect(holds).toEqual([])
        expect(findings.flatMap(({ violations }) => violations)).toEqual([])
        expect(generations.map(({ cost_nanos }) => BigInt(cost_nanos)).filter((cost) => cost > 0n)).toEqual(
          [],
        )
      },
      testTimeoutMs,
    )
  })
}
