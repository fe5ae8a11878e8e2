import { expect, test } from 'bun:test'
import { nodeOf, summaryOf } from './json-nodes.ts'

const describeList = (value: unknown) => {
  const node = nodeOf(value)
  return node.kind === 'list' ? summaryOf(node) : null
}

test('lists and objects say how much they hold', () => {
  expect(describeList([])).toBe('[]')
  expect(describeList({})).toBe('{}')
  expect(describeList([1])).toBe('1 item')
  expect(describeList({ a: 1, b: 2 })).toBe('2 fields')
})

test('values are written as in JSON, and texts are kept apart', () => {
  expect(nodeOf(null)).toEqual({ kind: 'plain', text: 'null' })
  expect(nodeOf(0.5)).toEqual({ kind: 'plain', text: '0.5' })
  expect(nodeOf(false)).toEqual({ kind: 'plain', text: 'false' })
  expect(nodeOf('null')).toEqual({ kind: 'text', text: 'null' })
})
