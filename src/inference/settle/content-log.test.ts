import { beforeEach, describe, expect, test } from 'bun:test'
import {
  clearGenerations,
  describeWithUpstreams,
  formatNames,
  sendRequest,
  waitForGenerations,
} from '../../../test/inference/two-upstreams.ts'
import { resetRouting } from '../../../test/support/harness.ts'
import {
  type ScenarioName,
  scenarios,
  textWireFormats,
  vendorErrors,
  vendorReply,
} from '../../../test/support/replies.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { maxCharacters, Transcript } from '../reply/transcript.ts'
import { shouldLogContent } from '../request/retention.ts'

const regions = 'regions: { hosts: { "eu.example.com": europe } }'

describeWithUpstreams(
  'prompts and replies',
  (bench) => {
    const { server } = { server: () => bench().server }
    const log = async (changes: Record<string, unknown>) => {
      const { id } = server().own.workspace
      const response = await server().call('PATCH', `/workspaces/${id}`, { body: changes })
      expect(response.status).toBe(200)
    }
    beforeEach(async () => {
      await clearGenerations(bench())
      await server().gateway.db.deleteFrom('generation_contents').execute()
      await log({
        is_observability_io_logging_enabled: true,
        io_logging_sampling_rate: 1,
        io_logging_api_key_ids: null,
      })
    })
    const rows = () => server().gateway.db.selectFrom('generation_contents').selectAll().execute()
    const contentOf = async (id: string) =>
      (await server().call('GET', `/generation/content?id=${id}`)).body.data
    /** The content of the one generation there is. */
    const readContent = async () => {
      const [row] = await waitForGenerations(bench(), 1)
      return contentOf(row?.id ?? '')
    }

    test('are logged only if the workspace enables it', async () => {
      await log({ is_observability_io_logging_enabled: false })
      for (const stream of [false, true]) {
        await (await sendRequest(bench(), 'chat', { model: 'test/chat', stream })).text()
      }
      expect(await waitForGenerations(bench(), 2)).toHaveLength(2)
      expect(await rows()).toEqual([])
    })

    for (const format of formatNames) {
      for (const upstream of textWireFormats) {
        for (const stream of [false, true]) {
          const way = `${format} over ${upstream}, ${stream ? 'streamed' : 'whole'}`
          const logReply = async (name: ScenarioName) => {
            const { frames, body } = vendorReply(upstream, name)
            bench().first.enqueue(stream ? { sse: frames } : { json: body })
            const response = await sendRequest(bench(), format, { model: `test/${upstream}`, stream })
            expect(response.status).toBe(200)
            await response.text()
            return readContent()
          }

          test(`${way}: text`, async () => {
            const { input, output, error, truncated } = await logReply('text')
            expect(input).toEqual({ messages: [{ role: 'user', content: 'Hello' }] })
            expect(output.completion).toBe(scenarios.text.text)
            expect({ error, truncated, calls: output.tool_calls }).toEqual({
              error: null,
              truncated: false,
              calls: [],
            })
          })

          test(`${way}: thinking`, async () => {
            const { output } = await logReply('reasoning')
            expect(output.completion).toBe(scenarios.reasoning.text)
            expect(output.reasoning).toBe(scenarios.reasoning.reasoning.text)
          })

          test(`${way}: tool calls`, async () => {
            const { output } = await logReply('toolCalls')
            const { toolCalls, text } = scenarios.toolCalls
            expect(output.completion).toBe(text)
            expect(output.tool_calls.map(({ name }: { name: string }) => name)).toEqual(
              toolCalls.map(({ name }) => name),
            )
            expect(
              output.tool_calls.map((call: { arguments: string }) => JSON.parse(call.arguments)),
            ).toEqual(toolCalls.map((call) => JSON.parse(call.arguments)))
          })
        }
      }
    }

    test('only for the configured keys', async () => {
      const key = await server()
        .gateway.db.selectFrom('api_keys')
        .select('id')
        .where('hash', '=', sha256(server().own.inferenceKey))
        .executeTakeFirstOrThrow()
      await log({ io_logging_api_key_ids: [key.id + 1000] })
      await (await sendRequest(bench(), 'chat', { model: 'test/chat' })).text()
      expect(await rows()).toHaveLength(0)
      await log({ io_logging_api_key_ids: [key.id] })
      await (await sendRequest(bench(), 'chat', { model: 'test/chat' })).text()
      expect(await rows()).toHaveLength(1)
    })

    test('not on a regional host', async () => {
      const headers = { host: 'eu.example.com' }
      await (await sendRequest(bench(), 'chat', { model: 'sandbox/echo' })).text()
      expect(await rows()).toHaveLength(1)
      const response = await sendRequest(bench(), 'chat', { model: 'sandbox/echo' }, { headers })
      expect(response.status).toBe(200)
      expect((await waitForGenerations(bench(), 2)).map(({ region }) => region)).toEqual(['global', 'europe'])
      expect(await rows()).toHaveLength(1)
    })

    test('with the instructions first, in the format of the client', async () => {
      const body = { model: 'test/chat', system: 'Be brief.' }
      await (await sendRequest(bench(), 'messages', body)).text()
      expect((await readContent()).input).toEqual({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
        ],
      })
    })

    test('a prompt of the older format is one', async () => {
      const response = await fetch(`${server().url}/v1/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server().own.inferenceKey}` },
        body: JSON.stringify({ model: 'test/chat', prompt: ['Once\0 upon'] }),
      })
      expect(response.status).toBe(200)
      expect((await readContent()).input).toEqual({ prompt: 'Once\0 upon' })
    })

    test('R40 R19 without images and files, up to the maximum length', async () => {
      const url = `data:image/png;base64,${'iVBO'.repeat(5000)}`
      const content = [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url } },
      ]
      await (
        await sendRequest(bench(), 'chat', { model: 'test/chat', messages: [{ role: 'user', content }] })
      ).text()
      const { input, truncated } = await readContent()
      expect(input.messages[0].content[1].image_url.url).toBe(
        'data:image/png;base64,[20000 characters of data]',
      )
      expect(truncated).toBe(false)
    })

    test('R19 of a long conversation the newest part is logged', async () => {
      const long = 'word '.repeat(maxCharacters / 8)
      const messages = ['oldest', long, long, 'newest'].map((text) => ({ role: 'user', content: text }))
      await (await sendRequest(bench(), 'chat', { model: 'test/chat', messages })).text()
      const { input, truncated } = await readContent()
      expect(truncated).toBe(true)
      expect(input.messages).toHaveLength(3)
      expect(input.messages.at(-1)).toEqual({ role: 'user', content: 'newest' })
      expect(JSON.stringify(input).length).toBeLessThan(maxCharacters + 1000)
    })

    test('of a request that failed everywhere: the error of each attempt', async () => {
      bench().first.enqueue({ status: 401, json: vendorErrors.chat('your account canary-account is closed') })
      bench().second.enqueue({ status: 500, json: vendorErrors.chat('out of order') })
      const response = await sendRequest(bench(), 'chat', { model: 'test/both-chat' })
      expect(response.status).toBe(502)
      await response.text()
      const content = await readContent()
      expect(content.output).toEqual({ completion: null, reasoning: null, tool_calls: [] })
      expect(content.error).toEqual({
        message: 'out of order',
        status: 502,
        provider_name: 'two-chat',
        raw: null,
        previous_errors: [
          { code: 401, message: 'The provider failed.', provider_name: 'one-chat', raw: null },
        ],
      })
      expect(JSON.stringify(content)).not.toContain('canary')
    })

    test('of a stream that broke off: the part received, and the error', async () => {
      const { frames } = vendorReply('chat', 'text')
      const breakAfterBytes = Math.floor(frames.join('').length * 0.6)
      const replied = Promise.withResolvers<void>()
      bench().first.enqueue({ sse: frames, breakAfterBytes, breakWhen: replied.promise })
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat', stream: true })
      replied.resolve()
      await response.text()
      const { output, error } = await readContent()
      expect(scenarios.text.text).toStartWith(output.completion)
      expect(output.completion).not.toBe('')
      expect(error).toMatchObject({ status: 502, provider_name: 'one-chat', previous_errors: [] })
    })

    test('R4 of a stream the client abandoned: the part received', async () => {
      bench().first.enqueue({ sse: vendorReply('chat', 'text').frames.slice(0, 4), hang: true })
      const left = new AbortController()
      const response = await sendRequest(
        bench(),
        'chat',
        { model: 'test/chat', stream: true },
        { signal: left.signal },
      )
      await response.body?.getReader().read()
      left.abort()
      const { output, error } = await readContent()
      expect(scenarios.text.text).toStartWith(output.completion)
      expect(error).toBe(null)
    })

    test('only of the endpoint that served the request', async () => {
      const { frames, body } = vendorReply('chat', 'text')
      bench().first.enqueue({ sse: frames.slice(0, 1), breakAfterBytes: 40 }, { status: 503, json: {} })
      bench().second.enqueue({ sse: frames }, { json: body })
      for (const stream of [true, false]) {
        await clearGenerations(bench())
        resetRouting(bench().server)
        const response = await sendRequest(bench(), 'chat', { model: 'test/both-chat', stream })
        await response.text()
        expect((await readContent()).output.completion).toBe(scenarios.text.text)
      }
    })

    test('reasoning that the client excludes is not logged', async () => {
      const { frames } = vendorReply('chat', 'reasoning')
      for (const exclude of [false, true]) {
        await clearGenerations(bench())
        bench().first.enqueue({ sse: frames })
        const body = { model: 'test/chat', stream: true, reasoning: { exclude } }
        await (await sendRequest(bench(), 'chat', body)).text()
        const { reasoning } = (await readContent()).output
        if (exclude) expect(reasoning).toBe(null)
        else expect(reasoning).toBe(scenarios.reasoning.reasoning.text)
      }
    })
  },
  regions,
)

