// What it costs to decide where a request goes: CPU time of `route` with 500 models on 20 endpoints each.
import type { Asked } from '../src/pipeline/asked.ts'
import { route } from '../src/pipeline/route.ts'
import { seeded } from '../test/support/random.ts'
import {
  type MadeGateway,
  type MadeModel,
  madeAsked,
  madeCatalog,
  madeGateway,
  madeOwnKey,
} from '../test/support/routes.ts'
import { median } from './load.ts'

const modelCount = 500
const endpointCount = 20
const targetMicros = 15
const targeted = ['plain', 'plain, all with traffic']

interface Case {
  name: string
  gateway: MadeGateway
  requests: Asked[]
}

interface Row {
  micros: number
  timesLeast: number
}

export async function measureRouting(isQuick: boolean): Promise<void> {
  const rounds = isQuick ? 15 : 60
  const cases = casesOf(seeded(1))
  const samples = cases.map((): number[] => [])
  // The runtime compiles what is hot, and a gateway runs for weeks.
  for (let round = 0; round < rounds / 3; round++) for (const one of cases) microsOf(one, decideAll)
  const least: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [plain] = cases
    if (plain) least.push(microsOf(plain, leastAll))
    for (const [place, one] of cases.entries()) samples[place]?.push(microsOf(one, decideAll))
  }
  const rows = Object.fromEntries(cases.map(({ name }, place) => [name, rowOf(samples[place] ?? [], least)]))
  print(rows, median(least))
  const report = { at: new Date().toISOString(), leastMicros: median(least), rows }
  await Bun.write('bench/results/routing.json', `${JSON.stringify(report, null, 2)}\n`)
}

function rowOf(samples: number[], least: number[]): Row {
  const ratios = samples.map((micros, round) => micros / (least[round] ?? micros))
  return { micros: median(samples), timesLeast: median(ratios) }
}

function print(rows: Record<string, Row>, least: number): void {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  write(`\nCPU of a decision: ${modelCount} models on ${endpointCount} endpoints each`)
  write(`  ${'the least: look up and draw'.padEnd(42)} ${least.toFixed(2).padStart(6)} us`)
  for (const [name, { micros, timesLeast }] of Object.entries(rows)) {
    write(`  ${name.padEnd(42)} ${micros.toFixed(2).padStart(6)} us  ${timesLeast.toFixed(1)} x the least`)
  }
  for (const name of targeted) {
    const { micros = Number.NaN } = rows[name] ?? {}
    write(`  ${name}: at most ${targetMicros} us, ${micros <= targetMicros ? 'met' : 'missed'}`)
  }
}

function casesOf(random: () => number): Case[] {
  const models = manyModels(random)
  const catalog = madeCatalog(models)
  const clock = { now: () => 1_800_000_000_000 }
  const fresh = madeGateway(catalog, clock, random)
  const busy = madeGateway(catalog, clock, random)
  for (const { id } of models)
    for (const endpoint of catalog.bySlug.get(id)?.endpoints ?? []) keepBusy(busy, endpoint.id, random)
  busy.routing.sticky.remember('another conversation', 'endpoint', clock.now())
  const ownKeys = [0, 5, 10].map((place) => madeOwnKey(`key-${place}`, `provider-${place}`))
  const requestsWith = (body: object, own = false) =>
    models.map(({ id }) => madeAsked({ model: id, ...body }, own ? { ownKeys } : {}))
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
    ['with tools and a session', { ...tools, session_id: 'talk' }],
    ['with own keys', {}, true],
  ]
  return [fresh, busy].flatMap((gateway) =>
    cases.map(([name, body, own]) => ({
      name: gateway === busy ? `${name}, all with traffic` : name,
      gateway,
      requests: requestsWith(body, own),
    })),
  )
}

function manyModels(random: () => number): MadeModel[] {
  return Array.from({ length: modelCount }, (_, place) => ({
    id: `maker/model-${place}`,
    context_length: 128_000,
    endpoints: Array.from({ length: endpointCount }, (_, at) => ({
      provider: `provider-${at}`,
      price: 10 ** (random() * 3 - 1),
      caches: true,
      supported_parameters: ['max_tokens', 'temperature', ...(at % 2 ? (['tools'] as const) : [])],
    })),
  }))
}

/** Half an hour of traffic in which one in fifty fails. */
function keepBusy({ routing, clock }: MadeGateway, id: string, random: () => number): void {
  const health = routing.health.of(id)
  const now = clock.now()
  for (let ago = 30 * 60_000; ago >= 0; ago -= 15_000) {
    const then = now - ago - random() * 15_000
    if (random() < 0.02) health.failed(then, { kind: 'server' })
    else health.succeeded(then, { firstTokenMs: 200 + random() * 800, tokensPerSecond: 20 + random() * 80 })
  }
  for (let count = 0; count < 60; count++) health.toolCalls(now, random() < 0.99)
}

const repeats = 10

function microsOf(
  { gateway, requests }: Case,
  work: (gateway: MadeGateway, requests: Asked[]) => number,
): number {
  const before = process.cpuUsage()
  let decided = 0
  for (let count = 0; count < repeats; count++) decided += work(gateway, requests)
  const { user, system } = process.cpuUsage(before)
  if (decided !== repeats * requests.length) throw new Error('not every request found its way')
  return (user + system) / decided
}

function decideAll(gateway: MadeGateway, requests: Asked[]): number {
  let decided = 0
  for (const asked of requests) if (route(gateway, asked).candidates.length > 0) decided++
  return decided
}

/** What no router can do without: find the model, and draw one of its endpoints by price. */
function leastAll({ catalog, routing }: MadeGateway, requests: Asked[]): number {
  let decided = 0
  for (const { wishes } of requests) {
    const endpoints = catalog.bySlug.get(wishes.models[0] ?? '')?.callable ?? []
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
