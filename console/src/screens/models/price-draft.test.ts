import { expect, test } from 'bun:test'
import { priceDraftOf, pricingOf } from './price-draft.ts'

const none = { prompt: '', completion: '', input_cache_read: '', input_cache_write: '' }

test('prices are entered per million tokens, and other prices stay', () => {
  const pricing = { prompt: '0.0000025', completion: '0.00001', web_search: '0.01' }
  const draft = priceDraftOf(pricing)
  expect(draft).toEqual({ ...none, prompt: '2.5', completion: '10' })
  expect(pricingOf({ ...draft, completion: '12', input_cache_read: '0.25' }, pricing)).toEqual({
    prompt: '0.0000025',
    completion: '0.000012',
    input_cache_read: '0.00000025',
    web_search: '0.01',
  })
})

test('without prices there is no edit of them, and half of them is refused', () => {
  expect(pricingOf(none, undefined)).toBeUndefined()
  expect(pricingOf({ ...none, prompt: '1' }, undefined)).toBeNull()
  expect(pricingOf({ ...none, prompt: '1', completion: 'x' }, undefined)).toBeNull()
  expect(pricingOf({ ...none, prompt: '0', completion: '0' }, undefined)).toEqual({
    prompt: '0',
    completion: '0',
  })
})
