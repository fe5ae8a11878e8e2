import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import { providers } from '../../src/catalog/providers/all.ts'
import { taskWireFormats } from '../../src/formats/vocabulary.ts'
import { buildSnapshot, type SnapshotDeclaration } from './build.ts'
import { findReleaseDate } from './dates.ts'
import { formatSnapshot } from './format-snapshot.ts'
import { parsePriceList } from './price-list.ts'
import { renderPricesPage } from './report.ts'
import { inferTraits } from './traits.ts'

const committed = readFileSync(new URL('../../src/catalog/snapshot.json', import.meta.url), 'utf8')

/** Rows in the form of the second source. */
const rows = {
  'gpt-4o': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 3e-6,
    output_cost_per_token: 1e-5,
    input_cost_per_token_priority: 4.25e-6,
    output_cost_per_token_priority: 1.7e-5,
    max_input_tokens: 128_000,
    max_output_tokens: 16_384,
    deprecation_date: '2027-03-01',
  },
  'gpt-9-pro': {
    litellm_provider: 'openai',
    mode: 'responses',
    input_cost_per_token: 2e-5,
    output_cost_per_token: 8e-5,
    supports_vision: true,
    supports_pdf_input: true,
    supports_function_calling: true,
    supports_none_reasoning_effort: true,
    supports_xhigh_reasoning_effort: true,
    default_reasoning_effort: 'none',
  },
  'gpt-retired': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    deprecation_date: '2026-01-01',
  },
  'zai/glm-9': {
    litellm_provider: 'zai',
    mode: 'chat',
    input_cost_per_token: 1e-6,
    output_cost_per_token: 4e-6,
    supports_function_calling: true,
    supports_reasoning: true,
  },
  'nebius/zai-org/GLM-9-fp8': {
    litellm_provider: 'nebius',
    mode: 'chat',
    input_cost_per_token: 9e-7,
    output_cost_per_token: 3e-6,
    supports_function_calling: false,
  },
  'xai/grok-video-9': {
    litellm_provider: 'xai',
    mode: 'video_generation',
    output_cost_per_second: 0.08,
    output_cost_per_second_720p: 0.14,
    supported_modalities: ['text', 'image'],
  },
  'voyage/rerank-9': { litellm_provider: 'voyage', mode: 'rerank', input_cost_per_token: 5e-8 },
  'cohere/rerank-v9': { litellm_provider: 'cohere', mode: 'rerank', input_cost_per_query: 0.002 },
}

const built = buildSnapshot({
  date: '2026-11-15',
  packageVersion: '0.1.8',
  priceList: {
    source: { name: 'litellm', version: '1.106.2', date: '2026-11-15' },
    entries: parsePriceList(JSON.stringify(rows)),
  },
  providers,
})
const find = (id: string): ModelDeclaration | undefined =>
  built.snapshot.models.find((model) => model.id === id)

