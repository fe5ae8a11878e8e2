import { describe, expect, test } from 'bun:test'
import { Benchmarks } from '../../catalog/benchmarks/benchmarks.ts'
import { buildCatalog } from '../../catalog/catalog.ts'
import type { DeclaredProvider } from '../../catalog/declared.ts'
import { declaredModel, type ModelDeclaration } from '../../catalog/declared-model.ts'
import { HealthRegistry } from '../../catalog/health/health-registry.ts'
import { findModel, type ResolvedModel } from '../../catalog/lookup.ts'
import { providers } from '../../catalog/providers/all.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import { computeEffectivePolicy } from '../../governance/policy/effective.ts'
import { completeRoute } from './decide.ts'
import {
  type ExplainedDecision,
  explainDecision,
  type RoutingOutcome,
  takeHealthSnapshot,
  type UpstreamAttempt,
} from './explain.ts'
import { prepareRoute } from './prepare.ts'
import { describeExclusion, exclusionReasonTexts, rankingReasonTexts } from './reason-texts.ts'

const now = 1_800_000_000_000

function provider(slug: string): DeclaredProvider {
  return {
    slug,
    name: slug.toUpperCase(),
    base_url: `http://127.0.0.1:9/${slug}`,
    dialects: ['chat'],
    api_key: 'vendor-secret',
  }
}

function model(id: string, prices: Record<string, string>, aliases: string[] = []): ModelDeclaration {
  const endpoints = Object.entries(prices).map(([slug, price]) => ({
    provider: slug,
    upstream_model: 'vendor-model',
    pricing: { prompt: price, completion: price },
  }))
  return { id, name: id, aliases, endpoints }
}

const catalog = buildCatalog({
  settings: {
    providers: [provider('ant'), provider('bee'), provider('cat')],
    models: [
      model('acme/pet-2', { ant: '0.000001', bee: '0.000002', cat: '0.000003', mistral: '0.000001' }, [
        'acme/pet',
      ]),
      model('acme/other', { ant: '0.000001' }),
    ].map((declared) => declaredModel.parse(declared)),
  },
  providers,
  environment: {},
})

