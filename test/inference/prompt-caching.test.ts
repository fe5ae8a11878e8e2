import { beforeEach, expect, test } from 'bun:test'
import { createKey } from '../../src/identity/keys.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { asObject, type JsonObject } from '../../src/platform/json/json-values.ts'
import { vendorReply } from '../support/replies.ts'
import type { ReceivedRequest } from '../support/upstream.ts'
import {
  describeWithUpstreams,
  type FormatName,
  formatNames,
  lastRequest,
  listGenerations,
  readJson,
  sendRequest,
} from './two-upstreams.ts'

const prices = { prompt: 1000, write: 1250, read: 100, completion: 5000 }
const pricing =
  'pricing: { prompt: "0.000001", completion: "0.000005", input_cache_write: "0.00000125", input_cache_read: "0.0000001" }'

function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string, format: string) =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [${format}], api_key: vendor-secret }\n`
  const model = (id: string, provider: string, price: string) =>
    `  - { id: test/${id}, name: ${id}, endpoints: [{ provider: ${provider}, upstream_model: vendor-model, context_length: 200000, max_completion_tokens: 1000, ${price} }] }\n`
  return `providers:
${provider('caching', first, 'messages')}${provider('other', second, 'chat')}models:
${model('cached', 'caching', pricing)}${model('unpriced-cache', 'caching', 'pricing: { prompt: "0.000001", completion: "0.000005" }')}${model('dear', 'caching', pricing.replace('0.00000125', '0.000004'))}${model('chat', 'other', pricing)}`
}

/** About 1500 tokens. */
const longText = 'The quick brown fox jumps over the lazy dog. '.repeat(140)

interface Mark {
  section: string
  at: number
  within: number | null
}

/** The breakpoints of a body in the Messages format. */
function listMarks(body: JsonObject): Mark[] {
  const marks: Mark[] = []
  const look = (section: string, blocks: unknown, at: number | null) => {
    for (const [index, block] of (Array.isArray(blocks) ? blocks : []).entries())
      if (asObject(block)?.cache_control)
        marks.push({ section, at: at ?? index, within: at === null ? null : index })
  }
  look('tools', body.tools, null)
  look('system', body.system, null)
  for (const [at, message] of ((body.messages ?? []) as JsonObject[]).entries())
    look('messages', message.content, at)
  return marks
}

/** Behaves like the vendor: caches up to breakpoints, and reads the longest beginning that it has. */
class CachingVendor {
  readonly #cached = new Set<string>()

  reply({ json }: ReceivedRequest) {
    const { prefixes, total } = this.#listPrefixes(json)
    const read = prefixes.findLast(({ key }) => this.#cached.has(key))?.tokens ?? 0
    const marked = prefixes.filter(({ isMarked }) => isMarked)
    for (const { key } of marked) this.#cached.add(key)
    const written = Math.max(0, (marked.at(-1)?.tokens ?? 0) - read)
    const hit = marked.length === 0 ? 0 : read
    const usage = {
      input_tokens: total - hit - written,
      cache_read_input_tokens: hit,
      cache_creation_input_tokens: written,
      output_tokens: 10,
    }
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'vendor-model' }
    return {
      json: { ...message, content: [{ type: 'text', text: 'Fine.' }], stop_reason: 'end_turn', usage },
    }
  }

  #listPrefixes({ tools = [], system = [], messages = [] }: Record<string, JsonObject[]>) {
    const toBlocks = (value: unknown) =>
      (typeof value === 'string' ? [{ type: 'text', text: value }] : (value ?? [])) as JsonObject[]
    const blocks = [
      ...tools,
      ...toBlocks(system),
      ...messages.flatMap(({ role, content }) => toBlocks(content).map((block) => ({ ...block, role }))),
    ]
    let key = ''
    const prefixes = blocks.map(({ cache_control, ...block }: JsonObject) => {
      key += JSON.stringify(block)
      return { key, tokens: Math.ceil(key.length / 4), isMarked: cache_control !== undefined }
    })
    return { prefixes, total: prefixes.at(-1)?.tokens ?? 0 }
  }
}

const tools = {
  chat: [
    {
      type: 'function',
      function: { name: 'look_up', description: 'Looks up', parameters: { type: 'object' } },
    },
  ],
  messages: [{ name: 'look_up', description: 'Looks up', input_schema: { type: 'object' } }],
  responses: [{ type: 'function', name: 'look_up', description: 'Looks up', parameters: { type: 'object' } }],
}

/** A conversation in each format: the system prompt, and turns of both sides, the user first. */
function buildBody(format: FormatName, system: string, turns: readonly string[]): JsonObject {
  const messages = turns.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }))
  if (format === 'chat')
    return {
      tools: tools.chat,
      messages: [{ role: 'system', content: system }, ...messages],
      max_tokens: 100,
    }
  if (format === 'messages') return { tools: tools.messages, system, messages, max_tokens: 100 }
  return {
    tools: tools.responses,
    instructions: system,
    input: messages,
    max_output_tokens: 100,
    store: false,
  }
}

describeWithUpstreams(
  'automatic prompt caching',
  (bench) => {
    let vendor: CachingVendor
    let text: string
    let count = 0
    let earlier = 0
    beforeEach(async () => {
      bench().first.requests.length = 0
      earlier = (await listGenerations(bench())).length
      vendor = new CachingVendor()
      bench().first.setDefault((request) => vendor.reply(request))
      // Each test has texts of its own: those of others were seen.
      text = `${++count} ${longText}`
    })
    const send = async (format: FormatName, body: JsonObject, model = 'test/cached', init = {}) => {
      const reply = await sendRequest(bench(), format, { model, ...body }, init)
      expect([reply.status, await reply.clone().text()]).toEqual([200, expect.any(String)])
      return readJson(reply)
    }
    const listRows = async () => (await listGenerations(bench())).slice(earlier)
    const marks = () => listMarks(lastRequest(bench().first.requests).json)
    const ask = (question: string, format: FormatName = 'messages') =>
      send(format, buildBody(format, text, [question]))

    test.each(formatNames)('%s: what was sent before is cached from the second time on', async (format) => {
      for (const [question, expected] of [
        ['One?', []],
        ['Two?', [{ section: 'system', at: 0, within: null }]],
        ['Three?', [{ section: 'system', at: 0, within: null }]],
      ] as const) {
        await ask(question, format)
        expect(marks()).toEqual([...expected])
      }
      const rows = await listRows()
      expect(rows.map((row) => [row.tokens_cache_write > 0, row.tokens_cache_read > 0])).toEqual([
        [false, false],
        [true, false],
        [false, true],
      ])
      expect(rows.map((row) => row.cache_breakpoints)).toEqual([0, 1, 1])
      const written = rows[1]?.tokens_cache_write ?? 0
      expect(rows.map((row) => row.cache_savings_nanos)).toEqual([
        null,
        BigInt(written) * BigInt(prices.prompt - prices.write),
        BigInt(written) * BigInt(prices.prompt - prices.read),
      ])
    })

    test.each(formatNames)('%s: the breakpoint moves forward with the conversation', async (format) => {
      const turns: string[] = []
      const seen: Mark[][] = []
      for (let turn = 0; turn < 4; turn++) {
        turns.push(`Question ${turn}? ${'word '.repeat(50)}`)
        await send(format, buildBody(format, text, turns))
        seen.push(marks())
        turns.push(`Answer ${turn}.`)
      }
      const lastOf = (marked: Mark[] | undefined) => marked?.at(-1)?.at
      expect(seen[0]).toEqual([])
      expect(seen.slice(1).map(lastOf)).toEqual([2, 4, 6])
      expect(seen.every((marked) => marked.length <= 4)).toBe(true)
      expect(seen[2]?.map(({ section, at }) => [section, at])).toEqual([
        ['system', 0],
        ['messages', 2],
        ['messages', 4],
      ])
      const rows = await listRows()
      const total = rows.reduce((sum, row) => sum + (row.cache_savings_nanos ?? 0n), 0n)
      expect(total).toBeGreaterThan(0n)
      expect(rows.slice(2).every((row) => row.tokens_cache_read > 1000)).toBe(true)
    })

    test.each(formatNames)('%s: the same for streams', async (format) => {
      const { frames } = vendorReply('messages', 'text')
      bench().first.setDefault({ sse: frames })
      const ends: unknown[] = []
      for (const question of ['One?', 'Two?']) {
        const body = { model: 'test/cached', ...buildBody(format, text, [question]), stream: true }
        const reply = await sendRequest(bench(), format, body)
        expect([reply.status, (await reply.text()).length > 0]).toEqual([200, true])
        ends.push(marks())
      }
      expect(ends).toEqual([[], [{ section: 'system', at: 0, within: null }]])
      expect((await listRows()).map((row) => row.cache_breakpoints)).toEqual([0, 1])
    })

    test('the prompt is otherwise unchanged, byte for byte', async () => {
      const body = { ...buildBody('messages', text, ['One?']), vendor_field: { a: [1, '2'] } }
      await send('messages', body)
      const { json: before } = lastRequest(bench().first.requests)
      await send('messages', body)
      const { json: after } = lastRequest(bench().first.requests)
      expect(marks().length).toBeGreaterThan(0)
      const strip = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value), (key, entry: unknown) =>
          key === 'cache_control' ? undefined : entry,
        )
      const asBlocks = { type: 'text', text }
      expect(strip(after)).toEqual({
        ...before,
        system: [asBlocks],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'One?' }] }],
      })
    })

    test('a request with breakpoints of its own is sent as it is', async () => {
      const system = [{ type: 'text', text, cache_control: { type: 'ephemeral' } }]
      for (let n = 0; n < 3; n++) {
        await send('messages', { ...buildBody('messages', '', [`Question ${n}?`]), system })
        expect(lastRequest(bench().first.requests).json.system).toEqual(system)
        expect(marks()).toHaveLength(1)
      }
      expect((await listRows()).map((row) => row.cache_breakpoints)).toEqual([0, 0, 0])
    })

    test('never by what another key or organization sent', async () => {
      const { server } = bench()
      const { organization, workspace } = server.own
      const grant = { organization_id: server.foreign.organization.id, amount: 10 }
      expect((await server.call('POST', '/credits/grants', { body: grant })).status).toBeLessThan(300)
      const scope = { organizationId: organization.id, workspaceId: workspace.id, name: 'second' }
      const { db, clock } = server.gateway
      const other = await createKey(db, clock, { ...scope, kind: 'inference', creatorUserId: null })
      for (const key of [server.own.inferenceKey, server.foreign.inferenceKey, other.secret]) {
        await send('messages', buildBody('messages', text, ['One?']), 'test/cached', { key })
        expect(marks()).toEqual([])
      }
      await send('messages', buildBody('messages', text, ['One?']), 'test/cached', { key: other.secret })
      expect(marks()).not.toEqual([])
    })

    test('not after the lifetime of the cache, for short prompts, and where it cannot pay', async () => {
      await ask('One?')
      bench().server.clock.advance(301_000)
      await ask('Two?')
      expect(marks()).toEqual([])
      for (let n = 0; n < 3; n++) {
        await send('messages', buildBody('messages', 'Be brief.', [`Question ${n}?`]))
        expect(marks()).toEqual([])
        await send('messages', buildBody('messages', text, [`Question ${n}?`]), 'test/unpriced-cache')
        expect(marks()).toEqual([])
      }
      // Writing costs three times more than reading saves once: five requests have to come first.
      const dear: number[] = []
      for (let n = 0; n < 6; n++) {
        await send('messages', buildBody('messages', text, [`Question ${n}?`]), 'test/dear')
        dear.push(marks().length)
      }
      expect(dear).toEqual([0, 0, 0, 0, 1, 1])
    })

    test('is switched off by a request, a workspace and headgate.yaml, and for zero data retention', async () => {
      const { server } = bench()
      const repeat = async (body: JsonObject = {}) => {
        await send('messages', { ...buildBody('messages', text, ['Again?']), ...body })
        return marks().length
      }
      await repeat()
      expect(await repeat({ provider: { prompt_caching: false } })).toBe(0)
      expect(await repeat()).toBeGreaterThan(0)
      const patch = (enabled: boolean) =>
        server.call('PATCH', '/workspaces/default', { body: { is_prompt_caching_enabled: enabled } })
      expect((await patch(false)).body.data.is_prompt_caching_enabled).toBe(false)
      expect(await repeat()).toBe(0)
      await patch(true)
      expect(await repeat()).toBeGreaterThan(0)
      server.gateway.settings.prompt_caching.enabled = false
      expect(await repeat()).toBe(0)
      server.gateway.settings.prompt_caching.enabled = true
    })

    test('the saving is in the record, service_metadata and analytics, and the ledger is in order', async () => {
      for (const question of ['One?', 'Two?', 'Three?']) await ask(question)
      const headers = { 'x-service-metadata': 'enabled' }
      const reply = await send('messages', buildBody('messages', text, ['Four?']), 'test/cached', { headers })
      const { server } = bench()
      const rows = await listRows()
      const last = rows.at(-1)
      const saving = Number(last?.cache_savings_nanos) / 1e9
      expect(saving).toBeGreaterThan(0)
      expect(reply.service_metadata.pipeline).toEqual([
        { type: 'prompt_caching', name: 'prompt_caching', data: { breakpoints: 1, cache_savings: saving } },
      ])
      const { body } = await server.call('GET', `/generation?id=${last?.id}`)
      expect(body.data.headgate).toMatchObject({ cache_savings: saving, cache_breakpoints: 1 })
      expect(body.data.cache_discount).toBe(saving)
      const all = await listGenerations(bench())
      const sum = all.reduce((total, row) => total + (row.cache_savings_nanos ?? 0n), 0n)
      const query = async () => {
        const time_range = {
          start: new Date(server.clock.now() - 3_600_000).toISOString(),
          end: new Date(server.clock.now() + 60_000).toISOString(),
        }
        const reply = await server.call('POST', '/analytics/query', {
          body: { metrics: ['cache_savings'], time_range },
        })
        return reply.body.data.data ?? reply.body.data
      }
      const before = await query()
      expect(before[0].cache_savings).toBeCloseTo(Number(sum) / 1e9, 12)
      await server.gateway.rollUps.rollUp({ isAll: true })
      expect(await query()).toEqual(before)
      expect((await checkLedger(server.gateway.db)).findings.flatMap(({ violations }) => violations)).toEqual(
        [],
      )
    })

    test('the hold covers what writing costs', async () => {
      await ask('One?')
      await ask('Two?')
      for (const row of await listRows()) {
        expect(row.flag).toBeNull()
        expect(row.cost_nanos).toBeLessThanOrEqual(row.hold_nanos)
        const tokens = row.tokens_input + row.tokens_cache_write + row.tokens_cache_read
        expect(row.hold_nanos).toBeGreaterThanOrEqual(BigInt(tokens) * BigInt(prices.write))
      }
    })
  },
  buildSettings,
)
