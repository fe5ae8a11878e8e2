import type { Found } from '../catalog/lookup.ts'
import type { Endpoint, Model } from '../catalog/model.ts'
import { approximatePerMillion } from '../catalog/price.ts'
import type { DataRegion } from '../catalog/vocabulary.ts'
import type { Candidate } from './candidate.ts'
import type { Decision } from './decide.ts'
import type { Reason } from './filter.ts'
import { healthIdOf } from './health.ts'
import type { World } from './rank.ts'
import { sentenceOf, whySentences } from './sentences.ts'

/** What was known of an endpoint when the decision was made. */
export interface Figures {
  /** Medians of the last five minutes: milliseconds to the first token, tokens a second. */
  latency: number | null
  throughput: number | null
  /** Per cent of the last half hour. */
  uptime: number | null
  unstable: boolean
  /** Until it is asked again, where it is left alone. */
  waitMs: number
}

export type FiguresById = ReadonlyMap<string, Figures>

/** Read at once: what follows changes them. */
export function figuresOf({ candidates, left }: Decision, { health, now }: World): FiguresById {
  const ids = [
    ...candidates.map(({ id }) => id),
    ...left.map(({ endpoint, ownKeyId }) => healthIdOf(endpoint.id, ownKeyId)),
  ]
  const figures = new Map<string, Figures>()
  for (const id of ids) {
    const known = health.known(id)
    if (!known) continue
    const { latency, throughput } = known.speed(now)
    figures.set(id, {
      latency: rounded(latency?.p50),
      throughput: rounded(throughput?.p50),
      uptime: rounded(known.shown(now).uptime30m),
      unstable: known.isUnstable(now),
      waitMs: Math.max(0, known.pausedUntil - now, known.ejectedUntil - now),
    })
  }
  return figures
}

function rounded(figure: number | null | undefined): number | null {
  return figure == null ? null : Math.round(figure * 100) / 100
}

/** One try at one endpoint. Times are milliseconds since the request came. */
export interface Attempt {
  model: string
  provider: string
  tag: string
  ownKeyId: string | null
  status: number
  error: string | null
  startedMs: number
  durationMs: number
}

/** What became of a request that was sent, or was to be sent. */
export interface Way {
  attempts: readonly Attempt[]
  answered: Candidate | null
  /** Where it is now, or ended. */
  last: Candidate | null
  generationMs: number | null
  firstTokenMs: number | null
  totalMs: number
}

export interface Decided extends Decision {
  /** The model as it was asked for. */
  requested: string
  /** Slugs in the order they are to be tried, and what they stand for. */
  slugs: readonly string[]
  found: readonly Found[]
  region: DataRegion
  /** What the request says about its way. */
  params: { [name: string]: unknown }
  figures: FiguresById
}

type Strategy = 'direct' | 'alias' | 'latest' | 'fallback'

export interface Explanation {
  requested: string
  strategy: Strategy
  region: DataRegion
  summary: string
  attempt: number
  is_byok: boolean
  endpoints: { total: number; available: Available[]; excluded: Excluded[] }
  params?: { [name: string]: unknown }
  attempts?: ToldAttempt[]
  generation_time?: number
  timings?: { until_dispatch: number; until_first_token: number | null; total: number }
}

export interface Available {
  model: string
  provider: string
  selected: boolean
  tag: string
  rank: number
  why: Candidate['why']
  reason: string
  share?: number
  own_key?: string
  price: { prompt: number; completion: number } | null
  health: {
    latency: number | null
    throughput: number | null
    uptime: number | null
    unstable: boolean
  } | null
}

export interface Excluded {
  model: string
  provider: string
  tag: string
  reason: Reason
  detail: string
  own_key?: string
}

interface ToldAttempt {
  model: string
  provider: string
  status: number
  tag: string
  own_key?: string
  error?: string
  started: number
  duration: number
}

/** Why a request goes, or went, where it does; `way` is null when nothing was sent. */
export function explain(decided: Decided, way: Way | null): Explanation {
  const { requested, region, candidates, params } = decided
  const at = way?.answered ?? way?.last ?? candidates[0]
  return {
    requested,
    strategy: strategyOf(decided, at?.model),
    region,
    summary: summaryOf(decided, way),
    attempt: way?.attempts.length ?? 0,
    is_byok: at?.ownKey != null,
    endpoints: {
      total: totalOf(decided),
      available: candidates.map((candidate, place) => availableOf(decided, candidate, place, way)),
      excluded: excludedOf(decided),
    },
    ...(Object.keys(params).length > 0 && { params }),
    ...(way && wayFields(way)),
  }
}

