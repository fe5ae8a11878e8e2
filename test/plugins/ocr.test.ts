import { afterAll, beforeEach, expect, test } from 'bun:test'
import { setKeyGuardrail } from '../guardrails/support.ts'
import {
  buildSettings,
  clearGenerations,
  describeWithUpstreams,
  lastRequest,
  readJson,
  sendRequest,
  waitForGenerations,
} from '../inference/two-upstreams.ts'
import { requestHolds } from '../support/holds.ts'
import { buildPdf } from '../support/pdf.ts'

const canary = 'canary-5ecret-ocr-key-0123456789'
const pagePrice = 2_000_000n
const picture = 'data:image/jpeg;base64,/9j/4AAQ'

interface OcrCall {
  key: string | null
  body: Record<string, unknown>
  signal: AbortSignal
}

const calls: OcrCall[] = []
let arrived = Promise.withResolvers<void>()
let respond: (call: OcrCall) => Response | Promise<Response> = () => replyWithPages(2)

/** The OCR API, and a site with a document. */
const site = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/scan.pdf')
      return new Response(buildPdf(['Card 4111 1111 1111 1111']), {
        headers: { 'content-type': 'application/pdf' },
      })
    if (pathname !== '/v1/ocr') return new Response(null, { status: 404 })
    const key = request.headers.get('authorization')
    const body = (await request.json()) as Record<string, unknown>
    calls.push({ key, body, signal: request.signal })
    arrived.resolve()
    return respond(calls.at(-1) as OcrCall)
  },
})
afterAll(() => site.stop(true))

/** Builds a reply with ten images on the first page. */
function replyWithPages(count: number, processed = count, markdown = '42 apples'): Response {
  const pages = Array.from({ length: count }, (_, index) => ({
    index,
    markdown: markdown && `${markdown} on page ${index}`,
    images: index > 0 ? [] : Array.from({ length: 10 }, (_, id) => ({ id: `${id}`, image_base64: picture })),
    dimensions: { dpi: 200, height: 2200, width: 1700 },
  }))
  const usage_info = { pages_processed: processed, doc_size_bytes: 100 }
  return Response.json({ pages: pages.reverse(), model: 'mistral-ocr-2512', usage_info })
}

const settings = (first: string, second: string) =>
  buildSettings(
    first,
    second,
    `
egress: { allow_private: ["127.0.0.1:${site.port}"] }
regions: { hosts: { "eu.example.com": europe } }
file_parser: { ocr: { api_key: ${canary}, base_url: "http://127.0.0.1:${site.port}/" } }`,
  ) +
  `  - id: test/eyes
    name: eyes
    input_modalities: [text, image]
    endpoints: [{ provider: one-chat, upstream_model: vendor-model, pricing: { prompt: "0", completion: "0" } }]
`

const toDataUrl = (data: Buffer, type = 'application/pdf') => `data:${type};base64,${data.toString('base64')}`
const scan = toDataUrl(buildPdf(['', '']))

function ask(...files: string[]) {
  const content = files.map((file_data) => ({ type: 'file', file: { filename: 'scan.pdf', file_data } }))
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'How many?' }, ...content] }] }
}

