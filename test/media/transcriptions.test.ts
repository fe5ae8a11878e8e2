import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { checkLedger } from '../../src/ledger/check.ts'
import { type CallOptions, describeOnSqlite, type TestResponse } from '../support/harness.ts'
import { audioFile, inputAudio, silentWav, speakWav } from '../support/recordings.ts'

type FormValues = Record<string, string | File | string[]>

const said = 'Hello big world. How are you?'
const speech = speakWav(said)

function buildForm(values: FormValues): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries({
    model: 'sandbox/listener',
    file: audioFile(speech),
    ...values,
  })) {
    for (const item of Array.isArray(value) ? value : [value]) form.append(name, item)
  }
  return form
}

describeOnSqlite('transcriptions on the sandbox', (server) => {
  const send = (values: FormValues = {}, options: CallOptions = {}, path = '/audio/transcriptions') =>
    server().call('POST', path, { key: server().own.inferenceKey, body: buildForm(values), ...options })
  const sendJson = (body: object, options: CallOptions = {}) => {
    const whole = { model: 'sandbox/listener', input_audio: inputAudio(silentWav(2)), ...body }
    return send({}, { body: whole, ...options })
  }

  function expectProblem({ status, body }: TestResponse, message: string): void {
    expect(body.error?.message).toContain(message)
    expect(status).toBe(400)
  }

  describe('replies', () => {
    test('json has the text, the seconds and the cost', async () => {
      const { status, headers, body } = await send()
      expect(status).toBe(200)
      expect(headers.get('x-generation-id')).toStartWith('gen-')
      expect(body).toEqual({
        text: said,
        usage: {
          type: 'duration',
          seconds: 2.46,
          cost: 0.000246,
          is_byok: false,
          cost_details: { upstream_inference_cost: 0.000246 },
        },
      })
    })

    test('a JSON body; of a foreign recording the sandbox says how long it is', async () => {
      const { body } = await sendJson({})
      expect(body).toMatchObject({
        text: 'A recording of 2.0 seconds.',
        usage: { seconds: 2, cost: 0.0002 },
      })
    })

    test('verbose_json has segments, and words if they are requested', async () => {
      const segments = (await send({ response_format: 'verbose_json', temperature: '0.5' })).body
      expect(segments).toMatchObject({ task: 'transcribe', language: 'english', duration: 2.46, text: said })
      expect(segments.words).toBeUndefined()
      expect(segments.segments[1]).toEqual({
        id: 1,
        seek: 0,
        start: 1.393,
        end: 2.193,
        text: 'How are you?',
        tokens: [],
        temperature: 0.5,
        avg_logprob: 0,
        compression_ratio: 1,
        no_speech_prob: 0,
      })
      const granularity = { 'timestamp_granularities[]': ['word'] }
      const { body } = await send({ response_format: 'verbose_json', ...granularity })
      expect(body.segments).toBeUndefined()
      expect(body.words[0]).toEqual({ word: 'Hello', start: 0.26, end: 0.593 })
    })

    test('text, srt and vtt', async () => {
      const { body, headers } = await send({ response_format: 'text' })
      expect(body).toBe(`${said}\n`)
      expect(headers.get('content-type')).toStartWith('text/plain')
      expect((await send({ response_format: 'srt' })).body).toBe(
        '1\n00:00:00,260 --> 00:00:01,327\nHello big world.\n\n2\n00:00:01,393 --> 00:00:02,193\nHow are you?\n\n',
      )
      expect((await send({ response_format: 'vtt' })).body).toBe(
        'WEBVTT\n\n00:00:00.260 --> 00:00:01.327\nHello big world.\n\n00:00:01.393 --> 00:00:02.193\nHow are you?\n\n',
      )
    })

    test('a stream has deltas, then the text with usage and cost', async () => {
      const { body, headers } = await send({ stream: 'true', 'include[]': ['logprobs'] })
      expect(headers.get('content-type')).toStartWith('text/event-stream')
      const events = parseEvents(body)
      const deltas = events.slice(0, -1)
      expect(deltas.map(({ type }) => type)).toEqual(Array(6).fill('transcript.text.delta'))
      expect(deltas.map(({ delta }) => delta).join('')).toBe(said)
      expect(deltas[0]).toMatchObject({ logprobs: [{ token: 'Hello', logprob: -0.125 }] })
      expect(events.at(-1)).toMatchObject({
        type: 'transcript.text.done',
        text: said,
        usage: { seconds: 2.46, cost: 0.000246 },
      })
    })

    test('translations', async () => {
      const path = '/audio/translations'
      const { body, headers } = await send(
        { response_format: 'verbose_json', language: 'de' },
        undefined,
        path,
      )
      expect(body).toMatchObject({ task: 'translate', text: said })
      expect(headers.get('x-headgate-dropped')).toBe('language')
    })

    test('fields without an effect are reported, and rejected in strict mode', async () => {
      const values = { trace: '{"trace_id":"t"}', mood: 'sunny', user: 'u', session_id: 's' }
      const { headers } = await send(values)
      expect(headers.get('x-headgate-dropped')).toBe('mood')
      const strict = await send(values, { headers: { 'x-headgate-strict': 'true' } })
      expectProblem(strict, 'mood')
    })

    test('options of the provider, as JSON in a form', async () => {
      const provider = JSON.stringify({
        only: ['sandbox'],
        options: { sandbox: { callback: 'http://127.0.0.1:9' } },
      })
      const { status, headers } = await send({ provider })
      expect(status).toBe(200)
      expect(headers.get('x-headgate-dropped')).toBe('provider.options.sandbox.callback')
    })
  })

  describe('bad input', () => {
    test.each([
      ['a name that says another format', { file: audioFile(speech, 'a.mp3', '') }, 'name says mp3'],
      ['a type that says another format', { file: audioFile(speech, 'a', 'audio/ogg') }, 'type says ogg'],
      ['an empty file', { file: audioFile(new Uint8Array()) }, 'file: is empty'],
      [
        'a file that is not audio',
        { file: audioFile(new TextEncoder().encode('Hello')) },
        'file: must be one of wav, mp3',
      ],
      ['an unknown format', { response_format: 'pdf' }, 'response_format: '],
      ['a text for the file', { file: 'no file' }, 'file: must be one of wav'],
      ['a temperature that is no number', { temperature: 'warm' }, 'temperature: must be a number'],
      ['a stream of subtitles', { stream: 'true', response_format: 'srt' }, 'response_format: must be json'],
      ['times without verbose_json', { 'timestamp_granularities[]': ['word'] }, 'timestamp_granularities: '],
      ['malformed JSON', { provider: '{' }, 'provider: must be a JSON object'],
      ['a field that is sent twice', { language: ['de', 'en'] }, 'language: must be sent once'],
      ['an unknown model', { model: 'no/model' }, 'model: "no/model" is not in the catalog'],
      ['a model of another modality', { model: 'sandbox/echo' }, 'sandbox/echo'],
    ])('%s is 400', async (_, values: FormValues, message) => {
      expectProblem(await send(values), message)
    })

    test('a form without a file', async () => {
      const form = new FormData()
      form.set('model', 'sandbox/listener')
      expectProblem(await send({}, { body: form }), 'file: is required')
    })

    test('JSON whose data is not base64, or not what its format says', async () => {
      const audio = inputAudio(speech)
      const broken = { ...audio, data: `${audio.data.slice(0, 100)}*${audio.data.slice(101)}` }
      expectProblem(await sendJson({ input_audio: broken }), 'input_audio.data: must be base64')
      expectProblem(
        await sendJson({ input_audio: { ...audio, format: 'flac' } }),
        'input_audio.data: is wav, but its format says flac',
      )
    })

    test('413 by the declared length, before the body is read', async () => {
      const { hostname, port } = new URL(server().url)
      const socket = connect(Number(port), hostname)
      const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
      socket.write(
        `POST /v1/audio/transcriptions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${server().own.inferenceKey}\r\n` +
          'content-type: multipart/form-data; boundary=b\r\ncontent-length: 50000000\r\n\r\n',
      )
      expect(await answered).toStartWith('HTTP/1.1 413')
      socket.destroy()
    })

    test('413 while a file is read that is larger than 25 MB', async () => {
      const file = audioFile(new Uint8Array(25 * 1024 * 1024 + 1))
      const { status, body } = await send({ file })
      expect(status).toBe(413)
      expect(body.error.message).toStartWith('file: is larger than 26214400 bytes')
    })
  })

  describe('accounting', () => {
    const readGeneration = async ({ headers }: TestResponse) =>
      (await server().call('GET', `/generation?id=${headers.get('x-generation-id')}`)).body.data

    test('the generation record', async () => {
      const data = await readGeneration(await send({ user: 'ann', session_id: 'morning' }))
      expect(data).toMatchObject({
        api_type: 'stt',
        model: 'sandbox/listener',
        usage: 0.000246,
        external_user: 'ann',
        session_id: 'morning',
        streamed: false,
        cancelled: false,
      })
      expect((await checkLedger(server().gateway.db)).findings.flatMap((f) => f.violations)).toEqual([])
    })

    test('R1 a request that does not fit the limit of its key is 402, by the length of the recording', async () => {
      const { key } = (await server().call('POST', '/keys', { body: { name: 'poor', limit: 0.0004 } })).body
      expect((await send({ file: audioFile(silentWav(2)) }, { key })).status).toBe(200)
      const refused = await send({ file: audioFile(silentWav(2)) }, { key })
      expect(refused.status).toBe(402)
      expect(refused.body.error.metadata.needed).toBe(0.0003)
    })

    test('a guardrail that does not allow the model is 403', async () => {
      const { key, data } = (await server().call('POST', '/keys', { body: { name: 'guarded' } })).body
      const guardrail = { name: 'text only', allowed_models: ['sandbox/echo'] }
      const made = await server().call('POST', '/guardrails', { body: guardrail })
      await server().call('POST', `/guardrails/${made.body.data.id}/assignments/keys`, {
        body: { key_hashes: [data.hash] },
      })
      expect((await send({}, { key })).status).toBe(403)
    })

    test('x-service-metadata adds the routing decision', async () => {
      const { body } = await send({}, { headers: { 'x-service-metadata': 'enabled' } })
      expect(body.service_metadata).toBeObject()
    })

    test('directives make the sandbox fail, before and within its reply; both are free', async () => {
      const failed = await send({ prompt: 'sandbox:error=429' })
      expect(failed.status).toBe(429)
      expect(await readGeneration(failed)).toMatchObject({ usage: 0 })
      for (const directive of ['fail', 'break']) {
        const stream = await send({ prompt: `sandbox:${directive}=2`, stream: 'true' })
        const events = parseEvents(stream.body)
        expect(events.map(({ type }) => type)).toEqual([
          'transcript.text.delta',
          'transcript.text.delta',
          undefined,
        ])
        expect(events[2]).toMatchObject({ error: { code: 502 } })
        expect(await readGeneration(stream)).toMatchObject({ usage: 0 })
      }
    })
  })
})

// biome-ignore lint/suspicious/noExplicitAny: events of every shape
function parseEvents(text: string): any[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => JSON.parse(frame.replace(/^data: /, '')))
}
