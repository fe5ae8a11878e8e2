import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { setKeyGuardrail } from '../guardrails/support.ts'
import {
  clearGenerations,
  describeWithUpstreams,
  type FormatName,
  formatNames,
  listGenerations,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import type { TestServer } from '../support/harness.ts'
import { requestHolds } from '../support/holds.ts'
import { readSseData, replyWithCalls, replyWithText } from './replies.ts'

const model = 'sandbox/echo'
const tools = [{ type: 'service:datetime', parameters: { timezone: 'Europe/Paris' } }]
const inParis = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00/

function promptOf(content: string, format: FormatName): JsonObject {
  return format === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
}

function functionTool(format: FormatName, name: string): JsonObject {
  const schema = { type: 'object', properties: { id: { type: 'string' } } }
  if (format === 'chat') return { type: 'function', function: { name, parameters: schema } }
  if (format === 'messages') return { name, input_schema: schema }
  return { type: 'function', name, parameters: schema }
}

describeWithUpstreams('server tools', (bench) => {
  for (const format of formatNames) {
    test(`a whole reply shows the tool, its result and the text of the last turn: ${format}`, async () => {
      await clearGenerations(bench())
      const body = { model, tools, ...promptOf('What does datetime say?', format) }
      const reply = await readJson(sendRequest(bench(), format, body))
      expect(readText(format, reply)).toMatch(inParis)
      expect(readTool(format, reply)).toMatchObject({
        name: 'datetime',
        result: expect.stringMatching(inParis),
      })
      expect(reply.usage.server_tool_use_details).toEqual({
        tool_calls_requested: 1,
        tool_calls_executed: 1,
        web_search_requests: 0,
      })
      expect(reply.usage.cost_details.server_tool_cost).toBe(0)
      const [row] = await listGenerations(bench())
      expect(row).toMatchObject({ status: 'completed', finish_reason: 'stop' })
    })

    test(`a stream shows the same: ${format}`, async () => {
      const body = { model, stream: true, tools, ...promptOf('What does datetime say?', format) }
      const text = await (await sendRequest(bench(), format, body)).text()
      const events = readSseData(text)
      if (format === 'chat') {
        const entries = events.flatMap((chunk) => chunk.choices[0]?.delta.reasoning_details ?? [])
        expect(entries).toMatchObject([
          { type: 'reasoning.server_tool_call', result: expect.stringMatching(inParis) },
        ])
      } else if (format === 'messages') {
        const blocks = events.flatMap(({ content_block }) => content_block?.type ?? [])
        expect(blocks).toEqual(['server_tool_use', 'service_datetime_tool_result', 'text'])
      } else {
        const items = events.filter(({ type }) => type.startsWith('response.output_item'))
        expect(items.map(({ type, item }) => [type.slice(21), item.type, item.status])).toEqual([
          ['added', 'service:datetime', 'in_progress'],
          ['done', 'service:datetime', 'completed'],
          ['added', 'message', 'in_progress'],
          ['done', 'message', 'completed'],
        ])
      }
      expect(text).toMatch(inParis)
    })

    test(`tools of the client end the reply, and the next request has all results: ${format}`, async () => {
      const mixed = [...tools, functionTool(format, 'lookup')]
      const prompt = promptOf('Use lookup and datetime', format)
      const reply = await readJson(sendRequest(bench(), format, { model, tools: mixed, ...prompt }))
      expect(readTool(format, reply)).toMatchObject({ name: 'datetime' })
      const call = readClientCall(format, reply)
      expect(call.name).toBe('lookup')
      const next = { model, tools: mixed, ...answerCall(format, prompt, reply, call.id) }
      const answer = await readJson(sendRequest(bench(), format, next))
      expect(readText(format, answer)).toMatch(/datetime returned.*2\d\d\d.*lookup returned.*found/s)
    })
  }

  test.each([
    ['step_count_is', { step_count: 2 }, 2],
    ['has_tool_call', { tool_name: 'service:datetime' }, 1],
    ['has_tool_call', { tool_name: 'other' }, 4],
    ['max_tokens_used', { max_tokens: 1 }, 1],
    ['max_cost', { max_cost_in_dollars: 0 }, 1],
    ['finish_reason_is', { reason: 'tool_calls' }, 1],
  ])('stops when %s %p: %d calls, then a turn without tools', async (type, fields, calls) => {
    const prompt = promptOf('sandbox:rounds=4 Use datetime', 'chat')
    const body = { model, tools, max_tool_calls: 1, stop_server_tools_when: [{ type, ...fields }], ...prompt }
    const { usage, choices } = await readJson(sendRequest(bench(), 'chat', body))
    expect(usage.server_tool_use_details.tool_calls_executed).toBe(calls)
    expect(choices[0].finish_reason).toBe('stop')
    expect(choices[0].message.content).toMatch(inParis)
  })

  for (const format of formatNames) {
    test(`a budget ends the calls, and a last turn has no tools: ${format}`, async () => {
      const prompt = promptOf('sandbox:rounds=40 Use datetime', format)
      for (const [max_tool_calls, executed] of [
        [2, 2],
        [undefined, 30],
      ]) {
        const body = { model, tools, max_tool_calls, ...prompt }
        const reply = await readJson(sendRequest(bench(), format, body))
        expect(reply.usage.server_tool_use_details.tool_calls_executed).toBe(executed)
        expect(readText(format, reply)).toMatch(inParis)
      }
      const none = await readJson(
        sendRequest(bench(), format, { model, tools, max_tool_calls: 0, ...prompt }),
      )
      expect(none.usage.server_tool_use_details).toBeUndefined()
    })
  }

  test.each([
    ['unknown', { tools: [{ type: 'service:time_travel' }] }, 'tools[0].type'],
    [
      'parameters',
      { tools: [{ type: 'service:datetime', parameters: { timezone: 'Mars' } }] },
      'tools[0].parameters.timezone',
    ],
    ['several choices', { tools, n: 2 }, 'n'],
    ['budget', { tools, max_tool_calls: 31 }, 'max_tool_calls'],
    ['choice', { tools, tool_choice: { type: 'service:web_fetch' } }, 'tool_choice'],
  ])('400: %s', async (_name, fields, field) => {
    const response = await sendRequest(bench(), 'chat', { model, ...fields })
    expect(response.status).toBe(400)
    expect((await readJson(response)).error.message).toContain(field)
  })

  test('403 for a tool that the workspace does not allow', async () => {
    const { server } = bench()
    const { id } = server.own.workspace
    await server.call('PATCH', `/workspaces/${id}`, { body: { disabled_server_tools: ['service:datetime'] } })
    const response = await sendRequest(bench(), 'chat', { model, tools })
    await server.call('PATCH', `/workspaces/${id}`, { body: { disabled_server_tools: null } })
    expect(response.status).toBe(403)
    expect((await readJson(response)).error.message).toContain('service:datetime')
  })

  test('a choice of the tool forces the first call only', async () => {
    const body = { model, tools, tool_choice: { type: 'service:datetime' } }
    const reply = await readJson(sendRequest(bench(), 'chat', body))
    expect(reply.usage.server_tool_use_details.tool_calls_executed).toBe(1)
    expect(reply.choices[0].message.content).toMatch(inParis)
  })

  test('strict mode passes; conditions without server tools are dropped', async () => {
    const strict = { headers: { 'x-headgate-strict': 'true' } }
    const prompt = promptOf('Use datetime', 'chat')
    const stop = { max_tool_calls: 3, stop_server_tools_when: [{ type: 'step_count_is', step_count: 9 }] }
    expect((await sendRequest(bench(), 'chat', { model, tools, ...stop, ...prompt }, strict)).status).toBe(
      200,
    )
    const dropped = await sendRequest(bench(), 'chat', { model, ...stop, ...prompt })
    expect(dropped.headers.get('x-headgate-dropped')).toBe('max_tool_calls, stop_server_tools_when')
  })

  test('service_metadata describes the tools', async () => {
    const headers = { 'x-service-metadata': 'enabled' }
    const body = { model, tools, ...promptOf('Use datetime', 'chat') }
    const reply = await readJson(sendRequest(bench(), 'chat', body, { headers }))
    expect(reply.service_metadata.pipeline).toMatchObject([
      { type: 'server_tools', data: { tool_calls: 1, steps: 2, stop_reason: null } },
    ])
  })

  test('a background response runs its tools', async () => {
    const { server } = bench()
    const body = { model, tools, background: true, input: 'Use datetime' }
    const { id } = await readJson(sendRequest(bench(), 'responses', body))
    const read = async () =>
      (await server.call('GET', `/responses/${id}`, { key: server.own.inferenceKey })).body
    let response = await read()
    while (response.status === 'queued' || response.status === 'in_progress') response = await read()
    expect(response.output.map(({ type }: JsonObject) => type)).toEqual(['service:datetime', 'message'])
  })

  test('a cache hit repeats the reply and runs no tool', async () => {
    const headers = { 'x-service-cache': 'true' }
    const body = { model, tools, ...promptOf('Use datetime once', 'chat') }
    const first = await sendRequest(bench(), 'chat', body, { headers })
    const original = await readJson(first)
    const second = await sendRequest(bench(), 'chat', body, { headers })
    expect(second.headers.get('x-service-cache-status')).toBe('HIT')
    const repeated = await readJson(second)
    expect(repeated.choices[0].message).toEqual(original.choices[0].message)
    expect(repeated.usage.cost).toBe(0)
  })

  test('R1 every turn is charged once, and the bill has a line for each', async () => {
    await clearGenerations(bench())
    const { first, server } = bench()
    first.enqueue(
      replyWithCalls(['datetime']),
      replyWithCalls(['datetime', 'datetime']),
      replyWithText('Done'),
    )
    const reply = await readJson(sendRequest(bench(), 'chat', { model: 'test/cent', tools }))
    expect(reply.choices[0].message.content).toBe('Done')
    expect(reply.usage).toMatchObject({ cost: 0.03, prompt_tokens: 30, completion_tokens: 15 })
    const [row] = await listGenerations(bench())
    expect(row).toMatchObject({ cost_nanos: 30_000_000n, status: 'completed' })
    const lines = await server.gateway.db
      .selectFrom('generation_lines')
      .selectAll()
      .where('generation_id', '=', row?.id ?? '')
      .orderBy('position')
      .execute()
    const tool = { kind: 'tool', name: 'datetime', provider: null, cost_nanos: 0n }
    const turn = { kind: 'turn', cost_nanos: 10_000_000n }
    expect(lines).toMatchObject([turn, tool, turn, tool, tool, turn])
    const starts = lines.map(({ started_ms }) => started_ms ?? Number.NaN)
    expect(starts).toEqual(starts.toSorted((a, b) => a - b))
    expect(await requestHolds(server.gateway.db).select('id').execute()).toEqual([])
    const [, second, third] = first.requests
    expect(second?.json.messages.map(({ role }: JsonObject) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(third?.json.messages.map(({ role }: JsonObject) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'tool', 'tool'],
    ])
  })

  for (const stream of [false, true]) {
    test(`R4 a failure in the second turn ends the reply; the first one is charged: stream ${stream}`, async () => {
      await clearGenerations(bench())
      const { first } = bench()
      first.enqueue(replyWithCalls(['datetime'], stream), { status: 500, json: {} })
      const response = await sendRequest(bench(), 'chat', { model: 'test/cent', stream, tools })
      const text = await response.text()
      expect(text).toContain('"error"')
      expect(text).toMatch(inParis)
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ cost_nanos: 10_000_000n, status: 'failed' })
      expect(first.requests).toHaveLength(2)
    })

    test(`R13 a limit that does not allow a second turn ends the reply: stream ${stream}`, async () => {
      await clearGenerations(bench())
      const { first, server } = bench()
      const made = await server.call('POST', '/keys', { body: { name: 'limited', limit: 0.015 } })
      const init = { key: made.body.key }
      first.enqueue(replyWithCalls(['datetime'], stream))
      const refused = await (
        await sendRequest(bench(), 'chat', { model: 'test/cent', stream, tools }, init)
      ).text()
      expect(refused).toContain('limit of this key')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ cost_nanos: 10_000_000n, status: 'failed' })
    })

    test(`R13 such a reply keeps the text it has: stream ${stream}`, async () => {
      await clearGenerations(bench())
      const { first, server } = bench()
      const made = await server.call('POST', '/keys', { body: { name: 'limited', limit: 0.015 } })
      first.enqueue(replyWithCalls(['datetime'], stream, 'One moment.'))
      const body = { model: 'test/cent', stream, tools }
      const text = await (await sendRequest(bench(), 'chat', body, { key: made.body.key })).text()
      expect(text).toContain('One moment.')
      expect(text).toContain('"finish_reason":"length"')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row).toMatchObject({ cost_nanos: 10_000_000n, status: 'completed' })
    })
  }

  test('R35 guardrails filter the results of tools before the model sees them', async () => {
    const body = { model, tools, ...promptOf('Use datetime', 'chat') }
    const filter = { pattern: '[+]0[12]:00', label: '[ZONE]' }
    await setKeyGuardrail(bench().server, { content_filters: [{ ...filter, action: 'redact' }] })
    const redacted = await readJson(sendRequest(bench(), 'chat', body))
    expect(redacted.choices[0].message.content).toContain('[ZONE]')
    await setKeyGuardrail(bench().server, { content_filters: [{ ...filter, action: 'block' }] })
    const blocked = await sendRequest(bench(), 'chat', body)
    await setKeyGuardrail(bench().server, { content_filters: null })
    expect(blocked.status).toBe(403)
    expect((await readJson(blocked)).error.message).toStartWith('Request blocked')
  })

  test('R28 parallel calls that arrive in pieces', async () => {
    const { first } = bench()
    first.enqueue(
      { ...replyWithCalls(['datetime', 'datetime'], true), splitBytes: 7 },
      replyWithText('Done', true),
    )
    const body = { model: 'test/chat', stream: true, tools }
    const text = await (await sendRequest(bench(), 'responses', body)).text()
    const done = readSseData(text).filter(({ type }) => type === 'response.output_item.done')
    expect(done.map(({ item }) => item.type)).toEqual(['service:datetime', 'service:datetime', 'message'])
  })

  test('R1 a client that disconnects at the end of a turn pays for it once', async () => {
    await clearGenerations(bench())
    const { first } = bench()
    // The end of the text repeats it several times, more than the buffers in between take.
    const text = 'x'.repeat(8 * 1024 * 1024)
    first.enqueue(replyWithCalls(['datetime'], true, text))
    await readUntil(bench().server, { model: 'test/chat', input: 'Hi', stream: true, tools }, text.length)
    const [row] = await waitForGenerations(bench(), 1)
    expect(row).toMatchObject({ status: 'cancelled', cost_nanos: 30_000n })
    expect(first.requests).toHaveLength(1)
  })

  test('R3 a client that disconnects in the second turn pays for the first and for what it received', async () => {
    await clearGenerations(bench())
    const { first } = bench()
    first.enqueue(replyWithCalls(['datetime'], true), {
      ...replyWithText('Slowly now', true),
      hang: true,
      endWithoutDone: true,
    })
    const abort = new AbortController()
    const body = { model: 'test/chat', stream: true, tools }
    const response = await sendRequest(bench(), 'chat', body, { signal: abort.signal })
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString()
      if (text.includes('Slowly')) break
    }
    abort.abort()
    const [row] = await waitForGenerations(bench(), 1)
    expect(row?.status).toBe('cancelled')
    expect(row?.cost_nanos).toBeGreaterThan(30_000n)
  })

  test('I6 a nested request that is charged after its aborted request is a line of its bill', async () => {
    await clearGenerations(bench())
    const { first, server } = bench()
    const called = replyWithCalls(['advisor'], true, null, { prompt: 'Well?' })
    // Its provider bills abandoned requests, so that it is read to its end.
    first.enqueue(called, { ...replyWithText('Advice', true), delayMs: 100 })
    const abort = new AbortController()
    const advisor = { type: 'service:advisor', parameters: { model: 'test/stubborn', stream: true } }
    const body = { model: 'test/chat', stream: true, tools: [advisor] }
    const response = await sendRequest(bench(), 'responses', body, { signal: abort.signal })
    let text = ''
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString()
      if (text.includes('advisor_call.delta')) break
    }
    abort.abort()
    const rows = await waitForGenerations(bench(), 2)
    const outer = rows.find((row) => row.model === 'test/chat')
    const nested = rows.find((row) => row.model === 'test/stubborn')
    expect([outer?.status, nested?.cost_nanos]).toEqual(['cancelled', 30_000n])
    const read = async () => (await server.call('GET', `/generation?id=${outer?.id}`)).body.data
    let record = await read()
    for (const deadline = Date.now() + 5000; Date.now() < deadline; record = await read())
      if (record.headgate.lines.length > 1) break
    expect(record.headgate.lines).toMatchObject([
      { kind: 'turn' },
      { kind: 'request', generation_id: nested?.id },
    ])
    expect(record.usage).toBeCloseTo(0.00006, 12)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: replies of every format
type AnyReply = any

function readText(format: FormatName, reply: AnyReply): string {
  if (format === 'chat') return reply.choices[0].message.content
  const blocks = format === 'messages' ? reply.content : reply.output
  const last = blocks.filter(({ type }: JsonObject) => type === 'text' || type === 'message').at(-1)
  return format === 'messages' ? last?.text : last?.content[0].text
}

function readTool(format: FormatName, reply: AnyReply) {
  if (format === 'chat') {
    const [entry] = reply.choices[0].message.reasoning_details
    return { name: entry.tool_name, result: entry.result }
  }
  if (format === 'messages') {
    const use = reply.content.find(({ type }: JsonObject) => type === 'server_tool_use')
    const result = reply.content.find(({ tool_use_id }: JsonObject) => tool_use_id === use.id)
    return { name: use.name, result: JSON.stringify(result.content) }
  }
  const item = reply.output.find(({ type }: { type: string }) => type.startsWith('service:'))
  return { name: item.type.slice('service:'.length), result: item.tool_result }
}

function readClientCall(format: FormatName, reply: AnyReply): { name: string; id: string } {
  if (format === 'chat') {
    const [{ id, function: called }] = reply.choices[0].message.tool_calls
    return { id, name: called.name }
  }
  if (format === 'messages') return reply.content.find(({ type }: JsonObject) => type === 'tool_use')
  const { call_id, name } = reply.output.find(({ type }: JsonObject) => type === 'function_call')
  return { id: call_id, name }
}

/** The next request: the reply as the client received it, and the result of its tool. */
function answerCall(format: FormatName, prompt: AnyReply, reply: AnyReply, id: string): JsonObject {
  if (format === 'chat') {
    const result = { role: 'tool', tool_call_id: id, content: 'found' }
    return { messages: [...prompt.messages, reply.choices[0].message, result] }
  }
  if (format === 'messages') {
    const result = { type: 'tool_result', tool_use_id: id, content: 'found' }
    const answer = { role: 'user', content: [result] }
    return { messages: [...prompt.messages, { role: 'assistant', content: reply.content }, answer] }
  }
  const result = { type: 'function_call_output', call_id: id, output: 'found' }
  return { input: [{ role: 'user', content: prompt.input }, ...reply.output, result] }
}

/** Sends a request and disconnects after more than `count` bytes of the reply. Unlike `fetch` it does not read ahead. */
function readUntil(server: TestServer, request: JsonObject, count: number): Promise<void> {
  const { hostname, port } = new URL(server.url)
  const body = JSON.stringify(request)
  const head = [
    'POST /api/v1/responses HTTP/1.1',
    `host: ${hostname}`,
    `authorization: Bearer ${server.own.inferenceKey}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = 0
    let start = ''
    socket.on('data', (bytes) => {
      received += bytes.length
      if (received < 1000) start += bytes.toString()
      if (received > count) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => (received > count ? resolve() : reject(new Error(`the reply ended: ${start}`))))
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}
