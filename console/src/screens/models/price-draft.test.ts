import { expect, test } from 'bun:test'
import { priceDraftOf, pricingOf } from './price-draft.ts'

const none = { prompt: '', completion: '', input_cache_read: '', input_cache_write: '' }

const unknown = { edited: undefined, beneath: undefined }

test('prices are entered per million tokens, and what is left empty keeps its value', () => {
  const beneath = { prompt: '0.0000025', completion: '0.00001', web_search: '0.01' }
  expect(priceDraftOf(beneath)).toEqual({ ...none, prompt: '2.5', completion: '10' })
  expect(pricingOf({ ...none, completion: '12' }, { edited: undefined, beneath })).toEqual({
    prompt: '0.0000025',
    completion: '0.000012',
    web_search: '0.01',
  })
})

test('a price of an edit that is emptied is that beneath again, and one without a field stays', () => {
  const beneath = { prompt: '1', completion: '2', input_cache_read: '3' }
  const edited = { prompt: '5', completion: '6', input_cache_read: '7', request: '8' }
  const draft = { ...priceDraftOf(edited), input_cache_read: '' }
  expect(pricingOf(draft, { edited, beneath })).toEqual({
    prompt: '5',
    completion: '6',
    input_cache_read: '3',
    request: '8',
  })
})

test('without prices there is no edit of them, and half of them is refused', () => {
  expect(pricingOf(none, unknown)).toBeUndefined()
  expect(pricingOf({ ...none, prompt: '1' }, unknown)).toBeNull()
  expect(pricingOf({ ...none, prompt: '1', completion: 'x' }, unknown)).toBeNull()
  expect(pricingOf({ ...none, prompt: '0', completion: '0' }, unknown)).toEqual({
    prompt: '0',
    completion: '0',
  })
})