describe('keepsContent', () => {
  const about = { id: `gen-${'0'.repeat(32)}`, keyId: 7, region: 'global' as const }
  const always = { samplingRate: 1, keyIds: null }

  test('needs the workspace, the key and the region', () => {
    expect(shouldLogContent(null, about)).toBe(false)
    expect(shouldLogContent(always, about)).toBe(true)
    expect(shouldLogContent(always, { ...about, id: `gen-${'f'.repeat(32)}` })).toBe(true)
    expect(shouldLogContent(always, { ...about, region: 'us' })).toBe(false)
    expect(shouldLogContent({ ...always, keyIds: new Set([7]) }, about)).toBe(true)
    expect(shouldLogContent({ ...always, keyIds: new Set<number>() }, about)).toBe(false)
  })

  test('samples at the given rate, and the same requests each time', () => {
    const ids = Array.from({ length: 20_000 }, () => `gen-${Bun.randomUUIDv7().replaceAll('-', '')}`)
    for (const samplingRate of [0.0001, 0.1, 0.5]) {
      const picked = () =>
        ids.filter((id) => shouldLogContent({ samplingRate, keyIds: null }, { ...about, id }))
      const share = picked().length / ids.length
      expect(Math.abs(share - samplingRate)).toBeLessThan(5 * Math.sqrt(samplingRate / ids.length) + 1e-3)
      expect(picked()).toEqual(picked())
    }
  })
})

