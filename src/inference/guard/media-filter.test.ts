import { afterAll, describe, expect, test } from 'bun:test'
import { measureLoopDelay } from '../../../test/support/loop-delay.ts'
import { computeReach } from '../../governance/filters/reach.ts'
import { ContentScanner } from '../../governance/filters/scanner.ts'
import { MediaFilter } from './media-filter.ts'

const scanner = new ContentScanner()
afterAll(() => scanner.stop())

function createFilter(): MediaFilter {
  const custom = { pattern: 'agent [0-9]+', label: '[X]', action: 'redact' as const }
  const rules = { builtins: [], customs: [{ ...custom, isEnforced: true, layers: ['key'] }] }
  const enforced = { key: 'pieces', rules, reach: computeReach(rules) }
  return new MediaFilter({ scanner }, { enforced, recorded: null }, [])
}

describe('R35 the words of a transcript', () => {
  test('leave no part of a match that extends over several', async () => {
    const pieces = ['an', 'agent', '007', 'and', 'agent', '8', 'agent']
    expect(await createFilter().redactPieces(pieces)).toEqual(['an', '[X]', '', 'and', '[X]', '', 'agent'])
  })

  test('S13 are edited in time linear in their number', async () => {
    const pieces = Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? 'agent' : '7'))
    const filter = createFilter()
    await filter.redactPieces(pieces.slice(0, 100))
    let redacted: string[] = []
    const delay = await measureLoopDelay(500, async () => {
      redacted = await filter.redactPieces(pieces)
    })
    expect(delay).toBeLessThan(500)
    expect(redacted.slice(0, 3)).toEqual(['[X]', '', '[X]'])
  }, 30_000)
})
