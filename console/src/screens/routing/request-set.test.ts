import { expect, test } from 'bun:test'
import { readBody, readSet, readStored, writeSet } from './request-set.ts'

const request = { name: 'Greeting', format: 'chat' as const, body: { model: 'a/b', messages: [] } }

test('a set that is saved can be read again, without ids', () => {
  const text = writeSet([{ id: 'x', ...request }])
  expect(JSON.parse(text)).toEqual([request])
  expect(readSet(text)).toEqual([{ id: expect.any(String), ...request }])
})

test.each([
  ['{', /not JSON/],
  ['{}', /JSON array/],
  ['[1]', /"name", "format" and "body"/],
  ['[{"name": "", "body": {}}]', /needs a "name"/],
  ['[{"name": "a", "body": []}]', /body of "a" must be/],
  ['[{"name": "a", "format": "telnet", "body": {}}]', /format of "a" must be one of chat/],
  [JSON.stringify(Array(21).fill(request)), /at most 20/],
  [JSON.stringify([{ ...request, body: { text: 'x'.repeat(100_001) } }]), /longer than 100,000/],
])('a file is refused with the reason: %#', (text, message) => {
  expect(readSet(text)).toMatch(message)
})

test('what else the browser may have stored is left out', () => {
  expect(readStored([{ id: 'x', ...request }, { body: 1 }, null])).toEqual([{ id: 'x', ...request }])
  expect(readStored('broken')).toEqual([])
})

test('a body is an object', () => {
  expect(readBody('[]')).toMatch(/JSON object/)
  expect(readBody('{"a": 1}')).toEqual({ a: 1 })
})
