import { beforeEach, describe, expect, test } from 'bun:test'
import {
  clearGenerations,
  describeWithUpstreamsOnSqlite,
  lastRequest,
  listGenerations,
  readJson,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { audioFile, silentWav } from '../support/recordings.ts'

const wireFormats = [
  'transcriptions',
  'mistral-transcriptions',
  'elevenlabs-transcriptions',
  'deepgram-transcriptions',
]
const perSecond = { prompt_unit: 'second', pricing: { prompt: '0.0001', completion: '0' } }
const perToken = { pricing: { prompt: '0.0000025', completion: '0.00001', audio: '0.000006' } }

function buildSettings(first: string, second: string): string {
  const providers = wireFormats.map((wireFormat) => ({
    slug: `one-${wireFormat}`,
    name: `One ${wireFormat}`,
    base_url: first,
    dialects: [wireFormat],
    api_key: 'vendor-secret-0123456789',
  }))
  const two = { ...providers[0], slug: 'two', name: 'Two', base_url: second }
  const modalities = { input_modalities: ['audio'], output_modalities: ['transcription'] }
  const model = (name: string, price: object, ...slugs: string[]) => ({
    id: `test/${name}`,
    name,
    ...modalities,
    endpoints: slugs.map((provider) => ({ provider, upstream_model: 'vendor-model', ...price })),
  })
  const models = [
    ...wireFormats.map((wireFormat) => model(wireFormat, perSecond, `one-${wireFormat}`)),
    model('tokens', perToken, 'one-transcriptions'),
    model('both', perSecond, 'one-transcriptions', 'two'),
    {
      ...model('diarize', perSecond, 'one-transcriptions'),
      transcription: { supports_diarization: true },
    },
    model('groq', { ...perSecond, pricing: { prompt: '0.000030833333333333', completion: '0' } }, 'two'),
  ]
  return JSON.stringify({ providers: [...providers, two], models, limits: { whole_reply: 1.5 } })
}

describeWithUpstreamsOnSqlite(
  'transcriptions of upstreams',
  (bench) => {
    const server = () => bench().server
    const wav = silentWav(3)

    function send(
      model: string,
      values: Record<string, string> = {},
      init: RequestInit & { key?: string; file?: File } = {},
    ) {
      const { key = server().own.inferenceKey, file = audioFile(wav), ...rest } = init
      const form = new FormData()
      for (const [name, value] of Object.entries({ model: `test/${model}`, ...values })) form.set(name, value)
      form.set('file', file)
      return fetch(`${server().url}/v1/audio/transcriptions`, {
        method: 'POST',
        ...rest,
        headers: { authorization: `Bearer ${key}`, ...rest.headers },
        body: form,
      })
    }

    const usageOf = async (response: Promise<Response>) => (await readJson(response)).usage
    const spent = async () =>
      (await listGenerations(bench())).map(({ status, cost_nanos }) => [status, Number(cost_nanos)])

    beforeEach(() => clearGenerations(bench()))

    describe('R9 golden costs', () => {
      test('per second, as the provider counted them', async () => {
        bench().first.enqueue({ json: { text: 'Hello.', usage: { type: 'duration', seconds: 4 } } })
        expect(await usageOf(send('transcriptions'))).toMatchObject({
          type: 'duration',
          seconds: 4,
          cost: 0.0004,
        })
      })

      test('R2 per second, also if the file says that it is shorter than it is', async () => {
        const flac = new Uint8Array(2_000_000)
        // STREAMINFO with 48 kHz and one sample.
        flac.set([...Buffer.from('fLaC'), 0x80, 0, 0, 34])
        flac.set([0x0b, 0xb8, 0x02, 0xf0, 0, 0, 0, 1], 18)
        bench().first.enqueue({ json: { text: 'Hello.', usage: { type: 'duration', seconds: 600 } } })
        const file = new File([flac], 'speech.flac', { type: 'audio/flac' })
        expect(await usageOf(send('transcriptions', {}, { file }))).toMatchObject({ cost: 0.06 })
        expect((await waitForGenerations(bench(), 1))[0]).toMatchObject({ flag: null })
      })

      test('per second of the recording, if the provider does not count', async () => {
        bench().second.enqueue({ json: { text: 'Hello.', x_groq: { id: 'req_1' } } })
        expect(await usageOf(send('groq'))).toMatchObject({ seconds: 3, cost: 0.0000925 })
        expect((await waitForGenerations(bench(), 1))[0]).toMatchObject({
          usage_source: 'estimated',
          flag: 'uncounted',
        })
      })

      test('per token, audio and text at their own prices', async () => {
        const usage = {
          type: 'tokens',
          input_tokens: 47,
          input_token_details: { audio_tokens: 40, text_tokens: 7 },
          output_tokens: 5,
        }
        bench().first.enqueue({ json: { text: 'Hello.', usage } })
        expect(await usageOf(send('tokens'))).toMatchObject({
          type: 'tokens',
          input_tokens: 47,
          output_tokens: 5,
          total_tokens: 52,
          input_token_details: { audio_tokens: 40, text_tokens: 7 },
          cost: 0.0003075,
        })
        const [row] = await waitForGenerations(bench(), 1)
        expect(row).toMatchObject({
          tokens_input_audio: 40,
          tokens_input: 7,
          tokens_output: 5,
          api_type: 'stt',
        })
      })

      test('no more than the hold, which is that of the recording', async () => {
        bench().first.enqueue({ json: { text: 'Hello.', duration: 3600 } })
        expect(await usageOf(send('transcriptions'))).toMatchObject({ seconds: 3600, cost: 0.0004 })
        expect((await waitForGenerations(bench(), 1))[0]?.flag).toBe('capped')
      })

      test('R15 with a BYOK key, a fee of 5 %', async () => {
        const own = { provider: 'one-transcriptions', key: 'own-credential-0123456789' }
        const { id } = (await server().call('POST', '/byok', { body: own })).body.data
        try {
          bench().first.enqueue({ json: { text: 'Hello.', usage: { type: 'duration', seconds: 4 } } })
          expect(await usageOf(send('transcriptions'))).toMatchObject({
            cost: 0.00002,
            is_byok: true,
            cost_details: { upstream_inference_cost: 0.0004 },
          })
          const { headers } = lastRequest(bench().first.requests)
          expect(headers.authorization).toBe('Bearer own-credential-0123456789')
        } finally {
          await server().call('DELETE', `/byok/${id}`)
        }
      })
    })

    describe('formats', () => {
      test('a form with the recording; subtitles are made from segments', async () => {
        const segments = [{ id: 0, start: 0, end: 1.5, text: ' Hello.' }]
        bench().first.enqueue({ json: { text: 'Hello.', duration: 3, language: 'english', segments } })
        const response = await send('transcriptions', { response_format: 'srt', language: 'en' })
        expect(await response.text()).toBe('1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n')
        const { path, headers, text } = lastRequest(bench().first.requests)
        expect(path).toBe('/audio/transcriptions')
        expect(headers['content-type']).toStartWith('multipart/form-data; boundary=')
        expect(headers.authorization).toBe('Bearer vendor-secret-0123456789')
        expect(text).toContain('name="file"; filename="audio.wav"\r\ncontent-type: audio/wav\r\n\r\nRIFF')
        expect(text).toContain('name="model"\r\n\r\nvendor-model\r\n')
        expect(text).toContain('name="response_format"\r\n\r\nverbose_json\r\n')
      })

      test('ElevenLabs', async () => {
        const words = [
          { text: 'Hello', start: 0, end: 0.5, type: 'word', speaker_id: 'speaker_1', logprob: -0.1 },
        ]
        bench().first.enqueue({ json: { language_code: 'eng', text: 'Hello', words } })
        const provider = { options: { 'one-elevenlabs-transcriptions': { diarize: true, webhook: true } } }
        const values = {
          response_format: 'verbose_json',
          prompt: 'names',
          provider: JSON.stringify(provider),
        }
        const response = await send('elevenlabs-transcriptions', values)
        expect(response.headers.get('x-headgate-dropped')).toBe(
          'prompt, provider.options.one-elevenlabs-transcriptions.webhook',
        )
        expect(await response.json()).toMatchObject({
          language: 'eng',
          segments: [{ text: 'Hello', speaker: 1 }],
          usage: { seconds: 3, cost: 0.0003 },
        })
        const { path, headers, text } = lastRequest(bench().first.requests)
        expect(path).toBe('/speech-to-text')
        expect(headers['xi-api-key']).toBe('vendor-secret-0123456789')
        expect(text).toContain('name="diarize"\r\n\r\ntrue\r\n')
        expect(text).not.toContain('webhook')
      })

      test('Deepgram', async () => {
        const alternatives = [{ transcript: 'Hello.', confidence: 0.9, words: [] }]
        bench().first.enqueue({
          json: { metadata: { duration: 2.5 }, results: { channels: [{ alternatives }] } },
        })
        expect(await readJson(send('deepgram-transcriptions'))).toMatchObject({
          text: 'Hello.',
          usage: { seconds: 2.5, cost: 0.00025 },
        })
        const { path, query, headers, text } = lastRequest(bench().first.requests)
        expect([path, query]).toEqual([
          '/listen',
          'smart_format=true&model=vendor-model&detect_language=true',
        ])
        expect(headers).toMatchObject({
          'content-type': 'audio/wav',
          'content-length': String(wav.length),
          authorization: 'Token vendor-secret-0123456789',
        })
        expect(text).toStartWith('RIFF')
      })

      describe('speakers (diarized_json)', () => {
        const diarized = { response_format: 'diarized_json' }
        const type = 'transcript.text.segment'
        const segments = [
          { id: 'seg_001', type, start: 0, end: 0.5, text: 'Hello.', speaker: 'A' },
          { id: 'seg_002', type, start: 0.5, end: 1, text: 'Hi.', speaker: 'agent' },
        ]
        const reference = `data:audio/wav;base64,${'A'.repeat(400_000)}`

        test('OpenAI', async () => {
          bench().first.enqueue({ json: { text: 'Hello. Hi.', task: 'transcribe', duration: 3, segments } })
          const values = { ...diarized, chunking_strategy: 'auto', 'known_speaker_names[]': 'agent' }
          const response = await send('diarize', { ...values, 'known_speaker_references[]': reference })
          expect(response.headers.get('x-headgate-dropped')).toBeNull()
          expect(await response.json()).toMatchObject({ task: 'transcribe', duration: 3, segments })
          const { text } = lastRequest(bench().first.requests)
          expect(text).toContain('name="response_format"\r\n\r\ndiarized_json\r\n')
          expect(text).toContain('name="chunking_strategy"\r\n\r\nauto\r\n')
          expect(text).toContain('name="known_speaker_names[]"\r\n\r\nagent\r\n')
          expect(text).toContain(`name="known_speaker_references[]"\r\n\r\n${reference}\r\n`)
        })

        test('a stream of OpenAI, with segments as they arrive', async () => {
          const frames = [
            { type: 'transcript.text.delta', delta: 'Hello.', segment_id: 'seg_001' },
            segments[0],
            { type: 'transcript.text.delta', delta: ' Hi.', segment_id: 'seg_002' },
            segments[1],
            { type: 'transcript.text.done', text: 'Hello. Hi.' },
          ].map((event) => `data: ${JSON.stringify(event)}\n\n`)
          bench().first.enqueue({ sse: frames })
          const response = await send('diarize', { ...diarized, stream: 'true' })
          const events = (await response.text())
            .trim()
            .split('\n\n')
            .map((line) => JSON.parse(line.slice(6)))
          expect(events.map((event) => event.type.split('.').at(-1))).toEqual([
            ...['delta', 'segment', 'delta', 'segment', 'done'],
          ])
          expect(events[0]).toMatchObject({ segment_id: 'seg_001' })
          expect([events[1], events[3]]).toEqual(segments)
        })

        test('ElevenLabs', async () => {
          const words = [
            { text: 'Hello.', start: 0, end: 0.5, type: 'word', speaker_id: 'speaker_0' },
            { text: ' ', start: 0.5, end: 0.5, type: 'spacing', speaker_id: 'speaker_0' },
            { text: 'Hi.', start: 0.5, end: 1, type: 'word', speaker_id: 'speaker_1' },
          ]
          bench().first.enqueue({ json: { language_code: 'eng', text: 'Hello. Hi.', words } })
          const named = { ...diarized, 'known_speaker_names[]': 'a', 'known_speaker_references[]': reference }
          const response = await send('elevenlabs-transcriptions', named)
          expect(response.headers.get('x-headgate-dropped')).toBe(
            'known_speaker_names, known_speaker_references',
          )
          expect((await readJson(response)).segments).toEqual([
            { id: 'seg_1', type, start: 0, end: 0.5, text: 'Hello.', speaker: 'A' },
            { id: 'seg_2', type, start: 0.5, end: 1, text: 'Hi.', speaker: 'B' },
          ])
          const { text } = lastRequest(bench().first.requests)
          expect(text).toContain('name="diarize"\r\n\r\ntrue\r\n')
          expect(text).toContain('name="timestamps_granularity"\r\n\r\nword\r\n')
        })

        test('Deepgram', async () => {
          const alternatives = [{ transcript: 'Hello. Hi.', words: [] }]
          const utterances = [
            { transcript: 'Hello.', start: 0, end: 0.5, speaker: 0 },
            { transcript: 'Hi.', start: 0.5, end: 1, speaker: 27 },
          ]
          bench().first.enqueue({
            json: { metadata: { duration: 2.5 }, results: { channels: [{ alternatives }], utterances } },
          })
          const { segments: found } = await readJson(send('deepgram-transcriptions', diarized))
          expect(found).toMatchObject([{ speaker: 'A' }, { speaker: 'AB' }])
          const { query } = lastRequest(bench().first.requests)
          expect(query).toContain('diarize=true')
          expect(query).toContain('utterances=true')
        })

        test('Mistral, whole and streamed', async () => {
          const found = [{ text: 'Hello.', start: 0, end: 0.5, speaker_id: 'speaker_2' }]
          bench().first.enqueue({ json: { text: 'Hello.', segments: found } })
          const whole = await readJson(send('mistral-transcriptions', diarized))
          expect(whole.segments).toMatchObject([{ speaker: 'C', text: 'Hello.' }])
          const { text } = lastRequest(bench().first.requests)
          expect(text).toContain('name="diarize"\r\n\r\ntrue\r\n')
          expect(text).toContain('name="timestamp_granularities"\r\n\r\nsegment\r\n')
          const frames = [
            { type: 'transcription.segment', ...found[0] },
            { type: 'transcription.done', text: 'Hello.', segments: found },
          ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
          bench().first.enqueue({ sse: frames })
          const response = await send('mistral-transcriptions', { ...diarized, stream: 'true' })
          const events = (await response.text())
            .trim()
            .split('\n\n')
            .map((line) => JSON.parse(line.slice(6)))
          expect(events).toMatchObject([
            { type, speaker: 'C', text: 'Hello.' },
            { type: 'transcript.text.done', text: 'Hello.' },
          ])
        })

        test('a model that cannot tell speakers apart is 400, before anything is sent', async () => {
          const response = await send('transcriptions', diarized)
          expect(response.status).toBe(400)
          const { error } = await readJson(response)
          expect(error.param).toBe('response_format')
          expect(error.message).toStartWith('response_format: must not be diarized_json')
          expect(bench().first.requests).toHaveLength(0)
        })

        test.each([
          [{ 'known_speaker_names[]': 'a' }, 'known_speaker_references'],
          [{ 'known_speaker_references[]': reference }, 'known_speaker_names'],
          [
            { 'known_speaker_names[]': 'a', 'known_speaker_references[]': 'https://example.com/a.wav' },
            'known_speaker_references.0',
          ],
          [{ 'timestamp_granularities[]': 'word' }, 'timestamp_granularities'],
          [{ 'include[]': 'logprobs' }, 'include'],
        ])('%j is 400', async (values, field) => {
          const response = await send('diarize', { ...diarized, ...(values as Record<string, string>) })
          expect(response.status).toBe(400)
          expect((await readJson(response)).error.message).toStartWith(`${field}: `)
        })
      })

      test('translation is 400 where the format has none', async () => {
        const form = new FormData()
        form.set('model', 'test/deepgram-transcriptions')
        form.set('file', audioFile(wav))
        const refused = await server().call('POST', '/audio/translations', {
          key: server().own.inferenceKey,
          body: form,
        })
        expect(refused.status).toBe(400)
        expect(refused.body.error.message).toStartWith('model: cannot translate')
        expect(bench().first.requests).toHaveLength(0)
      })
    })

    describe('failures', () => {
      test('a provider that fails is replaced by the next, and only its reply is charged', async () => {
        for (const failure of [
          { status: 500, json: {} },
          { json: { request_id: 'later' } },
          { text: 'OK' },
        ]) {
          bench().first.enqueue(failure)
          bench().second.enqueue({ json: { text: 'Second.', duration: 3 } })
          const order = JSON.stringify({ order: ['one-transcriptions'] })
          expect(await readJson(send('both', { provider: order }))).toMatchObject({ text: 'Second.' })
        }
        expect(await spent()).toEqual(Array(3).fill(['completed', 300_000]))
      })

      test('a provider that does not reply in time is replaced by the next', async () => {
        bench().first.enqueue({ hang: true })
        bench().second.enqueue({ json: { text: 'Second.', duration: 3 } })
        const order = JSON.stringify({ order: ['one-transcriptions'] })
        expect(await readJson(send('both', { provider: order }))).toMatchObject({ text: 'Second.' })
        expect((await waitForGenerations(bench(), 1))[0]?.attempts).toContain('"code":"timeout"')
      })

      test('errors of the provider, without its secrets', async () => {
        const message = "Unsupported value: 'response_format' with key vendor-secret-0123456789"
        bench().first.enqueue({ status: 400, json: { error: { message, type: 'invalid_request_error' } } })
        const rejected = await send('transcriptions')
        expect(rejected.status).toBe(400)
        const text = await rejected.text()
        expect(text).toContain('Unsupported value')
        expect(text).not.toContain('vendor-secret')
        bench().first.enqueue({ status: 401, json: { error: { message: 'Incorrect API key provided' } } })
        const failed = await send('transcriptions')
        expect([failed.status, (await failed.text()).includes('Incorrect API key')]).toEqual([502, false])
        bench().first.enqueue({ json: { text: 17 } })
        expect((await send('transcriptions')).status).toBe(502)
        expect((await spent()).map(([, cost]) => cost)).toEqual([0, 0, 0])
      })

      test('R1 a limit that the recording does not fit is 402, and no provider is called', async () => {
        const { key } = (await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.0003 } })).body
        expect((await send('transcriptions', {}, { key })).status).toBe(402)
        expect(bench().first.requests).toHaveLength(0)
      })
    })

    describe('streams', () => {
      const frame = (event: object) => `data: ${JSON.stringify(event)}\n\n`
      const deltas = ['Hel', 'lo.'].map((delta) => frame({ type: 'transcript.text.delta', delta }))
      const usage = {
        type: 'tokens',
        input_tokens: 40,
        input_token_details: { audio_tokens: 40 },
        output_tokens: 2,
      }
      const done = frame({ type: 'transcript.text.done', text: 'Hello.', usage })

      test('deltas are relayed, and the end has the cost', async () => {
        bench().first.enqueue({ sse: [...deltas, done], splitBytes: 7 })
        const text = await (await send('tokens', { stream: 'true' })).text()
        expect(text).toStartWith(deltas.join(''))
        expect(JSON.parse(text.slice(deltas.join('').length + 6))).toMatchObject({
          type: 'transcript.text.done',
          text: 'Hello.',
          usage: { type: 'tokens', input_tokens: 40, output_tokens: 2, cost: 0.00026 },
        })
        expect((await waitForGenerations(bench(), 1))[0]).toMatchObject({ streamed: 1, cost_nanos: 260_000n })
      })

      test('a model that does not stream replies with one delta', async () => {
        bench().first.enqueue({ json: { text: 'Hello.', usage: { type: 'duration', seconds: 3 } } })
        const text = await (await send('transcriptions', { stream: 'true' })).text()
        expect(text).toStartWith('data: {"type":"transcript.text.delta","delta":"Hello."}\n\n')
        expect(text).toContain('"type":"transcript.text.done"')
      })

      test('an error before the first delta is replaced by the next provider', async () => {
        bench().first.enqueue({ sse: [frame({ error: { message: 'busy', type: 'server_error' } })] })
        bench().second.enqueue({ sse: [...deltas, done] })
        const order = JSON.stringify({ order: ['one-transcriptions'] })
        const text = await (await send('both', { stream: 'true', provider: order })).text()
        expect(text).toStartWith(deltas.join(''))
      })

      test('an interrupted stream ends with an error and is free', async () => {
        const replied = Promise.withResolvers<void>()
        const broken = { breakAfterBytes: deltas.join('').length, breakWhen: replied.promise }
        bench().first.enqueue({ sse: deltas }, { sse: deltas, ...broken })
        for (let time = 0; time < 2; time++) {
          const response = await send('tokens', { stream: 'true' })
          if (time === 1) replied.resolve()
          const text = await response.text()
          expect(text).toContain('data: {"error":{"code":502')
          expect(text).not.toContain('transcript.text.done')
        }
        expect(await spent()).toEqual([
          ['failed', 0],
          ['failed', 0],
        ])
      })

      test('R4 a client that disconnects pays for the recording, once', async () => {
        for (const [model, cost] of [
          ['transcriptions', 300_000],
          // 30 tokens of audio and one of text.
          ['tokens', 190_000],
        ] as const) {
          await clearGenerations(bench())
          bench().first.enqueue({ sse: deltas.slice(0, 1), hang: true })
          const controller = new AbortController()
          const response = await send(model, { stream: 'true' }, { signal: controller.signal })
          await response.body?.getReader().read()
          controller.abort()
          await waitForGenerations(bench(), 1)
          expect(await spent()).toEqual([['cancelled', cost]])
          expect((await lastRequest(bench().first.requests).done).closedByPeerAt).not.toBeNull()
        }
      })
    })

    test('R4 a whole reply is received and charged even if the client has disconnected', async () => {
      const controller = new AbortController()
      bench().first.enqueue({ json: { text: 'Hello.', duration: 3 }, waitMs: 300 })
      const sending = send('transcriptions', {}, { signal: controller.signal }).catch(() => null)
      await bench().first.waitForRequests(1)
      controller.abort()
      await sending
      await waitForGenerations(bench(), 1)
      expect(await spent()).toEqual([['cancelled', 300_000]])
    })
  },
  buildSettings,
)
