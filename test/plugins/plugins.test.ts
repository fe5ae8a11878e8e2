import { describe, expect, test } from 'bun:test'
import {
  type Bench,
  buildSettings,
  describeWithUpstreams,
  describeWithUpstreamsOnSqlite,
  type FormatName,
  formatNames,
  lastRequest,
  readJson,
  sendRequest,
} from '../inference/two-upstreams.ts'
import { scenarios, textWireFormats, vendorReplies } from '../support/replies.ts'

const metadata = { headers: { 'x-service-metadata': 'enabled' } }
const broken = 'Here it is:\n```json\n{name: \'Ada\', "age": 36,}\n```'
const jsonFormats: Record<FormatName, object> = {
  chat: { response_format: { type: 'json_object' } },
  messages: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
  responses: { text: { format: { type: 'json_object' } } },
}
const healing = { plugins: [{ id: 'response-healing' }] }

// biome-ignore lint/suspicious/noExplicitAny: replies of every format
const textOf: Record<FormatName, (reply: any) => string> = {
  chat: (reply) => reply.choices[0].message.content,
  messages: (reply) => reply.content[0].text,
  // biome-ignore lint/suspicious/noExplicitAny: items of every kind
  responses: (reply) => reply.output.find((item: any) => item.type === 'message').content[0].text,
}

function replyWith(
  bench: Bench,
  wireFormat: (typeof textWireFormats)[number],
  text: string,
  finish = 'stop',
) {
  const scenario = { ...scenarios.text, text, finish: finish as 'stop' }
  const { body, frames } = vendorReplies[wireFormat](scenario)
  bench.first.setDefault(({ json }) => (json.stream ? { sse: frames } : { json: body }))
}

const setDefaults = ({ server }: Bench, plugins: object[]) =>
  server.call('PUT', '/organization/plugins', { body: { plugins } })

