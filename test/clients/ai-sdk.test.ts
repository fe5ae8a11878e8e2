import { describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import {
  APICallError,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  Output,
  RetryError,
  streamText,
  tool,
} from 'ai'
import {
  argumentsOf,
  modelOf,
  prompt,
  rejection,
  reportSchema,
  scenarios,
  type TextWireFormat,
  textWireFormats,
  useLab,
  weatherIn,
  weatherParameters,
} from './lab.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const lab = useLab()

interface Access {
  baseURL: string
  apiKey: string
}

/** Every way this SDK has to reach a model. */
const providers: [string, (access: Access, model: string) => LanguageModel][] = [
  ['@ai-sdk/openai', (access, model) => createOpenAI(access)(model)],
  ['@ai-sdk/openai (chat)', (access, model) => createOpenAI(access).chat(model)],
  [
    '@ai-sdk/openai-compatible',
    (access, model) =>
      createOpenAICompatible({
        name: 'headgate',
        includeUsage: true,
        supportsStructuredOutputs: true,
        ...access,
      })(model),
  ],
  ['@ai-sdk/anthropic', (access, model) => createAnthropic(access)(model)],
  ['@openrouter/ai-sdk-provider', (access, model) => createOpenRouter(access)(model)],
]

const cases = providers.flatMap(([name, create]) =>
  textWireFormats.map((wireFormat): [string, TextWireFormat, typeof create] => [name, wireFormat, create]),
)

const tools = (cities: string[]) => ({
  get_weather: tool({
    description: 'Weather of a city',
    inputSchema: jsonSchema<{ city: string }>({ ...weatherParameters, required: ['city'] } as never),
    execute: ({ city }) => {
      cities.push(city)
      return weatherIn(city)
    },
  }),
})

describe.each(cases)('%s over an upstream of format %s', (_, wireFormat, create) => {
  const model = (key = lab().key, name = modelOf(wireFormat)) =>
    create({ baseURL: `${lab().url}/v1`, apiKey: key }, name)
  const options = (key?: string, name?: string) => ({
    model: model(key, name),
    prompt,
    maxRetries: 0,
    maxOutputTokens: 2000,
  })

  test('generateText() has text and usage', async () => {
    const { text, usage, finishReason, warnings } = await generateText(options())
    expect(text).toBe(scenarios.text.text)
    expect(finishReason).toBe('stop')
    expect(usage).toMatchObject({ inputTokens: 87, outputTokens: 41 })
    expect(usage.inputTokenDetails.cacheReadTokens).toBe(64)
    expect(warnings ?? []).toEqual([])
  })

  test('streamText() has the same text and usage', async () => {
    const result = streamText(options())
    let text = ''
    for await (const delta of result.textStream) text += delta
    expect(text).toBe(scenarios.text.text)
    expect(await result.finishReason).toBe('stop')
    expect(await result.usage).toMatchObject({ inputTokens: 87, outputTokens: 41 })
  })

  test.each(['whole', 'streamed'])('parallel tools make the round trip, %s', async (mode) => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const cities: string[] = []
    const request = { ...options(), tools: tools(cities), stopWhen: isStepCount(3) }
    const steps = mode === 'whole' ? (await generateText(request)).steps : await streamText(request).steps
    expect(steps).toHaveLength(2)
    expect(steps[0]?.toolCalls.map((call) => call.input)).toEqual(argumentsOf('toolCalls') as never)
    expect(steps[1]?.text).toBe(scenarios.text.text)
    expect(cities).toEqual(['Oslo', '京都'])
    const { text } = lab().lastRequest()
    expect(text).toContain(weatherIn('Oslo'))
    expect(text).toContain(weatherIn('京都'))
  })

  test('an object of a schema', async () => {
    lab().reply(wireFormat, 'structured')
    const { output } = await generateText({ ...options(), output: Output.object({ schema: reportSchema }) })
    expect(output).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('a streamed object of a schema', async () => {
    lab().reply(wireFormat, 'structured')
    const { output } = streamText({ ...options(), output: Output.object({ schema: reportSchema }) })
    expect(await output).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('an unknown model is an APICallError of status 400', async () => {
    const error = await rejection(generateText(options(undefined, 'lab/none')))
    expect(APICallError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ statusCode: 400, isRetryable: false })
    expect((error as APICallError).message).toContain('lab/none')
  })

  test('a rate limit of the upstream is an APICallError that may be retried', async () => {
    lab().rateLimit(wireFormat, '7')
    const error = await rejection(generateText(options()))
    expect(APICallError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ statusCode: 429, isRetryable: true })
    expect((error as APICallError).responseHeaders?.['retry-after']).toBe('7')
    expect((error as APICallError).message).toContain('Slow down')
  })

  test('abort() of a stream closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const controller = new AbortController()
    const result = streamText({ ...options(), abortSignal: controller.signal, onError: () => undefined })
    let leftAt = 0
    for await (const delta of result.textStream) {
      if (!delta || leftAt > 0) continue
      leftAt = Date.now()
      controller.abort()
    }
    await lab().expectClosedSoon(leftAt)
  })
})

/** Options by which each provider turns reasoning on; the chat provider of `@ai-sdk/openai` shows none. */
const reasoningOptions: Record<string, Record<string, Record<string, string | object>>> = {
  '@ai-sdk/openai': {
    openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } as never,
  },
  '@ai-sdk/openai-compatible': { headgate: { reasoningEffort: 'high' } },
  '@ai-sdk/anthropic': { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
  '@openrouter/ai-sdk-provider': { openrouter: { reasoning: { effort: 'high' } } },
}

describe.each(cases.filter(([name]) => name in reasoningOptions))(
  'reasoning with %s over %s',
  (name, wireFormat, create) => {
    const options = () => ({
      model: create({ baseURL: `${lab().url}/v1`, apiKey: lab().key }, modelOf(wireFormat)),
      prompt,
      maxRetries: 0,
      providerOptions: reasoningOptions[name] as never,
    })

    test.each(['whole', 'streamed'])('it is shown, %s', async (mode) => {
      // This provider shows summaries only; the reasoning of other formats is not one.
      if (name === '@ai-sdk/openai' && wireFormat !== 'responses') return
      lab().reply(wireFormat, 'reasoning')
      const result = mode === 'whole' ? await generateText(options()) : streamText(options())
      expect(await result.reasoningText).toBe(scenarios.reasoning.reasoning.text)
      expect(await result.text).toBe(scenarios.reasoning.text)
    })

    test.each(['whole', 'streamed'])('it goes back in with the tool call it belongs to, %s', async (mode) => {
      lab().reply(wireFormat, 'reasoningToolCall', 'text')
      const request = { ...options(), tools: tools([]), stopWhen: isStepCount(3) }
      const text = mode === 'whole' ? (await generateText(request)).text : await streamText(request).text
      expect(text).toBe(scenarios.text.text)
      // The chat format has no signatures, and this provider sends none.
      if (wireFormat === 'chat' || name === '@ai-sdk/openai-compatible') return
      expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
    })
  },
)

describe.each(providers)('errors with %s', (_, create) => {
  const options = (key: string, maxRetries = 0) => ({
    model: create({ baseURL: `${lab().url}/v1`, apiKey: key }, modelOf('messages')),
    prompt,
    maxRetries,
  })

  test('a wrong key is an APICallError of status 401, not retried', async () => {
    const error = await rejection(generateText(options('sk-hg-v1-wrong', 2)))
    expect(error).toMatchObject({ statusCode: 401, isRetryable: false })
  })

  test('an account without credits gets status 402, not retried', async () => {
    const error = await rejection(generateText(options(lab().poorKey, 2)))
    expect(error).toMatchObject({ statusCode: 402, isRetryable: false })
  })

  test('a rate limit is retried after the given delay, then gives up', async () => {
    lab().rateLimit('messages', '1')
    const requests = await lab().requestsDuring(() => generateText(options(lab().key, 1)))
    expect(requests).toHaveLength(2)
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(900)
    lab().rateLimit('messages', '1')
    lab().rateLimit('messages', '1')
    expect(RetryError.isInstance(await rejection(generateText(options(lab().key, 1))))).toBe(true)
  })
})

test('heartbeats in a slow stream do no harm', async () => {
  const replies = providers.map(async ([, create]) => {
    lab().replySlowly('messages')
    const model = create({ baseURL: `${lab().url}/v1`, apiKey: lab().key }, modelOf('messages'))
    return streamText({ model, prompt, maxRetries: 0 }).text
  })
  expect(await Promise.all(replies)).toEqual(providers.map(() => scenarios.text.text))
})
