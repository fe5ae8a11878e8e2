import { expect, test } from 'bun:test'
import type { PresetVersion } from './draft.ts'
import { listDifferences } from './version-diff.ts'

const version = (
  config: Record<string, unknown>,
  format: PresetVersion['format'] = 'chat',
): PresetVersion => ({
  id: 'v',
  preset_id: 'p',
  creator_id: 'u',
  version: 1,
  format,
  system_prompt: null,
  config,
  created_at: '',
  updated_at: '',
})

test('fields that were added, changed and removed, nested ones by their path', () => {
  const before = version({ model: 'a/b', temperature: 0.2, provider: { sort: 'price', zdr: true } })
  const after = version({ model: 'a/b', provider: { sort: 'latency', zdr: true }, stop: ['x'] }, 'messages')
  expect(listDifferences(before, after)).toEqual([
    { path: 'format', before: 'chat', after: 'messages' },
    { path: 'provider.sort', before: 'price', after: 'latency' },
    { path: 'stop', before: null, after: '["x"]' },
    { path: 'temperature', before: '0.2', after: null },
  ])
})

test('the order of fields does not matter, and lists of objects have lines', () => {
  expect(listDifferences(version({ a: 1, b: { c: 2, d: 3 } }), version({ b: { d: 3, c: 2 }, a: 1 }))).toEqual(
    [],
  )
  const [tools] = listDifferences(version({}), version({ tools: [{ type: 'function' }] }))
  expect(tools?.after?.split('\n')).toHaveLength(5)
})
