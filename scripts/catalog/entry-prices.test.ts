import { describe, expect, test } from 'bun:test'
import { convertUnitPrices } from './entry-prices.ts'
import type { PriceEntry } from './price-list.ts'

const entry = (mode: string, fields: Record<string, unknown>): PriceEntry => ({
  key: 'acme/model',
  seller: 'acme',
  mode,
  fields,
})

describe('prices by the token', () => {
  test('are decimal strings, whatever the exponent', () => {
    expect(
      convertUnitPrices(
        entry('chat', {
          input_cost_per_token: 1.25e-6,
          output_cost_per_token: 1e-5,
          cache_read_input_token_cost: 1.25e-7,
          cache_creation_input_token_cost: 1.5625e-6,
          cache_creation_input_token_cost_above_1hr: 2.5e-6,
          input_cost_per_audio_token: 3.2e-5,
          cache_read_input_audio_token_cost: 4e-7,
          output_cost_per_audio_token: 6.4e-5,
          input_cost_per_image_token: 8e-6,
          output_cost_per_image_token: 0.00012,
          output_cost_per_reasoning_token: 3e-6,
        }),
      ),
    ).toEqual({
      promptUnit: 'token',
      pricing: {
        prompt: '0.00000125',
        completion: '0.00001',
        input_cache_read: '0.000000125',
        input_cache_write: '0.0000015625',
        input_cache_write_1h: '0.0000025',
        audio: '0.000032',
        input_audio_cache: '0.0000004',
        audio_output: '0.000064',
        image_token: '0.000008',
        image_output: '0.00012',
        internal_reasoning: '0.000003',
      },
    })
  })

  test('lose the rounding of binary arithmetic', () => {
    const prices = convertUnitPrices(entry('chat', { input_cost_per_token: 1.2800000000000001e-7 }))
    expect(prices?.pricing.prompt).toBe('0.000000128')
  })

  test('of audio, images and reasoning that repeat the price of text are no prices of their own', () => {
    const prices = convertUnitPrices(
      entry('chat', {
        input_cost_per_token: 2e-6,
        output_cost_per_token: 6e-6,
        input_cost_per_audio_token: 2e-6,
        input_cost_per_image_token: 2e-6,
        output_cost_per_reasoning_token: 6e-6,
      }),
    )
    expect(prices?.pricing).toEqual({ prompt: '0.000002', completion: '0.000006' })
  })
})

describe('conditions', () => {
  test('a threshold becomes an override for longer prompts, in ascending order', () => {
    const { pricing } =
      convertUnitPrices(
        entry('chat', {
          input_cost_per_token: 2e-6,
          output_cost_per_token: 1.2e-5,
          input_cost_per_token_above_272k_tokens: 8e-6,
          input_cost_per_token_above_200k_tokens: 4e-6,
          output_cost_per_token_above_200k_tokens: 1.8e-5,
          cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1e-5,
          input_cost_per_token_above_200k_tokens_priority: 7.2e-6,
        }),
      ) ?? {}
    expect(pricing?.overrides).toEqual([
      {
        min_prompt_tokens: 200_000,
        prompt: '0.000004',
        completion: '0.000018',
        input_cache_write_1h: '0.00001',
      },
      { min_prompt_tokens: 272_000, prompt: '0.000008' },
    ])
  })

  test('the first of several ranges is the base', () => {
    const prices = convertUnitPrices(
      entry('chat', {
        tiered_pricing: [
          { range: [0, 32000.0], input_cost_per_token: 1.2e-6, output_cost_per_token: 6e-6 },
          { range: [32000.0, 128000.0], input_cost_per_token: 2.4e-6, output_cost_per_token: 1.2e-5 },
        ],
      }),
    )
    expect(prices?.pricing).toEqual({
      prompt: '0.0000012',
      completion: '0.000006',
      overrides: [{ min_prompt_tokens: 32_000, prompt: '0.0000024', completion: '0.000012' }],
    })
  })

  test('off-peak prices become windows; a whole day needs no hours', () => {
    const prices = convertUnitPrices(
      entry('chat', {
        input_cost_per_token: 1.32e-6,
        output_cost_per_token: 3.96e-6,
        off_peak_pricing: {
          input_cost_per_token: 6.6e-7,
          windows: [
            { hours_utc: ['00:00-01:00', '10:00-00:00'], weekdays: [1, 5] },
            { hours_utc: '00:00-00:00', weekdays: [6, 7] },
          ],
        },
      }),
    )
    const prompt = '0.00000066'
    expect(prices?.pricing.overrides).toEqual([
      { utc_start: 0, utc_end: 100, utc_days: ['monday', 'friday'], prompt },
      { utc_start: 1000, utc_end: 0, utc_days: ['monday', 'friday'], prompt },
      { utc_days: ['saturday', 'sunday'], prompt },
    ])
  })
})

