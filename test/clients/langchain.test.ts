import { describe, expect, test } from 'bun:test'
import { AIMessage, HumanMessage, ToolMessage, type UsageMetadata } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai'
import { z } from 'zod'
import {
  argumentsOf,
  modelOf,
  prompt,
  rejection,
  reportSchema,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
} from './lab.ts'

process.env.LANGCHAIN_TRACING_V2 = 'false'
process.env.LANGSMITH_TRACING = 'false'

const lab = useLab()

const weather = tool(({ city }) => weatherIn(city), {
  name: 'get_weather',
  description: 'Weather of a city',
  schema: z.object({ city: z.string() }),
})

function chat(model: string, more: ChatOpenAIFields = {}): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: lab().key,
    maxRetries: 0,
    configuration: { baseURL: `${lab().url}/v1` },
    ...more,
  })
}

/** The type of a message depends on its content; every one has usage. */
function usageOf(message: object): UsageMetadata | undefined {
  return (message as { usage_metadata?: UsageMetadata }).usage_metadata
}

const cases = [false, true].flatMap((useResponsesApi) =>
  textWireFormats.map((wireFormat): [string, (typeof textWireFormats)[number], boolean] => [
    useResponsesApi ? 'responses' : 'chat',
    wireFormat,
    useResponsesApi,
  ]),
)

describe.each(cases)('LangChain with %s over an upstream of format %s', (_, wireFormat, useResponsesApi) => {
  const model = (more: ChatOpenAIFields = {}) => chat(modelOf(wireFormat), { useResponsesApi, ...more })

  test('invoke() has text and usage', async () => {
    const reply = await model().invoke(prompt)
    expect(reply.text).toBe(scenarios.text.text)
    expect(reply.usage_metadata).toMatchObject({ input_tokens: 87, output_tokens: 41, total_tokens: 128 })
  })

  test('stream() has the same text and usage', async () => {
    let text = ''
    let tokens = 0
    for await (const chunk of await model().stream(prompt)) {
      text += chunk.text
      tokens = usageOf(chunk)?.total_tokens ?? tokens
    }
    expect(text).toBe(scenarios.text.text)
    expect(tokens).toBe(128)
  })

  test.each(['whole', 'streamed'])('bindTools() makes the round trip, %s', async (mode) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const bound = model({ streaming: mode === 'streamed' }).bindTools([weather])
    const first = await bound.invoke([new HumanMessage(prompt)])
    const calls = first.tool_calls ?? []
    expect(calls.map((call) => call.args)).toEqual(argumentsOf('toolCalls') as never)
    const results = await Promise.all(calls.map((call) => weather.invoke({ ...call, type: 'tool_call' })))
    expect(results.every((result) => result instanceof ToolMessage)).toBe(true)
    expect(first).toBeInstanceOf(AIMessage)
    const second = await bound.invoke([new HumanMessage(prompt), first, ...results])
    expect(second.text).toBe(scenarios.text.text)
    expect(lab().lastRequest().text).toContain(weatherIn('Oslo'))
    expect(lab().lastRequest().text).toContain(weatherIn('京都'))
  })

  test('withStructuredOutput() gives an object of the schema', async () => {
    lab().reply(wireFormat, 'structured')
    const output = await model().withStructuredOutput(reportSchema, { method: 'jsonSchema' }).invoke(prompt)
    expect(output).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('withStructuredOutput() by a tool', async () => {
    const { text, ...rest } = scenarios.structured
    lab().reply(wireFormat, {
      ...rest,
      text: '',
      finish: 'tool_calls',
      toolCalls: [{ id: 'call_1', name: 'extract', arguments: text }],
    })
    const output = await model()
      .withStructuredOutput(reportSchema, { method: 'functionCalling' })
      .invoke(prompt)
    expect(output).toEqual(JSON.parse(text))
  })

  test('reasoning does not get in the way, and is counted', async () => {
    lab().reply(wireFormat, 'reasoning')
    const reply = await model({ reasoning: { effort: 'high' } }).invoke(prompt)
    expect(reply.text).toBe(scenarios.reasoning.text)
    expect(usageOf(reply)?.output_tokens).toBe(46)
  })

  test('a rate limit of the upstream is an error of status 429', async () => {
    lab().rateLimit(wireFormat, '1')
    expect(await rejection(model().invoke(prompt))).toMatchObject({ status: 429 })
  })

  test('abort of a stream closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const controller = new AbortController()
    let leftAt = 0
    const reading = async () => {
      for await (const chunk of await model().stream(prompt, { signal: controller.signal })) {
        if (!chunk.text || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
    }
    await reading().catch(() => undefined)
    await lab().expectClosedSoon(leftAt)
  })
})

test('heartbeats in a slow stream do no harm', async () => {
  lab().replySlowly('messages')
  let text = ''
  for await (const chunk of await chat(modelOf('messages')).stream(prompt)) text += chunk.text
  expect(text).toBe(scenarios.text.text)
})

describe('errors with LangChain', () => {
  test.each([
    ['a wrong key', 401, () => chat(modelOf('chat'), { apiKey: 'sk-hg-v1-wrong' })],
    ['an unknown model', 400, () => chat('lab/none')],
    ['no credits', 402, () => chat(modelOf('chat'), { apiKey: lab().poorKey })],
  ])('%s has status %i', async (_, status, model) => {
    expect(await rejection(model().invoke(prompt))).toMatchObject({ status })
  })

  test('a rate limit is retried', async () => {
    lab().rateLimit('chat', '1')
    const patient = chat(modelOf('chat'), { maxRetries: 2 })
    expect(await lab().requestsDuring(() => patient.invoke(prompt))).toHaveLength(2)
  })
})
