import { describe, expect, test } from 'bun:test'
import { Mistral } from '@mistralai/mistralai'
import type { ToolCall } from '@mistralai/mistralai/models/components'
import {
  argumentsOf,
  messages,
  modelOf,
  rejection,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherTool,
} from './lab.ts'

const lab = useLab()

const client = (apiKey = lab().key) =>
  new Mistral({ apiKey, serverURL: lab().url, retryConfig: { strategy: 'none' } })
const tools = [weatherTool]

type StreamRequest = Parameters<Mistral['chat']['stream']>[0]

/** The text and the tool calls of a stream, whose chunks the SDK validates. */
async function stream(request: StreamRequest) {
  let text = ''
  const calls: ToolCall[] = []
  let usage: { promptTokens?: number } | undefined
  for await (const { data } of await client().chat.stream(request)) {
    for (const { delta } of data.choices) {
      if (typeof delta.content === 'string') text += delta.content
      calls.push(...(delta.toolCalls ?? []))
    }
    usage = data.usage ?? usage
  }
  return { text, calls, usage }
}

describe.each(textWireFormats)('the Mistral client over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('chat, whole and streamed', async () => {
    const reply = await client().chat.complete({ model, messages, randomSeed: 7 })
    expect(reply.choices[0]?.message?.content).toBe(scenarios.text.text)
    expect(reply.usage).toMatchObject({ promptTokens: 87, completionTokens: 41 })
    const streamed = await stream({ model, messages })
    expect(streamed).toMatchObject({ text: scenarios.text.text, usage: { promptTokens: 87 } })
  })

  test.each([false, true])('tools make the round trip, streamed: %p', async (isStreamed) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const request = { model, messages, tools, toolChoice: 'any' as const }
    const calls = isStreamed
      ? (await stream(request)).calls
      : ((await client().chat.complete(request)).choices[0]?.message?.toolCalls ?? [])
    const parsed = calls.map(({ function: { arguments: text } }) => JSON.parse(String(text)))
    expect(parsed).toEqual(argumentsOf('toolCalls'))
    expect(calls.every(({ function: { name } }) => name === 'get_weather')).toBe(true)
    const results = calls.map(({ id }, index) => ({
      role: 'tool' as const,
      toolCallId: id ?? '',
      name: 'get_weather',
      content: weatherIn(parsed[index].city),
    }))
    const final = await client().chat.complete({
      model,
      tools,
      messages: [...messages, { role: 'assistant', content: '', toolCalls: calls }, ...results],
    })
    expect(final.choices[0]?.message?.content).toBe(scenarios.text.text)
    expect(lab().lastRequest().text).toContain(weatherIn(parsed[0].city))
    expect(lab().lastRequest().text).not.toContain('"prefix"')
  })

  test('a beginning of the reply is sent, without the field that other vendors reject', async () => {
    const begun = { role: 'assistant' as const, content: 'It is', prefix: true }
    await client().chat.complete({ model, messages: [...messages, begun] })
    expect(lab().lastRequest().text).toContain('It is')
    expect(lab().lastRequest().text).not.toContain('"prefix"')
  })
})

test('embeddings', async () => {
  const reply = await client().embeddings.create({ model: 'sandbox/embedder', inputs: ['Hello', 'Goodbye'] })
  expect(reply.data.map(({ embedding }) => embedding?.length)).toEqual([1536, 1536])
})

test('errors have the status and the message', async () => {
  const error = await rejection(client().chat.complete({ model: 'lab/nothing', messages }))
  expect(error).toMatchObject({ statusCode: 400, body: expect.stringContaining('lab/nothing') })
})
