import { expect, test } from 'bun:test'
import { findRefusingLimit } from './refusing-limit.ts'

const request = {
  key: { hash: 'h', name: 'Checkout' },
  user: { id: 'u', name: null },
  workspace: { id: 'w', name: null },
}

test.each([
  [{ limit: 'limit', limit_id: 'l' }, 'l'],
  [{ limit: 'key' }, 'key:h'],
  [{ limit: 'member' }, 'member:u'],
  [{ limit: 'workspace', interval: 'daily' }, 'workspace:w:daily'],
  [{ limit: 'guardrail' }, null],
  [{ limit: 'credits' }, null],
  [{}, null],
])('the limit of %j', (details, id) => {
  expect(findRefusingLimit(details, request)).toBe(id)
})