describe('service tiers', () => {
  const model = entry('chat', {
    input_cost_per_token: 2e-6,
    output_cost_per_token: 1.2e-5,
    input_cost_per_token_priority: 3.6e-6,
    output_cost_per_token_priority: 2.16e-5,
    input_cost_per_token_above_200k_tokens_priority: 7.2e-6,
    input_cost_per_token_above_200k_tokens: 4e-6,
  })

  test('have their own prices and thresholds', () => {
    expect(convertUnitPrices(model, 'priority')?.pricing).toEqual({
      prompt: '0.0000036',
      completion: '0.0000216',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.0000072' }],
    })
  })

  test('without a price are not offered', () => {
    expect(convertUnitPrices(model, 'flex')).toBeUndefined()
  })
})

describe('other units', () => {
  test.each([
    ['rerank', { input_cost_per_query: 0.002, input_cost_per_token: 0 }, 'search', '0.002'],
    ['rerank', { input_cost_per_token: 5e-8 }, 'token', '0.00000005'],
    ['audio_speech', { input_cost_per_character: 1.5e-5 }, 'character', '0.000015'],
    ['audio_transcription', { input_cost_per_second: 3.083e-5 }, 'second', '0.00003083'],
    [
      'audio_transcription',
      { input_cost_per_second: 7.167e-5, metadata: { original_pricing_per_minute: 0.0043 } },
      'second',
      '0.000071666666666667',
    ],
    [
      'audio_transcription',
      { input_cost_per_second: 2.778e-5, metadata: { original_pricing_per_hour: 0.1 } },
      'second',
      '0.000027777777777778',
    ],
  ])('%s %p is billed by the %s', (mode, fields, promptUnit, prompt) => {
    const prices = convertUnitPrices(entry(mode, fields))
    expect([prices?.promptUnit, prices?.pricing.prompt]).toEqual([promptUnit, prompt])
  })

  test('audio by the second is not charged without the price of the transcribed tokens', () => {
    expect(
      convertUnitPrices(
        entry('audio_transcription', { input_cost_per_second: 5e-5, output_cost_per_token: 1e-5 }),
      ),
    ).toBeUndefined()
  })

  test('a search fee applies if it is the same for every size and none is free', () => {
    const fee = (low: number, high: number, rest = {}) =>
      convertUnitPrices(
        entry('chat', {
          input_cost_per_token: 1e-6,
          search_context_cost_per_query: { search_context_size_low: low, search_context_size_high: high },
          ...rest,
        }),
      )?.pricing.web_search
    expect(fee(0.01, 0.01)).toBe('0.01')
    expect(fee(0.005, 0.012)).toBeUndefined()
    expect(fee(0.014, 0.014, { search_free_requests: { count: 5000 } })).toBeUndefined()
  })
})

test('R8 a price of zero is unknown, not free', () => {
  expect(
    convertUnitPrices(entry('chat', { input_cost_per_token: 0, output_cost_per_token: 0 })),
  ).toBeUndefined()
  expect(convertUnitPrices(entry('rerank', { input_cost_per_query: 0 }))).toBeUndefined()
})
