import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { databaseKinds } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { closeScenarios, createScenario, type FaultScenario, type GatewayProcess } from './gateways.ts'
import { testTimeoutMs } from './options.ts'
import { settleOrphans } from './orphaned-holds.ts'
import { readLedgerSnapshot } from './reconciliation.ts'

afterAll(closeScenarios)

function buildSettings({ url }: Upstream): string {
  const model = (name: string) => ({
    ...{ id: `faults/${name}`, name },
    endpoints: [
      {
        ...{ provider: 'first', upstream_model: name },
        pricing: { prompt: '0', completion: '0', request: '0.01' },
      },
    ],
  })
  return JSON.stringify({
    providers: [
      { slug: 'first', name: 'first', base_url: url, dialects: ['chat'], api_key: 'vendor-secret' },
    ],
    models: [model('original'), model('mirror')],
    limits: { drain: 0.5 },
  })
}

for (const kind of databaseKinds) {
  describe(`the end of a process with mirrors (${kind})`, () => {
    let gateway: GatewayProcess
    let upstream: Upstream
    let scenario: FaultScenario
    beforeAll(async () => {
      upstream = await startUpstream()
      scenario = await createScenario(kind, undefined, buildSettings(upstream))
      gateway = await scenario.start()
    }, testTimeoutMs)
    afterAll(() => upstream.stop())

    const target = { model: 'faults/mirror' }
    const createShadow = async (fields: object = {}) => {
      const body = { name: 'Shadow', share: 1, daily_usd: 1, target, ...fields }
      return (await gateway.manage('POST', '/shadows', body)).data.id
    }
    const send = async (key: string) => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'faults/original', messages: [{ role: 'user', content: 'Hello' }] }),
      })
      expect(response.status).toBe(200)
      await response.text()
    }
    const readMoney = async () => {
      const { generations, holds, findings } = await readLedgerSnapshot(scenario.databaseUrl)
      expect(holds).toEqual([])
      expect(findings.flatMap(({ violations }) => violations)).toEqual([])
      return generations.map(({ cost_nanos }) => Number(cost_nanos)).filter((cost) => cost > 0)
    }

    test(
      'kill -9 while a mirror waits for its provider: the original is charged, and no hold stays',
      async () => {
        const key = await gateway.createKey()
        const id = await createShadow()
        const received = upstream.waitForRequests(2)
        upstream.enqueue({ json: reply }, { hang: true })
        await send(key)
        await received
        await gateway.kill()
        await settleOrphans(scenario)
        gateway = await scenario.start()
        // A request about money flushes the journal.
        await gateway.manage('GET', '/credits')
        expect(await readMoney()).toEqual([10_000_000])
        await gateway.manage('DELETE', `/shadows/${id}`)
      },
      testTimeoutMs,
    )

    test(
      'SIGTERM while one waits for its provider and another for its turn: both are counted, and no hold stays',
      async () => {
        const key = await gateway.createKey()
        const id = await createShadow({ concurrency: 1 })
        const before = upstream.requests.length
        upstream.enqueue({ json: reply }, { hang: true }, { json: reply })
        const received = upstream.waitForRequests(before + 2)
        await send(key)
        await received
        await send(key)
        await gateway.stop()
        expect(upstream.requests).toHaveLength(before + 3)
        expect(await readMoney()).toEqual([10_000_000, 10_000_000, 10_000_000])
        gateway = await scenario.start()
        const response = await gateway.fetch(`/shadows/${id}/report`)
        const { data } = (await response.json()) as {
          data: { mirrored: number; skipped: { reason: string; requests: number }[] }
        }
        const skips = data.skipped.filter(({ reason }) => reason === 'shutdown')
        expect(data.mirrored + skips.reduce((sum, { requests }) => sum + requests, 0)).toBe(2)
        expect(skips.length).toBe(1)
      },
      testTimeoutMs,
    )
  })
}

const reply = {
  ...{ id: 'x', object: 'chat.completion', created: 1, model: 'original' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
