import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ModelCall } from './call.ts'
import { applyTextEdits, type Edit, readJsonText } from './json-text.ts'
import { collectTexts, listOpaqueContent, replaceTexts, type TextPlace } from './texts.ts'

/** Edits texts as the filters do: the strings of a JSON text are read without escapes. */
function editTexts(call: ModelCall, find: (text: string, place: TextPlace) => Edit[]): ModelCall {
  const texts = collectTexts(call).map(({ text, place }) => {
    const json = readJsonText(text)
    const edits = find(json?.readable ?? text, place)
    return edits.length === 0 ? null : (json?.apply(edits) ?? applyTextEdits(text, edits))
  })
  return replaceTexts(call, texts)
}

/** Replaces each `secret`, and each of these numbers. */
const scan = (text: string): Edit[] =>
  [...text.matchAll(/secret|4111/g)].map(({ index, 0: match }) => ({
    start: index,
    end: index + match.length,
    label: '[X]',
  }))

function callWith(
  parts: ModelCall['messages'][number]['parts'],
  role: 'user' | 'assistant' = 'user',
): ModelCall {
  return { messages: [{ role, parts }], stream: false, unknown: [] }
}

function editArguments(text: string): string {
  const call = callWith([{ kind: 'tool-call', id: 'c', name: 'f', arguments: text }], 'assistant')
  const [part] = editTexts(call, scan).messages[0]?.parts ?? []
  return part?.kind === 'tool-call' ? part.arguments : ''
}

describe('editing the texts of a call', () => {
  test('a call without a match is the same object', () => {
    const call = callWith([{ kind: 'text', text: 'nothing here' }])
    expect(editTexts(call, scan)).toBe(call)
  })

  test('every place is visited once, in order, and changed', () => {
    const places: TextPlace['part'][] = []
    const text = (value: string) => ({ kind: 'text' as const, text: value })
    const call: ModelCall = {
      messages: [
        { role: 'system', parts: [text('secret')] },
        {
          role: 'user',
          name: 'secret',
          parts: [
            text('a secret'),
            { kind: 'image', source: { kind: 'url', url: 'https://example.org/secret' } },
            { kind: 'file', filename: 'secret.txt', source: { kind: 'text', text: 'secret' } },
            { kind: 'tool-result', id: 'c', content: [text('secret')] },
          ],
        },
        {
          role: 'assistant',
          parts: [
            { kind: 'reasoning', text: 'secret', summary: ['secret'], signature: 's', format: 'vendor_a-v1' },
            { kind: 'tool-call', id: 'c', name: 'f', arguments: '{"a":"secret"}' },
          ],
        },
      ],
      tools: [{ kind: 'function', name: 'f', description: 'secret' }],
      stop: ['secret'],
      prediction: 'secret',
      user: 'secret',
      stream: false,
      unknown: [],
    }
    const edited = editTexts(call, (value, place) => {
      places.push(place.part)
      return scan(value)
    })
    expect(JSON.stringify(edited)).not.toContain('secret')
    expect(places).toEqual([
      'text',
      'text',
      'url',
      'name',
      'file',
      'tool-result',
      'name',
      'name',
      'reasoning',
      'reasoning',
      'tool-call',
      'name',
      'name',
      'tool',
      'tool',
      'parameter',
      'parameter',
      'parameter',
    ])
    const [reasoning] = edited.messages[2]?.parts ?? []
    expect(reasoning).toEqual({ kind: 'reasoning', text: '[X]', summary: ['[X]'], format: 'unknown' })
    expect(JSON.stringify(call)).toContain('secret')
  })

  test('text files in base64 are edited, pictures are not', () => {
    const data = Buffer.from('a secret').toString('base64')
    const file = (mediaType: string) =>
      callWith([{ kind: 'file', source: { kind: 'data', mediaType, data } }])
    const [part] = editTexts(file('text/plain'), scan).messages[0]?.parts ?? []
    expect(part?.kind === 'file' && part.source.kind === 'data' && atob(part.source.data)).toBe('a [X]')
    const picture = file('application/pdf')
    expect(editTexts(picture, scan)).toBe(picture)
    expect(listOpaqueContent(picture)).toEqual([{ part: 'text', role: 'user', message: 0, kind: 'file' }])
    expect(listOpaqueContent(file('text/plain'))).toEqual([])
    expect(JSON.stringify(editTexts(file('Text/Plain'), scan))).not.toContain(data)
  })
})

describe('JSON stays valid', () => {
  test.each([
    ['{"a":"my secret","b":1}', '{"a":"my [X]","b":1}'],
    ['{"n": 4111, "m": [1.5, true, null]}', '{"n": "[X]", "m": [1.5, true, null]}'],
    ['{"secret": "x"}', '{"[X]": "x"}'],
    ['{"a":"line\\nsecret \\"quoted\\" \\u00e9"}', '{"a":"line\\n[X] \\"quoted\\" \\u00e9"}'],
    ['{"a":"\\u0073ecret"}', '{"a":"[X]"}'],
    ['{"a":"\\\\","b":"secret\\\\\\""}', '{"a":"\\\\","b":"[X]\\\\\\""}'],
    ['["secret","secret secret"]', '["[X]","[X] [X]"]'],
    ['{ "big": 12345678901234567890, "s": "secret" }', '{ "big": 12345678901234567890, "s": "[X]" }'],
    // Free text, or JSON that its model left unfinished
    ['run secret', 'run [X]'],
    ['{"a":"secret', '{"a":"[X]'],
    ['', ''],
  ])('%s', (text, edited) => {
    expect(editArguments(text)).toBe(edited)
  })

  test('an edit across several values leaves its label in the first', () => {
    const json = readJsonText('{"password": "hunter2", "n": 5}')
    const label = '[REDACTED]'
    expect(json?.apply([{ start: 1, end: 22, label }])).toBe('{"[REDACTED]": "", "n": 5}')
    expect(json?.apply([{ start: 14, end: 30, label }])).toBe('{"password": "[REDACTED]", "": ""}')
    expect(json?.apply([{ start: 3, end: 5, label: '"\\' }])).toBe('{"p\\"\\\\sword": "hunter2", "n": 5}')
  })

  test('for any value and any edits', () => {
    const edits = fc.array(fc.tuple(fc.nat(80), fc.integer({ min: 1, max: 9 })), { maxLength: 6 })
    fc.assert(
      fc.property(
        fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
        edits,
        (value, cuts) => {
          const text = JSON.stringify(value)
          const json = readJsonText(text)
          let at = 0
          const list = cuts.map(([gap, length]) => {
            const start = at + gap
            at = start + length
            return { start, end: at, label: '"[X]\\' }
          })
          expect(json?.apply([])).toBe(text)
          expect(() => JSON.parse(json?.apply(list) ?? '')).not.toThrow()
        },
      ),
    )
  })
})
