import { describe, expect, test } from 'bun:test'
import type Anthropic from '@anthropic-ai/sdk'
import {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import {
  argumentsOf,
  messages,
  modelOf,
  rejection,
  reportSchema,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherParameters,
} from './lab.ts'
import { type AnthropicOptions, anthropicClient } from './sdks.ts'

const lab = useLab()

const client = (options?: AnthropicOptions) => anthropicClient(lab(), options)

const request = { max_tokens: 2000, messages }
const weatherTool = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: weatherParameters as unknown as Anthropic.Tool.InputSchema,
}

function textIn({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

describe.each(textWireFormats)('the Anthropic SDK over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('a whole reply has text and usage', async () => {
    const reply = await client().messages.create({ model, ...request })
    expect(textIn(reply)).toBe(scenarios.text.text)
    expect(reply).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn', model })
    expect(reply.usage).toMatchObject({ input_tokens: 23, cache_read_input_tokens: 64, output_tokens: 41 })
  })

  test('stream() ends with the same message', async () => {
    const stream = client().messages.stream({ model, ...request })
    let text = ''
    stream.on('text', (delta) => {
      text += delta
    })
    const final = await stream.finalMessage()
    expect(text).toBe(scenarios.text.text)
    expect(textIn(final)).toBe(scenarios.text.text)
    expect(final.stop_reason).toBe('end_turn')
    expect(final.usage).toMatchObject({ input_tokens: 23, cache_read_input_tokens: 64, output_tokens: 41 })
  })

  test('parallel tools make the round trip: calls, results, reply', async () => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const cities: string[] = []
    const final = await client().beta.messages.toolRunner({
      model,
      ...request,
      tools: [
        betaTool({
          name: 'get_weather',
          description: 'Weather of a city',
          inputSchema: weatherParameters,
          run: ({ city }) => {
            cities.push(city)
            return weatherIn(city)
          },
        }),
      ],
    })
    expect(JSON.stringify(final.content)).toContain('Oslo: 4 °C')
    expect(cities).toEqual(['Oslo', '京都'])
    const { text } = lab().lastRequest()
    expect(text).toContain(weatherIn('Oslo'))
    expect(text).toContain(weatherIn('京都'))
  })

  test('streamed parallel tool calls come out whole', async () => {
    lab().reply(wireFormat, 'toolCalls')
    const final = await client()
      .messages.stream({ model, ...request, tools: [weatherTool] })
      .finalMessage()
    const calls = final.content.filter((block) => block.type === 'tool_use')
    expect(final.stop_reason).toBe('tool_use')
    expect(calls.map((call) => call.id)).toEqual(scenarios.toolCalls.toolCalls.map((call) => call.id))
    expect(calls.map((call) => call.input)).toEqual(argumentsOf('toolCalls'))
  })

  test.each(['whole', 'streamed'])(
    'thinking comes out and goes back in with its signature, %s',
    async (mode) => {
      lab().reply(wireFormat, 'reasoningToolCall', 'text')
      const params = {
        model,
        ...request,
        tools: [weatherTool],
        thinking: { type: 'enabled' as const, budget_tokens: 1024 },
      }
      const { messages } = client()
      const first = await (mode === 'streamed'
        ? messages.stream(params).finalMessage()
        : messages.create(params))
      const thinking = first.content.find((block) => block.type === 'thinking')
      expect(thinking?.thinking).toBe(scenarios.reasoningToolCall.reasoning.text)
      expect(first.content.at(-1)).toMatchObject({ type: 'tool_use', input: { city: 'Bergen' } })
      const second = await messages.create({
        ...params,
        messages: [
          ...request.messages,
          { role: 'assistant', content: first.content },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_bergen9Lk', content: weatherIn('Bergen') }],
          },
        ],
      })
      expect(textIn(second)).toBe(scenarios.text.text)
      // The chat format has no signatures.
      if (wireFormat !== 'chat') {
        expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
      }
    },
  )

  test('parse() gives an object of the schema', async () => {
    lab().reply(wireFormat, 'structured')
    const reply = await client().messages.parse({
      model,
      ...request,
      output_config: { format: zodOutputFormat(reportSchema) },
    })
    expect(reply.parsed_output).toEqual(JSON.parse(scenarios.structured.text))
    expect(lab().lastRequest().text).toContain('"warnings"')
  })

  test('a truncated reply is known by its stop reason', async () => {
    lab().reply(wireFormat, 'cutShort')
    const reply = await client().messages.create({ model, ...request, max_tokens: 8 })
    expect(reply.stop_reason).toBe('max_tokens')
  })

  test('tokens are counted', async () => {
    const count = await client().messages.countTokens({ model, messages: request.messages })
    expect(count.input_tokens).toBeGreaterThan(0)
  })

  test('a rate limit of the upstream is a RateLimitError with its retry-after', async () => {
    lab().rateLimit(wireFormat, '7')
    const error = await rejection(client().messages.create({ model, ...request }))
    expect(error).toBeInstanceOf(RateLimitError)
    expect((error as RateLimitError).headers.get('retry-after')).toBe('7')
    expect((error as RateLimitError).message).toContain('Slow down')
    expect((error as RateLimitError).type).toBe('rate_limit_error')
  })

  test('abort() of a stream closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const stream = client().messages.stream({ model, ...request })
    await new Promise((resolve) => stream.once('text', resolve))
    const leftAt = Date.now()
    stream.abort()
    expect(await rejection(stream.done())).toBeInstanceOf(APIUserAbortError)
    await lab().expectClosedSoon(leftAt)
  })
})

