import { describe, expect, test } from 'bun:test'
import { Placeholders } from './placeholders.ts'

const place = { part: 'text', role: 'user', message: 0 } as const

function restore(placeholders: Placeholders, text: string): string[] {
  return [...placeholders.find(text)].map(({ value }) => value)
}

describe('placeholders', () => {
  test('a value has the same one each time, and each name its own numbers', () => {
    const placeholders = new Placeholders()
    const values = [
      ['[EMAIL]', 'ada@example.com', '[EMAIL_1]'],
      ['[EMAIL]', 'bob@example.com', '[EMAIL_2]'],
      ['[EMAIL]', 'ada@example.com', '[EMAIL_1]'],
      ['[SECRET:github-token]', 'ghp_1', '[SECRET_1]'],
      ['[PERSON_NAME]', 'Ada', '[PERSON_NAME_1]'],
      ['***', 'x', '[REDACTED_1]'],
      ['7 Größen', 'y', '[GR_SSEN_1]'],
    ] as const
    for (const [label, value, expected] of values) expect(placeholders.assign(label, value)).toBe(expected)
    expect(placeholders.size).toBe(6)
  })

  test('one that the client has written, in any case, is never used', () => {
    const placeholders = new Placeholders()
    placeholders.exclude([{ text: 'What is [EMAIL_1], or [email_3]?', place }])
    const assigned = ['a', 'b'].map((value) => placeholders.assign('[EMAIL]', value))
    expect(assigned).toEqual(['[EMAIL_2]', '[EMAIL_4]'])
    expect(restore(placeholders, '[EMAIL_1] [EMAIL_2] [EMAIL_3] [EMAIL_4]')).toEqual(['a', 'b'])
  })

  test('is found in any case, and only with its brackets', () => {
    const placeholders = new Placeholders()
    placeholders.assign('[EMAIL]', 'a')
    expect(restore(placeholders, '[email_1] [[Email_1]] EMAIL_1 [EMAIL_10] [EMAIL_1 ]')).toEqual(['a', 'a'])
  })

  test('only what may begin one is open', () => {
    const placeholders = new Placeholders()
    placeholders.assign('[EMAIL]', 'a')
    for (const open of ['[', '[E', '[ema', '[EMAIL_1']) {
      expect(placeholders.findOpen(`see ${open}`)).toBe(4)
    }
    for (const text of ['see', '[EMAIL_1]', '[x', '[EMAIL_2', '[EMAIL_1 ', '[EMAIL_1] and'])
      expect(placeholders.findOpen(text)).toBe(text.length)
    expect(new Placeholders().findOpen('[')).toBe(1)
  })

  test('their number and length are limited: the label replaces what exceeds them', () => {
    const many = new Placeholders()
    for (let number = 0; number < 10_000; number++) many.assign('[EMAIL]', `${number}@example.com`)
    expect(many.assign('[EMAIL]', 'more@example.com')).toBe('[EMAIL]')
    expect(many.assign('[EMAIL]', '0@example.com')).toBe('[EMAIL_1]')
    const long = new Placeholders()
    expect(long.assign('[SECRET]', 'x'.repeat(1024 * 1024))).toBe('[SECRET_1]')
    expect(long.assign('[SECRET]', 'y')).toBe('[SECRET]')
  })
})
