import { describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { APIError, APIUserAbortError, AuthenticationError, BadRequestError, RateLimitError } from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import type { JSONSchema } from 'openai/lib/jsonschema'
import {
  argumentsOf,
  messages,
  modelOf,
  prompt,
  rejection,
  reportSchema,
  scenarios,
  textWireFormats,
  useLab,
  weatherIn,
  weatherParameters,
  weatherTool,
} from './lab.ts'
import { type ClientOptions, openaiClient } from './sdks.ts'

const lab = useLab()

const client = (options?: ClientOptions) => openaiClient(lab(), options)

describe.each(textWireFormats)(
  'chat completions of the OpenAI SDK over an upstream of format %s',
  (wireFormat) => {
    const model = modelOf(wireFormat)

    test('a whole reply has text, usage and cost', async () => {
      const reply = await client().chat.completions.create({ model, messages })
      expect(reply.choices[0]?.message.content).toBe(scenarios.text.text)
      expect(reply.choices[0]?.finish_reason).toBe('stop')
      expect(reply.model).toBe(model)
      expect(reply.usage).toMatchObject({
        prompt_tokens: 87,
        completion_tokens: 41,
        total_tokens: 128,
        prompt_tokens_details: { cached_tokens: 64 },
      })
      expect(reply._request_id).toBeString()
    })

    test('a stream has the same text, and usage when it is requested', async () => {
      const stream = await client().chat.completions.create({
        model,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      })
      let text = ''
      let usage: OpenAI.CompletionUsage | null | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        usage = chunk.usage ?? usage
      }
      expect(text).toBe(scenarios.text.text)
      expect(usage).toMatchObject({ prompt_tokens: 87, completion_tokens: 41, total_tokens: 128 })
    })

    test('parallel tools make the round trip: calls, results, reply', async () => {
      lab().reply(wireFormat, 'toolCalls', 'text')
      const cities: string[] = []
      const runner = client().chat.completions.runTools({
        model,
        messages,
        tools: [
          {
            type: 'function',
            function: {
              ...weatherTool.function,
              parameters: weatherParameters as unknown as JSONSchema,
              function: (args: string) => {
                const { city } = JSON.parse(args)
                cities.push(city)
                return weatherIn(city)
              },
            },
          },
        ],
      })
      expect(await runner.finalContent()).toBe(scenarios.text.text)
      expect(cities).toEqual(['Oslo', '京都'])
      const results = lab().lastRequest().text
      expect(results).toContain(weatherIn('Oslo'))
      expect(results).toContain(weatherIn('京都'))
    })

    test('streamed parallel tool calls come out whole', async () => {
      lab().reply(wireFormat, 'toolCalls')
      const stream = client().chat.completions.stream({ model, messages, tools: [weatherTool] })
      const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0]!
      const calls = message.tool_calls ?? []
      expect(finish_reason).toBe('tool_calls')
      expect(calls.map((call) => call.id)).toEqual(scenarios.toolCalls.toolCalls.map((call) => call.id))
      expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual(
        argumentsOf('toolCalls'),
      )
    })

    test('reasoning is shown, and is counted', async () => {
      lab().reply(wireFormat, 'reasoning')
      const reply = await client().chat.completions.create({ model, messages, reasoning_effort: 'high' })
      const message = reply.choices[0]?.message as { content: string; reasoning?: string }
      expect(message.content).toBe(scenarios.reasoning.text)
      expect(message.reasoning).toBe(scenarios.reasoning.reasoning.text)
      expect(reply.usage?.completion_tokens).toBe(46)
    })

    test('parse() gives an object of the schema', async () => {
      lab().reply(wireFormat, 'structured')
      const reply = await client().chat.completions.parse({
        model,
        messages,
        response_format: zodResponseFormat(reportSchema, 'report'),
      })
      expect(reply.choices[0]?.message.parsed).toEqual(JSON.parse(scenarios.structured.text))
      expect(lab().lastRequest().text).toContain('"warnings"')
    })

    test('stream() gives an object of the schema', async () => {
      lab().reply(wireFormat, 'structured')
      const stream = client().chat.completions.stream({
        model,
        messages,
        response_format: zodResponseFormat(reportSchema, 'report'),
      })
      const final = await stream.finalChatCompletion()
      expect(final.choices[0]?.message.parsed).toEqual(JSON.parse(scenarios.structured.text))
    })

    test('a truncated reply is known by its finish reason', async () => {
      lab().reply(wireFormat, 'cutShort')
      const reply = await client().chat.completions.create({ model, messages, max_tokens: 8 })
      expect(reply.choices[0]?.finish_reason).toBe('length')
    })

    test('a rate limit of the upstream is a RateLimitError with its retry-after', async () => {
      lab().rateLimit(wireFormat, '7')
      const error = await rejection(client().chat.completions.create({ model, messages }))
      expect(error).toBeInstanceOf(RateLimitError)
      expect((error as RateLimitError).headers?.get('retry-after')).toBe('7')
      expect((error as RateLimitError).message).toContain('Slow down')
    })

    test('a stream that is left closes the connection to the upstream', async () => {
      lab().stall(wireFormat)
      const stream = await client().chat.completions.create({ model, messages, stream: true })
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
      await lab().expectClosedSoon(Date.now())
    })

    test('abort() of a stream closes the connection to the upstream', async () => {
      lab().stall(wireFormat)
      const stream = client().chat.completions.stream({ model, messages })
      await new Promise((resolve) => stream.once('content', resolve))
      const leftAt = Date.now()
      stream.abort()
      expect(await rejection(stream.done())).toBeInstanceOf(APIUserAbortError)
      await lab().expectClosedSoon(leftAt)
    })
  },
)

