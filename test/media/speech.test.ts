import { expect, test } from 'bun:test'
import { clearGenerations, lastRequest, readJson, waitForGenerations } from '../inference/two-upstreams.ts'
import { resetRouting } from '../support/harness.ts'
import {
  audioReply,
  describeSpeech,
  eventReply,
  mp3Frames,
  readBytes,
  sendSpeech,
  toEvent,
} from './speech-upstreams.ts'

const unauthorized = {
  status: 401,
  json: { error: { message: 'Incorrect API key provided: vendor-secret-0123456789' } },
}

describeSpeech('speech of providers', (bench) => {
  const server = () => bench().server
  const key = () => server().own.inferenceKey

  async function generationOf(response: Response) {
    const id = response.headers.get('x-generation-id') ?? ''
    const found = await server().call('GET', `/generation?id=${id}`, { key: key() })
    return found.body.data
  }

  test('x-service-metadata adds the routing to the last event, and analytics count the request', async () => {
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const headers = { 'x-service-metadata': 'enabled' }
    const response = await sendSpeech(bench(), { model: 'speech/plain', stream_format: 'sse' }, { headers })
    const last = JSON.parse((await response.text()).trim().split('\n\n').at(-1)?.slice(6) ?? '')
    expect(last.service_metadata.requested).toBe('speech/plain')
    const query = { metrics: ['request_count'], dimensions: ['model'] }
    const { body } = await server().call('POST', '/analytics/query', { body: query })
    const row = body.data.data.find(({ model }: { model: string }) => model === 'speech/plain')
    expect(Number(row.request_count)).toBeGreaterThan(0)
  })

  test('R9 the audio arrives unchanged, and is billed by the character', async () => {
    const frames = mp3Frames(5)
    bench().first.enqueue(audioReply(frames))
    const response = await sendSpeech(bench(), {
      model: 'speech/plain',
      input: 'Hello 👋',
      speed: 1.5,
      instructions: 'softly',
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect(await readBytes(response)).toEqual(Buffer.concat(frames))
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/audio/speech',
      headers: { authorization: 'Bearer vendor-secret-0123456789' },
      json: {
        model: 'tts-1',
        input: 'Hello 👋',
        voice: 'alloy',
        response_format: 'mp3',
        speed: 1.5,
        instructions: 'softly',
      },
    })
    expect(await generationOf(response)).toMatchObject({
      api_type: 'tts',
      streamed: true,
      total_cost: 0.000105,
      tokens_prompt: 0,
      tokens_completion: 0,
      finish_reason: 'stop',
    })
  })

  test('R9 an endpoint billed by the token is asked for events, and billed by the usage in them', async () => {
    const frames = mp3Frames(3)
    const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 }
    bench().first.enqueue(eventReply(frames, usage), eventReply(frames, usage))
    const response = await sendSpeech(bench(), { model: 'speech/tokens' })
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect(await readBytes(response)).toEqual(Buffer.concat(frames))
    expect(lastRequest(bench().first.requests).json.stream_format).toBe('sse')
    expect(await generationOf(response)).toMatchObject({
      tokens_prompt: 14,
      tokens_completion: 101,
      total_cost: 0.0012204,
    })
    const events = await (await sendSpeech(bench(), { model: 'speech/tokens', stream_format: 'sse' })).text()
    const done = { type: 'speech.audio.done', usage: { ...usage, cost: 0.0012204 } }
    expect(events).toEndWith(toEvent(done))
    expect(events).toContain(`"audio":"${Buffer.from(frames[0] ?? []).toString('base64')}"`)
  })

  test('R9 tokens that are not reported are estimated from the text', async () => {
    bench().first.enqueue(audioReply(mp3Frames(2)))
    const response = await sendSpeech(bench(), { model: 'speech/uncounted', input: 'x'.repeat(150) })
    await response.arrayBuffer()
    expect(await generationOf(response)).toMatchObject({ tokens_prompt: 38, tokens_completion: 200 })
  })

  test('events around the audio of a provider that has none', async () => {
    const frames = mp3Frames(2)
    bench().first.enqueue(audioReply(frames))
    const response = await sendSpeech(bench(), { model: 'speech/plain', stream_format: 'sse' })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const events = (await response.text())
      .trim()
      .split('\n\n')
      .map((line) => JSON.parse(line.slice(6)))
    const audio = events
      .filter(({ type }) => type === 'speech.audio.delta')
      .map((event) => Buffer.from(event.audio, 'base64'))
    expect(Buffer.concat(audio)).toEqual(Buffer.concat(frames))
    expect(events.at(-1)).toEqual({
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost: 0.000075 },
    })
  })

  test('a recording to imitate is sent to endpoints that support it, and refused elsewhere', async () => {
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const input_references = [
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'mp3' } },
      { type: 'text', text: 'What I said' },
    ]
    const cloned = await sendSpeech(bench(), { model: 'speech/cloner', voice: undefined, input_references })
    expect(cloned.status).toBe(200)
    await cloned.arrayBuffer()
    expect(lastRequest(bench().first.requests).json).toMatchObject({
      ref_audio: 'data:audio/mp3;base64,UklGRg==',
      ref_text: 'What I said',
    })
    const refused = await sendSpeech(bench(), { model: 'speech/plain', input_references })
    expect(refused.status).toBe(400)
    expect((await readJson(refused)).error).toMatchObject({ param: 'input_references' })
  })

  test.each([
    [{ model: 'speech/plain', voice: 'ash' }, 'voice: must be one of alloy, nova for this model'],
    [
      { model: 'speech/plain', voice: undefined },
      'voice: is required, because this model has no default voice; must be one of alloy, nova',
    ],
    [
      { model: 'openai/tts-1', voice: 'clonedVoice0123456789' },
      'voice: must be one of alloy, ash, coral, echo, fable, nova, onyx, sage, shimmer for this model',
    ],
    [
      { model: 'elevenlabs/eleven_v3', voice: undefined },
      'voice: is required, because this model has no default voice; must be a voice of the provider, such as 21m00Tcm4TlvDq8ikWAM, ',
    ],
    [
      { model: 'speech/formats', response_format: 'opus', voice: undefined },
      'response_format: must be one of wav for this model',
    ],
    [{ model: 'speech/plain', response_format: 'ogg' }, 'response_format: '],
    [{ model: 'speech/plain', input: 'x'.repeat(40_001) }, 'input: '],
    [{ model: 'speech/plain', input: '' }, 'input: '],
    [{ model: 'speech/plain', speed: 5 }, 'speed: '],
    [
      { model: 'speech/plain', input_references: [{ type: 'text', text: 'x' }] },
      'input_references: must be one input_audio part',
    ],
    [{ model: 'speech/plain', provider: { zrd: true } }, 'provider.zrd: is not a known field'],
    [{ model: 'sandbox/echo' }, 'model: "sandbox/echo" outputs text, not speech'],
  ])('bad input %j is refused with a message that names it', async (body, message) => {
    const before = bench().first.requests.length
    const response = await sendSpeech(bench(), body)
    expect(response.status).toBe(400)
    expect((await readJson(response)).error.message).toStartWith(message)
    expect(bench().first.requests).toHaveLength(before)
  })

  const spoken = Buffer.concat(mp3Frames(1))
  test.each([
    [
      'elevenlabs/eleven_v3',
      audioReply(mp3Frames(1)),
      { path: '/text-to-speech/clonedVoice0123456789/stream' },
    ],
    [
      'minimax/speech-2.6-hd',
      { json: { data: { audio: spoken.toString('hex') }, base_resp: { status_code: 0 } } },
      { path: '/t2a_v2', json: { voice_setting: { voice_id: 'clonedVoice0123456789' } } },
    ],
    [
      'mistralai/voxtral-mini-tts-2603',
      { json: { audio_data: spoken.toString('base64') } },
      { path: '/audio/speech', json: { voice_id: 'clonedVoice0123456789' } },
    ],
  ])(
    'a voice that is not listed is sent to a vendor with custom voices: %s',
    async (model, reply, request) => {
      bench().first.enqueue(reply)
      const response = await sendSpeech(bench(), { model, voice: 'clonedVoice0123456789' })
      expect(response.status).toBe(200)
      expect(Buffer.from(await response.arrayBuffer())).toEqual(spoken)
      expect(lastRequest(bench().first.requests)).toMatchObject(request)
    },
  )

  test('of two endpoints the one that can make the format is used', async () => {
    bench().second.enqueue(audioReply(mp3Frames(1)))
    const response = await sendSpeech(bench(), { model: 'speech/formats', voice: undefined })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    expect(lastRequest(bench().second.requests).json.voice).toBe('nova')
  })

  test.each(['.', '..', { id: '..' }])('a voice cannot change the path of a request: %j', async (voice) => {
    const before = bench().first.requests.length
    const refused = await sendSpeech(bench(), { model: 'speech/elevenlabs', voice })
    expect(refused.status).toBe(400)
    expect(bench().first.requests).toHaveLength(before)
  })

  test('max_price.prompt is USD per million characters where these are billed', async () => {
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const speak = (prompt: number) =>
      sendSpeech(bench(), { model: 'speech/plain', provider: { max_price: { prompt } } })
    expect((await speak(14)).status).toBe(503)
    const response = await speak(15)
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  })

  test('R31 fields without effect are named, and refused in strict mode', async () => {
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const body = { model: 'speech/plain', trace: { trace_id: 't' }, emotion: 'glad' }
    const response = await sendSpeech(bench(), body)
    expect(response.headers.get('x-headgate-dropped')).toBe('emotion')
    await response.arrayBuffer()
    const strict = await sendSpeech(bench(), body, { headers: { 'x-headgate-strict': 'true' } })
    expect(strict.status).toBe(400)
  })

  test('options are for the provider they name, and cannot replace what is billed', async () => {
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const options = { one: { seed: 7, input: 'x'.repeat(9000) }, two: { seed: 8 } }
    await (await sendSpeech(bench(), { model: 'speech/plain', provider: { options } })).arrayBuffer()
    expect(lastRequest(bench().first.requests).json).toMatchObject({ seed: 7, input: 'Hello' })
  })

  test.each([
    ['an error status', { status: 503, json: { error: { message: 'overloaded' } } }],
    ['no audio', audioReply([])],
    ['half a frame', audioReply([new Uint8Array(mp3Frames(1)[0]?.subarray(0, 100) ?? [])])],
    ['JSON', { json: { error: 'no' } }],
    ['a break before the first frame', audioReply(mp3Frames(1), { breakAfterBytes: 200 })],
  ])('R30 after %s the next provider speaks, and only it is billed', async (_, failure) => {
    await clearGenerations(bench())
    const frames = mp3Frames(2)
    bench().first.enqueue(failure)
    bench().second.enqueue(audioReply(frames))
    const response = await sendSpeech(bench(), { model: 'speech/both' })
    expect(await readBytes(response)).toEqual(Buffer.concat(frames))
    const rows = await waitForGenerations(bench(), 1)
    expect(rows.map(({ provider, status, cost_nanos }) => ({ provider, status, cost_nanos }))).toEqual([
      { provider: 'two', status: 'completed', cost_nanos: 75_000n },
    ])
  })

  test('R6 nothing usable from any provider is 502, free', async () => {
    await clearGenerations(bench())
    bench().first.setDefault(audioReply([]))
    const response = await sendSpeech(bench(), { model: 'speech/plain' })
    bench().first.setDefault(null)
    expect(response.status).toBe(502)
    expect(response.headers.get('x-generation-id')).toStartWith('gen-')
    const [row] = await waitForGenerations(bench(), 1)
    expect(row).toMatchObject({ status: 'failed', cost_nanos: 0n })
  })

  test('a BYOK key pays the fee alone', async () => {
    const made = await server().call('POST', '/byok', {
      body: { provider: 'one', key: 'own-key-0123456789' },
    })
    expect(made.status).toBe(201)
    bench().first.enqueue(audioReply(mp3Frames(1)))
    const response = await sendSpeech(bench(), { model: 'speech/plain', input: 'x'.repeat(100) })
    await response.arrayBuffer()
    expect(lastRequest(bench().first.requests).headers.authorization).toBe('Bearer own-key-0123456789')
    expect(await generationOf(response)).toMatchObject({ total_cost: 0.000075, is_byok: true })
    await server().call('DELETE', `/byok/${made.body.data.id}`)
  })

  test('R3 a key whose limit is too low is 402, and nothing is sent', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'low', limit: 0.0001 } })
    const before = bench().first.requests.length
    const send = (input: string) =>
      sendSpeech(bench(), { model: 'speech/plain', input }, { key: made.body.key })
    expect((await send('x'.repeat(7))).status).toBe(402)
    expect(bench().first.requests).toHaveLength(before)
    bench().first.enqueue(audioReply(mp3Frames(1)))
    expect((await send('x'.repeat(6))).status).toBe(200)
  })

  test('R11 a guardrail on models is 403, an unknown model 400', async () => {
    const made = await server().call('POST', '/keys', { body: { name: 'guarded' } })
    const guardrail = { name: 'text only', allowed_models: ['sandbox/echo'] }
    const { id } = (await server().call('POST', '/guardrails', { body: guardrail })).body.data
    const key_hashes = [made.body.data.hash]
    await server().call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes } })
    expect((await sendSpeech(bench(), { model: 'speech/plain' }, { key: made.body.key })).status).toBe(403)
    expect((await sendSpeech(bench(), { model: 'speech/nothing' })).status).toBe(400)
  })

  test('S12 an error among events has no secrets either', async () => {
    const error = { type: 'error', error: { message: 'Bad key vendor-secret-0123456789' } }
    const [delta = ''] = eventReply(mp3Frames(1), {}).sse ?? []
    bench().first.enqueue({ sse: [delta, toEvent(error)] })
    const body = { model: 'speech/tokens', stream_format: 'sse' }
    const text = await (await sendSpeech(bench(), body)).text()
    expect(text).toContain('Bad key')
    expect(text).not.toContain('vendor-secret')
  })

  test('S12 R40 the errors of a provider are mapped, without its secrets', async () => {
    const cases = [
      [unauthorized, 502],
      [{ status: 429, headers: { 'retry-after': '7' }, json: { error: { message: 'slow down' } } }, 429],
      [{ status: 400, json: { error: { message: 'input is too long for tts-1' } } }, 400],
    ] as const
    for (const [failure, status] of cases) {
      bench().first.enqueue(failure)
      const response = await sendSpeech(bench(), { model: 'speech/plain' })
      expect(response.status).toBe(status)
      expect(await response.text()).not.toContain('vendor-secret')
      resetRouting(server())
    }
  })
})
