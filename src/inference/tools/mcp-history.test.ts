import { expect, test } from 'bun:test'
import type { Message } from '../../formats/call/call.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { nameFunctions } from './mcp.ts'
import { restoreMcpCalls } from './mcp-history.ts'

const functionNameOf = (label: string, tool: string) => (label === 'files' ? `files__${tool}` : undefined)

function restore(...items: (JsonObject | string)[]) {
  const messages: Message[] = items.map((item) =>
    typeof item === 'string'
      ? { role: 'user', parts: [{ kind: 'text', text: item }] }
      : { role: 'assistant', parts: [{ kind: 'opaque', wireFormat: 'responses', value: item }] },
  )
  const { messages: restored, approved } = restoreMcpCalls(messages, functionNameOf)
  return { parts: restored.flatMap(({ role, parts }) => parts.map((part) => ({ role, ...part }))), approved }
}

const request = {
  type: 'mcp_approval_request',
  id: 'r1',
  server_label: 'files',
  name: 'read',
  arguments: '{}',
}

test('a call is restored with its output, and the list of tools is left out', () => {
  const list = { type: 'mcp_list_tools', server_label: 'files', tools: [] }
  const call = { type: 'mcp_call', id: 'c1', server_label: 'files', name: 'read', arguments: '{"p":1}' }
  const { parts } = restore('hi', list, { ...call, output: 'text', error: null })
  expect(parts).toMatchObject([
    { role: 'user', kind: 'text' },
    { role: 'assistant', kind: 'tool-call', id: 'c1', name: 'files__read', arguments: '{"p":1}' },
    { role: 'user', kind: 'tool-result', id: 'c1', content: [{ text: 'text' }] },
  ])
})

test('an approved call is to be run, a rejected one says so, an open one and those of other servers are left out', () => {
  const respond = (approve: boolean) => ({
    type: 'mcp_approval_response',
    approval_request_id: 'r1',
    approve,
    reason: 'private',
  })
  expect(restore(request, respond(true)).approved).toMatchObject([{ id: 'r1', name: 'files__read' }])
  const rejected = restore(request, respond(false))
  expect(rejected.approved).toEqual([])
  expect(JSON.stringify(rejected.parts)).toContain('did not approve this call: private')
  expect(restore(request, 'hi').parts).toMatchObject([{ kind: 'text' }])
  expect(restore({ ...request, server_label: 'other' }, respond(true)).approved).toEqual([])
})

test('an approved call that was made is not made again', () => {
  const response = { type: 'mcp_approval_response', approval_request_id: 'r1', approve: true }
  const call = { ...request, type: 'mcp_call', id: 'c1', approval_request_id: 'r1', output: 'done' }
  const { parts, approved } = restore(request, response, call)
  expect(approved).toEqual([])
  expect(parts.map(({ kind }) => kind)).toEqual(['tool-call', 'tool-result'])
})

test('tools whose names differ only in characters that vendors do not allow are all offered', () => {
  const tools = ['a.b', 'a b', 'a_b', 'x'.repeat(500)].map((name) => ({ name }))
  const named = nameFunctions('notes', tools)
  expect([...named.values()]).toEqual(tools)
  for (const name of named.keys()) expect(name).toMatch(/^[\w-]{1,64}$/)
})
