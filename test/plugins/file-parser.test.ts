import { expect, spyOn, test } from 'bun:test'
import { strToU8, zipSync } from 'fflate'
import { setKeyGuardrail } from '../guardrails/support.ts'
import {
  type Bench,
  buildSettings,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  lastRequest,
  readJson,
  sendRequest,
} from '../inference/two-upstreams.ts'
import { buildPdf } from '../support/pdf.ts'
import { scenarios, textWireFormats, vendorReplies } from '../support/replies.ts'

const metadata = { headers: { 'x-service-metadata': 'enabled' } }
const pdf = buildPdf(['The invoice is due on Friday.']).toString('base64')
const docx = zip({
  'word/document.xml': '<w:p><w:r><w:t>Dear Ada &amp; Bob</w:t></w:r></w:p><w:p><w:t>Bye</w:t></w:p>',
})
const question = 'When is it due?'

function zip(files: Record<string, string>): string {
  const entries = Object.entries(files).map(([name, xml]) => [name, strToU8(xml)] as const)
  return Buffer.from(zipSync(Object.fromEntries(entries))).toString('base64')
}

const dataUrl = (data: string, type = 'application/pdf') => `data:${type};base64,${data}`

/** A question about a file, in each format. */
const bodies: Record<FormatName, (data: string) => object> = {
  chat: (data) => ({ messages: [{ role: 'user', content: chatContent(dataUrl(data)) }] }),
  messages: (data) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: question },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
        ],
      },
    ],
  }),
  responses: (data) => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: question },
          { type: 'input_file', filename: 'invoice.pdf', file_data: dataUrl(data) },
        ],
      },
    ],
  }),
}

function chatContent(file_data: string, filename = 'invoice.pdf') {
  return [
    { type: 'text', text: question },
    { type: 'file', file: { filename, file_data } },
  ]
}

const plugins = [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }]

function replyTo(bench: Bench, wireFormat: (typeof textWireFormats)[number]) {
  const { body, frames } = vendorReplies[wireFormat](scenarios.text)
  bench.first.setDefault(({ json }) => (json.stream ? { sse: frames } : { json: body }))
}

const textOnly = `  - id: test/text-only
    name: text only
    input_modalities: [text]
    endpoints:
      - { provider: one-chat, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" } }
`

