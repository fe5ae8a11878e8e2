import { expect, spyOn, test } from 'bun:test'
import { authenticate } from '../../src/access/authenticate.ts'
import type { ModelCall } from '../../src/formats/call/call.ts'
import { createCallModel } from '../../src/inference/nested/call-model.ts'
import { formats } from '../../src/inference/request/formats.ts'
import type { InferenceRequest } from '../../src/inference/request/inference-request.ts'
import { parseRequest } from '../../src/inference/request/parse.ts'
import { RequestWork } from '../../src/inference/request/work.ts'
import { handleInference } from '../../src/inference/serve.ts'
import { guardRequest } from '../../src/inference/stages/guard.ts'
import type { NestedModelRequest } from '../../src/inference/tools/tool.ts'
import { describeOnEachDatabase, type TestServer } from '../support/harness.ts'

const settings = `
providers:
  - { slug: retaining, name: Retaining, base_url: "http://127.0.0.1:1", dialects: [chat], api_key: secret }
models:
  - { id: test/retained, name: Retained, endpoints: [{ provider: retaining, upstream_model: any }] }
  - id: test/priced
    name: Priced
    endpoints: [{ provider: sandbox, upstream_model: echo, pricing: { prompt: "0.000001", completion: "0.000002" } }]
`

describeOnEachDatabase(
  'nested requests',
  (server) => {
    test('a nested request has the same key, and its own record and charge', async () => {
      const { gateway, own } = server()
      const outer = await parseOuter(server(), { session_id: 's-1', user: 'u-1' })
      const deltas: string[] = []
      const reply = await callNested(server(), outer, { onText: (text) => deltas.push(text) })
      expect(reply.parts).toMatchObject([{ kind: 'text', text: 'one two three' }])
      expect(deltas.join('')).toBe('one two three')
      expect(deltas.length).toBeGreaterThan(1)
      expect(reply).toMatchObject({
        model: 'test/priced',
        provider: 'Sandbox (simulated)',
        finishReason: 'stop',
      })
      expect(reply.costNanos).toBeGreaterThan(0n)
      const record = await gateway.db
        .selectFrom('generations')
        .selectAll()
        .where('id', '=', reply.id)
        .executeTakeFirstOrThrow()
      expect(record).toMatchObject({
        organization_id: own.organization.id,
        cost_nanos: reply.costNanos,
        session_id: 's-1',
        status: 'completed',
      })
      expect(outer.work?.bill.lines).toMatchObject([
        { kind: 'request', name: 'advisor', nestedId: reply.id, cost: reply.costNanos },
      ])
      expect(outer.work?.bill.nested).toBe(reply.costNanos)
    })

    test('a failure is the error of the nested request, before and during its reply', async () => {
      const outer = await parseOuter(server())
      for (const text of ['sandbox:error=429', 'one two three sandbox:fail=2'])
        await expect(callNested(server(), outer, { call: callOf(text) })).rejects.toThrow()
      await expect(callNested(server(), outer, { model: 'test/none' })).rejects.toThrow('not in the catalog')
    })

    test('ends with the other request', async () => {
      const outer = await parseOuter(server())
      const abort = new AbortController()
      const calling = callNested(server(), outer, {
        call: callOf('sandbox:length=5000 sandbox:slow=1000'),
        signal: abort.signal,
        onText: () => abort.abort(),
      })
      await expect(calling).rejects.toThrow('canceled')
      expect(outer.work?.bill.lines).toHaveLength(1)
    })

    test('R7 its checkpoint names the other request, so that both can be recovered', async () => {
      const { ledger } = server().gateway
      const outer = await parseOuter(server())
      const checkpoints: (string | null)[] = []
      const tracking = spyOn(ledger, 'trackProgress')
      const onText = () => checkpoints.push(tracking.mock.calls.at(-1)?.[1].buildCheckpoint() ?? null)
      await callNested(server(), outer, { onText })
      tracking.mockRestore()
      const [checkpoint] = checkpoints.filter((text) => text !== null)
      expect(JSON.parse(checkpoint ?? '{}').outer).toEqual({ id: outer.id, purpose: 'advisor' })
    })

    test('a nested request calls no other model', async () => {
      const outer = await parseOuter(server())
      await expect(callNested(server(), { ...outer, isNested: true })).rejects.toThrow(
        'cannot call another model',
      )
      await expect(callNested(server(), outer, { model: '@preset/any' })).rejects.toThrow('not a preset')
    })

    test('data policies of the other request apply', async () => {
      const outer = await parseOuter(server(), { provider: { zdr: true } })
      await expect(callNested(server(), outer, { model: 'test/retained' })).rejects.toThrow(
        'meets the requirements',
      )
    })
  },
  { settings },
)

function callOf(text: string): ModelCall {
  return { messages: [{ role: 'user', parts: [{ kind: 'text', text }] }], stream: false, unknown: [] }
}

function callNested(
  { gateway }: TestServer,
  outer: InferenceRequest,
  nested: Partial<NestedModelRequest> = {},
) {
  return createCallModel(
    gateway,
    outer,
    handleInference,
  )({
    model: 'test/priced',
    call: callOf('one two three'),
    purpose: 'advisor',
    signal: new AbortController().signal,
    ...nested,
  })
}

async function parseOuter(
  server: TestServer,
  fields: Record<string, unknown> = {},
): Promise<InferenceRequest> {
  const { gateway, own, url } = server
  const httpRequest = new Request(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.inferenceKey}` },
  })
  const body = { model: 'test/priced', messages: [{ role: 'user', content: 'Hello' }], ...fields }
  const parsed = await parseRequest(gateway, {
    caller: await authenticate(gateway, httpRequest),
    region: 'global',
    httpRequest,
    body,
    source: { text: JSON.stringify(body), body, values: 10 },
    format: formats.chat,
  })
  return { ...(await guardRequest(gateway, parsed)), work: new RequestWork([]) }
}
