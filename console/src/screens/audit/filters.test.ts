import { expect, test } from 'bun:test'
import { readFilters } from './filters.ts'

test('filters that the API would refuse are left out of the address', () => {
  expect(
    readFilters({
      actor_type: 'robot',
      outcome: 'refused',
      from: 'never',
      to: '2026-11-16',
      action: 7,
      x: 1,
    }),
  ).toEqual({ outcome: 'refused', to: '2026-11-16T00:00:00.000Z', action: '7' })
})
