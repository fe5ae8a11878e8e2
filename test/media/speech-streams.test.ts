import { expect, test } from 'bun:test'
import { listen } from '../../src/catalog/providers/sandbox/artifacts/speech.ts'
import { parseWav, readWavLayout } from '../../src/platform/media/wav.ts'
import { clearGenerations, lastRequest, readJson, waitForGenerations } from '../inference/two-upstreams.ts'
import { requestHolds } from '../support/holds.ts'
import { measureLoopDelay } from '../support/loop-delay.ts'
import type { UpstreamResponse } from '../support/upstream.ts'
import {
  audioReply,
  describeSpeech,
  eventReply,
  mp3Frames,
  readBytes,
  sendSpeech,
} from './speech-upstreams.ts'

function toSamples(bytes: Uint8Array): Int16Array {
  return new Int16Array(new Uint8Array(bytes).buffer)
}

describeSpeech('speech of the sandbox', (bench) => {
  const speak = (body: object, init = {}) =>
    sendSpeech(
      bench(),
      { model: 'sandbox/speaker', voice: undefined, response_format: undefined, ...body },
      init,
    )

  test('is PCM by default, which can be read back', async () => {
    const response = await speak({ input: 'Hello, Zürich' })
    expect(response.headers.get('content-type')).toBe('audio/pcm;rate=24000;channels=1')
    expect((await listen(toSamples(await readBytes(response)), 24_000)).text).toBe('Hello, Zürich')
  })

  test('is a WAV file of the voice and the speed that were requested', async () => {
    const wav = { input: 'Hello', response_format: 'wav' }
    const [slow, fast] = await Promise.all(
      [0.5, 2].map(async (speed) => readBytes(await speak({ ...wav, voice: 'high', speed }))),
    )
    const audio = parseWav(slow ?? Buffer.alloc(0))
    expect(audio).toMatchObject({ sampleRate: 24_000, channels: 1, bits: 16 })
    expect((await listen(toSamples(audio?.data ?? new Uint8Array()), 24_000)).text).toBe('Hello')
    expect(slow?.length).toBeGreaterThan(2 * (fast?.length ?? 0))
    expect(readWavLayout(fast ?? Buffer.alloc(0))?.totalDataBytes).toBe((fast?.length ?? 0) - 44)
  })

  test('says which formats and voices it has', async () => {
    const format = await readJson(speak({ input: 'x', response_format: 'ogg' }))
    expect(format.error.message).toContain('"mp3"|"opus"|"aac"|"flac"|"wav"|"pcm"')
    const voice = await readJson(speak({ input: 'x', voice: 'nobody' }))
    expect(voice.error.message).toStartWith('voice: must be one of low, middle, high, alloy, ash, ')
  })

  test.each([
    ['curl/8.5.0', 'audio/pcm;rate=24000;channels=1'],
    ['OpenAI/Python 3.22.1', 'audio/mpeg'],
    ['AsyncAzureOpenAI/Python 3.22.1', 'audio/mpeg'],
    ['OpenAI/JS 7.53.0', 'audio/mpeg'],
    ['my-OpenAI/1.0', 'audio/pcm;rate=24000;channels=1'],
  ])('has the default format of the client %s', async (agent, contentType) => {
    const response = await speak({ input: 'Hello' }, { headers: { 'user-agent': agent } })
    expect(response.headers.get('content-type')).toBe(contentType)
    await response.arrayBuffer()
  })

  test('R31 accepts nothing without effect', async () => {
    const provider = { options: { sandbox: { pitch: 2 } } }
    const response = await speak({ input: 'Hello', instructions: 'softly', provider })
    expect(response.headers.get('x-headgate-dropped')).toBe('instructions, provider.options.sandbox.pitch')
    await response.arrayBuffer()
    const custom = await speak({ input: 'Hello', voice: { id: 'voice_1' } })
    expect(custom.status).toBe(400)
    const input_references = [{ type: 'input_audio', input_audio: { data: 'UklGRg==' } }]
    expect((await speak({ input: 'Hello', input_references })).status).toBe(400)
  })

  test('obeys the directives for failures', async () => {
    expect((await speak({ input: 'sandbox:error=429 x' })).status).toBe(429)
    expect((await speak({ input: 'sandbox:empty x' })).status).toBe(502)
    const failing = await speak({ input: 'sandbox:fail=2 Hello', stream_format: 'sse' })
    const last = (await failing.text()).trim().split('\n\n').at(-1) ?? ''
    expect(JSON.parse(last.slice(6))).toMatchObject({ type: 'error', error: { code: 502 } })
    const broken = await speak({ input: 'sandbox:break=2 Hello' })
    expect(broken.status).toBe(200)
    expect(broken.arrayBuffer()).rejects.toThrow()
  })

  test('S13 a long text does not block the event loop', async () => {
    const delay = await measureLoopDelay(400, async () => {
      const response = await speak({ input: 'Hello there. '.repeat(100), speed: 0.25 })
      const { length } = await readBytes(response)
      expect(length).toBeGreaterThan(10_000_000)
    })
    expect(delay).toBeLessThan(400)
  })
})

