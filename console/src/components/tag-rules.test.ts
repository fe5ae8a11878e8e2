import { expect, test } from 'bun:test'
import { formatSetTags, readSetTags } from './tag-rules.ts'

test('tags are read from text, and what is no pair is left out', () => {
  expect(readSetTags(['team=search', 'team = ads', 'cost=a=b', 'x', '=y', 'z='])).toEqual({
    team: 'ads',
    cost: 'a=b',
  })
  expect(formatSetTags({ team: 'ads', cost: 'a=b' })).toEqual(['team=ads', 'cost=a=b'])
})
