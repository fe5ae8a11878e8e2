import { describe, expect, test } from 'bun:test'
import { buildCatalog, type Catalog } from '../../catalog/catalog.ts'
import { declaredModel } from '../../catalog/declared-model.ts'
import { hasOutput, type Model } from '../../catalog/model.ts'
import { providers } from '../../catalog/providers/all.ts'
import { bandOfTier, computePercentiles, costTiers, pickBand } from './cost-bands.ts'
import { estimateStanding } from './standing.ts'

const now = Date.parse('2026-11-18T00:00:00Z')
const year = 365 * 86_400

function build(models: object[] = []): Catalog {
  const environment = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }
  return buildCatalog({
    settings: { providers: [], models: models.map((model) => declaredModel.parse(model)) },
    providers,
    environment,
  })
}

function declare(id: string, fields: object = {}) {
  const created = now / 1000 - year / 2
  return { id, name: id, created, endpoints: [{ provider: 'openai', upstream_model: id }], ...fields }
}

describe('standing', () => {
  const catalog = build([
    declare('acme/large-2'),
    declare('acme/large-3'),
    declare('acme/wide-1', { context_length: 1_000_000, supported_parameters: ['tools', 'reasoning'] }),
    declare('acme/ending-1', { expiration_date: '2026-12-01' }),
    declare('acme/old-1', { created: now / 1000 - 2 * year }),
    declare('acme/sold-1', {
      endpoints: ['openai', 'anthropic', 'groq', 'together'].map((provider) => ({
        ...{ provider, upstream_model: 'sold' },
      })),
    }),
  ])
  const standingOf = (id: string) => {
    const model = catalog.bySlug.get(id)
    if (!model) throw new Error(`${id} is missing`)
    return estimateStanding(catalog, model, now)
  }

  test('the newest release of a family is above the others', () => {
    expect(standingOf('acme/large-3')).toBeGreaterThan(standingOf('acme/large-2'))
  })

  test('a release that is old or about to be withdrawn is as low as a superseded one', () => {
    expect(standingOf('acme/ending-1')).toBe(standingOf('acme/large-2'))
    expect(standingOf('acme/old-1')).toBe(standingOf('acme/large-2'))
  })

  test('capabilities and the number of providers raise it', () => {
    expect(standingOf('acme/wide-1')).toBeGreaterThan(standingOf('acme/large-3'))
    expect(standingOf('acme/sold-1')).toBeGreaterThan(standingOf('acme/large-3'))
  })
})

test('every price tier of the built-in catalog has a current, capable model to prefer', () => {
  const catalog = build()
  const priced = catalog.models.flatMap((model) => {
    const usable = model.callable.filter(({ provider, service_tier }) => !provider.inProcess && !service_tier)
    const isListed = hasOutput(model, 'text') && !model.id.includes(':') && usable.length > 0
    return isListed
      ? [{ ...describeCandidate(catalog, model), price: Math.min(...usable.map((e) => e.price)) }]
      : []
  })
  const percentiles = computePercentiles(priced)
  for (const tier of costTiers) {
    const band = pickBand(priced, percentiles, bandOfTier(tier))
    const best = band.toSorted((a, b) => b.standing - a.standing)[0]
    expect(best?.id).not.toBe('openai/o1-pro')
    expect(best?.standing).toBeGreaterThan(0.8)
  }
})

function describeCandidate(catalog: Catalog, model: Model) {
  return {
    ...{
      id: model.id,
      promptPrice: 0,
      paidPromptPrice: null,
      isStable: true,
      latency: null,
      throughput: null,
    },
    ...{ score: null, codingScore: null, taskShare: 0, spendShare: 0 },
    standing: estimateStanding(catalog, model, now),
  }
}
