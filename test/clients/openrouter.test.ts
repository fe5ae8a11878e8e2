import { describe, expect, test } from 'bun:test'
import { OpenRouter, ToolType } from '@openrouter/sdk'
import type { ChatResult, ChatStreamChunk, OpenResponsesResult } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import { z } from 'zod'
import {
  argumentsOf,
  messages,
  modelOf,
  prompt,
  rejection,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherTool,
} from './lab.ts'
import { openRouterClient } from './sdks.ts'

const lab = useLab()

const client = (key?: string) => openRouterClient(lab(), key)

const tools = [weatherTool]
const jsonSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
}

describe.each(textWireFormats)('chat.send() over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)
  const send = async (more: object = {}, key?: string) =>
    (await client(key).chat.send({ chatRequest: { model, messages, ...more } })) as ChatResult
  const stream = async (more: object = {}, options?: { signal: AbortSignal }) =>
    (await client().chat.send(
      { chatRequest: { model, messages, stream: true, ...more } },
      options && { fetchOptions: options },
    )) as unknown as AsyncIterable<ChatStreamChunk>

  test('a whole reply has text, usage and cost', async () => {
    const reply = await send()
    expect(reply.choices[0]?.message.content).toBe(scenarios.text.text)
    expect(reply.choices[0]?.finishReason).toBe('stop')
    expect(reply.usage).toMatchObject({ promptTokens: 87, completionTokens: 41, totalTokens: 128 })
    expect(reply.usage?.cost).toBeGreaterThan(0)
  })

  test('a stream has the same text, and its usage at the end', async () => {
    let text = ''
    let last: ChatStreamChunk | undefined
    for await (const chunk of await stream()) {
      text += chunk.choices[0]?.delta.content ?? ''
      last = chunk
    }
    expect(text).toBe(scenarios.text.text)
    expect(last?.usage).toMatchObject({ promptTokens: 87, completionTokens: 41 })
  })

  test('parallel tools make the round trip', async () => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const first = await send({ tools })
    const calls = first.choices[0]?.message.toolCalls ?? []
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual(argumentsOf('toolCalls'))
    const second = await send({
      tools,
      messages: [
        ...messages,
        first.choices[0]?.message,
        ...calls.map((call) => ({
          role: 'tool',
          toolCallId: call.id,
          content: weatherIn(JSON.parse(call.function.arguments).city),
        })),
      ],
    })
    expect(second.choices[0]?.message.content).toBe(scenarios.text.text)
    expect(lab().lastRequest().text).toContain(weatherIn('京都'))
  })

  test('streamed tool calls come in deltas that fit together', async () => {
    lab().reply(wireFormat, 'toolCalls')
    const parts: string[] = []
    for await (const chunk of await stream({ tools })) {
      for (const call of chunk.choices[0]?.delta.toolCalls ?? []) {
        parts[call.index] = (parts[call.index] ?? '') + (call.function?.arguments ?? '')
      }
    }
    expect(parts.map((text) => JSON.parse(text))).toEqual(argumentsOf('toolCalls'))
  })

  test.each(['whole', 'streamed'])('reasoning goes out with its details, and back in, %s', async (mode) => {
    lab().reply(wireFormat, 'reasoningToolCall', 'text')
    const options = { tools, reasoning: { effort: 'high' } }
    const details: unknown[] = []
    let reasoning = ''
    if (mode === 'streamed') {
      for await (const chunk of await stream(options)) {
        details.push(...(chunk.choices[0]?.delta.reasoningDetails ?? []))
        reasoning += chunk.choices[0]?.delta.reasoning ?? ''
      }
    } else {
      const message = (await send(options)).choices[0]?.message
      details.push(...(message?.reasoningDetails ?? []))
      reasoning = message?.reasoning ?? ''
    }
    expect(reasoning).toBe(scenarios.reasoningToolCall.reasoning.text)
    const { id, name, arguments: args } = scenarios.reasoningToolCall.toolCalls[0]!
    await send({
      ...options,
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: null,
          reasoningDetails: details,
          toolCalls: [{ id, type: 'function', function: { name, arguments: args } }],
        },
        { role: 'tool', toolCallId: id, content: weatherIn('Bergen') },
      ],
    })
    // The chat format has no signatures.
    if (wireFormat !== 'chat') {
      expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
    }
  })

  test('structured output', async () => {
    lab().reply(wireFormat, 'structured')
    const reply = await send({
      responseFormat: {
        type: 'json_schema',
        jsonSchema: { name: 'report', strict: true, schema: jsonSchema },
      },
    })
    expect(JSON.parse(String(reply.choices[0]?.message.content))).toMatchObject({ city: 'Oslo', degrees: 4 })
  })

  test('a rate limit of the upstream is a TooManyRequestsResponseError', async () => {
    lab().rateLimit(wireFormat, '7')
    const error = await rejection(send())
    expect(error).toBeInstanceOf(errors.TooManyRequestsResponseError)
    expect((error as errors.TooManyRequestsResponseError).headers.get('retry-after')).toBe('7')
  })

  test('a stream that is left closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const controller = new AbortController()
    let leftAt = 0
    const reading = async () => {
      for await (const chunk of await stream({}, { signal: controller.signal })) {
        if (!chunk.choices[0]?.delta.content || leftAt > 0) continue
        leftAt = Date.now()
        controller.abort()
      }
    }
    await reading().catch(() => undefined)
    await lab().expectClosedSoon(leftAt)
  })
})