const call: ModelCall = {
  messages: [{ role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
  stream: false,
  unknown: [],
}

function decide(
  slugs: string[],
  health = new HealthRegistry(),
  preferences: ProviderPreferences = {},
): ExplainedDecision {
  const resolved = slugs.map((slug) => findModel(catalog, slug) as ResolvedModel)
  const state = { health, benchmarks: new Benchmarks().current, random: () => 0, now }
  const query = {
    models: resolved,
    preferences,
    defaultSort: null,
    prompt: { plain: null, call, promptTokens: 0 },
    region: 'global' as const,
    task: 'text' as const,
    policy: computeEffectivePolicy({}),
    byokKeys: [],
    providerByName: catalog.providerByName,
    stickyKeyFor: () => null,
  }
  const decision = completeRoute(prepareRoute(query), query, state, () => null)
  const snapshot = takeHealthSnapshot(decision, state)
  return {
    ...decision,
    requested: slugs[0] ?? '',
    slugs,
    resolvedModels: resolved,
    routed: null,
    isAlias: false,
    rule: null,
    expirations: [],
    splits: [],
    region: 'global',
    params: {},
    healthSnapshot: snapshot,
  }
}

function outcomeOf(
  decision: ExplainedDecision,
  attempts: UpstreamAttempt[],
  index: number | null,
): RoutingOutcome {
  const servedBy = index === null ? null : (decision.candidates[index] ?? null)
  return { attempts, servedBy, lastCandidate: servedBy, generationMs: 40.4, firstTokenMs: 20, totalMs: 62.6 }
}

const failed: UpstreamAttempt = {
  model: 'acme/pet-2',
  provider: 'ANT',
  tag: 'ant',
  byokKeyId: null,
  status: 503,
  error: 'provider_overloaded',
  startedMs: 1.2,
  durationMs: 20.7,
}
const good: UpstreamAttempt = {
  ...failed,
  provider: 'BEE',
  tag: 'bee',
  status: 200,
  error: null,
  startedMs: 22,
}

describe('reason texts', () => {
  const sentences = [...Object.values(rankingReasonTexts), ...Object.values(exclusionReasonTexts)]

  test('every code has one sentence, and no two have the same', () => {
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z`].{10,}\.$/)
    expect(new Set(sentences).size).toBe(sentences.length)
    expect(describeExclusion('guardrail:ignored_models')).toBe(
      'A guardrail does not allow it (`ignored_models`).',
    )
  })

  test('every code is explained in docs/why.md', async () => {
    const page = await Bun.file('docs/why.md').text()
    const codes = [...Object.keys(rankingReasonTexts), ...Object.keys(exclusionReasonTexts)]
    expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([])
  })
})

describe('an explanation', () => {
  test('before anything is sent: which endpoints can serve, in which order and share, and which cannot', () => {
    const explanation = explainDecision(decide(['acme/pet-2']), null)
    expect(explanation).toMatchObject({
      attempt: 0,
      strategy: 'direct',
      is_byok: false,
      endpoints: { total: 4 },
    })
    expect(explanation).not.toHaveProperty('timings')
    expect(explanation.summary).toBe('3 of 4 endpoints can serve this request; no attempt was made.')
    const [ant, bee, cat] = explanation.endpoints.available
    // 1, 1/4 and 1/9 of 49/36.
    expect([ant?.share, bee?.share, cat?.share]).toEqual([0.7347, 0.1837, 0.0816])
    expect(ant).toMatchObject({
      provider: 'ANT',
      rank: 1,
      selected: false,
      reason: 'Load balancing by price tries it first for 73 % of such requests.',
      price: { prompt: 1, completion: 1 },
      health: null,
    })
    expect(explanation.endpoints.excluded).toEqual([
      {
        model: 'acme/pet-2',
        provider: 'Mistral',
        tag: 'mistral',
        reason: 'no_credential',
        detail: exclusionReasonTexts.no_credential,
      },
    ])
    expect(JSON.stringify(explanation)).not.toContain('vendor-secret')
  })

  test('after a failover: both attempts with their times, and the provider that succeeded', () => {
    const decision = decide(['acme/pet-2'])
    const explanation = explainDecision(decision, outcomeOf(decision, [failed, good], 1))
    expect(explanation.summary).toBe(
      '3 of 4 endpoints can serve this request; BEE served acme/pet-2 in 2 attempts.',
    )
    expect(explanation).toMatchObject({ attempt: 2, generation_time: 40 })
    expect(explanation.timings).toEqual({ until_dispatch: 1, until_first_token: 20, total: 63 })
    expect(explanation.attempts).toEqual([
      {
        model: 'acme/pet-2',
        provider: 'ANT',
        tag: 'ant',
        status: 503,
        error: 'provider_overloaded',
        started: 1,
        duration: 21,
      },
      { model: 'acme/pet-2', provider: 'BEE', tag: 'bee', status: 200, started: 22, duration: 21 },
    ])
    expect(explanation.endpoints.available.map(({ selected }) => selected)).toEqual([false, true, false])
  })

  test('after a failure no endpoint is selected', () => {
    const decision = decide(['acme/pet-2'])
    const explanation = explainDecision(decision, outcomeOf(decision, [failed], null))
    expect(explanation.summary).toBe('3 of 4 endpoints can serve this request; none succeeded in 1 attempt.')
    expect(explanation).not.toHaveProperty('attempts')
    expect(explanation.endpoints.available.some(({ selected }) => selected)).toBe(false)
  })

  test('strategies: the model itself, an alias, the newest of a family, a later model of the list', () => {
    const strategy = (...slugs: string[]) => explainDecision(decide(slugs), null).strategy
    expect(strategy('acme/pet-2')).toBe('direct')
    expect(strategy('acme/pet-2:nitro')).toBe('direct')
    expect(strategy('acme/pet')).toBe('alias')
    expect(strategy('acme/pet:floor')).toBe('alias')
    expect(strategy('~acme/pet-latest')).toBe('latest')
    const decision = decide(['acme/pet-2', 'acme/other'])
    expect(explainDecision(decision, outcomeOf(decision, [failed, good], 3)).strategy).toBe('fallback')
  })

  test('the health of an endpoint, and when one that is cooling down is used again', () => {
    const health = new HealthRegistry()
    const [ant, bee] = findModel(catalog, 'acme/pet-2')?.model.endpoints.map(({ id }) => id) ?? []
    health.getOrCreate(ant ?? '').recordSuccess(now, { firstTokenMs: 120, tokensPerSecond: 55.555 })
    health.getOrCreate(bee ?? '').recordFailure(now, { kind: 'rate_limit_exceeded', retryAfterMs: 12_000 })
    const { available, excluded } = explainDecision(decide(['acme/pet-2'], health), null).endpoints
    const known = available.find(({ tag }) => tag === 'ant')?.health
    expect(known).toMatchObject({ uptime: 100, unstable: false })
    expect(known?.latency).toBeCloseTo(120, -1)
    expect(known?.throughput).toBeCloseTo(55.5, -1)
    expect(excluded.find(({ tag }) => tag === 'bee')).toMatchObject({
      reason: 'rate_limited',
      detail: 'The provider is rate limited and cooling down. It is used again in 12 s.',
    })
  })

  test('endpoints that are too slow are not load balanced', () => {
    const health = new HealthRegistry()
    const [ant] = findModel(catalog, 'acme/pet-2')?.model.endpoints.map(({ id }) => id) ?? []
    health.getOrCreate(ant ?? '').recordSuccess(now, { firstTokenMs: 5000, tokensPerSecond: 1 })
    const preferences = { preferred_max_latency: 1 }
    const { available } = explainDecision(decide(['acme/pet-2'], health, preferences), null).endpoints
    expect(available.map(({ tag, why, share }) => [tag, why, share])).toEqual([
      ['bee', 'balanced', 0.6923],
      ['cat', 'balanced', 0.3077],
      ['ant', 'too_slow', undefined],
    ])
  })

  test('endpoints excluded by `allow_fallbacks` are reported', () => {
    const { available, excluded } = explainDecision(
      decide(['acme/pet-2'], new HealthRegistry(), { allow_fallbacks: false }),
      null,
    ).endpoints
    expect(available).toHaveLength(1)
    expect(excluded.map(({ tag, reason }) => [tag, reason])).toEqual([
      ['bee', 'allow_fallbacks'],
      ['cat', 'allow_fallbacks'],
      ['mistral', 'no_credential'],
    ])
  })
})

describe('the examples of docs/routing.md', () => {
  const endpoints = findModel(catalog, 'acme/pet-2')?.model.endpoints ?? []
  const [ant = '', bee = '', cat = ''] = endpoints.map(({ id }) => id)

  function measured(): HealthRegistry {
    const health = new HealthRegistry()
    health.getOrCreate(ant).recordSuccess(now, { firstTokenMs: 900, tokensPerSecond: 40 })
    health.getOrCreate(bee).recordSuccess(now, { firstTokenMs: 400, tokensPerSecond: 90 })
    health.getOrCreate(cat).recordSuccess(now, { firstTokenMs: 600, tokensPerSecond: 60 })
    return health
  }

  function order(preferences: ProviderPreferences, health = measured()) {
    const { available } = explainDecision(decide(['acme/pet-2'], health, preferences), null).endpoints
    return available.map(({ tag, why, share }) =>
      [tag, why, ...(share === undefined ? [] : [share])].join(' '),
    )
  }

  test('an endpoint that failed recently is not load balanced', () => {
    const health = new HealthRegistry()
    health.getOrCreate(bee).recordFailure(now, { kind: 'server' })
    expect(order({}, health)).toEqual(['ant balanced 0.9', 'cat balanced 0.1', 'bee unstable'])
  })

  test.each<[ProviderPreferences, string[]]>([
    [{}, ['ant balanced 0.7347', 'bee balanced 0.1837', 'cat balanced 0.0816']],
    [{ sort: 'throughput' }, ['bee throughput', 'cat throughput', 'ant throughput']],
    [{ sort: 'latency' }, ['bee latency', 'cat latency', 'ant latency']],
    [{ order: ['cat'] }, ['cat order', 'ant price', 'bee price']],
    [{ order: ['cat'], allow_fallbacks: false }, ['cat order']],
    [{ max_price: { completion: 2 } }, ['ant balanced 0.8', 'bee balanced 0.2']],
    [{ preferred_max_latency: 0.7 }, ['bee balanced 0.6923', 'cat balanced 0.3077', 'ant too_slow']],
    [{ ignore: ['ant', 'bee', 'cat'] }, []],
  ])('%j', (preferences, expected) => {
    expect(order(preferences)).toEqual(expected)
  })
})
