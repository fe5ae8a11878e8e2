import { expect, test } from 'bun:test'
import { buildPlugin, draftOf } from './plugin-draft.ts'

test('a default has the same settings after the form', () => {
  const plugin = { id: 'web' as const, enabled: false, prevent_overrides: true, max_results: 3 }
  expect(buildPlugin(draftOf(plugin))).toEqual(plugin)
  expect(buildPlugin(draftOf({ id: 'moderation' }))).toEqual({
    id: 'moderation',
    enabled: true,
    prevent_overrides: false,
  })
})

test.each(['[]', '3', '{', 'null'])('%s are no settings', (settings) => {
  expect(buildPlugin({ id: 'web', enabled: true, preventOverrides: false, settings })).toBeString()
})
