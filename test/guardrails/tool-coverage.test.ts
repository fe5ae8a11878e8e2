import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { bwrapPath } from '../support/containers.ts'
import type { ReceivedRequest, UpstreamResponse } from '../support/upstream.ts'
import { replyWithCalls, replyWithText } from '../tools/replies.ts'
import { CoverageBench } from './coverage/bench.ts'
import { ToolSite } from './coverage/tool-site.ts'
import { type PlantedTool, type ToolCase, type ToolFormat, toolCases } from './coverage/tools.ts'

type Action = 'block' | 'redact' | 'flag'
type Scope = 'input' | 'output'
const actions: readonly Action[] = ['block', 'redact', 'flag']

const label = '[CANARY]'
const timeoutMs = 60_000
const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' }

const site = new ToolSite()
let bench: CoverageBench
let planted: PlantedTool = {}
let plantings = 0

beforeAll(async () => {
  bench = await CoverageBench.open(buildSettings, reply)
})
afterAll(async () => {
  await bench.close()
  site.stop()
})

function buildSettings(url: string): string {
  const pricing = { prompt: '0', completion: '0' }
  const models = ['chat', 'inner'].map((name) => ({
    id: `test/${name}`,
    name,
    endpoints: [{ provider: 'one', upstream_model: name, pricing }],
  }))
  return JSON.stringify({
    egress: { allow_private: [site.host] },
    web: { engines: { exa: { api_key: 'engine-key', base_url: site.origin } } },
    providers: [{ slug: 'one', name: 'one', base_url: url, dialects: ['chat'], api_key: 'vendor-secret' }],
    models,
    ...(bwrapPath !== null && { containers: { engine: 'bubblewrap', bwrap: bwrapPath } }),
  })
}

/** The model calls its tool, then it is done; a model that a tool asks answers at once. */
function reply({ json }: ReceivedRequest): UpstreamResponse {
  const { call, answer = 'Done.' } = planted
  const stream = json.stream === true
  if (json.model === 'inner') return replyWithText(answer, stream)
  const isCalled = json.messages.some(({ role }: { role: string }) => role === 'tool')
  if (!call || isCalled) return replyWithText('Done.', stream)
  const names: string[] = json.tools.map((tool: { function: { name: string } }) => tool.function.name)
  const name = names.find((offered) => offered.startsWith(call.name)) ?? 'unknown'
  return replyWithCalls([name], stream, null, { ...call.input })
}

function buildBody(format: ToolFormat, { tools, plugins, content = 'Hello' }: PlantedTool): object {
  const prompt = format === 'responses' ? { input: content } : { messages: [{ role: 'user', content }] }
  return {
    model: 'test/chat',
    ...prompt,
    ...(format === 'messages' && { max_tokens: 1000 }),
    ...(tools && { tools }),
    ...(plugins && { plugins }),
  }
}

interface Sent {
  status: number
  /** Text that the client received. */
  text: string
  /** Text that everyone else received: providers, search engines, sites and MCP servers. */
  received: string
  hits: Awaited<ReturnType<CoverageBench['listHits']>>
}

async function send(one: ToolCase, format: ToolFormat, canary: string, stream: boolean): Promise<Sent> {
  const { setup } = bench
  const upload = (form: FormData) => setup.post('/files', form)
  planted = await one.plant(canary, { origin: site.origin, upload }, format)
  site.content = planted.site ?? {}
  site.received.length = 0
  const [sent, known] = [bench.upstream.requests.length, await bench.countHits()]
  const body = { ...buildBody(format, planted), ...(stream && { stream }) }
  const { status, text } = await bench.send(paths[format], { body })
  await bench.server.gateway.ledger.flush()
  const hits = (await bench.listHits(known)).filter(({ rule }) => rule === label)
  const sites = one.isKnownToSite ? [] : site.received
  return { status, text, received: [bench.readReceived(sent), ...sites].join('\n'), hits }
}

/** Sends a canary; returns the problems of what became of it. */
async function check(one: ToolCase, format: ToolFormat, action: Action, scope: Scope, stream: boolean) {
  const canary = `canary-${action}-${scope}-${++plantings}`
  const { status, text, received, hits } = await send(one, format, canary, stream)
  const found = hits.map((hit) => `${hit.action} ${hit.direction} ${hit.part}`)
  const problems: string[] = []
  const demand = (isTrue: boolean, problem: string) => {
    if (!isTrue) problems.push(`${one.place}, ${format}, ${action}${stream ? ', streamed' : ''}: ${problem}`)
  }
  const isBlocked = /blocked by content filter/i.test(text)
  demand(isBlocked === (action === 'block'), `status ${status}, hits ${found} ${text.slice(0, 300)}`)
  demand(status === 200 || (status === 403 && isBlocked), `status ${status}`)
  const other = scope === 'input' ? received : text
  const around = other.slice(Math.max(0, other.indexOf(canary) - 300)).slice(0, 400)
  demand(action === 'flag' || !other.includes(canary), `the other side has the canary: ${around}`)
  const isShown = scope === 'input' || !one.hiddenIn?.includes(format)
  if (action === 'redact' && isShown) demand(other.includes('CANARY'), `no label in ${other.slice(0, 2000)}`)
  if (action === 'flag' && isShown) demand(other.includes(canary), `no canary in ${other.slice(0, 2000)}`)
  const expected = `${action} ${scope}${scope === 'input' ? ` ${one.part}` : ''}`
  if (isShown)
    demand(
      found.some((hit) => hit.startsWith(expected)),
      `hits ${found}`,
    )
  return problems
}

/**
 * A filter of output reads a streamed reply in chunks, so that both are sent. What a filter of input reads is whole
 * in either: each format and each action is sent in one mode here and in the other there.
 */
function selectModes(one: ToolCase, format: ToolFormat, action: Action, scope: Scope): boolean[] {
  if (scope === 'output') return [false, true]
  const turn = toolCases.indexOf(one) + one.formats.indexOf(format) + actions.indexOf(action)
  return [turn % 2 === 1]
}

describe('R35 a canary in what server tools and plugins add', () => {
  for (const scope of ['input', 'output'] as const)
    for (const action of actions)
      describe(`${action}, ${scope}`, () => {
        beforeAll(() => {
          const pattern = `canary-[a-z]+-[a-z]+-[0-9]+`
          return bench.use('key', { content_filters: [{ pattern, action, label, scope }] })
        })
        for (const one of toolCases)
          test.if(!one.usesContainer || bwrapPath !== null)(
            one.place,
            async () => {
              const problems: string[] = []
              for (const format of one.formats)
                for (const stream of selectModes(one, format, action, scope))
                  if (scope === 'input' || action !== 'block' || !one.hiddenIn?.includes(format))
                    problems.push(...(await check(one, format, action, scope, stream)))
              expect(problems).toEqual([])
            },
            timeoutMs,
          )
      })
})

describe('R35 a canary that a reversible filter replaces in what server tools and plugins add', () => {
  beforeAll(() => {
    const pattern = `canary-[a-z]+-[a-z]+-[0-9]+`
    return bench.use('key', { content_filters: [{ pattern, action: 'redact', label, reversible: true }] })
  })
  for (const one of toolCases)
    test.if(!one.usesContainer || bwrapPath !== null)(
      one.place,
      async () => {
        const problems: string[] = []
        for (const [index, format] of one.formats.entries())
          problems.push(...(await check(one, format, 'redact', 'input', index % 2 === 0)))
        expect(problems).toEqual([])
      },
      timeoutMs,
    )
})
