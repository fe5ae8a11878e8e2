import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { buildCatalog } from './catalog.ts'
import { declaredModel, tagOf } from './declared-model.ts'
import { findModel } from './lookup.ts'
import { modelRecord, toModelRecord } from './model-record.ts'
import { listPrices } from './price.ts'
import { providers } from './providers/all.ts'
import { readSnapshot } from './snapshot.ts'

const snapshot = readSnapshot()
const catalog = buildCatalog({ settings: { providers: [], models: [] }, providers, environment: {} })

const authors = new Map(providers.map(({ slug, author }) => [slug, author]))

/** Providers without prices in either source. */
const unlistedProviders = new Set([
  ...['arcee-ai', 'chutes', 'clarifai', 'huggingface', 'inceptron', 'inference-net', 'io-net'],
  ...['poolside', 'sandbox', 'siliconflow', 'stepfun', 'upstage', 'venice'],
])

describe('the snapshot', () => {
  test('has hundreds of models, each once, with a date and its sources', () => {
    const ids = snapshot.models.map((model) => model.id)
    expect(ids.length).toBeGreaterThan(600)
    expect(new Set(ids).size).toBe(ids.length)
    expect(catalog.snapshotDate).toBe(snapshot.date)
    expect(snapshot.sources.map(({ name }) => name)).toEqual(['@pydantic/genai-prices', 'litellm'])
    for (const { version, date } of snapshot.sources) {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(date <= snapshot.date).toBe(true)
    }
  })

  test('is valid, and is read as the schema reads it', () => {
    const text = readFileSync(new URL('./snapshot.json', import.meta.url), 'utf8')
    const { models } = JSON.parse(text) as { models: { id: string }[] }
    for (const [index, model] of models.entries()) {
      const parsed = declaredModel.safeParse(model)
      expect(`${model.id} ${parsed.error?.message}`).toBe(`${model.id} undefined`)
      expect(snapshot.models[index]).toEqual(parsed.data)
    }
  })

  test('names only built-in providers, and every model is in the catalog', () => {
    const known = new Set(providers.map((provider) => provider.slug))
    const used = new Set(
      snapshot.models.flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider)),
    )
    expect([...used].filter((slug) => !known.has(slug))).toEqual([])
    for (const { id } of snapshot.models) expect(catalog.bySlug.get(id)?.id).toBe(id)
  })

  test('has models of every provider that the sources know', () => {
    const used = new Set(
      snapshot.models.flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider)),
    )
    const missing = providers.map(({ slug }) => slug).filter((slug) => !used.has(slug))
    expect(missing.filter((slug) => !unlistedProviders.has(slug))).toEqual([])
  })

  test('has no two endpoints of a model with the same tag, and the maker comes first', () => {
    for (const { id, endpoints } of snapshot.models) {
      const tags = endpoints.map((endpoint) => tagOf(endpoint))
      expect([id, new Set(tags).size]).toEqual([id, tags.length])
      const author = id.slice(0, id.indexOf('/'))
      const makers = endpoints.filter(({ provider }) => authors.get(provider) === author)
      if (makers.length > 0) expect([id, authors.get(endpoints[0]?.provider ?? '')]).toEqual([id, author])
    }
  })

  test('has decimal prices, and no token above one cent', () => {
    for (const { endpoints } of snapshot.models) {
      for (const { pricing, prompt_unit } of endpoints) {
        if (!pricing) continue
        for (const price of listPrices(pricing)) expect(price).toMatch(/^\d+(\.\d+)?$/)
        if (prompt_unit === 'token') expect(Number(pricing.prompt)).toBeLessThan(0.01)
        expect(Number(pricing.completion)).toBeLessThan(0.01)
      }
    }
  })

  test('R8 exactly the variants called free are free, and few prices are unknown', () => {
    const endpoints = catalog.models.flatMap((model) => model.endpoints)
    for (const { id, model_id, price_state } of endpoints) {
      expect([id, price_state === 'free']).toEqual([id, model_id.endsWith(':free')])
    }
    const unknown = endpoints.filter(({ price_state }) => price_state === 'unknown')
    expect(unknown.length / endpoints.length).toBeLessThan(0.03)
  })

  test('E8 the variants of image prices are a quality, a size, or both', () => {
    const images = snapshot.models.flatMap((model) => [
      model.image,
      ...model.endpoints.map(({ image }) => image),
    ])
    const variants = images.flatMap((image) => image?.pricing.flatMap(({ variant }) => variant ?? []) ?? [])
    expect(variants.length).toBeGreaterThan(0)
    for (const variant of variants) {
      expect(variant).toMatch(/^((low|medium|high|standard|hd)( \d+x\d+)?|\d+x\d+)$/)
    }
  })

  test('names the prices of videos by unit, resolution and sound', () => {
    const videos = snapshot.models.flatMap((model) => [
      model.video,
      ...model.endpoints.map(({ video }) => video),
    ])
    const skus = videos.flatMap((video) => Object.keys(video?.pricing_skus ?? {}))
    expect(skus.length).toBeGreaterThan(0)
    for (const sku of skus) {
      expect(sku).toMatch(
        /^per_(second|video|token)(_(360p|480p|720p|768p|1080p|1K|2K|4K))?(_with(out)?_audio)?$/,
      )
    }
  })

  test('has the longest reply of most text endpoints, never longer than the context', () => {
    const endpoints = catalog.models
      .filter(({ output_modalities }) => output_modalities.join() === 'text')
      .flatMap((model) => model.endpoints)
    const limited = endpoints.filter(({ max_completion_tokens }) => max_completion_tokens !== null)
    expect(limited.length / endpoints.length).toBeGreaterThan(0.5)
    for (const { id, context_length, max_completion_tokens } of limited) {
      expect([id, (max_completion_tokens ?? 0) <= (context_length ?? Infinity)]).toEqual([id, true])
    }
  })

  test('uses only formats that the provider of an endpoint supports', () => {
    for (const { id, endpoints } of catalog.models) {
      for (const { wireFormats, provider } of endpoints) {
        expect([id, wireFormats.filter((wireFormat) => !provider.wireFormats.includes(wireFormat))]).toEqual([
          id,
          [],
        ])
      }
    }
  })

  test('has published prices: some examples', () => {
    const price = (id: string) => findModel(catalog, id)?.model.endpoints[0]?.pricing
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
      expect.objectContaining({ utc_days: ['saturday', 'sunday'] }),
    )
  })

  test('E16 every model has a valid record, under its id and each alias', () => {
    for (const model of catalog.models) {
      for (const name of [model.id, ...model.aliases]) expect(findModel(catalog, name)?.model).toBe(model)
      const parsed = modelRecord.safeParse(toModelRecord(model))
      expect(`${model.id} ${parsed.error?.message}`).toBe(`${model.id} undefined`)
    }
  })

  test.each([
    ['embeddings', 'openai/text-embedding-3-large'],
    ['image', 'openai/gpt-image-1'],
    ['speech', 'openai/gpt-4o-mini-tts'],
    ['transcription', 'openai/whisper-1'],
    ['rerank', 'cohere/rerank-v3.5'],
    ['video', 'x-ai/grok-imagine-video'],
  ] as const)('%s is an output modality of %s', (modality, id) => {
    expect(findModel(catalog, id)?.model.output_modalities).toContain(modality)
  })

  test('E16 every model that generates speech lists voices', () => {
    const speakers = catalog.models.filter(({ output_modalities }) => output_modalities.includes('speech'))
    expect(speakers.length).toBeGreaterThan(20)
    for (const { id, supported_voices } of speakers) {
      const voices = supported_voices ?? []
      expect([id, voices.length > 0]).toEqual([id, true])
      expect([id, new Set(voices).size]).toEqual([id, voices.length])
    }
  })

  test.each([
    ['elevenlabs/eleven_v3', 'JBFqnCBsd6RMkjVDRZzb', true],
    ['minimax/speech-2.6-hd', 'English_expressive_narrator', true],
    ['mistralai/voxtral-mini-tts-2603', 'en_paul_neutral', true],
    ['openai/tts-1', 'alloy', false],
    ['google/gemini-2.5-flash-tts', 'Kore', false],
    ['canopylabs/orpheus-v1-english', 'hannah', false],
  ])('%s has the voice %s; that it accepts others is %p', (id, voice, accepts) => {
    const model = findModel(catalog, id)?.model
    expect(model?.supported_voices).toContain(voice)
    const speech = model?.endpoints.map((endpoint) => endpoint.speech)
    expect(new Set(speech?.map((traits) => traits?.accepts_unlisted_voices))).toEqual(new Set([accepts]))
  })

  test('the model of OpenAI that tells speakers apart says so, others do not', () => {
    const support = (id: string) =>
      findModel(catalog, id)?.model.endpoints.map(({ supports_diarization }) => supports_diarization)
    expect(new Set(support('openai/gpt-4o-transcribe-diarize'))).toEqual(new Set([true]))
    expect(new Set(support('openai/whisper-1'))).toEqual(new Set([null]))
  })
})