describe('errors and models with the OpenAI SDK', () => {
  const create = (sdk: OpenAI, model = modelOf('chat')) => sdk.chat.completions.create({ model, messages })

  test('a wrong key is an AuthenticationError, not retried', async () => {
    const error = await rejection(create(client({ key: 'sk-hg-v1-wrong', maxRetries: 2 })))
    expect(error).toBeInstanceOf(AuthenticationError)
  })

  test('an unknown model is a BadRequestError that names it', async () => {
    const error = await rejection(create(client(), 'lab/none'))
    expect(error).toBeInstanceOf(BadRequestError)
    expect((error as BadRequestError).message).toContain('lab/none')
    expect((error as BadRequestError).type).toBe('invalid_request_error')
  })

  test('an account without credits gets status 402, and no request reaches the upstream', async () => {
    let error: unknown
    const requests = await lab().requestsDuring(async () => {
      error = await rejection(create(client({ key: lab().poorKey })))
    })
    expect(error).toBeInstanceOf(APIError)
    expect((error as APIError).status).toBe(402)
    expect(requests).toEqual([])
  })

  test('the client retries a rate limit after the given delay', async () => {
    lab().rateLimit('messages', '1')
    const requests = await lab().requestsDuring(() =>
      client({ maxRetries: 2 }).chat.completions.create({ model: modelOf('messages'), messages }),
    )
    expect(requests).toHaveLength(2)
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(900)
  })

  test('models are listed and read', async () => {
    const ids: string[] = []
    for await (const model of client().models.list()) ids.push(model.id)
    expect(ids).toContain('lab/chat')
    expect(ids).toContain('sandbox/echo')
    expect((await client().models.retrieve('lab/chat')).object).toBe('model')
  })

  test('the sandbox replies: reasoning, tools and errors without any upstream', async () => {
    const reply = await client().chat.completions.create({
      model: 'sandbox/reasoner',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(reply.choices[0]?.message.content).toContain('Hello')
    const failing = client().chat.completions.create({
      model: 'sandbox/echo',
      messages: [{ role: 'user', content: 'sandbox:error=429 sandbox:retry-after=3' }],
    })
    expect(await rejection(failing)).toBeInstanceOf(RateLimitError)
  })

  test.each(['chat', 'messages'] as const)('legacy completions, over %s', async (wireFormat) => {
    const params = { model: modelOf(wireFormat), prompt }
    const whole = await client().completions.create(params)
    expect(whole.choices[0]?.text).toBe(scenarios.text.text)
    let text = ''
    for await (const chunk of await client().completions.create({ ...params, stream: true })) {
      text += chunk.choices[0]?.text ?? ''
    }
    expect(text).toBe(scenarios.text.text)
  })

  test('heartbeats in a slow stream do no harm', async () => {
    lab().replySlowly('messages')
    lab().replySlowly('messages')
    const model = modelOf('messages')
    const chat = client().chat.completions.stream({ model, messages }).finalContent()
    const response = client().responses.stream({ model, input: prompt }).finalResponse()
    expect(await chat).toBe(scenarios.text.text)
    expect((await response).output_text).toBe(scenarios.text.text)
  })

  test('an error inside a stream is thrown', async () => {
    const stream = await client().chat.completions.create({
      model: 'sandbox/echo',
      stream: true,
      messages: [{ role: 'user', content: 'one two three four sandbox:fail=2' }],
    })
    let text = ''
    const reading = async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(await rejection(reading())).toBeInstanceOf(APIError)
    expect(text).toStartWith('one two')
  })
})
