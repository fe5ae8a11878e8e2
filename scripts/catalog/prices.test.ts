import { describe, expect, test } from 'bun:test'
import type { ModelInfo } from '@pydantic/genai-prices'
import { convertPrices } from './prices.ts'

const info = (prices: ModelInfo['prices'], rest: Partial<ModelInfo> = {}): ModelInfo => ({
  id: 'model',
  match: { equals: 'model' },
  prices,
  ...rest,
})
const today = '2026-11-15'

test('prices per million become prices per token, and prices per thousand become prices per unit', () => {
  const converted = convertPrices(
    info({
      input_mtok: 3,
      output_mtok: 15,
      cache_write_1h_mtok: 6,
      web_searches_kcount: 10,
      requests_kcount: 12,
    }),
    today,
  )
  expect(converted?.pricing).toEqual({
    prompt: '0.000003',
    completion: '0.000015',
    input_cache_write_1h: '0.000006',
    web_search: '0.01',
    request: '0.012',
  })
})

test('a tier becomes an override for prompts with more tokens than its start', () => {
  const converted = convertPrices(
    info({
      input_mtok: { base: 1.25, tiers: [{ start: 200_000, price: 2.5 }] },
      output_mtok: { base: 10, tiers: [{ start: 200_000, price: 15 }] },
      cache_read_mtok: 0.125,
    }),
    today,
  )
  expect(converted?.pricing.overrides).toEqual([
    { min_prompt_tokens: 200_000, prompt: '0.0000025', completion: '0.000015' },
  ])
  expect(converted?.pricing.prompt).toBe('0.00000125')
})

describe('conditions', () => {
  const dated = info([
    { prices: { input_mtok: 1 } },
    { constraint: { type: 'start_date', start_date: '2026-08-17' }, prices: { input_mtok: 2 } },
    { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 4 } },
  ])

  test.each([
    ['2026-08-16', '0.000001'],
    ['2026-08-17', '0.000002'],
    ['2026-12-31', '0.000002'],
    ['2027-01-01', '0.000004'],
  ])('on %s the price in force is %s', (day, prompt) => {
    expect(convertPrices(dated, day)?.pricing.prompt).toBe(prompt)
  })

  test('a time of day becomes a window; earlier windows are ignored', () => {
    const converted = convertPrices(
      info([
        { prices: { input_mtok: 1 } },
        {
          constraint: { type: 'time_of_date', start_time: '20:00:00Z', end_time: '21:00:00Z' },
          prices: { input_mtok: 9 },
        },
        { constraint: { type: 'start_date', start_date: '2026-08-17' }, prices: { input_mtok: 2 } },
        {
          constraint: { type: 'time_of_date', start_time: '00:30:00Z', end_time: '16:30:00Z' },
          prices: { input_mtok: 4 },
        },
      ]),
      today,
    )
    expect(converted?.pricing).toEqual({
      prompt: '0.000002',
      completion: '0',
      overrides: [{ utc_start: 30, utc_end: 1630, prompt: '0.000004' }],
    })
  })
})

describe('R8 three price states', () => {
  test('R8 without a price a model is free only if the source says so, and otherwise unknown', () => {
    expect(convertPrices(info({}), today)).toBeUndefined()
    expect(convertPrices(info({}, { id: 'model:free' }), today)?.pricing).toEqual({
      prompt: '0',
      completion: '0',
    })
    expect(convertPrices(info({}, { price_comments: 'Free of charge.' }), today)).toBeDefined()
  })

  test('R8 a unit without a price key is reported, so that nothing is charged below its price', () => {
    expect(convertPrices(info({ input_mtok: 1, output_citation_mtok: 2 }), today)?.unpriced).toEqual([
      'output_citation_mtok',
    ])
    expect(convertPrices(info({ input_mtok: 1, storage_searches_kcount: 2 }), today)?.unpriced).toEqual([])
  })
})

test('audio by the hour is priced by the second', () => {
  expect(convertPrices(info({ audio_hours: 0.36, input_audio_hours: 0.36 }), today)).toEqual({
    pricing: { prompt: '0.0001', completion: '0' },
    promptUnit: 'second',
    unpriced: [],
  })
})
