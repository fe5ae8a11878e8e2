import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import { zeroUsage } from '../../src/formats/call/usage.ts'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import type { TestServer } from '../../test/support/harness.ts'
import { type TextWireFormat, vendorReplies } from '../../test/support/replies.ts'
import type { ReceivedRequest, Upstream, UpstreamResponse } from '../../test/support/upstream.ts'
import { answer, applications, comparison, context, people, preset, prompts, workspaces } from './story.ts'

/** The same numbers at every run. */
export class Dice {
  #state: number
  constructor(seed: number) {
    this.#state = seed
  }
  /** Returns a number from 0 to 1. */
  roll(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return this.#state / 2 ** 32
  }
  between(low: number, high: number): number {
    return Math.round(low + this.roll() * (high - low))
  }
  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.roll() * items.length)] as T
  }
}

const hourMs = 3_600_000
/** A little more than vendors count, so that no reply costs more than was held for it. */
const charactersPerToken = 5
const [firstPrompt = ''] = prompts
const days = 8

/** The address of every provider that the seeded requests use is this upstream, on loopback. */
export function formatSettings(url: string): string {
  const providers = ['openai', 'anthropic', 'deepseek'].map((slug) => ({
    slug,
    base_url: `${url}/v1`,
    api_key: `sk-${slug}`,
  }))
  return JSON.stringify({ providers })
}

/** Replies as each vendor does, with varied usage. */
export function playVendors(upstream: Upstream): void {
  const dice = new Dice(7)
  upstream.setDefault((request) => ({ ...replyTo(request, dice), waitMs: dice.between(50, 350) }))
}

const overloaded: UpstreamResponse = {
  status: 529,
  json: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  waitMs: 60,
}

function replyTo({ path, json, text }: ReceivedRequest, dice: Dice): UpstreamResponse {
  const wireFormats: [string, TextWireFormat][] = [
    ['/messages', 'messages'],
    ['/responses', 'responses'],
    ['/chat/completions', 'chat'],
  ]
  const wireFormat = wireFormats.find(([end]) => path.endsWith(end))?.[1] ?? 'chat'
  const tokens = Math.round(text.length / charactersPerToken)
  const cacheRead = dice.roll() < 0.4 ? Math.round(tokens * 0.7) : 0
  const usage = { ...zeroUsage, input: tokens - cacheRead, cacheRead, output: dice.between(300, 3_500) }
  const reply = vendorReplies[wireFormat]({ text: answer, toolCalls: [], finish: 'stop', usage })
  return json?.stream ? { sse: reply.frames } : { json: reply.body }
}

export interface Seeded {
  /** Ids of requests to show. */
  failedOver: string
  refused: string
  /** The id of a comparison. */
  comparisonId: string
}

/** Eight days of an organization that exists only here. The clock ends at `until`. */
export async function seedOrganization(
  server: TestServer,
  upstream: Upstream,
  until: number,
): Promise<Seeded> {
  const { clock } = server
  const dice = new Dice(42)
  clock.freeze(new Date(until - days * 24 * hourMs).toISOString())
  await renameFirstRecords(server)
  const keys = await createStructure(server)
  for (let hour = 0; hour < days * 24 - 1; hour++) {
    clock.advance(hourMs)
    await sendHour(server, keys, dice, hour)
  }
  const comparisonId = await saveComparison(server, keys[1] ?? '')
  upstream.enqueueFor('/messages', overloaded, overloaded, overloaded)
  const failedOver = await send(server, keys[1] ?? '', {
    ...applications[1],
    prompt: `${firstPrompt}${context.repeat(300)}`,
  })
  clock.advance(20 * 60_000)
  await sendHour(server, keys, dice, 10)
  upstream.enqueueFor('/messages', overloaded, overloaded, overloaded)
  await send(server, keys[1] ?? '', { model: 'anthropic/claude-haiku-5.5', prompt: firstPrompt })
  clock.advance(30 * 60_000)
  const refused = await send(server, keys.at(-1) ?? '', {
    model: 'openai/gpt-5.5',
    prompt: firstPrompt,
    maxTokens: 100_000,
  })
  clock.freeze(new Date(until).toISOString())
  await flushRequestLog(server.gateway)
  await rollUp({ db: server.gateway.db }, { minRows: 1 })
  return { failedOver, refused, comparisonId }
}

