import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { describeWithUpstreams } from '../inference/two-upstreams.ts'
import { scenarios } from '../support/replies/scenario.ts'
import { type TextWireFormat, vendorReplies } from '../support/replies.ts'
import { plantReply, waysOut } from './coverage/ways-out.ts'
import { setKeyGuardrail } from './support.ts'

const canary = 'jane.doe@example.org'
const text = `Please write to ${canary} soon. ${'It is a fine day for letters. '.repeat(40)}`

const cases = waysOut.flatMap(({ name, path, body, parts }) =>
  parts.flatMap((part) =>
    [false, true].map((stream) => ({
      name,
      part,
      stream,
      path: path(stream),
      body: body(stream),
    })),
  ),
)

describeWithUpstreams('content filters of replies in every format', (bench, kind) => {
  const send = async ({ path, body, part, stream }: (typeof cases)[number]) => {
    const { frames, body: json } = vendorReplies.chat(plantReply(part, canary))
    bench().first.enqueue(stream ? { sse: frames, splitBytes: 11 } : { json })
    const response = await fetch(bench().server.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bench().server.own.inferenceKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, received: await response.text() }
  }
  const use = (action: string) =>
    setKeyGuardrail(bench().server, {
      content_filter_builtins: [{ slug: 'email', action, scope: 'output' }],
    })
  const listParts = async () => {
    await bench().server.gateway.ledger.flush()
    const hits = await bench().server.gateway.db.selectFrom('guardrail_hits').select('part').execute()
    return hits.map(({ part }) => part)
  }
  beforeEach(async () => {
    await bench().server.gateway.db.deleteFrom('guardrail_hits').execute()
  })

  // Only the hits are in the database: one format is enough for the second.
  const tested = kind === 'sqlite' ? cases : cases.filter(({ name }) => name === cases[0]?.name)

  describe.each(tested)('R35 $name, $part (streamed: $stream)', (one) => {
    test('redact: the label is sent', async () => {
      await use('redact')
      const { status, received } = await send(one)
      expect(status).toBe(200)
      expect(received).toContain('[EMAIL]')
      expect(received).not.toContain('jane')
      expect(await listParts()).toEqual([one.part])
    })

    test('block: nothing of the match is sent', async () => {
      await use('block')
      const { status, received } = await send(one)
      expect(status).toBe(one.stream ? 200 : 403)
      expect(received).toContain('Response blocked by content filter: [EMAIL]')
      expect(received).not.toContain('jane')
      expect(await listParts()).toEqual([one.part])
    })

    test('flag: it is sent, and recorded', async () => {
      await use('flag')
      const { status, received } = await send(one)
      expect(status).toBe(200)
      expect(received).not.toContain('[EMAIL]')
      expect(await listParts()).toEqual([one.part])
    })
  })
})

describeWithUpstreams(
  'a stream that is held back',
  (bench) => {
    beforeAll(() =>
      setKeyGuardrail(bench().server, {
        content_filters: [{ pattern: 'Please[^!]*!', action: 'redact', scope: 'output' }],
      }),
    )

    test.each(['chat', 'messages'] as TextWireFormat[])(
      'has heartbeats before its text (%s)',
      async (upstream) => {
        const { frames } = vendorReplies[upstream]({ ...scenarios.text, text })
        bench().first.enqueue({ sse: frames, delayMs: 1 })
        const request = fetch(`${bench().server.url}/v1/chat/completions`, {
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
        const reply = request.then((response) => response.text())
        const received = await bench().server.timer.passUntil(reply)
        expect(received.indexOf(': HEADGATE')).toBeGreaterThan(-1)
        expect(received.indexOf(': HEADGATE')).toBeLessThan(received.indexOf('Please write'))
        expect(received).toContain('fine day')
        expect(received).toContain('[DONE]')
      },
    )
  },
  'limits: { heartbeat: 0.5 }',
)