describe.each(textWireFormats)('responses over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('a whole response fits its schema', async () => {
    const reply = (await client().responses.send({
      responsesRequest: { model, input: prompt },
    })) as OpenResponsesResult
    expect(reply.status).toBe('completed')
    expect(JSON.stringify(reply.output)).toContain('Oslo: 4 °C')
    expect(reply.usage).toMatchObject({ inputTokens: 87, outputTokens: 41, totalTokens: 128 })
  })

  test.each(['text', 'toolCalls', 'reasoning'] as const)(
    'the events of %s fit their schema',
    async (name) => {
      lab().reply(wireFormat, name)
      const stream = (await client().responses.send({
        responsesRequest: { model, input: prompt, stream: true },
      })) as unknown as AsyncIterable<{ type: string; delta?: string }>
      let text = ''
      let last = ''
      for await (const event of stream) {
        if (event.type === 'response.output_text.delta') text += event.delta
        last = event.type
      }
      expect(text).toBe(scenarios[name].text)
      expect(last).toBe('response.completed')
    },
  )

  test('callModel() runs a tool', async () => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const cities: string[] = []
    const weather = {
      type: ToolType.Function,
      function: {
        name: 'get_weather',
        description: 'Weather of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }: { city: string }) => {
          cities.push(city)
          return weatherIn(city)
        },
      },
    } as const
    const result = client().callModel({ model, input: prompt, tools: [weather] })
    expect(await result.getText()).toBe(scenarios.text.text)
    expect(cities).toEqual(['Oslo', '京都'])
    expect(lab().lastRequest().text).toContain(weatherIn('京都'))
  })
})

describe('errors with the OpenRouter SDK', () => {
  const send = (key: string, model = modelOf('chat')) =>
    client(key).chat.send({ chatRequest: { model, messages } })

  test('a wrong key', async () => {
    expect(await rejection(send('sk-hg-v1-wrong'))).toBeInstanceOf(errors.UnauthorizedResponseError)
  })

  test('an unknown model', async () => {
    const error = await rejection(send(lab().key, 'lab/none'))
    expect(error).toBeInstanceOf(errors.BadRequestResponseError)
    expect((error as Error).message).toContain('lab/none')
  })

  test('no credits, and no request reaches the upstream', async () => {
    const requests = await lab().requestsDuring(async () => {
      expect(await rejection(send(lab().poorKey))).toBeInstanceOf(errors.PaymentRequiredResponseError)
    })
    expect(requests).toEqual([])
  })

  test('a management key where an inference key belongs', async () => {
    expect(await rejection(send(lab().managementKey))).toBeInstanceOf(errors.ForbiddenResponseError)
  })

  test('heartbeats in a slow stream do no harm', async () => {
    lab().replySlowly('messages')
    const chunks = await client().chat.send({
      chatRequest: { model: modelOf('messages'), messages, stream: true },
    })
    let text = ''
    for await (const chunk of chunks as unknown as AsyncIterable<ChatStreamChunk>) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(scenarios.text.text)
  })

  test('the client retries as it is configured to', async () => {
    lab().rateLimit('chat', '1')
    const eager = new OpenRouter({
      apiKey: lab().key,
      serverURL: `${lab().url}/api/v1`,
      retryConfig: {
        strategy: 'backoff',
        backoff: { initialInterval: 10, maxInterval: 20, exponent: 1, maxElapsedTime: 5000 },
        retryConnectionErrors: false,
      },
    })
    const requests = await lab().requestsDuring(() =>
      eager.chat.send({ chatRequest: { model: modelOf('chat'), messages } }, { retryCodes: ['429'] }),
    )
    expect(requests).toHaveLength(2)
  })
})

