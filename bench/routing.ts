// The CPU time of a routing decision, with 500 models on 20 endpoints each.

import { planRoute } from '../src/inference/plan/plan.ts'
import type { InferenceRequest } from '../src/inference/request/inference-request.ts'
import {
  buildFakeByokKey,
  buildFakeCatalog,
  buildFakeGateway,
  buildFakeRequest,
  type FakeGateway,
  type FakeModel,
} from '../test/support/fake-routing.ts'
import { seededRandom } from '../test/support/random.ts'
import { median } from './statistics.ts'

const modelCount = 500
const endpointCount = 20
const targetMicros = 15
const targetedCases = ['plain', 'plain, all with traffic']

interface Case {
  name: string
  gateway: FakeGateway
  requests: InferenceRequest[]
}

interface Row {
  micros: number
  timesBaseline: number
}

export async function measureRouting(isQuick: boolean): Promise<void> {
  const rounds = isQuick ? 15 : 60
  const cases = buildCases(seededRandom(1))
  const samples = cases.map((): number[] => [])
  // Warm-up: the runtime compiles hot code, and a gateway runs for weeks.
  for (let round = 0; round < rounds / 3; round++) for (const one of cases) measureMicros(one, decideAll)
  const baseline: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [plain] = cases
    if (plain) baseline.push(measureMicros(plain, decideBaseline))
    for (const [index, one] of cases.entries()) samples[index]?.push(measureMicros(one, decideAll))
  }
  const rows = Object.fromEntries(
    cases.map(({ name }, index) => [name, summarizeCase(samples[index] ?? [], baseline)]),
  )
  printReport(rows, median(baseline))
  const report = { at: new Date().toISOString(), baselineMicros: median(baseline), rows }
  await Bun.write('bench/results/routing.json', `${JSON.stringify(report, null, 2)}\n`)
}

function summarizeCase(samples: number[], baseline: number[]): Row {
  const ratios = samples.map((micros, round) => micros / (baseline[round] ?? micros))
  return { micros: median(samples), timesBaseline: median(ratios) }
}

function printReport(rows: Record<string, Row>, baseline: number): void {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  write(`\nCPU of a decision: ${modelCount} models on ${endpointCount} endpoints each`)
  write(`  ${'baseline: lookup and weighted choice'.padEnd(42)} ${baseline.toFixed(2).padStart(6)} us`)
  for (const [name, { micros, timesBaseline }] of Object.entries(rows)) {
    write(
      `  ${name.padEnd(42)} ${micros.toFixed(2).padStart(6)} us  ${timesBaseline.toFixed(1)} x the baseline`,
    )
  }
  for (const name of targetedCases) {
    const { micros = Number.NaN } = rows[name] ?? {}
    write(`  ${name}: at most ${targetMicros} us, ${micros <= targetMicros ? 'met' : 'missed'}`)
  }
}

function buildCases(random: () => number): Case[] {
  const models = buildModels(random)
  const catalog = buildFakeCatalog(models)
  const clock = { now: () => 1_800_000_000_000 }
  const fresh = buildFakeGateway(catalog, clock, random)
  const busy = buildFakeGateway(catalog, clock, random)
  for (const { id } of models)
    for (const endpoint of catalog.bySlug.get(id)?.endpoints ?? []) simulateTraffic(busy, endpoint.id, random)
  busy.routing.sticky.remember('another conversation', 'endpoint', clock.now())
  const byokKeys = [0, 5, 10].map((index) => buildFakeByokKey(`key-${index}`, `provider-${index}`))
  const requestsWith = (body: object, isByok = false) =>
    models.map(({ id }) => buildFakeRequest({ model: id, ...body }, isByok ? { byokKeys } : {}))
  const order = { provider: { order: ['provider-7', 'provider-3'] } }
  const tools = {
    tools: [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }],
  }
  const cases: [string, object, boolean?][] = [
    ['plain', {}],
    ['with sort', { provider: { sort: 'throughput' } }],
    ['with order', order],
    [
      'with max_price and only',
      { provider: { max_price: { prompt: 51 }, only: ['provider-1', 'provider-9'] } },
    ],
    ['with tools and a session', { ...tools, session_id: 'conversation' }],
    ['with BYOK keys', {}, true],
  ]
  return [fresh, busy].flatMap((gateway) =>
    cases.map(([name, body, isByok]) => ({
      name: gateway === busy ? `${name}, all with traffic` : name,
      gateway,
      requests: requestsWith(body, isByok),
    })),
  )
}

function buildModels(random: () => number): FakeModel[] {
  return Array.from({ length: modelCount }, (_, index) => ({
    id: `maker/model-${index}`,
    context_length: 128_000,
    endpoints: Array.from({ length: endpointCount }, (_, at) => ({
      provider: `provider-${at}`,
      price: 10 ** (random() * 3 - 1),
      caches: true,
      supported_parameters: ['max_tokens', 'temperature', ...(at % 2 ? (['tools'] as const) : [])],
    })),
  }))
}

/** Half an hour of traffic with 2 % failures. */
function simulateTraffic({ routing, clock }: FakeGateway, id: string, random: () => number): void {
  const health = routing.health.getOrCreate(id)
  const now = clock.now()
  for (let ago = 30 * 60_000; ago >= 0; ago -= 15_000) {
    const then = now - ago - random() * 15_000
    if (random() < 0.02) health.recordFailure(then, { kind: 'server' })
    else
      health.recordSuccess(then, { firstTokenMs: 200 + random() * 800, tokensPerSecond: 20 + random() * 80 })
  }
  for (let count = 0; count < 60; count++) health.recordToolCalls(now, random() < 0.99)
}

const repeats = 10

function measureMicros(
  { gateway, requests }: Case,
  work: (gateway: FakeGateway, requests: InferenceRequest[]) => number,
): number {
  const before = process.cpuUsage()
  let decided = 0
  for (let count = 0; count < repeats; count++) decided += work(gateway, requests)
  const { user, system } = process.cpuUsage(before)
  if (decided !== repeats * requests.length) throw new Error('some requests have no candidate')
  return (user + system) / decided
}

function decideAll(gateway: FakeGateway, requests: InferenceRequest[]): number {
  let decided = 0
  for (const request of requests) if (planRoute(gateway, request).plan.candidates.length > 0) decided++
  return decided
}

/** The minimum of any router: look up the model and choose an endpoint weighted by price. */
function decideBaseline({ catalog, routing }: FakeGateway, requests: InferenceRequest[]): number {
  let decided = 0
  for (const { options } of requests) {
    const endpoints = catalog.bySlug.get(options.models[0] ?? '')?.callable ?? []
    let sum = 0
    for (const { price } of endpoints) sum += 1 / price ** 2
    let point = routing.random() * sum
    for (const { price } of endpoints) {
      if (point < 1 / price ** 2) break
      point -= 1 / price ** 2
    }
    decided++
  }
  return decided
}