describeSpeech('an interrupted reply', (bench) => {
  const input = 'x'.repeat(100)
  const inFull = 1_500_000n

  async function settledRow() {
    const rows = await waitForGenerations(bench(), 1)
    expect(rows).toHaveLength(1)
    expect(await requestHolds(bench().server.gateway.db).selectAll().execute()).toEqual([])
    return rows[0]
  }

  test('R4 R5 I2 a client that disconnects pays in full, once, and the upstream is closed', async () => {
    await clearGenerations(bench())
    bench().first.enqueue(audioReply(mp3Frames(3), { hang: true }))
    const left = new AbortController()
    const response = await sendSpeech(bench(), { model: 'speech/plain', input }, { signal: left.signal })
    const reader = response.body?.getReader()
    await reader?.read()
    left.abort()
    expect(await settledRow()).toMatchObject({ status: 'cancelled', cost_nanos: inFull })
    expect((await lastRequest(bench().first.requests).done).closedByPeerAt).not.toBeNull()
    expect(bench().server.gateway.upstreams.exchanges.size).toBe(0)
  })

  test('R4 a client that disconnects before there is audio pays nothing', async () => {
    await clearGenerations(bench())
    bench().first.enqueue({ hang: true })
    const left = new AbortController()
    const sent = sendSpeech(bench(), { model: 'speech/plain', input }, { signal: left.signal })
    sent.catch(() => undefined)
    await bench().first.waitForRequests(1)
    left.abort()
    expect(await settledRow()).toMatchObject({ status: 'cancelled', cost_nanos: 0n })
  })

  /** Replies of three kinds; the last has a declared length, and text in the place of samples. */
  const replies: [string, object, (more: UpstreamResponse) => UpstreamResponse][] = [
    ['audio', { model: 'speech/plain' }, (more) => audioReply(mp3Frames(4), more)],
    ['events', { model: 'speech/tokens' }, (more) => eventReply(mp3Frames(4), {}, more)],
    [
      'a declared length',
      { model: 'speech/plain', response_format: 'pcm' },
      (more) => ({
        text: 'x'.repeat(4000),
        splitBytes: 500,
        headers: { 'content-type': 'audio/pcm' },
        ...more,
      }),
    ],
  ]

  for (const breakWith of ['reset', 'close'] as const) {
    test.each(replies)(
      `R33 R6 an upstream that breaks off (%s, ${breakWith}) never looks complete, and is free`,
      async (_, body, reply) => {
        await clearGenerations(bench())
        const replied = Promise.withResolvers<void>()
        bench().first.enqueue(reply({ breakAfterBytes: 1500, breakWith, breakWhen: replied.promise }))
        const response = await sendSpeech(bench(), { ...body, input })
        replied.resolve()
        expect(response.status).toBe(200)
        const error = await response.arrayBuffer().then(
          () => null,
          (reason: Error) => reason,
        )
        expect(error).not.toBeNull()
        expect(await settledRow()).toMatchObject({
          status: 'failed',
          error_code: 'upstream_failed',
          cost_nanos: 0n,
        })
      },
    )
  }

  test('R33 events that end without the last one are an error', async () => {
    await clearGenerations(bench())
    bench().first.enqueue(eventReply(mp3Frames(2), {}, { endWithoutDone: true }))
    const response = await sendSpeech(bench(), { model: 'speech/tokens', input, stream_format: 'sse' })
    const last = (await response.text()).trim().split('\n\n').at(-1) ?? ''
    expect(JSON.parse(last.slice(6)).type).toBe('error')
    expect(await settledRow()).toMatchObject({ status: 'failed', cost_nanos: 0n })
  })
})
