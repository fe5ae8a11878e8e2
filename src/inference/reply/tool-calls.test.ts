import { expect, test } from 'bun:test'
import type { Tool } from '../../formats/call/call.ts'
import { newReplySummary, type ToolCallSummary } from '../../formats/wire-format.ts'
import { areToolCallsValid, recordToolCall } from './tool-calls.ts'

const tools: Tool[] = [
  { kind: 'function', name: 'weather' },
  { kind: 'function', name: 'search', namespace: 'web' },
  { kind: 'custom', name: 'patch' },
]

function judged(
  calls: Partial<ToolCallSummary>[],
  offered: Tool[] | undefined = tools,
  reason = 'tool_calls',
) {
  const summary = newReplySummary()
  summary.finishReasons = [{ reason, native: reason }]
  summary.toolCalls = calls.map((call, part) => ({
    choice: 0,
    part,
    name: 'weather',
    arguments: '{}',
    custom: false,
    ...call,
  }))
  return areToolCallsValid(offered, summary)
}

test.each([
  ['JSON', { arguments: '{"city": "Oslo"}' }, true],
  ['nothing at all', { arguments: '' }, true],
  ['no JSON', { arguments: '{"city": "Os' }, false],
  ['two values', { arguments: '{}{}' }, false],
  ['depths without end', { arguments: '['.repeat(500_000) }, false],
  ['free text of a tool that takes it', { name: 'patch', custom: true, arguments: '*** Begin' }, true],
  ['a flat name', { name: 'web__search' }, true],
  ['a name within its group', { name: 'search' }, true],
  ['a tool that was not offered', { name: 'wether' }, false],
  ['no name', { name: '' }, false],
])('a call with %s', (_what, call, expected) => expect(judged([call])).toBe(expected))

test('one wrong call makes the reply wrong', () => {
  expect(judged([{}, { name: 'wether' }])).toBe(false)
})

test('there is no verdict without tools, without calls, or where the reply did not end with them', () => {
  expect(judged([{}], [])).toBeNull()
  expect(judged([])).toBeNull()
  expect(judged([{ arguments: '{' }], tools, 'length')).toBeNull()
})

test('a tool of the vendor may have any name', () => {
  const native: Tool = { kind: 'native', wireFormat: 'responses', type: 'web_search', value: {} }
  expect(judged([{ name: 'browse' }], [...tools, native])).toBe(true)
  const named: Tool = {
    kind: 'native',
    wireFormat: 'messages',
    type: 'bash_20250124',
    value: { name: 'bash' },
  }
  expect(judged([{ name: 'bash' }], [...tools, named])).toBe(true)
  expect(judged([{ name: 'browse' }], [...tools, named])).toBe(false)
})

test('calls are assembled from their deltas, also where they interleave', () => {
  const summary = newReplySummary()
  const start = (part: number, name: string) =>
    recordToolCall(summary, {
      type: 'part-start',
      choice: 0,
      part,
      content: { kind: 'tool-call', id: `c${part}`, name, arguments: '' },
    })
  const more = (part: number, text: string) =>
    recordToolCall(summary, { type: 'part-delta', choice: 0, part, delta: { arguments: text } })
  start(0, 'weather')
  more(0, '{"city":')
  start(1, 'search')
  more(1, '{}')
  more(0, '"Oslo"}')
  expect(summary.toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([
    ['weather', '{"city":"Oslo"}'],
    ['search', '{}'],
  ])
})
