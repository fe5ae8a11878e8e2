import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import { startUpstream, type Upstream, type UpstreamResponse } from '../support/upstream.ts'

const secret = 'sk-of-the-operator-0123456789'
const header = 'header-of-the-operator-0123456789'
const token = 'tok-12345'
const password = 'pass-4711'
const words = `Incorrect API key provided: ${secret} (${header}, ${token}, ${password}), for arn:aws:iam::123456789012:user/them`
const formats = ['chat', 'messages', 'responses', 'gemini'] as const

/** The beginning of a normal stream, followed by this. */
const after = (format: (typeof formats)[number], frame: string) => [
  ...vendorReply(format, 'text').frames.slice(0, 4),
  frame,
]
const data = (value: unknown, event = '') =>
  `${event && `event: ${event}\n`}data: ${JSON.stringify(value)}\n\n`

const errors: Record<(typeof formats)[number], string> = {
  chat: data({ error: { message: words, code: secret } }),
  messages: data({ type: 'error', error: { type: 'api_error', message: words } }, 'error'),
  responses: data({ type: 'error', code: secret, message: words, param: null }, 'error'),
  gemini: data({ error: { code: 400, message: words, status: secret } }),
}

describe('R40 S12 a provider that echoes its credentials', () => {
  let server: TestServer
  let upstream: Upstream
  let logged = ''
  beforeAll(async () => {
    upstream = await startUpstream()
    const providers = formats.map((format) => ({
      slug: format,
      name: format,
      base_url: upstream.url,
      api_key: secret,
      headers: {
        'x-operator': header,
        'x-proxy': `Bearer ${token}`,
        'proxy-login': `Basic ${Buffer.from(`user:${password}`).toString('base64')}`,
      },
      dialects: [format],
    }))
    const models = formats.map((format) => ({
      id: `test/${format}`,
      name: format,
      endpoints: [
        { provider: format, upstream_model: 'm', pricing: { prompt: '0.000001', completion: '0.000001' } },
      ],
    }))
    server = await startTestServer('sqlite', { settings: JSON.stringify({ providers, models }) })
    const keep = new Writable({
      write(chunk, _encoding, done) {
        logged += chunk
        done()
      },
    })
    Object.assign(server.gateway, { log: pino({ level: 'trace' }, keep) })
  })
  afterAll(async () => {
    await server.stop()
    await upstream.stop()
  })

  async function sendAndRead(format: string, stream: boolean, scripted: UpstreamResponse): Promise<string> {
    upstream.enqueue(scripted)
    const body = {
      model: `test/${format}`,
      max_tokens: 50,
      stream,
      messages: [{ role: 'user', content: 'Hi' }],
    }
    const response = await fetch(`${server.url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'x-service-metadata': 'enabled' },
      body: JSON.stringify(body),
    })
    return response.text()
  }

  test.each(
    formats.flatMap((format): [string, string, boolean, UpstreamResponse][] => {
      const error = { message: words, code: secret, type: secret }
      return [
        [format, 'with an error status', false, { status: 400, json: { error } }],
        [format, 'with an error status of its own', false, { status: 418, json: { error, detail: words } }],
        [format, 'in a whole reply', false, { json: { error } }],
        [format, 'at the beginning of a stream', true, { sse: [errors[format]] }],
        [format, 'in the middle of a stream', true, { sse: after(format, errors[format]) }],
      ]
    }),
  )('%s: %s', async (format, _, stream, scripted) => {
    const text = await sendAndRead(format, stream, scripted)
    expect(text).toContain('"error"')
    for (const output of [text, logged]) {
      expect(output).not.toContain(secret)
      expect(output).not.toContain(header)
      expect(output).not.toContain(token)
      expect(output).not.toContain(password)
      expect(output).not.toContain('123456789012')
    }
  })

  test('a reply that merely mentions errors and resources is not changed', async () => {
    const content = '{"error": {"arn": "arn:aws:iam::123456789012:user/them"}}'
    const reply = { role: 'assistant', content }
    const json = { id: 'r', object: 'chat.completion', model: 'm', created: 1, error: null }
    const text = await sendAndRead('chat', false, {
      json: { ...json, choices: [{ index: 0, message: reply, finish_reason: 'stop' }] },
    })
    expect(JSON.parse(text).choices[0].message.content).toBe(content)
  })
})
