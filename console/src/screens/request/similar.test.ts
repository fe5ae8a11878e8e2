import { expect, test } from 'bun:test'
import { similarSearch } from './similar.ts'

test('requests like this have the same model, key, status and error', () => {
  const key = { hash: 'a'.repeat(64), name: 'Web' }
  const request = {
    requested_model: 'my,model',
    model: 'a/b',
    key,
    status: 'failed',
    error_code: 'rate_limit',
  } as const
  expect(similarSearch(request)).toEqual({
    ...{ model: 'my\\,model', key: key.hash, status: 'failed', error_code: 'rate_limit', period: 'all' },
  })
  const unread = {
    requested_model: null,
    model: null,
    key: null,
    status: 'refused',
    error_code: null,
  } as const
  expect(similarSearch(unread)).toEqual({ status: 'refused', period: 'all' })
})
