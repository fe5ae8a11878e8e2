import { describe, expect, test } from 'bun:test'
import { providers } from '../providers/all.ts'
import { buildCatalogue } from './catalogue.ts'
import { findModel } from './lookup.ts'
import { modelRecord, toModelRecord } from './model-record.ts'
import { listPrices } from './price.ts'
import { readSnapshot } from './snapshot.ts'

const snapshot = readSnapshot()
const catalogue = buildCatalogue({ settings: { providers: [], models: [] }, providers, environment: {} })

describe('the snapshot', () => {
  test('has hundreds of models, each once, with a date and a source', () => {
    const ids = snapshot.models.map((model) => model.id)
    expect(ids.length).toBeGreaterThan(300)
    expect(new Set(ids).size).toBe(ids.length)
    expect(catalogue.snapshotDate).toBe(snapshot.date)
    expect(snapshot.source).toBe('@pydantic/genai-prices')
    expect(snapshot.date).toMatch(/^\d{4}-/)
  })

  test('names only built-in providers, and every model is in the catalogue', () => {
    const known = new Set(providers.map((provider) => provider.slug))
    const used = new Set(
      snapshot.models.flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider)),
    )
    expect([...used].filter((slug) => !known.has(slug))).toEqual([])
    for (const { id } of snapshot.models) expect(catalogue.bySlug.get(id)?.id).toBe(id)
  })

  test('has a decimal price for every endpoint, and no token above one cent', () => {
    for (const model of snapshot.models) {
      for (const { pricing, provider } of model.endpoints) {
        expect(`${model.id} ${provider} ${pricing === undefined}`).toBe(`${model.id} ${provider} false`)
        if (!pricing) continue
        for (const price of listPrices(pricing)) expect(price).toMatch(/^\d+(\.\d+)?$/)
        expect(Number(pricing.prompt)).toBeLessThan(0.01)
        expect(Number(pricing.completion)).toBeLessThan(0.01)
      }
    }
  })

  test('exactly the variants called free are free', () => {
    for (const model of catalogue.models) {
      const states = model.endpoints.map((endpoint) => endpoint.price_state)
      expect([model.id, ...states]).toEqual([
        model.id,
        ...states.map(() => (model.id.endsWith(':free') ? 'free' : 'priced')),
      ])
    }
  })

  test('uses only formats that the provider of an endpoint supports', () => {
    for (const { id, endpoints } of catalogue.models) {
      for (const { dialects, provider } of endpoints) {
        expect([id, dialects.filter((dialect) => !provider.dialects.includes(dialect))]).toEqual([id, []])
      }
    }
  })

  test('has published prices: some examples', () => {
    const price = (id: string) => findModel(catalogue, id)?.model.endpoints[0]?.pricing
    expect(price('openai/gpt-4o')).toMatchObject({ prompt: '0.0000025', completion: '0.00001' })
    expect(price('anthropic/claude-sonnet-4.5')).toMatchObject({
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_write: '0.00000375',
      input_cache_write_1h: '0.000006',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000006', completion: '0.0000225' }],
    })
    expect(price('openai/text-embedding-3-small')).toMatchObject({ prompt: '0.00000002', completion: '0' })
    expect(price('deepseek/deepseek-v4-pro')?.overrides).toContainEqual(
      expect.objectContaining({ utc_start: 100, utc_end: 400 }),
    )
  })

  test('E16 every model has a valid record, under its id and each alias', () => {
    for (const model of catalogue.models) {
      for (const name of [model.id, ...model.aliases]) expect(findModel(catalogue, name)?.model).toBe(model)
      const parsed = modelRecord.safeParse(toModelRecord(model))
      expect(`${model.id} ${parsed.error?.message}`).toBe(`${model.id} undefined`)
    }
  })

  test.each([
    ['embeddings', 'openai/text-embedding-3-large'],
    ['image', 'openai/gpt-image-1'],
    ['speech', 'openai/gpt-4o-mini-tts'],
    ['transcription', 'openai/whisper-1'],
  ] as const)('%s is an output modality of %s', (modality, id) => {
    expect(findModel(catalogue, id)?.model.output_modalities).toContain(modality)
  })
})
