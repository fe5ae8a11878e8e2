import { expect, test } from 'bun:test'
import { compareTexts } from './compare-texts.ts'

const user = (text: string) => ({ role: 'user', text })

test('equal messages at the beginning are left out', () => {
  const start = [{ role: 'system', text: 'Be brief' }, user('Hi')]
  expect(compareTexts([...start, user('One')], [...start, user('Two'), user('Three')])).toEqual({
    ...{ before: '[user]\nOne', after: '[user]\nTwo\n[user]\nThree', same: 2, isCut: false },
  })
  expect(compareTexts(start, start)).toMatchObject({ before: '', after: '', same: 2 })
  expect(compareTexts(start, start.slice(0, 1))).toMatchObject({ before: '[user]\nHi', after: '', same: 1 })
})

test('long lines are broken between words, and nothing is lost', () => {
  const text = `${'word '.repeat(100)}end`
  const { before } = compareTexts([user(text)], [])
  const lines = before.split('\n').slice(1)
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(161)
  expect(lines.join('')).toBe(text)
  const solid = 'x'.repeat(1000)
  expect(
    compareTexts([user(solid)], [])
      .before.split('\n')
      .slice(1)
      .join(''),
  ).toBe(solid)
})

test('a side is bounded in lines and characters', () => {
  const lines = compareTexts([user('a\n'.repeat(1_000_000))], [])
  expect(lines.isCut).toBe(true)
  expect(lines.before.split('\n')).toHaveLength(1000)
  const characters = compareTexts([user('x'.repeat(5_000_000))], [user('y')])
  expect(characters.isCut).toBe(true)
  expect(characters.before.length).toBeLessThan(250_000)
})
