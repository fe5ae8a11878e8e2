import { describe, expect, test } from 'bun:test'
import {
  type Bench,
  describeWithUpstreams,
  type FormatName,
  lastRequest,
  sendRequest,
} from './two-upstreams.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=='
const pdf = Buffer.from('%PDF-1.4 a document').toString('base64')
const wav = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt '), Buffer.alloc(28)]).toString('base64')
const note = 'The answer is 42.'

const upstreams = ['chat', 'messages', 'responses', 'gemini'] as const

async function upload({ server }: Bench, base64: string, name: string): Promise<string> {
  const body = new FormData()
  body.append('file', new File([Buffer.from(base64, 'base64')], name))
  return (await server.call('POST', '/files', { body, key: server.own.inferenceKey })).body.id
}

/** A prompt of each format with a document, and with an image. */
const prompts: Record<
  FormatName,
  { document(id: string): object; image(id: string): object; field: string }
> = {
  chat: {
    document: (file_id) => ({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }] }),
    image: (file_id) => ({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }] }),
    field: 'messages.0.content.0.file.file_id',
  },
  messages: {
    document: (file_id) => ({
      messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id } }] }],
    }),
    image: (file_id) => ({
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id } }] }],
    }),
    field: 'messages.0.content.0.source.file_id',
  },
  responses: {
    document: (file_id) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }] }),
    image: (file_id) => ({ input: [{ role: 'user', content: [{ type: 'input_image', file_id }] }] }),
    field: 'input.0.content.0.file_id',
  },
}
const formatNames = Object.keys(prompts) as FormatName[]
const pairs = formatNames.flatMap((format) => upstreams.map((upstream) => [format, upstream] as const))

