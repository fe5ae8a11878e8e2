import { beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { RateLimitError as AnthropicRateLimitError, APIError } from '@anthropic-ai/sdk'
import { APICallError, generateText, type LanguageModel, streamText } from 'ai'
import { RateLimitError } from 'openai'
import { messages, modelOf, prompt, useLab } from './lab.ts'
import { anthropicClient, openaiClient } from './sdks.ts'

const lab = useLab()

// In the middle of a window: none ends during a test.
beforeAll(() => {
  lab().server.clock.freeze('2028-03-15T12:30:00.000Z')
})

async function manage(path: string, body: object) {
  const response = await lab().server.call('POST', path, { body })
  expect([path, response.status]).toEqual([path, 201])
  return response.body
}

/** A key with two requests, and some tokens, an hour. */
async function limitedKey(): Promise<string> {
  const { key, data } = await manage('/keys', { name: 'limited' })
  const match = { key_hash: data.hash }
  for (const [measure, amount] of [
    ['requests', 2],
    ['tokens', 50_000],
    ['input_tokens', 30_000],
    ['output_tokens', 20_000],
  ])
    await manage('/limits', { name: `${measure} of a test`, measure, window: 'hour', amount, match })
  return key
}

/** The time in which a window of an hour is free again, in seconds: `59m59.5s` of OpenAI. */
function secondsIn(reset: string | null | undefined): number {
  const [, hours = 0, minutes = 0, seconds = 0] =
    /^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?$/.exec(reset ?? '') ?? []
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

describe('the limits of a key', () => {
  test('openai reads what is left, and a rejection with its Retry-After', async () => {
    const client = openaiClient(lab(), { key: await limitedKey() })
    const create = (stream: boolean) =>
      client.chat.completions
        .create({ model: modelOf('chat'), messages, max_tokens: 100, stream })
        .withResponse()
    const { response } = await create(false)
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('50000')
    expect(Number(response.headers.get('x-ratelimit-remaining-tokens'))).toBeWithin(40_000, 50_000)
    expect(secondsIn(response.headers.get('x-ratelimit-reset-requests'))).toBeWithin(1, 7201)
    const streamed = await create(true)
    expect(streamed.response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    for await (const _ of streamed.data as AsyncIterable<unknown>);
    const error = await create(false).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RateLimitError)
    const { headers, status, message } = error as RateLimitError
    expect([status, headers?.get('x-ratelimit-remaining-requests')]).toEqual([429, '0'])
    expect(Number(headers?.get('retry-after'))).toBeWithin(1, 7201)
    expect(message).toContain('requests of a test')
  })

  test('openai reads them on Responses', async () => {
    const client = openaiClient(lab(), { key: await limitedKey() })
    const { response } = await client.responses
      .create({ model: modelOf('responses'), input: prompt })
      .withResponse()
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('1')
  })

  test('@anthropic-ai/sdk reads each measure, and times at which it is free again', async () => {
    const client = anthropicClient(lab(), { key: await limitedKey() })
    const create = () =>
      client.messages.create({ model: modelOf('messages'), messages, max_tokens: 100 }).withResponse()
    const { response } = await create()
    const read = (name: string) => response.headers.get(`anthropic-ratelimit-${name}`)
    expect([read('requests-limit'), read('requests-remaining')]).toEqual(['2', '1'])
    expect(['tokens', 'input-tokens', 'output-tokens'].map((measure) => read(`${measure}-limit`))).toEqual([
      '50000',
      '30000',
      '20000',
    ])
    expect(Number(read('output-tokens-remaining'))).toBeWithin(19_000, 20_000)
    const wait = new Date(read('requests-reset') ?? '').getTime() - lab().server.clock.now()
    expect(wait).toBeWithin(1, 7_200_001)
    await create()
    const error = await create().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AnthropicRateLimitError)
    const { headers } = error as AnthropicRateLimitError
    expect(headers?.get('anthropic-ratelimit-requests-remaining')).toBe('0')
    expect(Number(headers?.get('retry-after'))).toBeWithin(1, 7201)
  })

  test('@anthropic-ai/sdk does not retry a limit of dollars', async () => {
    const created = await manage('/keys', { name: 'poor' })
    const match = { key_hash: created.data.hash }
    await manage('/limits', { name: 'Budget', measure: 'usd', window: 'month', amount: 0.000001, match })
    const client = anthropicClient(lab(), { key: created.key, maxRetries: 2 })
    const requests = await lab().requestsDuring(async () => {
      const error = await client.messages
        .create({ model: modelOf('messages'), messages, max_tokens: 100 })
        .catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(APIError)
      expect([(error as APIError).status, (error as APIError).message]).toEqual([
        402,
        expect.stringContaining('Budget'),
      ])
    })
    expect(requests).toEqual([])
  })

  const models: [string, string, (access: { baseURL: string; apiKey: string }) => LanguageModel][] = [
    [
      '@ai-sdk/openai',
      'x-ratelimit-remaining-requests',
      (access) => createOpenAI(access).chat(modelOf('chat')),
    ],
    [
      '@ai-sdk/anthropic',
      'anthropic-ratelimit-requests-remaining',
      (access) => createAnthropic(access)(modelOf('messages')),
    ],
  ]
  test.each(models)('%s has them with the reply, the stream and the error', async (_, header, modelFor) => {
    const access = { baseURL: `${lab().url}/v1`, apiKey: await limitedKey() }
    const options = { model: modelFor(access), prompt, maxRetries: 0 }
    expect((await generateText(options)).response.headers?.[header]).toBe('1')
    const streamed = streamText(options)
    await streamed.consumeStream()
    expect((await streamed.response).headers?.[header]).toBe('0')
    const error = await generateText(options).catch((thrown: unknown) => thrown)
    expect(APICallError.isInstance(error)).toBe(true)
    const { responseHeaders, statusCode, isRetryable } = error as APICallError
    expect([statusCode, isRetryable, responseHeaders?.[header]]).toEqual([429, true, '0'])
    expect(Number(responseHeaders?.['retry-after'])).toBeWithin(1, 7201)
  })
})
