import { expect, test } from 'bun:test'
import { diffRates, type RateDraft, toLimitBody } from './rate-draft.ts'

const stored: RateDraft = { id: 'a', row: 'a', measure: 'requests', window: 'minute', amount: 60 }

test('only what differs is sent', () => {
  expect(diffRates([stored], [stored])).toEqual({ removed: [], added: [], changed: [] })
  const more = { ...stored, amount: 90 }
  expect(diffRates([stored], [more])).toEqual({ removed: [], added: [], changed: [more] })
  expect(diffRates([stored], [])).toEqual({ removed: [stored], added: [], changed: [] })
  const empty = { ...stored, id: null, row: 'b', amount: null }
  expect(diffRates([stored], [stored, empty])).toEqual({ removed: [], added: [], changed: [] })
})

test('a limit in another window is another limit', () => {
  const daily = { ...stored, window: 'day' as const }
  expect(diffRates([stored], [daily])).toEqual({ removed: [stored], added: [daily], changed: [] })
})

test('a limit is named after its key', () => {
  const key = { hash: 'h', name: 'Checkout' }
  expect(toLimitBody(stored, key)).toEqual({
    name: 'Checkout: requests a minute',
    measure: 'requests',
    window: 'minute',
    amount: 60,
    match: { key_hash: 'h' },
  })
  const parallel = toLimitBody({ ...stored, measure: 'concurrent_requests' }, key)
  expect(parallel).toMatchObject({ name: 'Checkout: concurrent requests', window: null })
})
