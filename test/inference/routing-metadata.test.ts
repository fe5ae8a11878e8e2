import { beforeEach, describe, expect, test } from 'bun:test'
import {
  type Bench,
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  readJson,
  sendRequest,
} from './two-upstreams.ts'

const enabled = { 'x-service-metadata': 'enabled' }
const overloaded = { status: 503, json: { error: { message: 'too much' } } }
const secrets = ['vendor-secret', 'own-credential-0123456789']

/** The metadata at the end of a stream: of the last event that has it. */
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
async function streamedMetadata(response: Response): Promise<{ metadata: any; carrier: any; events: any[] }> {
  const text = await response.text()
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
  const carriers = events.filter((event) => event.service_metadata ?? event.response?.service_metadata)
  const carrier = carriers.at(-1)
  return { metadata: carrier?.service_metadata ?? carrier?.response?.service_metadata, carrier, events }
}

function explained(bench: Bench, format: FormatName, body: Record<string, unknown>, headers = enabled) {
  return sendRequest(bench, format, body, { headers })
}

/** Recognizes the event of a streamed reply that has the metadata. */
const carriers: Record<FormatName, (event: Record<string, unknown>) => boolean> = {
  chat: ({ choices, usage }) => Array.isArray(choices) && choices.length === 1 && usage !== undefined,
  messages: ({ type }) => type === 'message_stop',
  responses: ({ type }) => type === 'response.completed',
}