describe('Transcript', () => {
  const delta = (choice: number, part: number, text: string) =>
    ({ type: 'part-delta', choice, part, delta: { text } }) as const
  const start = (choice: number, part: number) =>
    ({ type: 'part-start', choice, part, content: { kind: 'text', text: '' } }) as const

  test('several choices are separated, however they interleave', () => {
    const transcript = new Transcript()
    const events = [start(0, 0), start(1, 0), delta(1, 0, 'B'), delta(0, 0, 'A'), delta(1, 0, 'b')]
    for (const event of events) transcript.add(event)
    expect(transcript.toText()).toEqual({ completion: 'A\n\nBb', reasoning: null, tool_calls: [] })
  })

  test('R19 S13 is bounded, whatever comes', () => {
    const transcript = new Transcript()
    transcript.add(start(0, 0))
    for (let at = 0; at < 2000; at++) transcript.add(delta(0, 0, 'x'.repeat(1000)))
    expect(transcript.toText().completion?.length).toBe(maxCharacters - 32)
    expect(transcript.truncated).toBe(true)
    const many = new Transcript()
    for (let part = 0; part < maxCharacters; part++) {
      many.add({
        type: 'part-start',
        choice: 0,
        part,
        content: { kind: 'tool-call', id: '', name: '', arguments: '' },
      })
    }
    expect(many.toText().tool_calls.length).toBeLessThanOrEqual(maxCharacters / 32)
  })

  test('events without a part are ignored', () => {
    const transcript = new Transcript()
    transcript.add(delta(0, 3, 'lost'))
    transcript.add({
      type: 'part-start',
      choice: 0,
      part: 0,
      content: { kind: 'opaque', wireFormat: 'chat', value: {} },
    })
    transcript.add({ type: 'reply-end' })
    expect(transcript.toText()).toEqual({ completion: null, reasoning: null, tool_calls: [] })
    expect(transcript.truncated).toBe(false)
  })
})
