import { beforeEach, describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { describeMedia } from '../media/support.ts'
import { describeOnSqlite } from '../support/harness.ts'
import { inputAudio, speakWav } from '../support/recordings.ts'
import { setKeyGuardrail } from './support.ts'

const card = '4111 1111 1111 1111'
const said = `My card is ${card}. Thank you.`

describeOnSqlite('content filters of transcripts', (server) => {
  const use = (action: string) =>
    setKeyGuardrail(server(), {
      content_filter_builtins: [{ slug: 'credit-card', action, scope: 'output' }],
    })
  const send = async (more: object = {}) => {
    const response = await fetch(`${server().url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server().own.inferenceKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'sandbox/listener', input_audio: inputAudio(speakWav(said)), ...more }),
    })
    return { status: response.status, text: await response.text() }
  }
  /** Written after the reply has been sent. */
  const listHits = async (action: 'block' | 'flag') => {
    for (const deadline = Date.now() + 5000; ; await Bun.sleep(5)) {
      const query = server().gateway.db.selectFrom('guardrail_hits').selectAll()
      const hits = await query.where('action', '=', action).execute()
      if (hits.length > 0 || Date.now() > deadline) return hits
    }
  }
  beforeEach(async () => {
    await server().gateway.db.deleteFrom('guardrail_hits').execute()
  })

  describe('R35 a transcript', () => {
    test.each(['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'])(
      'is redacted as %s',
      async (response_format) => {
        await use('redact')
        const { status, text } = await send({ response_format })
        expect(status).toBe(200)
        expect(text).toContain('[CREDIT_CARD]')
        expect(text).not.toContain('1111 1111')
      },
    )

    test('is redacted in its words, though the match extends over several', async () => {
      await use('redact')
      const { text } = await send({
        response_format: 'verbose_json',
        timestamp_granularities: ['word', 'segment'],
      })
      const body = JSON.parse(text)
      expect(body.words.map(({ word }: { word: string }) => word).join(' ')).toContain(
        'card is [CREDIT_CARD]',
      )
      expect(text).not.toContain('1111 1111')
    })

    test('is redacted in a stream, and no part of a match is sent', async () => {
      await use('redact')
      const { status, text } = await send({ stream: true })
      expect(status).toBe(200)
      const events = text.match(/^data: (\{.*\})$/gm)?.map((line) => JSON.parse(line.slice(6))) ?? []
      const deltas = events.filter(({ type }) => type === 'transcript.text.delta')
      expect(deltas.map(({ delta }) => delta).join('')).toBe(said.replace(card, '[CREDIT_CARD]'))
      expect(events.at(-1)).toMatchObject({
        type: 'transcript.text.done',
        text: said.replace(card, '[CREDIT_CARD]'),
      })
      expect(text).not.toContain('1111 1111')
    })

    test('is redacted in the segments of speakers in a stream', async () => {
      await use('redact')
      const { text } = await send({ stream: true, response_format: 'diarized_json' })
      expect(text).toMatch(/"transcript.text.segment".*\[CREDIT_CARD\]/)
      expect(text).not.toContain('1111 1111')
    })

    test.each([false, true])('is blocked, and charged (streamed: %s)', async (stream) => {
      await use('block')
      const { status, text } = await send({ stream })
      expect(status).toBe(stream ? 200 : 403)
      expect(text).toContain('Response blocked by content filter: [CREDIT_CARD]')
      expect(text).not.toContain('1111 1111')
      const hits = await listHits('block')
      expect(hits).toMatchObject([{ rule: 'credit-card', action: 'block', direction: 'output', count: 1 }])
      const { body } = await server().call('GET', `/generation?id=${hits[0]?.generation_id}`)
      expect(body.data.usage).toBeGreaterThan(0)
    })

    test.each([false, true])('is recorded by a filter that flags (streamed: %s)', async (stream) => {
      await use('flag')
      const { text } = await send({ stream })
      expect(text).toContain('1111 1111')
      expect(await listHits('flag')).toMatchObject([{ rule: 'credit-card', action: 'flag', count: 1 }])
    })
  })
})

const image = {
  supported_parameters: { n: { type: 'range', min: 1, max: 2 } },
  allowed_passthrough_parameters: [],
  supports_streaming: true,
  pricing: [{ billable: 'output_image', unit: 'image', cost_usd: '0.01' }],
}
const models = [
  {
    name: 'image',
    wireFormat: 'images',
    fields: { output_modalities: ['image'], image },
    endpoint: {},
    other: {},
  },
]

describeMedia('content filters of images', models, (bench) => {
  const send = async (action: string, stream: boolean) => {
    const { server, first } = bench()
    await setKeyGuardrail(server, {
      content_filter_builtins: [{ slug: 'credit-card', action, scope: 'output' }],
    })
    first.enqueue({ json: { created: 1, data: [{ b64_json: greyPixelPng, revised_prompt: said }] } })
    const response = await fetch(`${server.url}/v1/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/image', prompt: 'A card', stream }),
    })
    return { status: response.status, text: await response.text() }
  }

  test.each([false, true])('R35 a revised prompt is redacted (streamed: %s)', async (stream) => {
    const { status, text } = await send('redact', stream)
    expect(status).toBe(200)
    expect(text).not.toContain('1111 1111')
    // A stream has no field for it.
    if (!stream) expect(JSON.parse(text).data[0].revised_prompt).toBe(said.replace(card, '[CREDIT_CARD]'))
  })

  test.each([false, true])('R35 a revised prompt blocks the images (streamed: %s)', async (stream) => {
    const { status, text } = await send('block', stream)
    expect(status).toBe(stream ? 200 : 403)
    expect(text).toContain('Response blocked by content filter: [CREDIT_CARD]')
    expect(text).not.toContain(greyPixelPng)
  })
})
