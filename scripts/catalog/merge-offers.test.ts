import { describe, expect, test } from 'bun:test'
import { mergeOffers } from './merge-offers.ts'
import type { Offer } from './offer.ts'

const offer = (rest: Partial<Offer> = {}): Offer => ({
  id: 'acme/model',
  provider: 'acme',
  upstream: 'model',
  promptUnit: 'token',
  pricing: { prompt: '0.000001', completion: '0.000002' },
  ...rest,
})

test('an endpoint of both sources is one endpoint with the facts of both', () => {
  const { offers, disagreements, compared } = mergeOffers(
    [offer({ name: 'Model', pricing: { prompt: '0.000001', completion: '0.000002', web_search: '0.01' } })],
    [
      offer({
        pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
        maxCompletion: 8192,
      }),
      offer({ provider: 'host' }),
    ],
    true,
  )
  expect([disagreements, compared]).toEqual([[], 1])
  expect(offers).toEqual([
    offer({
      name: 'Model',
      maxCompletion: 8192,
      pricing: {
        prompt: '0.000001',
        completion: '0.000002',
        web_search: '0.01',
        input_cache_read: '0.0000001',
      },
    }),
    offer({ provider: 'host' }),
  ])
})

describe('disagreements', () => {
  const old = [offer({ variant: 'fast', pricing: { prompt: '0.000002', completion: '0.000006' } })]
  const list = [offer({ variant: 'fast', pricing: { prompt: '0.00000125', completion: '0.000006' } })]

  test.each([
    [true, '0.00000125'],
    [false, '0.000002'],
  ])('are reported, and the newer source wins (the list: %p)', (isListNewer, prompt) => {
    const { offers, disagreements } = mergeOffers(old, list, isListNewer)
    expect(disagreements).toEqual([
      {
        model: 'acme/model',
        endpoint: 'acme/fast',
        field: 'prompt',
        package: '0.000002',
        list: '0.00000125',
      },
    ])
    expect(offers[0]?.pricing?.prompt).toBe(prompt)
  })

  test('a rounded price is no disagreement, and the exact one is kept', () => {
    const { offers, disagreements } = mergeOffers(
      [offer({ promptUnit: 'second', pricing: { prompt: '0.000030833333333333', completion: '0' } })],
      [offer({ promptUnit: 'second', pricing: { prompt: '0.00003083', completion: '0' } })],
      true,
    )
    expect(disagreements).toEqual([])
    expect(offers[0]?.pricing?.prompt).toBe('0.000030833333333333')
  })

  test('about long prompts name the size', () => {
    const withOverride = (prompt: string) =>
      offer({
        pricing: {
          prompt: '0.000001',
          completion: '0.000002',
          overrides: [{ min_prompt_tokens: 200_000, prompt }],
        },
      })
    const { offers, disagreements } = mergeOffers(
      [withOverride('0.000002')],
      [withOverride('0.000003')],
      true,
    )
    expect(disagreements).toMatchObject([
      { field: 'prompt above 200000 tokens', package: '0.000002', list: '0.000003' },
    ])
    expect(offers[0]?.pricing?.overrides).toEqual([{ min_prompt_tokens: 200_000, prompt: '0.000003' }])
  })

  test('the conditions of the older source are dropped with the prices they belong to', () => {
    const overrides = [{ min_prompt_tokens: 200_000, prompt: '0.000004' }]
    const older = offer({ pricing: { prompt: '0.000002', completion: '0.000006', overrides } })
    const merge = (prompt: string) =>
      mergeOffers([older], [offer({ pricing: { prompt, completion: '0.000006' } })], true).offers[0]?.pricing
    expect(merge('0.000002')?.overrides).toEqual(overrides)
    expect(merge('0.000001')?.overrides).toBeUndefined()
  })
})

describe('limits', () => {
  const merge = (context: number, prompt: number, maxCompletion: number) =>
    mergeOffers([offer({ context })], [offer({ context: prompt, maxCompletion })], true)

  test('the longest prompt may be the context without the longest reply', () => {
    const { offers, disagreements } = merge(400_000, 272_000, 128_000)
    expect(offers[0]).toMatchObject({ context: 400_000, maxPrompt: 272_000, maxCompletion: 128_000 })
    expect(disagreements).toEqual([])
  })

  test('otherwise the sources disagree about the context', () => {
    const { offers, disagreements } = merge(1_000_000, 1_048_576, 65_536)
    expect(offers[0]?.context).toBe(1_048_576)
    expect(disagreements).toMatchObject([{ field: 'context_length', package: '1000000', list: '1048576' }])
  })

  test('a service tier has the limits of the default one', () => {
    const { offers } = mergeOffers(
      [offer({ context: 400_000 })],
      [offer({ context: 272_000, maxCompletion: 128_000 }), offer({ tier: 'flex', context: 272_000 })],
      true,
    )
    expect(offers[1]).toMatchObject({ tier: 'flex', context: 400_000, maxPrompt: 272_000 })
  })
})