describe('router models', () => {
  const plugins = [{ id: 'auto-router' as const, costTier: 'low' as const, allowedModels: ['lab/*'] }]

  test('chat.send() is served by a concrete model', async () => {
    const request = { model: 'service/auto', messages, plugins }
    const reply = (await client().chat.send({ chatRequest: request })) as ChatResult
    expect([reply.model, reply.choices[0]?.message.content]).toEqual([
      expect.stringMatching(/^lab\//),
      scenarios.text.text,
    ])
  })

  test('chat.send() streams from it', async () => {
    const chatRequest = { model: 'service/auto', messages, plugins, stream: true }
    const stream = (await client().chat.send({ chatRequest })) as unknown as AsyncIterable<ChatStreamChunk>
    let text = ''
    const models = new Set<string>()
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      models.add(chunk.model)
    }
    expect([text, [...models]]).toEqual([scenarios.text.text, [expect.stringMatching(/^lab\//)]])
  })

  test('the bodies of service/bodybuilder are requests for this SDK', async () => {
    const prompt = [{ role: 'user' as const, content: 'Say hello using lab/chat and lab/messages' }]
    const built = (await client().chat.send({
      chatRequest: { model: 'service/bodybuilder', messages: prompt },
    })) as ChatResult
    const { requests } = JSON.parse(String(built.choices[0]?.message.content))
    for (const chatRequest of requests) {
      const reply = (await client().chat.send({ chatRequest })) as ChatResult
      expect([reply.model, reply.choices[0]?.message.content]).toEqual([
        chatRequest.model,
        scenarios.text.text,
      ])
    }
    expect(requests).toHaveLength(2)
  })
})

describe('the names of the public service', () => {
  const datetimeCall = {
    json: {
      id: 'c1',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 't1', type: 'function', function: { name: 'datetime', arguments: '{}' } }],
          },
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  }

  test('a server tool is run by the gateway, and not sent to the provider', async () => {
    lab().next.push(datetimeCall)
    const requests = await lab().requestsDuring(async () => {
      const reply = (await client().chat.send({
        chatRequest: { model: modelOf('chat'), messages, tools: [{ type: 'openrouter:datetime' }] },
      })) as ChatResult
      expect(reply.choices[0]?.message.content).toBe(scenarios.text.text)
    })
    expect(requests).toHaveLength(2)
    expect(requests[0]?.text).not.toContain('openrouter:')
    expect(requests[1]?.json).toMatchObject({ messages: [{}, {}, { role: 'tool', tool_call_id: 't1' }] })
  })

  test('so it is in responses, whose items the SDK parses', async () => {
    lab().next.push(datetimeCall)
    const reply = (await client().beta.responses.send({
      responsesRequest: { model: modelOf('chat'), input: prompt, tools: [{ type: 'openrouter:datetime' }] },
    })) as OpenResponsesResult
    expect(JSON.stringify(reply.output)).toContain(JSON.stringify(scenarios.text.text).slice(1, -1))
  })

  test('a router model chooses a model', async () => {
    const request = { model: 'openrouter/auto', messages, models: [modelOf('chat')] }
    const plugins = [{ id: 'auto-router' as const, allowedModels: ['lab/*'] }]
    const reply = (await client().chat.send({ chatRequest: { ...request, plugins } })) as ChatResult
    expect(reply.model).toStartWith('lab/')
  })

  test('the header of the response cache', async () => {
    const request = () =>
      fetch(`${lab().url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${lab().key}`,
          'X-OpenRouter-Cache': 'true',
          'X-OpenRouter-Cache-TTL': '60',
        },
        body: JSON.stringify({ model: modelOf('chat'), messages, seed: 20_261 }),
      })
    const [first, second] = [await request(), await request()]
    expect(first.headers.get('x-service-cache-status')).toBe('MISS')
    expect(first.headers.get('x-service-cache-ttl')).toBe('60')
    expect(second.headers.get('x-service-cache-status')).toBe('HIT')
  })
})
