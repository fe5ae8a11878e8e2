import { describe, expect, test } from 'bun:test'
import { assessHour, type HourSpend } from './baseline.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** A Monday. */
const now = Date.parse('2026-03-30T10:00:00Z')

function buildHistory(days: number, usdAt: (date: Date) => number): HourSpend[] {
  return Array.from({ length: days * 24 }, (_, index) => now - (index + 1) * hourMs)
    .map((at) => ({ at, usd: usdAt(new Date(at)) }))
    .filter(({ usd }) => usd > 0)
}

const noise = (date: Date) => 1 + ((date.getTime() / hourMs) % 5) / 10

describe('the baseline of a key', () => {
  test('an hour of ten times the usual amount is unusual', () => {
    const unusual = assessHour({ at: now, usd: 12 }, buildHistory(28, noise))
    expect(unusual?.expectedUsd).toBeCloseTo(1.4, 1)
  })

  test('an hour of twice the usual amount is not', () => {
    expect(assessHour({ at: now, usd: 2.5 }, buildHistory(28, noise))).toBeNull()
  })

  test('a weekly job is not unusual at its time, an hour late included, and is at another', () => {
    const weekly = (date: Date) => (date.getUTCDay() === 1 && date.getUTCHours() === 10 ? 50 : noise(date))
    const history = buildHistory(28, weekly)
    expect(assessHour({ at: now, usd: 55 }, history)).toBeNull()
    const late = [...history, { at: now, usd: 1 }]
    expect(assessHour({ at: now + hourMs, usd: 55 }, late)).toBeNull()
    expect(assessHour({ at: now + 5 * hourMs, usd: 55 }, late)).not.toBeNull()
  })

  test('office hours are not unusual, nor a usual amount at night', () => {
    const office = (date: Date) =>
      date.getUTCDay() % 6 !== 0 && date.getUTCHours() >= 9 && date.getUTCHours() < 17 ? 5 : 0
    const history = buildHistory(28, office)
    expect(assessHour({ at: now, usd: 6 }, history)).toBeNull()
    expect(assessHour({ at: now + 12 * hourMs, usd: 6 }, history)).toBeNull()
    expect(assessHour({ at: now + 12 * hourMs, usd: 60 }, history)).not.toBeNull()
  })

  test('one outlier in the past does not hide the next', () => {
    const history = buildHistory(28, (date) => (now - date.getTime() === 7 * dayMs ? 500 : noise(date)))
    expect(assessHour({ at: now, usd: 20 }, history)).not.toBeNull()
  })

  test('nothing is said about a key without two weeks of history', () => {
    expect(assessHour({ at: now, usd: 1000 }, [])).toBeNull()
    expect(assessHour({ at: now, usd: 1000 }, buildHistory(13, noise))).toBeNull()
    expect(assessHour({ at: now, usd: 1000 }, buildHistory(14, noise))).not.toBeNull()
  })
})
