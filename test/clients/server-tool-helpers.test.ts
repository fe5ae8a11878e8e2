import { afterAll, describe, expect, test } from 'bun:test'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { streamEventsFromJSON } from '@openrouter/sdk/models'
import type { ResponseSource } from '../support/upstream.ts'
import { readSseData, replyWithCalls, replyWithText } from '../tools/replies.ts'
import { findDifferences, openaiEvents, openaiItems } from './declarations.ts'
import { messages, modelOf, prompt, useLab, weatherIn, weatherParameters, weatherTool } from './lab.ts'
import { anthropicClient, openaiClient } from './sdks.ts'
import { startSite } from './tools-site.ts'

const site = startSite()
afterAll(() => site.stop())
const lab = useLab(site.settings)

const model = modelOf('chat')
const modes = ['whole', 'streamed'] as const
// biome-ignore lint/suspicious/noExplicitAny: the SDKs do not know the gateway's own tools
type Any = any

const text: ResponseSource = ({ json }) => replyWithText('Done.', json?.stream === true)

function callOf(names: string[], input: Record<string, unknown> = {}): ResponseSource {
  return ({ json }) => replyWithCalls(names, json?.stream === true, null, input)
}

const datetime: Any = { type: 'service:datetime' }

describe('the tools of the client next to those of the gateway', () => {
  test.each([false, true])('with runTools() of the OpenAI SDK, stream %p', async (stream) => {
    const cities: string[] = []
    const own = {
      ...weatherTool,
      function: {
        ...weatherTool.function,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => {
          cities.push(city)
          return weatherIn(city)
        },
      },
    }
    lab().next.push(callOf(['datetime']), callOf(['get_weather'], { city: 'Oslo' }), text)
    const runner = openaiClient(lab()).chat.completions.runTools({
      ...({ model, messages, stream } as Any),
      tools: [datetime, own],
    })
    expect(await runner.finalContent()).toBe('Done.')
    expect(cities).toEqual(['Oslo'])
    expect(lab().lastRequest().text).toContain(weatherIn('Oslo'))
  })

  test.each([false, true])('with toolRunner() of the Anthropic SDK, stream %p', async (stream) => {
    const cities: string[] = []
    const own = betaTool({
      name: 'get_weather',
      description: 'Weather of a city',
      inputSchema: weatherParameters,
      run: ({ city }) => {
        cities.push(city)
        return weatherIn(city)
      },
    })
    lab().next.push(callOf(['datetime']), callOf(['get_weather'], { city: 'Oslo' }), text)
    const params: Any = { model, max_tokens: 1000, messages, tools: [datetime, own], stream }
    const final = await anthropicClient(lab()).beta.messages.toolRunner(params)
    expect(JSON.stringify(final)).toContain('Done.')
    expect(cities).toEqual(['Oslo'])
    expect(lab().lastRequest().text).toContain(weatherIn('Oslo'))
  })

  test.each(modes)('a command of service:bash is for the client of the Anthropic SDK: %s', async (mode) => {
    lab().next.push(callOf(['bash'], { command: 'ls' }), text)
    const tools: Any = [{ type: 'service:bash' }]
    const request = { model, max_tokens: 1000, tools }
    const api = anthropicClient(lab()).messages
    const reply = await (mode === 'streamed'
      ? api.stream({ ...request, messages }).finalMessage()
      : api.create({ ...request, messages }))
    const [call] = reply.content as Any[]
    expect(call).toMatchObject({ type: 'tool_use', name: 'bash', input: { command: 'ls' } })
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'notes.txt' }
    await api.create({
      ...request,
      messages: [
        ...messages,
        { role: 'assistant', content: reply.content },
        { role: 'user', content: [result] },
      ],
    })
    expect(lab().lastRequest().text).toContain('notes.txt')
  })
})