describeWithUpstreamsOnSqlite('service_metadata', (bench) => {
  beforeEach(() => clearGenerations(bench()))

  for (const format of formatNames) {
    // Translated, and passed through.
    for (const upstream of ['chat', 'messages', 'responses'] as const) {
      test(`${format} over ${upstream}: whole and streamed`, async () => {
        const model = `test/both-${upstream}`
        const whole = (await readJson(explained(bench(), format, { model }))).service_metadata
        expect(whole).toMatchObject({
          requested: model,
          strategy: 'direct',
          region: 'global',
          attempt: 1,
          is_byok: false,
        })
        expect(whole).not.toHaveProperty('attempts')
        expect(whole.generation_time).toBeGreaterThanOrEqual(0)
        expect(whole.endpoints.total).toBe(2)
        expect(whole.endpoints.available).toMatchObject([
          {
            model,
            provider: `one-${upstream}`,
            tag: `one-${upstream}`,
            selected: true,
            rank: 1,
            why: 'balanced',
            price: { prompt: 1, completion: 4 },
          },
          {
            model,
            provider: `two-${upstream}`,
            selected: false,
            rank: 2,
            price: { prompt: 2, completion: 4 },
          },
        ])
        const shares = whole.endpoints.available.map(({ share }: { share: number }) => share)
        expect(shares[0] + shares[1]).toBeCloseTo(1, 3)
        expect(shares[0] / shares[1]).toBeCloseTo((6 / 5) ** 2, 2)
        const response = await explained(bench(), format, { model, stream: true })
        const { metadata, carrier } = await streamedMetadata(response)
        expect(carriers[format](carrier)).toBe(true)
        expect(metadata).toMatchObject({ requested: model, attempt: 1, endpoints: { total: 2 } })
        expect(metadata.timings.until_first_token).toBeGreaterThanOrEqual(0)
        for (const secret of secrets) expect(JSON.stringify([whole, metadata])).not.toContain(secret)
      })
    }

    test(`${format}: is absent unless requested`, async () => {
      for (const value of ['disabled', '', 'yes', 'true']) {
        const headers = { 'x-service-metadata': value }
        const whole = await readJson(explained(bench(), format, { model: 'test/chat' }, headers))
        expect(whole).not.toHaveProperty('service_metadata')
      }
      const streamed = await sendRequest(bench(), format, { model: 'test/chat', stream: true })
      expect(await streamed.text()).not.toContain('service_metadata')
    })

    test(`${format}: a failed attempt is listed with the one that succeeded`, async () => {
      for (const stream of [false, true]) {
        bench().first.enqueue(overloaded)
        const response = await explained(bench(), format, { model: 'test/both-chat', stream })
        const metadata = stream
          ? (await streamedMetadata(response)).metadata
          : (await readJson(response)).service_metadata
        expect(metadata.attempt).toBe(2)
        expect(metadata.attempts).toMatchObject([
          { provider: 'one-chat', model: 'test/both-chat', status: 503, error: 'provider_overloaded' },
          { provider: 'two-chat', model: 'test/both-chat', status: 200 },
        ])
        expect(metadata.attempts[1]).not.toHaveProperty('error')
        expect(metadata.endpoints.available.map(({ selected }: { selected: boolean }) => selected)).toEqual([
          false,
          true,
        ])
        const { first, server } = bench()
        first.requests.length = 0
        server.clock.advance(60_000)
      }
    })

    test(`${format}: an error lists the attempts, before a stream and in it`, async () => {
      bench().first.enqueue(overloaded)
      const rejected = await explained(bench(), format, { model: 'test/chat', stream: true })
      expect(rejected.status).toBe(503)
      const { service_metadata } = await readJson(rejected)
      expect(service_metadata).toMatchObject({ attempt: 1, requested: 'test/chat' })
      expect(service_metadata.endpoints.available).toMatchObject([{ selected: false }])
      bench().server.clock.advance(60_000)
      const replied = Promise.withResolvers<void>()
      bench().first.enqueue({
        sse: ['data: {"choices":[{"index":0,"delta":{"content":"Hal"}}]}\n\n', 'data: {"choi'],
        breakAfterBytes: 70,
        breakWhen: replied.promise,
      })
      const broken = await explained(bench(), format, { model: 'test/chat', stream: true })
      replied.resolve()
      expect(broken.status).toBe(200)
      const { metadata } = await streamedMetadata(broken)
      expect(metadata).toMatchObject({ attempt: 1 })
      expect(metadata.endpoints.available).toMatchObject([{ provider: 'one-chat', selected: false }])
    })
  }

  test('the older text format has it too', async () => {
    for (const stream of [false, true]) {
      const response = await fetch(`${bench().server.url}/v1/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bench().server.own.inferenceKey}`, ...enabled },
        body: JSON.stringify({ model: 'test/chat', prompt: 'Hello', stream }),
      })
      const metadata = stream
        ? (await streamedMetadata(response)).metadata
        : (await readJson(response)).service_metadata
      expect(metadata).toMatchObject({ requested: 'test/chat', attempt: 1 })
    }
  })

  test.each(['chat', 'gemini'])(
    'the Gemini format has it too, and its errors: from %s',
    async (wireFormat) => {
      const request = (stream: boolean, model: string) => {
        const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
        return fetch(`${bench().server.url}/v1beta/models/test/${model}:${method}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${bench().server.own.inferenceKey}`, ...enabled },
          body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }),
        })
      }
      const whole = await readJson(request(false, wireFormat))
      const { metadata } = await streamedMetadata(await request(true, wireFormat))
      bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
      const rejected = await readJson(request(false, wireFormat))
      for (const metadataOfAttempt of [whole.service_metadata, metadata, rejected.service_metadata])
        expect(metadataOfAttempt).toMatchObject({ attempt: 1, endpoints: { total: 1 } })
    },
  )

  test('header names and values in any case; the legacy name and that of the OpenRouter SDK', async () => {
    const names = ['X-Service-Metadata', 'X-Service-Experimental-Metadata', 'X-OpenRouter-Metadata']
    for (const name of names) {
      const headers = { [name]: 'EnAbLeD' }
      const body = await readJson(sendRequest(bench(), 'chat', { model: 'test/chat' }, { headers }))
      expect(body.service_metadata.attempt).toBe(1)
    }
  })

  test('excluded endpoints, and by which preference', async () => {
    const provider = { only: ['two-chat'] }
    const { service_metadata } = await readJson(
      explained(bench(), 'chat', { model: 'test/both-chat', provider }),
    )
    expect(service_metadata.params).toEqual({ only: ['two-chat'] })
    expect(service_metadata.endpoints.excluded).toEqual([
      {
        model: 'test/both-chat',
        provider: 'one-chat',
        tag: 'one-chat',
        reason: 'allowed_providers',
        detail: '`provider.only` or `provider.ignore` excludes it.',
      },
    ])
    const nowhere = await explained(bench(), 'chat', { model: 'test/chat', provider })
    expect(nowhere.status).toBe(503)
    const metadataOfAttempt = (await readJson(nowhere)).service_metadata
    expect(metadataOfAttempt).toMatchObject({ attempt: 0, endpoints: { total: 1, available: [] } })
    expect(metadataOfAttempt).not.toHaveProperty('generation_time')
    const single = { allow_fallbacks: false }
    const alone = await readJson(explained(bench(), 'chat', { model: 'test/both-chat', provider: single }))
    expect(alone.service_metadata.endpoints.excluded).toMatchObject([{ reason: 'allow_fallbacks' }])
  })

  test('a request without credits has an error with the candidates', async () => {
    const key = bench().server.foreign.inferenceKey
    const rejected = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { key, headers: enabled })
    expect(rejected.status).toBe(402)
    expect((await readJson(rejected)).service_metadata).toMatchObject({
      attempt: 0,
      endpoints: { available: [{ provider: 'one-chat', selected: false }] },
    })
  })

  test('a later model of the list is a fallback', async () => {
    bench().first.enqueue({ status: 400, json: { error: { message: 'no' } } })
    const body = { model: 'test/chat', models: ['test/messages'] }
    const { service_metadata } = await readJson(explained(bench(), 'chat', body))
    expect(service_metadata).toMatchObject({ requested: 'test/chat', strategy: 'fallback', attempt: 2 })
    expect(service_metadata.endpoints.total).toBe(2)
  })

  test('a cache hit has none', async () => {
    const headers = { ...enabled, 'x-service-cache': 'true' }
    const send = () => sendRequest(bench(), 'chat', { model: 'test/chat', seed: 7 }, { headers })
    const miss = await send()
    expect((await readJson(miss)).service_metadata.attempt).toBe(1)
    const hit = await send()
    expect(hit.headers.get('x-service-cache-status')).toBe('HIT')
    expect(await readJson(hit)).not.toHaveProperty('service_metadata')
  })

  describe('a BYOK key', () => {
    test('is named by its id only', async () => {
      const { server } = bench()
      const body = { provider: 'two-chat', key: 'own-credential-0123456789' }
      const made = await server.call('POST', '/byok', { body })
      const { id } = made.body.data
      try {
        const { service_metadata } = await readJson(explained(bench(), 'chat', { model: 'test/both-chat' }))
        expect(service_metadata).toMatchObject({ is_byok: true, attempt: 1 })
        expect(service_metadata.endpoints.available[0]).toMatchObject({
          provider: 'two-chat',
          why: 'own_key',
          own_key: id,
          selected: true,
        })
        for (const secret of secrets) expect(JSON.stringify(service_metadata)).not.toContain(secret)
      } finally {
        await server.call('DELETE', `/byok/${id}`)
      }
    })
  })
})
