import { expect, test } from 'bun:test'
import type { ToolCallPart } from '../../formats/call/part.ts'
import { createRoot, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import type { PreparedFunction } from '../tools/prepared-tools.ts'
import { beginToolSpan } from './tool-span.ts'

const secret = 'jane.doe@example.com'

function describeSpan(offered: string, id: string, isRemote: boolean) {
  const spans = new SpanRecorder(createRoot(null), {
    name: 'POST /x',
    attributes: {},
    clock: { now: () => 1_000_000 },
    startedAt: 0,
    isPropagated: false,
    sink: null,
  })
  const call: ToolCallPart = { kind: 'tool-call', id, name: offered, arguments: secret }
  const remote = { tool: `find ${secret}`, kind: 'client' as const, attributes: {} }
  const target: PreparedFunction = {
    tool: { name: isRemote ? 'mcp' : 'datetime' },
    name: 'notes__find_jane',
    instance: {
      functions: [],
      describe: () => ({ item: {} }),
      ...(isRemote && { describeSpan: () => remote }),
    },
  }
  return beginToolSpan(spans, call, target)
}

test('a tool of a server has the name that the server gave it, unless a guardrail has redacted it', () => {
  expect(describeSpan('notes__find_jane', 'call_1', true)?.name).toBe(`execute_tool find ${secret}`)
  const redacted = describeSpan('notes__find_NAME_', 'call_1', true)
  expect(redacted?.attributes).toMatchObject({ 'gen_ai.tool.name': 'notes__find_NAME_' })
  expect(JSON.stringify([redacted?.name, redacted?.attributes])).not.toContain(secret)
})

test('a tool of the gateway has its own name, whatever it is offered as', () => {
  for (const offered of ['notes__find_jane', 'datetime_2'])
    expect(describeSpan(offered, 'call_1', false)?.name).toBe('execute_tool datetime')
})

test('an id of a call that may be text is left out', () => {
  expect(describeSpan('any', 'call_1', false)?.attributes).toHaveProperty(['gen_ai.tool.call.id'], 'call_1')
  expect(describeSpan('any', secret, false)?.attributes).not.toHaveProperty(['gen_ai.tool.call.id'])
})
