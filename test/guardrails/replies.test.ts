import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { checkLedger } from '../../src/ledger/check.ts'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreams,
  type FormatName,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { type Scenario, scenarios } from '../support/replies/scenario.ts'
import { type TextWireFormat, textWireFormats, vendorReplies } from '../support/replies.ts'
import { setKeyGuardrail } from './support.ts'

const canary = 'jane.doe@example.org'
const text = `Please write to ${canary} soon. ${'It is a fine day for letters. '.repeat(40)}`
const redacted = text.replace(canary, '[EMAIL]')

const args = JSON.stringify({ to: canary })
const callScenario: Scenario = {
  ...scenarios.toolCalls,
  text,
  toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: args }],
}
const textScenario: Scenario = { ...scenarios.text, text }

const tools = {
  chat: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
  messages: [{ name: 'get_weather', input_schema: { type: 'object' } }],
  responses: [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }],
}

const pairs = (['chat', 'messages', 'responses'] as const).flatMap((format) =>
  textWireFormats.map((upstream): [FormatName, TextWireFormat] => [format, upstream]),
)

async function listHits({ server }: Bench) {
  return server.gateway.db.selectFrom('guardrail_hits').selectAll().execute()
}

describeWithUpstreams('content filters of replies', (bench, kind) => {
  const use = (action: string, more: object = {}) =>
    setKeyGuardrail(bench().server, {
      content_filter_builtins: [{ slug: 'email', action, scope: 'output' }],
      ...more,
    })
  beforeEach(async () => {
    await clearGenerations(bench())
    await bench().server.gateway.db.deleteFrom('guardrail_hits').execute()
  })
  afterEach(() => setKeyGuardrail(bench().server, { content_filter_builtins: null, content_filters: null }))

  const reply = (upstream: TextWireFormat, scenario: Scenario, stream: boolean) => {
    const { frames, body } = vendorReplies[upstream](scenario)
    bench().first.enqueue(stream ? { sse: frames, splitBytes: 7 } : { json: body })
  }
  const send = (format: FormatName, upstream: TextWireFormat, more: object = {}) =>
    sendRequest(bench(), format, { model: `test/${upstream}`, tools: tools[format], ...more })

  // Translation does not depend on the database.
  const tested = kind === 'sqlite' ? pairs : pairs.filter(([format, upstream]) => format === upstream)

  describe.each(tested)('R35 %s client, %s upstream', (format, upstream) => {
    test.each([false, true])('redacts text and arguments (streamed: %s)', async (stream) => {
      await use('redact')
      reply(upstream, callScenario, stream)
      const response = await send(format, upstream, { stream })
      const received = await response.text()
      expect(response.status).toBe(200)
      expect(received).not.toContain('jane.doe')
      expect(received).toContain('[EMAIL]')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'completed', tokens_output: 58 })
      const hits = await listHits(bench())
      expect(hits.map(({ part, count }) => [part, count]).sort()).toEqual([
        ['text', 1],
        ['tool-call', 1],
      ])
      expect(hits[0]).toMatchObject({ direction: 'output', action: 'redact', generation_id: row?.id })
    })

    test.each([false, true])('blocks, charges and does not retry (streamed: %s)', async (stream) => {
      await use('block')
      reply(upstream, textScenario, stream)
      const response = await sendRequest(bench(), format, { model: `test/both-${upstream}`, stream })
      const received = await response.text()
      expect(response.status).toBe(stream ? 200 : 403)
      expect(received).toContain('Response blocked by content filter: [EMAIL]')
      expect(received).not.toContain('jane')
      expect(bench().first.requests.length + bench().second.requests.length).toBe(1)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ status: 'failed', error_code: 'guardrail_blocked' })
      expect(Number(row?.cost_nanos)).toBeGreaterThan(0)
      expect(await listHits(bench())).toMatchObject([{ rule: 'email', action: 'block', count: 1 }])
    })
  })

  test('a whole reply that is blocked names the filter and the part', async () => {
    await use('block')
    reply('chat', textScenario, false)
    const { error } = await readJson(send('chat', 'chat'))
    expect(error).toMatchObject({
      code: 403,
      metadata: { filters: [{ filter: 'email', part: 'text', role: 'assistant', count: 1 }] },
    })
  })

  test('a streamed reply that is blocked ends with finish reason error', async () => {
    await use('block')
    reply('chat', textScenario, true)
    const received = await (await send('chat', 'chat', { stream: true })).text()
    const last = JSON.parse(
      received
        .trim()
        .split('\n\n')
        .filter((frame) => !frame.endsWith('[DONE]'))
        .at(-1)
        ?.slice(6) ?? '',
    )
    expect(last).toMatchObject({ error: { code: 403 }, choices: [{ finish_reason: 'error' }] })
  })

  test('a filter that flags leaves a reply byte for byte, and its hits are recorded', async () => {
    const { body } = vendorReplies.chat(textScenario)
    reply('chat', textScenario, false)
    const plain = await readJson(send('chat', 'chat'))
    await use('flag')
    reply('chat', textScenario, false)
    const flagged = await readJson(send('chat', 'chat'))
    expect({ ...flagged, id: plain.id, created: plain.created }).toEqual(plain)
    expect(Object.keys(flagged)).toEqual(expect.arrayContaining(Object.keys(body)))
    await waitForGenerations(bench(), 2)
    expect(await listHits(bench())).toMatchObject([{ action: 'flag', direction: 'output', count: 1 }])
  })

  test('the hits of a client that disconnects are recorded', async () => {
    await use('flag', { content_filters: [{ pattern: 'fine day', action: 'redact', scope: 'output' }] })
    const { frames } = vendorReplies.chat(textScenario)
    bench().first.enqueue({ sse: frames.slice(0, -3), hang: true })
    const response = await send('chat', 'chat', { stream: true })
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    const [row] = await waitForGenerations(bench(), 1)
    expect(row?.status).toBe('cancelled')
    const hits = await listHits(bench())
    expect(hits.find(({ rule }) => rule === 'email')).toMatchObject({ action: 'flag', count: 1 })
  })

  test('R40 the content log, a stored and a background response have the filtered reply', async () => {
    await use('redact')
    const { server } = bench()
    const logging = { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 }
    await server.call('PATCH', `/workspaces/${server.own.workspace.id}`, { body: logging })
    reply('chat', textScenario, false)
    const stored = await readJson(
      sendRequest(bench(), 'responses', { model: 'test/chat', store: true, input: 'Hello' }),
    )
    const read = async (id: string) =>
      readJson(
        fetch(`${bench().server.url}/v1/responses/${id}`, {
          headers: { authorization: `Bearer ${bench().server.own.inferenceKey}` },
        }),
      )
    expect(JSON.stringify(await read(stored.id))).not.toContain('jane')
    reply('chat', textScenario, true)
    const queued = await readJson(
      sendRequest(bench(), 'responses', { model: 'test/chat', background: true, input: 'Hello' }),
    )
    await waitForGenerations(bench(), 2)
    await bench().server.gateway.backgroundRuns.drain(5000)
    const done = await read(queued.id)
    expect(done.status).toBe('completed')
    expect(done.output_text).toBe(redacted)
    const log = await bench().server.call(
      'GET',
      `/generation/content?id=${(await waitForGenerations(bench(), 2))[0]?.id}`,
    )
    expect(log.body.data.output.completion).toBe(redacted)
  })

  test('a background response that is blocked has failed', async () => {
    await use('block')
    reply('chat', textScenario, true)
    const queued = await readJson(
      sendRequest(bench(), 'responses', { model: 'test/chat', background: true, input: 'Hello' }),
    )
    await waitForGenerations(bench(), 1)
    await bench().server.gateway.backgroundRuns.drain(5000)
    const done = await readJson(
      fetch(`${bench().server.url}/v1/responses/${queued.id}`, {
        headers: { authorization: `Bearer ${bench().server.own.inferenceKey}` },
      }),
    )
    expect(done).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('blocked') } })
    expect(JSON.stringify(done)).not.toContain('jane')
  })

  test('a cached reply is the filtered one, and its flags are recorded again', async () => {
    await use('redact', { content_filters: [{ pattern: 'fine day', action: 'flag', scope: 'output' }] })
    const headers = { 'x-service-cache': 'true' }
    const ask = async () => {
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { headers })
      const status = response.headers.get('x-service-cache-status')
      return { status, text: (await readJson(response)).choices[0].message.content }
    }
    reply('chat', textScenario, false)
    expect(await ask()).toEqual({ status: 'MISS', text: redacted })
    expect(await ask()).toEqual({ status: 'HIT', text: redacted })
    await waitForGenerations(bench(), 2)
    const hits = await listHits(bench())
    expect(hits.filter(({ rule }) => rule === 'fine day').map(({ count }) => count)).toEqual([40, 40])
    // Under another policy the entry is not used.
    await setKeyGuardrail(bench().server, { content_filter_builtins: null, content_filters: null })
    reply('chat', textScenario, false)
    expect(await ask()).toEqual({ status: 'MISS', text })
  })
})

describeWithUpstreams('a blocked reply', (bench) => {
  test('is charged once, streamed and whole, and the ledger agrees', async () => {
    await setKeyGuardrail(bench().server, {
      content_filter_builtins: [{ slug: 'email', action: 'block', scope: 'output' }],
    })
    const { frames, body } = vendorReplies.chat(textScenario)
    bench().first.enqueue({ sse: frames }, { json: body })
    for (const stream of [true, false])
      await (await sendRequest(bench(), 'chat', { model: 'test/chat', stream })).text()
    const rows = await waitForGenerations(bench(), 2)
    expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed'])
    const { findings } = await checkLedger(bench().server.gateway.db)
    expect(findings.flatMap(({ violations }) => violations)).toEqual([])
  })
})