describe('base URLs, keys and errors of the Anthropic SDK', () => {
  const model = modelOf('messages')
  const create = (options: AnthropicOptions, name = model) =>
    client(options).messages.create({ model: name, ...request })

  test.each(['', '/v1', '/api', '/api/v1', '/anthropic'])('the base URL may end in "%s"', async (base) => {
    expect(textIn(await create({ base }))).toBe(scenarios.text.text)
    const counted = await client({ base }).messages.countTokens({ model, messages: request.messages })
    expect(counted.input_tokens).toBeGreaterThan(0)
  })

  // The SDK adds another /v1.
  test('the base URL may end in "/anthropic/v1"', async () => {
    expect(textIn(await create({ base: '/anthropic/v1' }))).toBe(scenarios.text.text)
  })

  test.each(['bearer token', 'x-api-key'])('the key may be a %s', async (way) => {
    expect(textIn(await create({ bearer: way === 'bearer token' }))).toBe(scenarios.text.text)
  })

  test.each(['2023-06-01', '2026-10-21'])(
    'version %s of the API is accepted and passed on',
    async (version) => {
      expect(textIn(await create({ headers: { 'anthropic-version': version } }))).toBe(scenarios.text.text)
      expect(lab().lastRequest().headers['anthropic-version']).toBe(version)
    },
  )

  test('betas are passed on to an upstream of the same format', async () => {
    await client().beta.messages.create({ model, ...request, betas: ['context-management-2025-06-27'] })
    expect(lab().lastRequest().headers['anthropic-beta']).toContain('context-management-2025-06-27')
  })

  test('unknown fields reach an upstream of the same format', async () => {
    await client().messages.create({
      model,
      ...request,
      brand_new: { a: [1] },
    } as Anthropic.MessageCreateParamsNonStreaming)
    expect(lab().lastRequest().json.brand_new).toEqual({ a: [1] })
  })

  test('a wrong key is an AuthenticationError', async () => {
    const error = await rejection(create({ key: 'sk-hg-v1-wrong', maxRetries: 2 }))
    expect(error).toBeInstanceOf(AuthenticationError)
    expect((error as AuthenticationError).type).toBe('authentication_error')
  })

  test('an unknown model is a BadRequestError that names it', async () => {
    const error = await rejection(create({}, 'lab/none'))
    expect(error).toBeInstanceOf(BadRequestError)
    expect((error as BadRequestError).message).toContain('lab/none')
  })

  test('an account without credits gets status 402 and a billing_error', async () => {
    const error = await rejection(create({ key: lab().poorKey }))
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ status: 402, type: 'billing_error' })
  })

  test('heartbeats in a slow stream do no harm', async () => {
    lab().replySlowly('chat')
    const stream = client().messages.stream({ model: modelOf('chat'), ...request })
    expect(textIn(await stream.finalMessage())).toBe(scenarios.text.text)
  })

  test('the client retries a rate limit after the given delay', async () => {
    lab().rateLimit('messages', '1')
    const requests = await lab().requestsDuring(() =>
      client({ maxRetries: 2 }).messages.create({ model, ...request }),
    )
    expect(requests).toHaveLength(2)
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(900)
  })

  test('an error inside a stream is thrown', async () => {
    const stream = client().messages.stream({
      model: 'sandbox/echo',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'one two three four sandbox:fail=2' }],
    })
    expect(await rejection(stream.finalMessage())).toBeInstanceOf(APIError)
  })

  // The SDK reads `request-id`, not `x-request-id`.
  test('the request id is where the SDK looks for it', async () => {
    expect((await create({}))._request_id).toBeString()
    expect(((await rejection(create({}, 'lab/none'))) as APIError).requestID).toBeString()
  })

  test('models are listed and read', async () => {
    const ids: string[] = []
    for await (const entry of client().models.list()) ids.push(entry.id)
    expect(ids).toContain(model)
    expect(await client().models.retrieve(model)).toMatchObject({ id: model, type: 'model' })
  })
})
