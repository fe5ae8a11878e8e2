import { expect, test } from 'bun:test'
import { formatValue, listChanges } from './audit-changes.ts'

test('only the fields that differ are changes, by value', () => {
  const before = { name: 'a', limits: [1, 2], note: null, gone: true }
  const after = { name: 'b', limits: [1, 2], added: 0 }
  expect(listChanges(before, after)).toEqual([
    { field: 'name', before: 'a', after: 'b' },
    { field: 'gone', before: true, after: undefined },
    { field: 'added', before: undefined, after: 0 },
  ])
})

test('a record that is made shows its fields, without those that are empty', () => {
  expect(listChanges(null, { name: 'a', note: null })).toEqual([
    { field: 'name', before: undefined, after: 'a' },
  ])
  expect(listChanges(undefined, undefined)).toEqual([])
})

test.each([
  [null, '–'],
  ['<b>', '<b>'],
  [0, '0'],
  [{ a: [1] }, '{"a":[1]}'],
])('%p is shown as %j', (value, text) => {
  expect(formatValue(value)).toBe(text)
})
