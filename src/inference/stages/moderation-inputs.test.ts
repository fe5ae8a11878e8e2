import { describe, expect, test } from 'bun:test'
import type { ModelCall } from '../../formats/call/call.ts'
import { buildModerationBatches } from './moderation-inputs.ts'

function promptOf(...texts: string[]): ModelCall {
  const messages = texts.map((text) => ({ role: 'user' as const, parts: [{ kind: 'text' as const, text }] }))
  return { messages, stream: false, unknown: [] }
}

function listTexts(call: ModelCall): string[][] {
  return buildModerationBatches(call, false).map(({ inputs }) => inputs.map(({ text }) => text ?? ''))
}

describe('the inputs of a moderation model', () => {
  test('are one for each text; blank texts are left out', () => {
    expect(listTexts(promptOf('one', ' \n', 'two'))).toEqual([['one', 'two']])
    expect(listTexts(promptOf(''))).toEqual([])
  })

  test('have at most 8,000 characters, cut between characters', () => {
    const text = `${'a'.repeat(7999)}😀${'b'.repeat(10)}`
    expect(listTexts(promptOf(text))).toEqual([['a'.repeat(7999), `😀${'b'.repeat(10)}`]])
  })

  test('are joined if there are many, and lose nothing', () => {
    const texts = Array.from({ length: 5000 }, (_, index) => `message ${index}`)
    const batches = listTexts(promptOf(...texts))
    expect(batches).toHaveLength(1)
    expect(batches.flat().join('\n').split('\n')).toEqual(texts)
    expect(batches.flat().every(({ length }) => length <= 8000)).toBe(true)
  })

  test('are sent in several requests if they are long, up to a bound', () => {
    const batches = listTexts(promptOf('x'.repeat(8000 * 40)))
    expect(batches.map(({ length }) => length)).toEqual([32, 8])
    expect(() => listTexts(promptOf('x'.repeat(8000 * 32 * 16 + 1)))).toThrow('too long to be moderated')
  })

  test('include images only for a model that reads them', () => {
    const parts = [
      { kind: 'image' as const, source: { kind: 'url' as const, url: 'https://example.com/a.png' } },
    ]
    const call: ModelCall = { messages: [{ role: 'user', parts }], stream: false, unknown: [] }
    expect(buildModerationBatches(call, false)).toEqual([])
    expect(buildModerationBatches(call, true)).toMatchObject([
      { encoded: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
    ])
  })
})