describe('apply_patch', () => {
  const operation = { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' }
  const tools: Any = [{ type: 'service:apply_patch' }]

  test.each(modes)('with the OpenAI SDK: the client applies the patch, %s', async (mode) => {
    lab().next.push(callOf(['apply_patch'], { operation }), text)
    const { responses } = openaiClient(lab())
    const differences: string[] = []
    const readStream = async () => {
      const stream = responses.stream({ model, input: prompt, tools })
      for await (const event of stream) differences.push(...findDifferences(openaiEvents, event))
      return stream.finalResponse()
    }
    const reply = await (mode === 'streamed'
      ? readStream()
      : responses.create({ model, input: prompt, tools }))
    const [call] = reply.output as Any[]
    expect([...differences, ...findDifferences(openaiItems, call)]).toEqual([])
    expect(call).toMatchObject({ type: 'apply_patch_call', status: 'completed', operation })
    const output: Any = { type: 'apply_patch_call_output', call_id: call.call_id, status: 'completed' }
    const next = await responses.create({
      model,
      tools,
      input: [{ role: 'user', content: prompt }, call, output],
    })
    expect(next.output_text).toBe('Done.')
    expect(lab().lastRequest().text).toContain('The patch was applied.')
  })

  test('other clients get the events of its diff, in the form that the OpenRouter SDK declares', async () => {
    lab().next.push(callOf(['apply_patch'], { operation }))
    const events = await streamEvents(tools)
    const [added, done] = events.filter(({ item }) => item?.type === 'apply_patch_call')
    expect(added.item).toMatchObject({ status: 'in_progress', operation: { diff: '' } })
    expect(done.item).toMatchObject({ status: 'completed', operation })
    const patched = events.filter(({ type }) => type.startsWith('response.apply_patch_call_operation_diff'))
    expect(patched).toMatchObject([
      { type: 'response.apply_patch_call_operation_diff.delta', delta: operation.diff },
      { type: 'response.apply_patch_call_operation_diff.done', diff: operation.diff, item_id: done.item.id },
    ])
    for (const event of patched) expect(streamEventsFromJSON(JSON.stringify(event)).ok).toBe(true)
  })
})

test('fusion has events of its own for clients that know them, as the OpenRouter SDK does', async () => {
  lab().next.push(callOf(['fusion'], { prompt: 'Which one?' }), text)
  const inner = 'sandbox/echo'
  const tools = [{ type: 'service:fusion', parameters: { analysis_models: [inner], model: inner } }]
  const events = (await streamEvents(tools)).filter(({ type }) => type.startsWith('response.fusion_call'))
  expect(events.map(({ type }) => type)).toContain('response.fusion_call.analysis.completed')
  for (const event of events) expect(streamEventsFromJSON(JSON.stringify(event)).ok).toBe(true)
})

test.each(modes)('a call of an MCP server that fails is a failed call: %s', async (mode) => {
  const tool = { type: 'mcp', server_label: 'notes', server_url: site.mcpUrl, require_approval: 'never' }
  const body: Any = { model, input: prompt, tools: [tool] }
  const { responses } = openaiClient(lab())
  lab().next.push(callOf(['notes__delete'], { title: 'safe' }), text)
  const types: string[] = []
  const readStream = async () => {
    const stream = responses.stream(body)
    for await (const { type } of stream) types.push(type)
    return stream.finalResponse()
  }
  const reply: Any = await (mode === 'streamed' ? readStream() : responses.create(body))
  expect(reply.output[1]).toMatchObject({
    type: 'mcp_call',
    output: null,
    status: 'failed',
    error: { content: [{ type: 'text', text: 'no such note' }] },
  })
  if (mode === 'whole') return
  expect(types).toContain('response.mcp_call.failed')
  expect(types).not.toContain('response.mcp_call.completed')
})

test.each(modes)('a call beyond the limit is a failed item of the vendor: %s', async (mode) => {
  const tools = [{ type: 'image_generation', model: 'sandbox/painter' }]
  const body: Any = { model, input: prompt, tools, max_tool_calls: 1 }
  lab().next.push(callOf(['image_generation', 'image_generation'], { prompt: 'a tree' }), text)
  const { responses } = openaiClient(lab())
  const reply: Any = await (mode === 'streamed'
    ? responses.stream(body).finalResponse()
    : responses.create(body))
  expect(reply.output.map(({ status }: Any) => status)).toEqual(['completed', 'failed', 'completed'])
  for (const item of reply.output) expect(findDifferences(openaiItems, item)).toEqual([])
})

/** Streams events to a client that is no SDK of a vendor. */
async function streamEvents(tools: object[]): Promise<Any[]> {
  const response = await fetch(`${lab().url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${lab().key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: prompt, tools, stream: true }),
  })
  return readSseData(await response.text())
}