describeWithUpstreams('plugins', (bench) => {
  describe('response-healing', () => {
    for (const format of formatNames)
      for (const wireFormat of textWireFormats)
        test(`repairs JSON in ${format} from ${wireFormat}`, async () => {
          replyWith(bench(), wireFormat, broken)
          const body = { model: `test/${wireFormat}`, ...jsonFormats[format], ...healing }
          const reply = await readJson(sendRequest(bench(), format, body, metadata))
          expect(JSON.parse(textOf[format](reply))).toEqual({ name: 'Ada', age: 36 })
          expect(reply.service_metadata.pipeline).toMatchObject([
            {
              type: 'response_healing',
              name: 'response_healing',
              data: { choices: [{ outcome: 'repaired' }] },
            },
          ])
        })

    test('says whether the repaired value matches the schema', async () => {
      replyWith(bench(), 'chat', '{"age": "old",}')
      const schema = { type: 'object', properties: { age: { type: 'integer' } } }
      const response_format = { type: 'json_schema', json_schema: { name: 'person', schema } }
      const body = { model: 'test/chat', response_format, ...healing }
      const { service_metadata } = await readJson(sendRequest(bench(), 'chat', body, metadata))
      expect(service_metadata.pipeline[0].data.choices).toEqual([
        { choice: 0, outcome: 'repaired', matches_schema: false },
      ])
    })

    test('leaves valid JSON, truncated JSON and prose as they are', async () => {
      const send = async (text: string, finish?: string) => {
        replyWith(bench(), 'chat', text, finish)
        const body = { model: 'test/chat', ...jsonFormats.chat, ...healing }
        const reply = await readJson(sendRequest(bench(), 'chat', body, metadata))
        return [textOf.chat(reply), reply.service_metadata.pipeline?.[0].data.choices[0].outcome]
      }
      expect(await send(' {"a": 1}')).toEqual([' {"a": 1}', undefined])
      expect(await send('{"a": [1, 2', 'length')).toEqual(['{"a": [1, 2', 'truncated'])
      expect(await send('No, I will not.')).toEqual(['No, I will not.', 'not_repairable'])
    })

    test('is named as dropped on a stream and without a JSON format, and off by enabled', async () => {
      replyWith(bench(), 'chat', broken)
      const dropped = async (body: object) => {
        const response = await sendRequest(bench(), 'chat', { model: 'test/chat', ...body })
        await response.text()
        return response.headers.get('x-headgate-dropped')
      }
      expect(await dropped({ ...jsonFormats.chat, ...healing, stream: true })).toBe(
        'plugins.response-healing',
      )
      expect(await dropped(healing)).toBe('plugins.response-healing')
      const off = { plugins: [{ id: 'response-healing', enabled: false }] }
      expect(await dropped({ ...jsonFormats.chat, ...off, stream: true })).toBeNull()
    })
  })

  describe('settings', () => {
    test('R12 an unknown plugin, an unknown setting and a repeated plugin are 400 and name the field', async () => {
      const refuse = async (body: object) => {
        const response = await sendRequest(bench(), 'chat', { model: 'test/chat', ...body })
        expect(response.status).toBe(400)
        return (await readJson(response)).error.param
      }
      expect(await refuse({ plugins: [{ id: 'other' }] })).toBe('plugins.0.id')
      expect(await refuse({ plugins: [{ id: 'response-healing', depth: 2 }] })).toBe('plugins.0.depth')
      expect(await refuse({ plugins: [{ id: 'moderation' }, { id: 'moderation' }] })).toBe('plugins.1.id')
      expect(await refuse({ transforms: ['outside-in'] })).toBe('transforms.0')
    })
  })

  describe('defaults of the organization', () => {
    test('apply to requests that do not name the plugin, at once', async () => {
      replyWith(bench(), 'chat', broken)
      const body = { model: 'test/chat', ...jsonFormats.chat }
      const send = async (more: object = {}) =>
        textOf.chat(await readJson(sendRequest(bench(), 'chat', { ...body, ...more })))
      expect(await send()).toBe(broken)
      expect((await setDefaults(bench(), [{ id: 'response-healing' }])).status).toBe(200)
      expect(JSON.parse(await send())).toEqual({ name: 'Ada', age: 36 })
      expect(await send({ plugins: [{ id: 'response-healing', enabled: false }] })).toBe(broken)
      await setDefaults(bench(), [])
      expect(await send()).toBe(broken)
    })

    test('are final with prevent_overrides, and the reply says so', async () => {
      replyWith(bench(), 'chat', broken)
      await setDefaults(bench(), [{ id: 'response-healing', prevent_overrides: true }])
      const off = { plugins: [{ id: 'response-healing', enabled: false }] }
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat', ...jsonFormats.chat, ...off })
      expect(response.headers.get('x-headgate-dropped')).toBe('plugins.response-healing')
      expect(JSON.parse(textOf.chat(await readJson(response)))).toEqual({ name: 'Ada', age: 36 })
      await setDefaults(bench(), [{ id: 'response-healing', enabled: false, prevent_overrides: true }])
      const on = await sendRequest(bench(), 'chat', { model: 'test/chat', ...jsonFormats.chat, ...healing })
      expect(textOf.chat(await readJson(on))).toBe(broken)
      await setDefaults(bench(), [])
    })

    test('a default without effect is not named as dropped', async () => {
      replyWith(bench(), 'chat', broken)
      await setDefaults(bench(), [{ id: 'response-healing' }])
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat' })
      expect(response.headers.get('x-headgate-dropped')).toBeNull()
      await response.text()
      await setDefaults(bench(), [])
    })

    test('settings of a default without effect are not named as dropped', async () => {
      replyWith(bench(), 'chat', broken)
      await setDefaults(bench(), [{ id: 'web', engine: 'sandbox', user_location: { country: 'DE' } }])
      const headers = { 'x-headgate-strict': 'true' }
      const response = await sendRequest(bench(), 'chat', { model: 'test/chat' }, { headers })
      expect([response.status, response.headers.get('x-headgate-dropped')]).toEqual([200, null])
      await response.text()
      await setDefaults(bench(), [])
    })

    test.each([
      [{ id: 'web', engine: 'altavista' }, 'plugins.web.engine'],
      [{ id: 'web', exclude_domains: ['https://x.test'] }, 'plugins.web.exclude_domains.0'],
      [{ id: 'web-fetch', allowed_domains: ['a b'] }, 'plugins.web-fetch.allowed_domains.0'],
      [{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }, 'plugins.file-parser.pdf.engine'],
      [{ id: 'moderation' }, 'plugins.moderation'],
    ])('a default that no request could use is 400: %o', async (plugin, param) => {
      const { status, body } = await setDefaults(bench(), [plugin])
      expect([status, body.error?.param]).toEqual([400, param])
    })

    test('a default that needs a setting of the operator names it; switched off, it needs none', async () => {
      const message = async (plugin: object) => (await setDefaults(bench(), [plugin])).body.error?.message
      const ocr = { id: 'file-parser', pdf: { engine: 'mistral-ocr' } }
      expect(await message({ id: 'moderation' })).toContain('`moderation.model` in headgate.yaml')
      expect(await message(ocr)).toContain('`file_parser.ocr.api_key` or `file_parser.ocr_model`')
      for (const plugin of [{ id: 'moderation' }, ocr])
        expect((await setDefaults(bench(), [{ ...plugin, enabled: false }])).status).toBe(200)
      await setDefaults(bench(), [])
    })

    test('R12 unknown settings and repeated plugins are 400; R37 another organization has its own', async () => {
      const { body } = await setDefaults(bench(), [{ id: 'web', depth: 1 }])
      expect(body.error.param).toBe('plugins.0.depth')
      const repeated = await setDefaults(bench(), [{ id: 'web' }, { id: 'web' }])
      expect(repeated.body.error.param).toBe('plugins.1.id')
      await setDefaults(bench(), [{ id: 'response-healing' }])
      const theirs = await bench().server.call('GET', '/organization/plugins', {
        key: bench().server.foreign.managementKey,
      })
      expect(theirs.body).toEqual({ data: { plugins: [] } })
      const ours = await bench().server.call('GET', '/organization/plugins')
      expect(ours.body).toEqual({ data: { plugins: [{ id: 'response-healing' }] } })
      await setDefaults(bench(), [])
    })
  })
})

