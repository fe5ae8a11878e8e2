import { describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { APIError, NotFoundError, RateLimitError } from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
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
  weatherParameters,
} from './lab.ts'
import { type ClientOptions, openaiClient } from './sdks.ts'

const lab = useLab()

const client = (options?: ClientOptions) => openaiClient(lab(), options)

const flatTool = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: weatherParameters,
  strict: false,
}

describe.each(textWireFormats)('responses of the OpenAI SDK over an upstream of format %s', (wireFormat) => {
  const model = modelOf(wireFormat)

  test('a whole reply has text and usage', async () => {
    const reply = await client().responses.create({ model, input: prompt })
    expect(reply.output_text).toBe(scenarios.text.text)
    expect(reply.status).toBe('completed')
    expect(reply.usage).toMatchObject({ input_tokens: 87, output_tokens: 41, total_tokens: 128 })
  })

  test('stream() ends with the same response, its events numbered', async () => {
    const stream = client().responses.stream({ model, input: prompt })
    const numbers: number[] = []
    let text = ''
    for await (const event of stream) {
      numbers.push(event.sequence_number)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    const final = await stream.finalResponse()
    expect(text).toBe(scenarios.text.text)
    expect(final.output_text).toBe(scenarios.text.text)
    expect(final.usage?.total_tokens).toBe(128)
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })

  test('parallel tools make the round trip by previous_response_id', async () => {
    lab().reply(wireFormat, 'toolCalls', 'text')
    const first = await client().responses.create({ model, input: prompt, tools: [flatTool] })
    const calls = first.output.filter((item) => item.type === 'function_call')
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual(argumentsOf('toolCalls'))
    const second = await client().responses.create({
      model,
      previous_response_id: first.id,
      tools: [flatTool],
      input: calls.map(({ call_id, arguments: args }) => ({
        type: 'function_call_output',
        call_id,
        output: weatherIn(JSON.parse(args).city),
      })),
    })
    expect(second.output_text).toBe(scenarios.text.text)
    expect(second.previous_response_id).toBe(first.id)
    const { text } = lab().lastRequest()
    expect(text).toContain(prompt)
    expect(text).toContain(weatherIn('Oslo'))
    expect(text).toContain(weatherIn('京都'))
  })

  test('streamed tool calls come out whole', async () => {
    lab().reply(wireFormat, 'toolCalls')
    const stream = client().responses.stream({ model, input: prompt, tools: [flatTool] })
    const { output } = await stream.finalResponse()
    const calls = output.filter((item) => item.type === 'function_call')
    expect(calls.map((call) => call.call_id)).toEqual(scenarios.toolCalls.toolCalls.map((call) => call.id))
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual(argumentsOf('toolCalls'))
  })

  test('reasoning comes back as an item, and goes in again', async () => {
    lab().reply(wireFormat, 'reasoningToolCall', 'text')
    const first = await client().responses.create({
      model,
      input: prompt,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high', summary: 'auto' },
      tools: [flatTool],
    })
    expect(first.output[0]?.type).toBe('reasoning')
    expect(first.output.at(-1)?.type).toBe('function_call')
    expect(JSON.stringify(first.output[0])).toContain('so I need the tool')
    const second = await client().responses.create({
      model,
      store: false,
      tools: [flatTool],
      input: [
        { role: 'user', content: prompt },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'call_bergen9Lk', output: weatherIn('Bergen') },
      ],
    })
    expect(second.output_text).toBe(scenarios.text.text)
    // The chat format has no signatures.
    if (wireFormat !== 'chat') {
      expect(lab().lastRequest().text).toContain(scenarios.reasoningToolCall.reasoning.signature)
    }
  })

  test('parse() gives an object of the schema', async () => {
    lab().reply(wireFormat, 'structured')
    const reply = await client().responses.parse({
      model,
      input: prompt,
      text: { format: zodTextFormat(reportSchema, 'report') },
    })
    expect(reply.output_parsed).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('stream() gives an object of the schema', async () => {
    lab().reply(wireFormat, 'structured')
    const stream = client().responses.stream({
      model,
      input: prompt,
      text: { format: zodTextFormat(reportSchema, 'report') },
    })
    expect((await stream.finalResponse()).output_parsed).toEqual(JSON.parse(scenarios.structured.text))
  })

  test('a rate limit of the upstream is a RateLimitError', async () => {
    lab().rateLimit(wireFormat, '7')
    const error = await rejection(client().responses.create({ model, input: prompt, stream: true }))
    expect(error).toBeInstanceOf(RateLimitError)
    expect((error as RateLimitError).headers?.get('retry-after')).toBe('7')
  })

  test('a stream that is left closes the connection to the upstream', async () => {
    lab().stall(wireFormat)
    const stream = await client().responses.create({ model, input: prompt, stream: true })
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
    await lab().expectClosedSoon(Date.now())
  })
})

describe('stored responses with the OpenAI SDK', () => {
  test.each(textWireFormats)('one of format %s is read, listed and deleted', async (wireFormat) => {
    const { responses } = client()
    const made = await responses.create({ model: modelOf(wireFormat), input: prompt })
    expect(await responses.retrieve(made.id)).toEqual(
      expect.objectContaining({ id: made.id, status: 'completed' }),
    )
    expect((await responses.retrieve(made.id)).output_text).toBe(scenarios.text.text)
    const items = []
    for await (const item of responses.inputItems.list(made.id)) items.push(item)
    expect(items).toHaveLength(1)
    expect(JSON.stringify(items)).toContain(prompt)
    await responses.delete(made.id)
    expect(await rejection(responses.retrieve(made.id))).toBeInstanceOf(NotFoundError)
  })

  test('a streamed one is there as soon as it has ended', async () => {
    const { responses } = client()
    const { id } = await responses.stream({ model: modelOf('messages'), input: prompt }).finalResponse()
    expect((await responses.retrieve(id)).output_text).toBe(scenarios.text.text)
  })

  test('one in the background is polled until it has ended, and stays as it ended', async () => {
    const { responses } = client()
    const queued = await responses.create({ model: modelOf('chat'), input: prompt, background: true })
    expect(queued.status).toBe('queued')
    let made = queued
    while (made.status === 'queued' || made.status === 'in_progress')
      made = await responses.retrieve(queued.id)
    expect(made).toMatchObject({ id: queued.id, status: 'completed', output_text: scenarios.text.text })
    expect((await responses.cancel(queued.id)).status).toBe('completed')
  })

  test('with store: false nothing is stored', async () => {
    const { responses } = client()
    const made = await responses.create({ model: modelOf('chat'), input: prompt, store: false })
    expect(await rejection(responses.retrieve(made.id))).toBeInstanceOf(NotFoundError)
    const next = responses.create({ model: modelOf('chat'), input: 'And?', previous_response_id: made.id })
    expect(await rejection(next)).toBeInstanceOf(APIError)
  })

  test('one of another account does not exist', async () => {
    const made = await client().responses.create({ model: modelOf('chat'), input: prompt })
    const foreign = client({ key: lab().poorKey }).responses.retrieve(made.id)
    expect(await rejection(foreign)).toBeInstanceOf(NotFoundError)
  })

  test('input items come in pages', async () => {
    const { responses } = client()
    const input = ['one', 'two', 'three'].map((content) => ({ role: 'user' as const, content }))
    const made = await responses.create({ model: modelOf('chat'), input })
    const texts: string[] = []
    for await (const item of responses.inputItems.list(made.id, { limit: 2, order: 'asc' })) {
      texts.push(JSON.stringify(item))
    }
    expect(texts.map((text) => /one|two|three/.exec(text)?.[0])).toEqual(['one', 'two', 'three'])
  })
})