function wayFields({ attempts, generationMs, firstTokenMs, totalMs }: Way): Partial<Explanation> {
  const [first] = attempts
  if (!first) return {}
  return {
    ...(attempts.length > 1 && { attempts: attempts.map(toldAttempt) }),
    ...(generationMs !== null && { generation_time: Math.round(generationMs) }),
    timings: {
      until_dispatch: Math.round(first.startedMs),
      until_first_token: firstTokenMs === null ? null : Math.round(firstTokenMs),
      total: Math.round(totalMs),
    },
  }
}

function toldAttempt({ ownKeyId, error, startedMs, durationMs, ...attempt }: Attempt): ToldAttempt {
  return {
    ...attempt,
    ...(ownKeyId !== null && { own_key: ownKeyId }),
    ...(error !== null && { error }),
    started: Math.round(startedMs),
    duration: Math.round(durationMs),
  }
}

/** How the name in the request became the model. */
function strategyOf({ slugs, found }: Decided, model: Model | undefined): Strategy {
  const [asked] = found
  if (!asked || !model) return 'direct'
  if (model !== asked.model) return 'fallback'
  if (asked.latest !== null) return 'latest'
  const [name, ...suffixes] = (slugs[0] ?? '').split(':')
  const rest = suffixes.filter((suffix) => !asked.variants.includes(suffix))
  return [name, ...rest].join(':') === model.id ? 'direct' : 'alias'
}

function summaryOf(decided: Decided, way: Way | null): string {
  const count = new Set(decided.candidates.map(({ endpoint }) => endpoint)).size
  const choice = `${count} of ${totalOf(decided)} endpoints can serve this request`
  const attempts = way?.attempts.length ?? 0
  if (!way || attempts === 0) return `${choice}; none was asked.`
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  if (!way.answered) return `${choice}; none answered in ${tries}.`
  const { model, endpoint } = way.answered
  return `${choice}; ${endpoint.provider.name} answered for ${model.id} in ${tries}.`
}

function modelsOf({ found }: Decided): Set<Model> {
  return new Set(found.map(({ model }) => model))
}

function totalOf(decided: Decided): number {
  let total = 0
  for (const { endpoints } of modelsOf(decided)) total += endpoints.length
  return total
}

function availableOf(decided: Decided, candidate: Candidate, place: number, way: Way | null): Available {
  const { model, endpoint, ownKey, why, share, id } = candidate
  const figures = decided.figures.get(id)
  return {
    model: model.id,
    provider: endpoint.provider.name,
    selected: candidate === way?.answered,
    tag: endpoint.tag,
    rank: place + 1,
    why,
    reason: reasonOf(decided, candidate),
    ...(share !== null && { share: Math.round(share * 10_000) / 10_000 }),
    ...(ownKey && { own_key: ownKey.id }),
    price: priceOf(endpoint),
    health: figures ? healthOf(figures) : null,
  }
}

function reasonOf({ candidates }: Decided, { model, why, share }: Candidate): string {
  if (why !== 'balanced') return whySentences[why]
  if (share !== null) return `By its price it is the first to be asked in ${percent(share)} of such requests.`
  const isAlone = candidates.filter((other) => other.model === model).length === 1
  return isAlone ? 'No other endpoint of this model can serve the request.' : whySentences.balanced
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`
}

/** USD for a million tokens. */
function priceOf({ pricing }: Endpoint): Available['price'] {
  if (!pricing) return null
  const perMillion = (price: string) => Number(approximatePerMillion(price, pricing.discount).toPrecision(12))
  return { prompt: perMillion(pricing.prompt), completion: perMillion(pricing.completion) }
}

function healthOf({ waitMs: _left, ...figures }: Figures): Available['health'] {
  return figures
}

/** Those the decision left out, and those it did not look at because nobody can call them. */
function excludedOf(decided: Decided): Excluded[] {
  const { candidates, left, figures } = decided
  const mentioned = new Set([...candidates, ...left].map(({ endpoint }) => endpoint))
  const told = left.map(({ model, endpoint, ownKeyId, reason }) => ({
    ...excluded(model, endpoint, reason, figures.get(healthIdOf(endpoint.id, ownKeyId))),
    ...(ownKeyId !== null && { own_key: ownKeyId }),
  }))
  const silent = [...modelsOf(decided)].flatMap((model) =>
    model.endpoints
      .filter((endpoint) => !mentioned.has(endpoint))
      .map((endpoint) => excluded(model, endpoint, 'no_credential')),
  )
  return [...told, ...silent]
}

/** Reasons that pass by themselves. */
const passing: ReadonlySet<Reason> = new Set<Reason>(['rate_limited', 'ejected'])

function excluded(model: Model, endpoint: Endpoint, reason: Reason, figures?: Figures): Excluded {
  const seconds = Math.ceil((figures?.waitMs ?? 0) / 1000)
  const wait = passing.has(reason) && seconds > 0 ? ` It is asked again in ${seconds} s.` : ''
  return {
    model: model.id,
    provider: endpoint.provider.name,
    tag: endpoint.tag,
    reason,
    detail: sentenceOf(reason) + wait,
  }
}
