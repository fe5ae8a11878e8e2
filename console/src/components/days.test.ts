import { expect, test } from 'bun:test'
import { fillDays, listDays } from './days.ts'

test('days without requests are filled in', () => {
  const days = listDays(3, Date.parse('2026-03-01T12:00:00Z'))
  expect(days).toEqual(['2026-02-27', '2026-02-28', '2026-03-01'])
  const rows = [{ date__day: '2026-02-28', request_count: 4, total_usage: 0.5 }]
  expect(fillDays(days, rows)).toEqual([
    { day: '2026-02-27', requests: 0, spent: 0 },
    { day: '2026-02-28', requests: 4, spent: 0.5 },
    { day: '2026-03-01', requests: 0, spent: 0 },
  ])
})