describeWithUpstreamsOnSqlite(
  'file-parser',
  (bench) => {
    const send = (body: object, init = {}) => {
      replyTo(bench(), 'chat')
      return sendRequest(bench(), 'chat', { model: 'test/chat', plugins, ...body }, init)
    }
    const ask = (file: string, name?: string) => ({
      messages: [{ role: 'user', content: chatContent(file, name) }],
    })
    const sent = () => lastRequest(bench().first.requests)

    for (const format of ['chat', 'messages', 'responses'] as const)
      for (const wireFormat of textWireFormats)
        for (const stream of [false, true])
          test(`${format}${stream ? ' streamed' : ''} to ${wireFormat}: the model receives the text`, async () => {
            replyTo(bench(), wireFormat)
            const body = { model: `test/${wireFormat}`, plugins, stream, ...bodies[format](pdf) }
            const response = await sendRequest(bench(), format, body)
            expect(response.status).toBe(200)
            await response.text()
            expect(sent().text).toContain('The invoice is due on Friday.')
            expect(sent().text).not.toContain(pdf.slice(0, 40))
          })

    for (const format of ['chat', 'messages', 'responses'] as const)
      test(`${format}: a model that declares that it does not read files receives the text without the plugin`, async () => {
        replyTo(bench(), 'chat')
        const body = { model: 'test/text-only', ...bodies[format](pdf) }
        const reply = await readJson(sendRequest(bench(), format, body, metadata))
        expect(sent().text).toContain('The invoice is due on Friday.')
        expect(sent().text).not.toContain(pdf.slice(0, 40))
        expect(JSON.stringify(reply)).not.toContain('"annotations":[{')
        expect(reply.service_metadata.pipeline).toMatchObject([{ name: 'file-parser' }])
      })

    test('a document that cannot be read is a 400, and one whose plugin is switched off is passed on', async () => {
      const broken = ask(dataUrl(Buffer.from('%PDF-1.7 broken').toString('base64')))
      const refused = await send({ model: 'test/text-only', plugins: undefined, ...broken })
      expect([refused.status, (await readJson(refused)).error.message]).toEqual([
        400,
        expect.stringContaining('invoice.pdf'),
      ])
      const off = [{ id: 'file-parser', enabled: false }]
      const passed = await send({ model: 'test/text-only', plugins: off, ...broken })
      expect(passed.status).toBe(200)
      expect(sent().text).toContain('file_data')
    })

    test('the reply has the text as an annotation, and an annotation sent back is not parsed again', async () => {
      const reply = await readJson(send(ask(dataUrl(pdf)), metadata))
      const { message } = reply.choices[0]
      expect(message.annotations).toMatchObject([{ type: 'file', file: { name: 'invoice.pdf' } }])
      expect(message.annotations[0].file.content[0].text).toContain('due on Friday')
      expect(reply.service_metadata.pipeline).toMatchObject([
        {
          type: 'plugin',
          name: 'file-parser',
          data: { files: [{ name: 'invoice.pdf', engine: 'pdf-text' }] },
        },
      ])
      const read = spyOn(bench().server.gateway.readers.pdf, 'read')
      const messages = [...ask(dataUrl(pdf)).messages, message, { role: 'user', content: 'And who pays?' }]
      const next = await readJson(send({ messages }, metadata))
      expect(read).not.toHaveBeenCalled()
      read.mockRestore()
      expect(sent().text).toContain('The invoice is due on Friday.')
      expect(next.service_metadata.pipeline[0].data.files[0].engine).toBe('annotation')
    })

    test('a cached reply is sent without reading the file again', async () => {
      const init = { headers: { 'x-service-cache': 'true' } }
      await (await send(ask(dataUrl(pdf)), init)).text()
      const read = spyOn(bench().server.gateway.readers.pdf, 'read')
      const hit = await send(ask(dataUrl(pdf)), init)
      expect(hit.headers.get('x-service-cache-status')).toBe('HIT')
      expect((await readJson(hit)).choices[0].message.annotations).toMatchObject([{ type: 'file' }])
      expect(read).not.toHaveBeenCalled()
      read.mockRestore()
      const other = buildPdf(['Another one']).toString('base64')
      expect((await send(ask(dataUrl(other)), init)).headers.get('x-service-cache-status')).toBe('MISS')
    })

    test('a streamed reply has the annotation too', async () => {
      const text = await (await send({ ...ask(dataUrl(pdf)), stream: true })).text()
      expect(text).toContain('"type":"file"')
      expect(text).toContain('due on Friday')
    })

    test('Office documents and texts are read', async () => {
      await (await send(ask(dataUrl(docx, 'application/octet-stream'), 'letter.docx'))).text()
      expect(sent().text).toContain('Dear Ada & Bob\\nBye')
      const csv = Buffer.from('name,age\nAda,36').toString('base64')
      await (await send(ask(dataUrl(csv, 'text/csv'), 'people.csv'))).text()
      expect(sent().text).toContain('name,age\\nAda,36')
    })

    test('what cannot be read is 400 and says what to do; nothing is sent or charged', async () => {
      const before = bench().first.requests.length
      const scan = await send(ask(dataUrl(buildPdf(['']).toString('base64'))))
      expect(scan.status).toBe(400)
      expect((await readJson(scan)).error.message).toBe(
        'The file "invoice.pdf" cannot be read. It has no text, or is encrypted, damaged or too large. Use the engine mistral-ocr or native.',
      )
      const image = await send(ask(dataUrl('AAAA', 'application/x-other'), 'a.bin'))
      expect(image.status).toBe(400)
      const ocr = await send({
        ...ask(dataUrl(pdf)),
        plugins: [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }],
      })
      expect((await readJson(ocr)).error.message).toContain('file_parser.ocr.api_key')
      expect(bench().first.requests.length).toBe(before)
    })

    test('S5 a file at a private address is not fetched', async () => {
      const response = await send(ask('http://127.0.0.1:9/report.pdf'))
      expect(response.status).toBe(400)
      expect((await readJson(response)).error.message).toStartWith('The file "invoice.pdf" cannot be read.')
    })

    test('the parsed files are in the error if the provider fails', async () => {
      bench().first.setDefault({ status: 500, json: { error: { message: 'down' } } })
      const response = await sendRequest(bench(), 'chat', {
        model: 'test/chat',
        plugins,
        ...ask(dataUrl(pdf)),
      })
      const { error } = await readJson(response)
      expect(error.metadata.file_annotations).toMatchObject([{ file: { name: 'invoice.pdf' } }])
    })

    test('R35 filters redact the text of a file in the prompt and in the annotation, or block it', async () => {
      const card = buildPdf(['Card 4111 1111 1111 1111']).toString('base64')
      const use = (action: string) =>
        setKeyGuardrail(bench().server, { content_filter_builtins: [{ slug: 'credit-card', action }] })
      await use('redact')
      const reply = await (
        await send(ask(dataUrl(docxWith('Card 4111 1111 1111 1111'), 'application/zip')))
      ).text()
      expect(sent().text).toContain('Card [CREDIT_CARD]')
      expect(sent().text + reply).not.toContain('4111 1111')
      await use('block')
      expect((await send(ask(dataUrl(card)))).status).toBe(403)
      expect((await send(ask(dataUrl(docxWith('4111 1111 1111 1111'), 'application/zip')))).status).toBe(403)
      await setKeyGuardrail(bench().server, { content_filter_builtins: null })
    })
  },
  (first, second) => `${buildSettings(first, second)}${textOnly}`,
)

function docxWith(text: string): string {
  return zip({ 'word/document.xml': `<w:p><w:t>${text}</w:t></w:p>` })
}

const ocrSettings = (first: string, second: string) =>
  `file_parser: { ocr_model: test/both-chat }\n${buildSettings(first, second)}`

describeWithUpstreamsOnSqlite(
  'file-parser with OCR',
  (bench) => {
    test('a model reads the document, with a record of its own', async () => {
      const transcript = vendorReplies.chat({ ...scenarios.text, text: 'Scanned: 42 apples' })
      bench().first.enqueue({ sse: transcript.frames })
      const { body } = vendorReplies.chat(scenarios.text)
      bench().first.enqueue({ json: body })
      const engine = [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }]
      const request = { model: 'test/chat', plugins: engine, ...bodies.chat(pdf) }
      const reply = await readJson(sendRequest(bench(), 'chat', request, metadata))
      const [first, second] = bench().first.requests
      expect(first?.text).toContain(pdf.slice(0, 40))
      expect(second?.text).toContain('Scanned: 42 apples')
      const [stage] = reply.service_metadata.pipeline
      expect(stage.data.files).toMatchObject([{ engine: 'mistral-ocr' }])
      expect(stage.cost_usd).toBeGreaterThan(0)
    })
  },
  ocrSettings,
)