describeWithUpstreams(
  'files of this server in prompts',
  (bench) => {
    const send = (format: FormatName, upstream: string, body: object, init = {}) =>
      sendRequest(bench(), format, { model: `test/${upstream}`, ...body }, init)
    const sentText = () => lastRequest(bench().first.requests).text

    describe.each(pairs)('a %s client and a %s provider', (format, upstream) => {
      test('an image, a PDF and a text are sent as their content', async () => {
        const { document, image } = prompts[format]
        const files = [
          { id: await upload(bench(), pixel, 'p.png'), prompt: image, sent: pixel },
          { id: await upload(bench(), pdf, 'folder/d.pdf'), prompt: document, sent: pdf },
          {
            id: await upload(bench(), Buffer.from(note).toString('base64'), 'n.txt'),
            prompt: document,
            sent: note,
          },
        ]
        for (const { id, prompt, sent } of files) {
          const response = await send(format, upstream, prompt(id), {
            headers: { 'x-headgate-strict': 'true' },
          })
          expect(response.status).toBe(200)
          expect(sentText()).toContain(sent)
          expect(sentText()).not.toContain(id)
          expect(sentText()).not.toContain('folder/')
        }
      })

      test("a vendor's own file id stays", async () => {
        const response = await send(format, upstream, prompts[format].document('file-abc123'))
        expect(response.status).toBe(200)
        if (format === upstream) expect(sentText()).toContain('file-abc123')
      })
    })

    describe.each(formatNames)('a %s client', (format) => {
      const { document, field } = prompts[format]

      test.each([
        ['unknown', 'hg_file_4f1c4f1c4f1c4f1c4f1c4f1c'],
        ['not an id', 'hg_file_\u0000'],
      ])('R37 400 naming the field for an id that is %s', async (_, id) => {
        const sent = bench().first.requests.length
        const response = await send(format, 'chat', document(id))
        expect(response.status).toBe(400)
        expect(await response.text()).toContain(`${field}: the file does not exist`)
        expect(bench().first.requests).toHaveLength(sent)
      })

      test('R37 a file of another organization does not exist', async () => {
        const id = await upload(bench(), pdf, 'd.pdf')
        const key = bench().server.foreign.inferenceKey
        const response = await send(format, 'chat', document(id), { key })
        expect(response.status).toBe(400)
        expect(await response.text()).toContain(`${field}: the file does not exist`)
      })

      test('S13 413 for files that are larger than a request may be', async () => {
        const { settings } = bench().server.gateway
        const text = 'x'.repeat((settings.limits.body_bytes * 3) / 4 + 1)
        const id = await upload(bench(), Buffer.from(text).toString('base64'), 'long.txt')
        const response = await send(format, 'chat', document(id))
        expect(response.status).toBe(413)
        expect(await response.text()).toContain(field)
      })
    })

    test.each(['messages', 'responses'] as const)('400 for a %s image that is none', async (format) => {
      const id = await upload(bench(), pdf, 'd.pdf')
      const response = await send(format, 'chat', prompts[format].image(id))
      expect(response.status).toBe(400)
      const problem = `${prompts[format].field}: the file is application/pdf, not an image`
      expect(await response.text()).toContain(problem)
    })

    test('audio becomes audio', async () => {
      const id = await upload(bench(), wav, 'a.wav')
      await send('chat', 'chat', prompts.chat.document(id))
      expect(lastRequest(bench().first.requests).json.messages[0].content[0]).toEqual({
        type: 'input_audio',
        input_audio: { data: wav, format: 'wav' },
      })
    })

    test('a document keeps its name, and its options', async () => {
      const id = await upload(bench(), pdf, 'folder/d.pdf')
      await send('chat', 'chat', prompts.chat.document(id))
      const { content } = lastRequest(bench().first.requests).json.messages[0]
      expect(content[0].file).toEqual({ filename: 'd.pdf', file_data: `data:application/pdf;base64,${pdf}` })
      const block = {
        ...{ type: 'document', title: 'Mine', citations: { enabled: true } },
        source: { type: 'file', file_id: id },
      }
      await send('messages', 'messages', { messages: [{ role: 'user', content: [block] }] })
      expect(lastRequest(bench().first.requests).json.messages[0].content[0]).toEqual({
        ...block,
        source: { type: 'base64', media_type: 'application/pdf', data: pdf },
      })
    })

    test('files in the result of a tool', async () => {
      const id = await upload(bench(), pixel, 'p.png')
      const image = { type: 'image', source: { type: 'file', file_id: id } }
      const messages = [
        { role: 'user', content: 'Draw.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'draw', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [image] }] },
      ]
      expect((await send('messages', 'messages', { messages })).status).toBe(200)
      expect(sentText()).toContain(pixel)
    })

    test('S13 400 for more references than a request may have', async () => {
      const file = { type: 'file', file: { file_id: 'hg_file_4f1c4f1c4f1c4f1c4f1c4f1c' } }
      const messages = [{ role: 'user', content: Array.from({ length: 65 }, () => file) }]
      const response = await send('chat', 'chat', { messages })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('more than 64 files')
    })

    test('a continued response still has the file of the turn before', async () => {
      const id = await upload(bench(), pixel, 'p.png')
      const first = await send('responses', 'responses', prompts.responses.image(id))
      const previous_response_id = ((await first.json()) as { id: string }).id
      const second = await send('responses', 'responses', { previous_response_id, input: 'And now?' })
      expect(second.status).toBe(200)
      expect(sentText()).toContain(pixel)
    })

    test('the tokens of a file are counted, and quoted', async () => {
      const { server } = bench()
      const id = await upload(bench(), Buffer.from(note.repeat(500)).toString('base64'), 'n.txt')
      const headers = { 'anthropic-version': '2023-06-01' }
      const key = server.own.inferenceKey
      const body = { model: 'test/chat', max_tokens: 10, ...prompts.messages.document(id) }
      const count = await server.call('POST', '/messages/count_tokens', { key, headers, body })
      expect(count.body.input_tokens).toBeGreaterThan(1000)
      const quote = await server.call('POST', '/quote', { key, headers, body })
      expect(quote.body.data.price.assumed.prompt_tokens).toBeGreaterThan(1000)
    })

    test('on a regional host files are rejected in prompts too', async () => {
      const id = await upload(bench(), pixel, 'p.png')
      const response = await send('chat', 'chat', prompts.chat.image(id), {
        headers: { host: 'europe.example.com' },
      })
      expect(response.status).toBe(403)
    })
  },
  'regions: { hosts: { europe.example.com: europe } }',
)
