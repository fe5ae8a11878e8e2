import type { CandidateName } from './candidates.ts'
import { type BenchModel, modelOf, type RequestSpec, type Translation } from './requests.ts'

/** A row of the benchmark: one kind of request, sent to several candidates. */
export interface Scenario {
  id: string
  title: string
  spec: RequestSpec
  connections: number
  durationMs: number
  /** A fixed rate of requests; null: as many as the connections can send. */
  perSecond: number | null
  /** Units per request that the CPU time is divided by. */
  units: number
  candidates: readonly CandidateName[]
  /** The share of the time for warming up that this row gets. */
  warmUp: number
}

export interface Effort {
  warmMs: number
  warmRequests: number
  rounds: number
  blockMs: number
  streamEvents: number
  openStreams: number
  openStreamsHeadgate: number
  /** Requests in each block that is measured without garbage collection. */
  allocationRequests: number
}

export const thorough: Effort = {
  warmMs: 11_000,
  warmRequests: 20_000,
  rounds: 7,
  blockMs: 1200,
  streamEvents: 200,
  openStreams: 2000,
  openStreamsHeadgate: 4000,
  allocationRequests: 3000,
}
export const quick: Effort = {
  warmMs: 2500,
  warmRequests: 6000,
  rounds: 3,
  blockMs: 400,
  streamEvents: 50,
  openStreams: 500,
  openStreamsHeadgate: 1000,
  allocationRequests: 1000,
}

const connections = 32
/** 32 streams with one event per 8 ms: 4,000 events per second, few enough that each is read separately. */
const paceMs = 8
const smallPromptBytes = 880
const longPromptBytes = 300_000
/** Requests per second: few enough that none waits for another, so that latency is not queueing. */
const lightRate = 200

const gateways = ['relay', 'headgate', 'against'] as const
const textPeers = ['portkey', 'bifrost', 'litellm'] as const
const text = ['direct', ...gateways, ...textPeers] as const
const media = ['direct', ...gateways, 'portkey'] as const

/** Every client format, and every upstream format, at least once. */
const translations: (Translation & { alsoStreamed: boolean })[] = [
  { client: 'chat', upstream: 'messages', alsoStreamed: true },
  { client: 'chat', upstream: 'gemini', alsoStreamed: true },
  { client: 'messages', upstream: 'responses', alsoStreamed: true },
  { client: 'responses', upstream: 'chat', alsoStreamed: true },
  { client: 'gemini', upstream: 'chat', alsoStreamed: true },
  { client: 'completions', upstream: 'chat', alsoStreamed: false },
  { client: 'ollama', upstream: 'chat', alsoStreamed: false },
]

const whole: RequestSpec = { model: 'whole', promptBytes: smallPromptBytes, streamed: false }
const stream = (model: string): RequestSpec => ({ ...whole, model, streamed: true })
const fullLoad = { connections, perSecond: null, units: 1, warmUp: 0.1 }

export function buildScenarios(effort: Effort): Scenario[] {
  return [
    ...buildTextScenarios(effort),
    ...buildMediaScenarios(effort),
    ...buildRateScenarios(effort),
    ...translations.flatMap((translation) => buildTranslationScenarios(translation, effort)),
  ]
}

function buildTextScenarios({ blockMs, streamEvents }: Effort): Scenario[] {
  return [
    {
      ...fullLoad,
      id: 'small',
      title: `1 KB request and reply, ${connections} connections`,
      spec: whole,
      durationMs: blockMs,
      candidates: [
        ...text,
        'duties',
        'many-keys',
        'limits',
        'many-limits',
        'no-ledger',
        'relaxed',
        'guardrail',
        'postgres',
      ],
      warmUp: 0.4,
    },
    {
      ...fullLoad,
      id: 'event',
      title: `${connections} streams, an event every ${paceMs} ms in each`,
      spec: stream(`stream-${streamEvents}-${paceMs}`),
      durationMs: 0,
      units: streamEvents,
      candidates: [...gateways, ...textPeers, 'guardrail', 'postgres'],
    },
    {
      ...fullLoad,
      id: 'prompt',
      title: '300 KB prompt, 8 connections',
      spec: { ...whole, promptBytes: longPromptBytes },
      connections: 8,
      durationMs: blockMs / 2,
      candidates: text,
      warmUp: 0.2,
    },
  ]
}

function buildMediaScenarios({ blockMs }: Effort): Scenario[] {
  const row = { ...fullLoad, durationMs: blockMs / 2, candidates: media }
  return [
    ...(['float', 'base64'] as const).map((encoding) => ({
      ...row,
      id: `embedding-${encoding}`,
      title: `an embedding of 1,536 numbers as ${encoding}, ${connections} connections`,
      spec: { ...whole, model: `embedding-${encoding}`, embedding: encoding },
    })),
    {
      ...row,
      id: 'image',
      title: 'an image of 5 MB, 4 connections',
      spec: { ...whole, model: 'image' },
      connections: 4,
    },
  ]
}

function buildRateScenarios({ blockMs }: Effort): Scenario[] {
  const row = { connections, durationMs: blockMs, units: 1, warmUp: 0.05 }
  return [
    {
      ...row,
      id: 'rate-200',
      title: '200 small requests a second',
      spec: whole,
      perSecond: lightRate,
      candidates: [...text, 'duties', 'destination', 'postgres'],
    },
    {
      ...row,
      id: 'rate-1000',
      title: '1,000 small requests a second',
      spec: whole,
      perSecond: 1000,
      candidates: [...text, 'duties', 'many-keys', 'no-ledger', 'relaxed', 'postgres'],
    },
    {
      ...row,
      id: 'first',
      title: 'first token, 200 streams a second',
      spec: stream('stream-3-1'),
      perSecond: lightRate,
      candidates: text,
    },
  ]
}

function buildTranslationScenarios(
  { alsoStreamed, ...translation }: (typeof translations)[number],
  { blockMs, streamEvents }: Effort,
): Scenario[] {
  const { client, upstream } = translation
  const events = streamEvents / 2
  const row = { ...fullLoad, candidates: gateways, warmUp: 0.05 }
  const id = `${client}-over-${upstream}`
  return [
    {
      ...row,
      id,
      title: `${client} over ${upstream}`,
      spec: { ...whole, translation },
      durationMs: blockMs / 2,
    },
    ...(alsoStreamed
      ? [
          {
            ...row,
            id: `${id}-event`,
            title: `${client} over ${upstream}, streamed`,
            spec: { ...stream(`stream-${events}-${paceMs}`), translation },
            durationMs: 0,
            units: events,
          },
        ]
      : []),
  ]
}

export function listModels(scenarios: Scenario[]): BenchModel[] {
  const models = [...scenarios.map(({ spec }) => spec), { ...whole }, stream('hold')].map(modelOf)
  return [...new Map(models.map((model) => [JSON.stringify(model), model])).values()]
}
