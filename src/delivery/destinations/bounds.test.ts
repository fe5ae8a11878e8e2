import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { cleanText, fitJson, fitText, measureJson, truncationMarker } from './bounds.ts'

describe('texts', () => {
  test('a text that fits is unchanged', () => {
    expect(fitText('Hello', 100)).toBe('Hello')
  })

  test('a long text is cut and marked', () => {
    const cut = fitText('a'.repeat(1000), 100)
    expect(cut).toEndWith(truncationMarker)
    expect(measureJson(cut)).toBeLessThanOrEqual(100)
    expect(cut.length).toBeGreaterThan(80)
  })

  test('NUL and lone surrogates are replaced, which databases reject', () => {
    expect(cleanText('a\0b\ud800c')).toBe('a\ufffdb\ufffdc')
  })

  test('a character is never split', () => {
    for (let limit = 20; limit < 60; limit++) {
      const cut = fitText('😀'.repeat(50), limit)
      expect(cut.isWellFormed()).toBe(true)
      expect(measureJson(cut)).toBeLessThanOrEqual(limit)
    }
  })
})

describe('values', () => {
  test('only the longest texts are cut', () => {
    const fitted = fitJson({ role: 'user', parts: ['short', 'x'.repeat(5000)], n: 1 }, 500)
    expect(measureJson(fitted)).toBeGreaterThan(450)
    expect(measureJson(fitted)).toBeLessThanOrEqual(500)
    expect(fitted).toMatchObject({ role: 'user', n: 1, parts: ['short', expect.stringMatching(/^x+\.{3}/)] })
  })

  test('a list of too many parts keeps its beginning and its end', () => {
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      role: 'user',
      content: `message ${index}`,
    }))
    const fitted = fitJson({ messages }, 64 * 1024) as { messages: unknown[] }
    expect(measureJson(fitted)).toBeLessThanOrEqual(64 * 1024)
    expect(fitted.messages[0]).toEqual(messages[0])
    expect(fitted.messages[500]).toBe(truncationMarker)
    expect(fitted.messages.at(-1)).toEqual(messages.at(-1))
  })

  test('a value that cannot be shortened is replaced', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`name ${index}`, index]))
    expect(fitJson(many, 500)).toBe(truncationMarker)
  })

  test('any JSON value fits, and is unchanged if it did', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }),
        fc.integer({ min: 20, max: 300 }),
        (value, max) => {
          const fitted = fitJson(value, max)
          expect(measureJson(fitted)).toBeLessThanOrEqual(max)
          const text = JSON.stringify(value)
          if (Buffer.byteLength(text) <= max && !text.includes('\\u0000') && value !== null) {
            expect(JSON.stringify(fitted)).toBe(text)
          }
        },
      ),
    )
  })
})
