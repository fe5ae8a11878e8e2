import { beforeAll, describe, expect, test } from 'bun:test'
import { describeWithUpstreams } from '../inference/two-upstreams.ts'
import { scenarios } from '../support/replies/scenario.ts'
import { type TextDialect, vendorReplies } from '../support/replies.ts'
import { setKeyGuardrail } from './support.ts'

const canary = 'jane.doe@example.org'
const text = `Please write to ${canary} soon. ${'It is a fine day for letters. '.repeat(40)}`

/** The paths of formats besides Chat, Messages and Responses, with bodies. */
const formats: [name: string, path: (stream: boolean) => string, body: object][] = [
  ['completions', () => '/v1/completions', { prompt: 'Hello' }],
  ['ollama chat', () => '/api/chat', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['ollama generate', () => '/api/generate', { prompt: 'Hello' }],
  [
    'gemini',
    (stream) => `/v1beta/models/test/chat:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  ],
]

describeWithUpstreams('content filters of replies in other formats', (bench) => {
  const send = async (path: string, body: object, stream: boolean) => {
    const { frames, body: json } = vendorReplies.chat({ ...scenarios.text, text })
    bench().first.enqueue(stream ? { sse: frames, splitBytes: 11 } : { json })
    const isGemini = path.includes('v1beta')
    const response = await fetch(bench().server.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bench().server.own.inferenceKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(isGemini ? body : { model: 'test/chat', stream, ...body }),
    })
    return { status: response.status, received: await response.text() }
  }
  const use = (action: string) =>
    setKeyGuardrail(bench().server, {
      content_filter_builtins: [{ slug: 'email', action, scope: 'output' }],
    })

  describe.each(formats)('R35 %s', (_, path, body) => {
    test.each([false, true])('redacts (streamed: %s)', async (stream) => {
      await use('redact')
      const { status, received } = await send(path(stream), body, stream)
      expect(status).toBe(200)
      expect(received).toContain('[EMAIL]')
      expect(received).not.toContain('jane')
    })

    test.each([false, true])('blocks (streamed: %s)', async (stream) => {
      await use('block')
      const { status, received } = await send(path(stream), body, stream)
      expect(status).toBe(stream ? 200 : 403)
      expect(received).toContain('Response blocked by content filter: [EMAIL]')
      expect(received).not.toContain('jane')
    })
  })
})

describeWithUpstreams(
  'a stream that is held back',
  (bench) => {
    beforeAll(() =>
      setKeyGuardrail(bench().server, {
        content_filters: [{ pattern: 'fine.*letters', action: 'redact', scope: 'output' }],
      }),
    )

    test.each(['chat', 'messages'] as TextDialect[])(
      'has heartbeats before its text (%s)',
      async (upstream) => {
        const { frames } = vendorReplies[upstream]({ ...scenarios.text, text })
        bench().first.enqueue({ sse: frames, delayMs: 1200 / frames.length })
        const response = await fetch(`${bench().server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${bench().server.own.inferenceKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            model: `test/${upstream}`,
            stream: true,
            messages: [{ role: 'user', content: 'Hello' }],
          }),
        })
        const received = await response.text()
        expect(received.indexOf(': HEADGATE')).toBeGreaterThan(-1)
        expect(received.indexOf(': HEADGATE')).toBeLessThan(received.indexOf('Please write'))
        expect(received).not.toContain('fine day')
        expect(received).toContain('[DONE]')
      },
    )
  },
  'limits: { heartbeat: 0.2 }',
)
