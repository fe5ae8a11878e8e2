import { expect, test } from 'bun:test'
import {
  buildSettings,
  describeWithUpstreamsOnSqlite,
  formatNames,
  lastRequest,
  readJson,
  sendRequest,
} from '../inference/two-upstreams.ts'
import { buildPdf } from '../support/pdf.ts'

const searching = [{ id: 'web', engine: 'sandbox', max_results: 1 }]
const simulated = 'simulated search for'
const hello = [{ role: 'user', content: 'Hello' }]
const pdf = `data:application/pdf;base64,${buildPdf(['The invoice is due on Friday.']).toString('base64')}`

/** The second endpoint has more room, and a higher price. */
const withContexts = (first: string, second: string) => {
  const addContext = (settings: string, slug: string, context: number) =>
    settings.replaceAll(
      `provider: ${slug}, upstream_model: vendor-model,`,
      `provider: ${slug}, upstream_model: vendor-model, context_length: ${context},`,
    )
  return addContext(addContext(buildSettings(first, second), 'one-chat', 9_000), 'two-chat', 20_000)
}

describeWithUpstreamsOnSqlite('plugins of other operations', (bench) => {
  const post = (path: string, body: object) =>
    fetch(`${bench().server.url}/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bench().server.own.inferenceKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
  const promptSent = () => lastRequest(bench().first.requests).text

  test.each(formatNames)('a preset has plugins, and a request can switch one off: %s', async (format) => {
    const preset = { model: 'test/chat', messages: hello, plugins: searching }
    const path = `/presets/searching-${format}/chat/completions`
    expect((await bench().server.call('POST', path, { body: preset })).status).toBeLessThan(300)
    const model = `@preset/searching-${format}`
    expect((await sendRequest(bench(), format, { model })).status).toBe(200)
    expect(promptSent()).toContain(simulated)
    const plugins = [{ id: 'web', enabled: false }]
    expect((await sendRequest(bench(), format, { model, plugins })).status).toBe(200)
    expect(promptSent()).not.toContain(simulated)
  })

  test('a preset whose plugin cannot be used is 400 for each request, and names the setting', async () => {
    const plugins = [{ id: 'web', engine: 'sandbox', mode: 'deep' }]
    const body = { model: 'test/chat', messages: hello, plugins }
    await bench().server.call('POST', '/presets/unusable/chat/completions', { body })
    const response = await sendRequest(bench(), 'chat', { model: '@preset/unusable' })
    expect([response.status, (await readJson(response)).error.message]).toEqual([
      400,
      expect.stringContaining('plugins.web.mode'),
    ])
  })

  test('a count of tokens checks the settings of plugins, and makes no search', async () => {
    const count = async (plugins: object[]) => {
      const response = await post('/messages/count_tokens', { model: 'test/chat', messages: hello, plugins })
      return { status: response.status, body: await readJson(response) }
    }
    const sent = bench().first.requests.length
    const [plain, searched] = [await count([]), await count(searching)]
    expect([searched.status, searched.body]).toEqual([200, plain.body])
    const wrong = await count([{ id: 'web', engine: 'altavista' }])
    expect([wrong.status, wrong.body.error.message]).toEqual([
      400,
      expect.stringContaining('plugins.web.engine'),
    ])
    expect((await count([{ id: 'web', typo: 1 }])).status).toBe(400)
    expect(bench().first.requests.length).toBe(sent)
  })

  test('a quote checks the settings of plugins, and routes as the request would', async () => {
    const quote = async (body: object) => {
      const response = await post('/quote', { model: 'test/chat', max_tokens: 5, messages: hello, ...body })
      return { status: response.status, body: await readJson(response) }
    }
    const sent = bench().first.requests.length
    const wrong = await quote({ plugins: [{ id: 'web', engine: 'altavista' }] })
    expect([wrong.status, wrong.body.error.message]).toEqual([
      400,
      expect.stringContaining('plugins.web.engine'),
    ])
    const content = [{ type: 'file', file: { filename: 'a.pdf', file_data: pdf } }]
    const plugins = [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }]
    const parsed = await quote({ messages: [{ role: 'user', content }], plugins })
    expect([parsed.status, parsed.body.data.requested]).toEqual([200, 'test/chat'])
    expect(bench().first.requests.length).toBe(sent)
  })
})

describeWithUpstreamsOnSqlite(
  'context-compression over several endpoints',
  (bench) => {
    const send = (tokens: number, more: object = {}) =>
      sendRequest(bench(), 'chat', {
        model: 'test/both-chat',
        messages: [{ role: 'user', content: `start ${'word '.repeat(tokens)}end` }],
        plugins: [{ id: 'context-compression' }],
        ...more,
      })
    const counts = () => [bench().first.requests.length, bench().second.requests.length]
    const clear = () => {
      bench().first.requests.length = 0
      bench().second.requests.length = 0
    }

    test('a prompt that fits nowhere goes to endpoints with half of the context it needs', async () => {
      clear()
      expect((await send(30_000)).status).toBe(200)
      expect(counts()).toEqual([0, 1])
      const { content } = lastRequest(bench().second.requests).json.messages[0]
      expect(content).toMatch(/^start .*\n\[\.\.\.\]\n.*end$/s)
    })

    test('and to no other if they fail', async () => {
      clear()
      bench().second.setDefault({ status: 500, json: { error: { message: 'down' } } })
      const response = await send(30_000)
      bench().second.setDefault(null)
      expect(response.status).toBe(502)
      expect(counts()[0]).toBe(0)
    })

    test('without one of half the context, the largest is used', async () => {
      clear()
      expect((await send(200_000)).status).toBe(200)
      expect(counts()).toEqual([0, 1])
    })

    test('if all have half of it, the order stays', async () => {
      clear()
      expect((await send(30_000, { provider: { ignore: ['two-chat'] } })).status).toBe(200)
      expect(counts()).toEqual([1, 0])
      clear()
      expect((await send(100)).status).toBe(200)
      expect(counts()).toEqual([1, 0])
    })
  },
  withContexts,
)