describeWithUpstreams(
  'OCR with an API',
  (bench) => {
    beforeEach(async () => {
      await clearGenerations(bench())
      calls.length = 0
      arrived = Promise.withResolvers()
      respond = () => replyWithPages(2)
    })
    const engine = { id: 'file-parser', pdf: { engine: 'mistral-ocr' } }
    const send = (body: object, init: RequestInit & { key?: string } = {}) =>
      sendRequest(bench(), 'chat', { model: 'test/gift:free', plugins: [engine], ...body }, init)
    const sent = () => lastRequest(bench().first.requests).text
    const listHolds = () => requestHolds(bench().server.gateway.db).selectAll().execute()

    test('the pages become text, and the pages are a line of the bill', async () => {
      const headers = { 'x-service-metadata': 'enabled' }
      const reply = await readJson(send(ask(scan), { headers }))
      expect(calls).toMatchObject([
        {
          key: `Bearer ${canary}`,
          body: {
            model: 'mistral-ocr-latest',
            document: { type: 'document_url', document_url: scan },
            include_image_base64: false,
          },
        },
      ])
      expect(sent()).toContain('42 apples on page 0\\n\\n42 apples on page 1')
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.cost_nanos).toBe(2n * pagePrice)
      expect(reply.usage.cost).toBeCloseTo(0.004, 9)
      expect(reply.service_metadata.pipeline[0].cost_usd).toBeCloseTo(0.004, 9)
      const { body } = await bench().server.call('GET', `/generation?id=${row?.id}`)
      expect(body.data.headgate.lines[0]).toMatchObject({
        ...{ kind: 'plugin', name: 'file-parser', provider: 'mistral-ocr-latest', quantity: 2, cost: 0.004 },
      })
      expect(await listHolds()).toEqual([])
    })

    test('a model that reads images gets eight of them; annotations sent back are not read again', async () => {
      const reply = await readJson(send({ ...ask(scan), model: 'test/eyes' }))
      expect(calls[0]?.body).toMatchObject({ include_image_base64: true, image_limit: 8 })
      expect(sent().split(picture).length - 1).toBe(8)
      const { message } = reply.choices[0]
      const { content } = message.annotations[0].file
      expect(content).toHaveLength(9)
      expect(content[8]).toEqual({ type: 'image_url', image_url: { url: picture } })
      const [row] = await waitForGenerations(bench(), 1)
      expect(row?.input_images).toBe(8)

      const messages = [...ask(scan).messages, message, { role: 'user', content: 'Sure?' }]
      await readJson(send({ messages, model: 'test/eyes' }))
      expect(calls).toHaveLength(1)
      expect(sent()).toContain('42 apples on page 1')
      expect(sent().split(picture).length - 1).toBe(8)
      const [, second] = await waitForGenerations(bench(), 2)
      expect(second?.cost_nanos).toBe(0n)
    })

    test('a file that is an image is one page', async () => {
      respond = () => replyWithPages(1)
      const image = toDataUrl(Buffer.from('pixels'), 'image/png')
      await readJson(send(ask(image)))
      expect(calls[0]?.body).toMatchObject({ document: { type: 'image_url', image_url: image } })
      expect((await waitForGenerations(bench(), 1))[0]?.cost_nanos).toBe(pagePrice)
    })

    test('R3 no more pages are charged than the document has', async () => {
      respond = () => replyWithPages(2, 1_000_000)
      await readJson(send(ask(scan)))
      expect((await waitForGenerations(bench(), 1))[0]?.cost_nanos).toBe(2n * pagePrice)
    })

    test.each([
      ['a bad key', () => new Response(`bad key ${canary}`, { status: 401 }), 'rejected the key'],
      ['an error', () => new Response(canary, { status: 500 }), 'the API failed'],
      ['no JSON', () => new Response(`<p>${canary}</p>`), 'could not be read'],
      ['another shape', () => Response.json({ pages: [{ text: canary }] }), 'could not be read'],
    ])('R40 OCR that fails with %s is 502 and not charged', async (_, answer, problem) => {
      respond = answer
      const response = await send(ask(scan))
      const text = await response.text()
      expect([response.status, text.includes(canary)]).toEqual([502, false])
      expect(text).toContain(problem)
      expect([bench().first.requests.length, await waitForGenerations(bench(), 0)]).toEqual([0, []])
      expect(await listHolds()).toEqual([])
    })

    test('I2 what was read before a failure is charged, and can be sent back', async () => {
      respond = () => (calls.length === 1 ? replyWithPages(2) : new Response(null, { status: 500 }))
      const response = await send(ask(scan, toDataUrl(buildPdf(['', '', '']))))
      expect(response.status).toBe(502)
      const { metadata } = (await readJson(response)).error
      expect(metadata.file_annotations).toMatchObject([{ file: { content: [{ type: 'text' }] } }])
      const [row] = await waitForGenerations(bench(), 1)
      expect([row?.status, row?.cost_nanos]).toEqual(['failed', 2n * pagePrice])
      expect(await listHolds()).toEqual([])
    })

    test('a document without text is 400; its pages are charged', async () => {
      respond = () => replyWithPages(2, 2, '')
      const response = await send(ask(scan))
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('OCR found no text in it.')
      expect((await waitForGenerations(bench(), 1))[0]?.cost_nanos).toBe(2n * pagePrice)
    })

    test('R2 a client that disconnects ends the OCR; nothing is charged and no hold stays', async () => {
      respond = () => new Promise<Response>(() => undefined)
      const abort = new AbortController()
      const replying = send(ask(scan), { signal: abort.signal }).catch(() => null)
      await arrived.promise
      expect((await listHolds()).length).toBeGreaterThan(0)
      const ended = new Promise((resolve) => calls[0]?.signal.addEventListener('abort', resolve))
      abort.abort()
      await Promise.all([replying, ended])
      for (const deadline = Date.now() + 5000; Date.now() < deadline; await Bun.sleep(5))
        if ((await listHolds()).length === 0) break
      expect([await listHolds(), await waitForGenerations(bench(), 0)]).toEqual([[], []])
    })

    test('R3 pages beyond the limit of a key are not read', async () => {
      const { server } = bench()
      const created = await server.call('POST', '/keys', { body: { name: 'small', limit: 0.003 } })
      const response = await send({ ...ask(scan), model: 'test/eyes' }, { key: created.body.key })
      expect([response.status, calls.length]).toEqual([402, 0])
    })

    test('a quote has the price of the pages and reads none', async () => {
      const quote = async (plugins: object[], file: string) => {
        const { server } = bench()
        const body = { model: 'test/eyes', max_tokens: 5, plugins, ...ask(file) }
        const { data } = await readJson(
          fetch(`${server.url}/v1/quote`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${server.own.inferenceKey}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify(body),
          }),
        )
        return data.price.expected
      }
      expect(await quote([engine], scan)).toBeCloseTo(0.004, 9)
      expect(await quote([engine], `http://127.0.0.1:${site.port}/scan.pdf`)).toBeCloseTo(2, 9)
      expect(calls).toHaveLength(0)
    })

    test('a regional host sends no document to the API', async () => {
      const headers = { host: 'eu.example.com' }
      const refused = await send(ask(scan), { headers })
      expect(refused.status).toBe(403)
      const text = toDataUrl(buildPdf(['Readable']))
      await send({ ...ask(text), plugins: [{ id: 'file-parser' }] }, { headers })
      expect(calls).toHaveLength(0)
    })

    test('R35 a document that the gateway fetches is filtered before it is sent to the API', async () => {
      const url = `http://127.0.0.1:${site.port}/scan.pdf`
      await readJson(send(ask(url)))
      expect(calls).toHaveLength(1)
      const rule = { slug: 'credit-card', action: 'block' }
      await setKeyGuardrail(bench().server, { content_filter_builtins: [rule] })
      expect((await send(ask(url))).status).toBe(403)
      expect(calls).toHaveLength(1)
      await setKeyGuardrail(bench().server, { content_filter_builtins: null })
    })
  },
  settings,
)