async function saveComparison(server: TestServer, key: string): Promise<string> {
  const { name, models, prompts, replies, votes } = comparison
  const sent = replies.flatMap((texts, prompt) => texts.map((text, model) => ({ prompt, model, text })))
  const complete = await Promise.all(
    sent.map(async (reply) => {
      const request = { model: models[reply.model] ?? '', prompt: prompts[reply.prompt] ?? '' }
      return { ...reply, generation_id: await send(server, key, request) }
    }),
  )
  const body = { name, models, prompts, replies: complete, visibility: 'organization' }
  const { id } = (await server.call('POST', '/comparisons', { body })).body.data
  for (const [prompt, model] of votes.entries())
    await server.call('PUT', `/comparisons/${id}/votes/${prompt}`, { body: { model } })
  return id
}

/** Renames the records of the first start: they are older than all that follows, and belong to a person. */
async function renameFirstRecords({ gateway: { db }, clock, own }: TestServer): Promise<void> {
  const created_at = new Date(clock.now() - hourMs).toISOString()
  await db.updateTable('workspaces').set({ created_at }).execute()
  await db.updateTable('api_keys').set({ created_at }).execute()
  const person = { email: 'maya@example.com', first_name: 'Maya', last_name: 'Lindqvist' }
  await db.updateTable('members').set(person).where('id', '=', own.owner.id).execute()
}

/** Returns the secrets of the keys, in the order of the applications. */
async function createStructure(server: TestServer): Promise<string[]> {
  const { own } = server
  const create = async (path: string, body: object) => (await server.call('POST', path, { body })).body
  await server.call('PATCH', `/workspaces/${own.workspace.id}`, {
    body: { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 },
  })
  for (const workspace of workspaces) await create('/workspaces', workspace)
  for (const person of people) await create('/organization/members', person)
  await server.call('PUT', `/workspaces/${own.workspace.id}/budgets/monthly`, { body: { limit_usd: 60 } })
  await create('/guardrails', {
    name: 'Personal data',
    description: 'Removes addresses and card numbers from prompts.',
    content_filter_builtins: [
      { slug: 'email', action: 'redact' },
      { slug: 'credit-card', action: 'block' },
    ],
  })
  for (const { system, ...settings } of preset.versions)
    await create(`/presets/${preset.slug}/chat/completions`, {
      ...settings,
      messages: [{ role: 'system', content: system }],
    })
  const secrets: string[] = []
  for (const { name, limit, reset } of applications) {
    const created = await create('/keys', { name, ...(limit && { limit, limit_reset: reset }) })
    secrets.push(created.key)
  }
  return secrets
}

/** Sends the requests of an hour: more by day than by night. */
async function sendHour(server: TestServer, keys: string[], dice: Dice, hour: number): Promise<void> {
  const isDay = hour % 24 >= 6 && hour % 24 <= 18
  const count = isDay ? dice.between(0, 3) : dice.between(0, 1)
  const requests = Array.from({ length: count }, () => {
    const index = dice.between(0, applications.length - 2)
    return {
      key: keys[index] ?? '',
      ...applications[index],
      prompt: `${dice.pick(prompts)}${context.repeat(dice.between(20, 700))}`,
    }
  })
  await Promise.all(requests.map(({ key, ...request }) => send(server, key, request)))
}

interface SeedRequest {
  model?: string
  title?: string
  models?: readonly string[]
  prompt?: string
  maxTokens?: number
}

async function send(server: TestServer, key: string, request: SeedRequest): Promise<string> {
  const { model, models, title, prompt = 'Hello', maxTokens = 4_000 } = request
  const response = await server.call('POST', '/chat/completions', {
    key,
    headers: {
      'user-agent': 'OpenAI/Python 2.8.0',
      ...(title && { 'x-title': title, 'http-referer': 'https://shop.example.com' }),
    },
    body: {
      model,
      ...(models && { models }),
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: prompt }],
    },
  })
  return response.headers.get('x-generation-id') ?? response.body.id ?? ''
}
