import { expect, test } from 'bun:test'
import { type FilterFields, listChips, parseFilters, readTypedEnd } from './filter-query.ts'
import { readTimeFilter, resolveTimeFilter } from './filter-time.ts'

const fields: FilterFields = {
  values: [
    { name: 'role', parameter: 'role', values: ['admin', 'member'] },
    { name: 'model', parameter: 'model', isList: true },
    { name: 'member', parameter: 'user_id', isList: true, idPattern: /^user_\w+$/ },
    { name: 'after', parameter: 'from', isTime: true },
  ],
  text: 'q',
}

test('a value that is not offered, and a name in place of an id, are named', () => {
  expect(parseFilters('role:admin', fields)).toEqual({ filters: { role: 'admin' }, problem: null })
  expect(parseFilters('role:king', fields).problem).toContain('admin, member')
  expect(parseFilters('-role:admin', fields).problem).toContain('“role”')
  expect(parseFilters('member:Ada', fields).problem).toBe('Choose “Ada” from the list.')
  expect(parseFilters('role:', fields).problem).toBe('“role:” needs a value.')
  expect(parseFilters('cost>1', fields).problem).toBe('“cost” cannot be compared.')
})

test('a colon after a word is text', () => {
  expect(parseFilters('Error: not found', fields).filters).toEqual({ q: 'Error: not found' })
})

test('records have their names in chips', () => {
  const nameOf = (_: unknown, id: string) => (id === 'user_1' ? 'Ada' : id)
  expect(listChips({ user_id: 'user_1,!user_2', from: '2h', q: 'x' }, fields, nameOf)).toEqual([
    { parameter: 'user_id', text: 'member:Ada, not user_2' },
    { parameter: 'from', text: 'after:2h' },
    { parameter: 'q', text: 'x' },
  ])
})

test.each([
  ['', '', null, ''],
  ['ro', '', null, 'ro'],
  ['role:ad', '', 'role', 'ad'],
  ['role:admin -model:"gpt 4', 'role:admin ', 'model', 'gpt 4'],
  ['x:y', '', null, 'x:y'],
])('what is typed at the end of %p', (draft, before, field, text) => {
  const end = readTypedEnd(draft, fields)
  expect([end.before, end.field?.name ?? null, end.text]).toEqual([before, field, text])
})

test('times', () => {
  const now = Date.parse('2026-11-16T12:00:00Z')
  const midnight = new Date(2026, 10, 16).toISOString()
  expect(['2H', '15min', 'Yesterday', '2026-11-16', 'soon', '2026-13-01'].map(readTimeFilter)).toEqual([
    '2h',
    '15m',
    'yesterday',
    midnight,
    null,
    null,
  ])
  expect(readTimeFilter('2026-11-16T09:30:00Z')).toBe('2026-11-16T09:30:00.000Z')
  expect(resolveTimeFilter('2h', now)).toBe('2026-11-16T10:00:00.000Z')
  expect(resolveTimeFilter('1w', now)).toBe('2026-11-09T12:00:00.000Z')
  expect(resolveTimeFilter('now', now)).toBe('2026-11-16T12:00:00.000Z')
  const day = new Date(now)
  const today = new Date(day.getFullYear(), day.getMonth(), day.getDate())
  expect(resolveTimeFilter('today', now)).toBe(today.toISOString())
  today.setDate(today.getDate() - 1)
  expect(resolveTimeFilter('yesterday', now)).toBe(today.toISOString())
  expect(resolveTimeFilter('2026-11-16T00:00:00Z', now)).toBe('2026-11-16T00:00:00Z')
})