describe('a snapshot of both sources', () => {
  test('records its sources and their dates', () => {
    expect(built.snapshot.sources).toEqual([
      { name: '@pydantic/genai-prices', version: '0.1.8', date: expect.stringMatching(/^2026-/) },
      { name: 'litellm', version: '1.106.2', date: '2026-11-15' },
    ])
  })

  test('has limits, tiers and the end of a model that both sources know', () => {
    const model = find('openai/gpt-4o')
    expect(model).toMatchObject({ context_length: 128_000, expiration_date: '2027-03-01' })
    expect(model?.endpoints.slice(0, 2)).toMatchObject([
      { provider: 'openai', max_completion_tokens: 16_384, pricing: { prompt: '0.000003' } },
      { provider: 'openai', service_tier: 'priority', pricing: { prompt: '0.00000425' } },
    ])
  })

  test('reports a disagreement on a page', () => {
    expect(built.disagreements).toContainEqual({
      model: 'openai/gpt-4o',
      endpoint: 'openai',
      field: 'prompt',
      package: '0.0000025',
      list: '0.000003',
    })
    expect(renderPricesPage(built)).toContain('| openai/gpt-4o | openai | prompt | 0.0000025 | 0.000003 |')
  })

  test('has models that only the price list knows, unless they have ended', () => {
    expect(find('openai/gpt-9-pro')).toMatchObject({
      input_modalities: ['text', 'image', 'file'],
      reasoning: {
        mandatory: false,
        default_effort: 'none',
        supported_efforts: ['xhigh', 'high', 'medium', 'low', 'none'],
      },
      endpoints: [{ upstream_model: 'gpt-9-pro', dialects: ['responses'] }],
    })
    expect(find('openai/gpt-retired')).toBeUndefined()
  })

  test('has one model with an endpoint for each seller, its maker first', () => {
    const model = find('z-ai/glm-9')
    expect(model?.endpoints.map(({ provider }) => provider)).toEqual(['z-ai', 'nebius'])
    expect(model?.supported_parameters).toContain('tools')
    expect(model?.endpoints[1]).toMatchObject({ quantization: 'fp8', upstream_model: 'zai-org/GLM-9-fp8' })
    expect(model?.endpoints[1]?.supported_parameters).not.toContain('tools')
  })

  test('has outputs, units and formats by mode, and names the formats that a provider lacks', () => {
    expect(find('voyageai/rerank-9')).toMatchObject({
      output_modalities: ['rerank'],
      endpoints: [{ dialects: ['voyage-rerank'], pricing: { prompt: '0.00000005' } }],
    })
    expect(find('cohere/rerank-v9')?.endpoints[0]).toMatchObject({
      prompt_unit: 'search',
      pricing: { prompt: '0.002', completion: '0' },
    })
    expect(find('x-ai/grok-video-9')).toMatchObject({
      input_modalities: ['text', 'image'],
      output_modalities: ['video'],
      video: {
        supported_resolutions: ['720p'],
        pricing_skus: { per_second: '0.08', per_second_720p: '0.14' },
      },
    })
    const xai = providers.find(({ slug }) => slug === 'xai')
    const hasVideo = xai?.wireFormats.some((name) => taskWireFormats.video.has(name))
    expect(built.missingFormats.has('video at xai')).toBe(hasVideo === false)
  })
})

describe('src/catalog/snapshot.json', () => {
  test('is in the form that `npm run catalog` writes, one model per line', () => {
    const snapshot = JSON.parse(committed) as SnapshotDeclaration
    expect(formatSnapshot(snapshot) === committed).toBe(true)
    expect(committed.trimEnd().split('\n')).toHaveLength(snapshot.models.length + 2)
  })

  test('has the voices that the rules name for each model that generates speech', () => {
    const { models } = JSON.parse(committed) as SnapshotDeclaration
    const speakers = models.filter(({ output_modalities }) => output_modalities?.includes('speech'))
    expect(speakers.length).toBeGreaterThan(0)
    for (const { id, supported_voices, speech } of speakers) {
      const traits = inferTraits(id, [{ key: id, seller: '', mode: 'audio_speech', fields: {} }])
      expect([id, supported_voices, speech]).toEqual([id, traits.supported_voices, traits.speech])
    }
  })

  test('has the version of the installed price package', () => {
    const { sources } = JSON.parse(committed) as SnapshotDeclaration
    const file = new URL('../../node_modules/@pydantic/genai-prices/package.json', import.meta.url)
    expect(sources[0]?.version).toBe(JSON.parse(readFileSync(file, 'utf8')).version)
  })
})

test.each([
  ['openai/gpt-4o-2024-08-06', ['gpt-4o-2024-08-06'], [], '2024-08-06'],
  ['openai/gpt-5', ['gpt-5'], ['gpt-5-mini-2025-01-01', 'gpt-5-2025-08-07'], '2025-08-07'],
  [
    'anthropic/claude-opus-4',
    ['claude-opus-4-0'],
    ['global.anthropic.claude-opus-4-20250514-v1:0'],
    '2025-05-14',
  ],
  ['mistralai/mistral-large-2512', ['mistral-large-2512'], [], '2025-12-01'],
  ['cohere/command-r-08-2024', ['command-r-08-2024'], [], '2024-08-01'],
])('the release of %s is read from a name', (id, upstreams, names, day) => {
  expect(findReleaseDate(id, upstreams, names)).toBe(Date.parse(day) / 1000)
})

test('a release date that is in no name is unknown', () => {
  expect(findReleaseDate('deepseek/deepseek-r1-0528', ['deepseek-r1-0528'], [])).toBeUndefined()
})