const short = (context: number) => (first: string, second: string) =>
  buildSettings(first, second).replaceAll(
    'upstream_model: vendor-model,',
    `upstream_model: vendor-model, context_length: ${context},`,
  )

/** Turns of about 250 tokens each. */
const buildTurns = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${index} ${'x'.repeat(1000)}`,
  }))

describeWithUpstreamsOnSqlite(
  'context-compression at a long context',
  (bench) => {
    const plugins = [{ id: 'context-compression' }]
    const send = (body: object, init = {}) => {
      replyWith(bench(), 'chat', 'Hello')
      return sendRequest(bench(), 'chat', { model: 'test/chat', ...body }, init)
    }
    const sent = () => lastRequest(bench().first.requests).json.messages

    test('removes messages from the middle; the system message, the first and the last stay', async () => {
      const messages = [{ role: 'system', content: 'Be brief.' }, ...buildTurns(101)]
      const reply = await readJson(send({ messages, plugins }, metadata))
      expect(sent().length).toBeLessThan(60)
      expect(sent()[0]).toEqual(messages[0])
      expect(sent()[1]).toEqual(messages[1])
      expect(sent().at(-1)).toEqual(messages.at(-1))
      const removed = messages.length - sent().length
      expect(reply.service_metadata.pipeline).toMatchObject([
        { type: 'context_compression', data: { removed_messages: removed, truncated_texts: 0 } },
      ])
    })

    test('cuts the middle of a text that is too long by itself', async () => {
      const content = `start ${'x'.repeat(100_000)} end`
      await (await send({ messages: [{ role: 'user', content }], plugins })).text()
      expect(sent()[0].content).toMatch(/^start x+\n\[\.\.\.\]\nx+ end$/)
      expect(sent()[0].content.length).toBeLessThan(10_000 * 4)
    })

    test('is off by default, with enabled false, and does not touch what fits', async () => {
      const messages = buildTurns(101)
      await (await send({ messages })).text()
      expect(sent()).toEqual(messages)
      await (await send({ messages, plugins: [{ ...plugins[0], enabled: false }] })).text()
      expect(sent()).toEqual(messages)
      await (await send({ messages: buildTurns(3), plugins })).text()
      expect(sent()).toEqual(buildTurns(3))
      await (await send({ messages, transforms: ['middle-out'] })).text()
      expect(sent().length).toBeLessThan(60)
    })
  },
  short(10_000),
)

describeWithUpstreamsOnSqlite(
  'context-compression at a short context',
  (bench) => {
    for (const wireFormat of textWireFormats)
      test(`is on by default, and the prompt is named as dropped: ${wireFormat}`, async () => {
        replyWith(bench(), wireFormat, 'Hello')
        const messages = buildTurns(41)
        const response = await sendRequest(bench(), 'chat', { model: `test/${wireFormat}`, messages })
        await response.text()
        expect(response.headers.get('x-headgate-dropped')).toContain('messages')
        expect(lastRequest(bench().first.requests).text).not.toContain('turn 20 ')
        expect(lastRequest(bench().first.requests).text).toContain('turn 40 ')
      })

    test('a strict request is refused instead, and enabled false sends it whole', async () => {
      replyWith(bench(), 'chat', 'Hello')
      const body = { model: 'test/chat', messages: buildTurns(41) }
      const strict = await sendRequest(bench(), 'chat', body, { headers: { 'x-headgate-strict': 'true' } })
      expect(strict.status).toBe(400)
      const plugins = [{ id: 'context-compression', enabled: false }]
      await (await sendRequest(bench(), 'chat', { ...body, plugins })).text()
      expect(lastRequest(bench().first.requests).json.messages).toEqual(body.messages)
    })
  },
  short(4096),
)
