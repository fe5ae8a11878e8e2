import { expect, test } from 'bun:test'
import type { Message } from './call.ts'
import type { ServerToolPart, ToolCallPart, ToolResultPart } from './part.ts'
import { expandServerTools, hasServerTools } from './server-tools.ts'

const text = (value: string) => ({ kind: 'text' as const, text: value })
const call = (id: string): ToolCallPart => ({ kind: 'tool-call', id, name: 'tool', arguments: '{}' })
const result = (id: string): ToolResultPart => ({ kind: 'tool-result', id, content: [text(id)] })
const tool = (id: string): ServerToolPart => ({
  ...{ kind: 'server-tool', id, tool: 'tool', arguments: '{}', item: {}, result: id },
})

function outline(messages: Message[]): string[] {
  return messages.map(({ role, parts }) =>
    [role, ...parts.map((part) => ('id' in part ? `${part.kind} ${part.id}` : part.kind))].join(', '),
  )
}

test('a server tool becomes a call and a result, before what the model wrote next', () => {
  const messages: Message[] = [
    { role: 'user', parts: [text('Hi')] },
    { role: 'assistant', parts: [text('One moment'), tool('a'), tool('b'), text('Done')] },
    { role: 'user', parts: [text('Thanks')] },
  ]
  expect(hasServerTools(messages)).toBe(true)
  expect(outline(expandServerTools(messages))).toEqual([
    'user, text',
    'assistant, text, tool-call a, tool-call b',
    'user, tool-result a, tool-result b',
    'assistant, text',
    'user, text',
  ])
})

test('calls of the client stay in the turn of the server tools, and all results follow it', () => {
  const messages: Message[] = [
    { role: 'assistant', parts: [call('c'), tool('a')] },
    { role: 'user', parts: [result('c')] },
  ]
  expect(outline(expandServerTools(messages))).toEqual([
    'assistant, tool-call c, tool-call a',
    'user, tool-result a, tool-result c',
  ])
})

test('a conversation that ends with a server tool ends with its result', () => {
  const messages: Message[] = [{ role: 'assistant', parts: [tool('a')] }]
  expect(outline(expandServerTools(messages))).toEqual(['assistant, tool-call a', 'user, tool-result a'])
})
