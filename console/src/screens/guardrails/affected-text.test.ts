import { expect, test } from 'bun:test'
import { describeAffected, describeRejections } from './affected-text.ts'

test('says who is affected', () => {
  expect(describeAffected('workspace', 0, 0)).toContain('nothing yet')
  expect(describeAffected('workspace', 3, 1)).toBe(
    'Applies to 3 keys and 1 member with all of their keys, from their next request on.',
  )
  expect(describeAffected('organization', 0, 0)).toContain('every request')
})

test('says what would have been rejected', () => {
  const none = { examined: 1200, rejected: 0, moved: 0, undecided: 0, is_complete: true }
  expect(describeRejections(none)).toBe(
    'Of 1,200 requests in the last 7 days, none would have been rejected.',
  )
  expect(describeRejections({ ...none, rejected: 12, moved: 30, is_complete: false })).toBe(
    'Of the newest 1,200 requests, 12 would have been rejected. 30 would have used another endpoint of the model.',
  )
  expect(describeRejections({ ...none, examined: 0 })).toBe('No requests in the last 7 days.')
})
