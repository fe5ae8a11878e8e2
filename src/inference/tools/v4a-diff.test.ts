import { heapStats } from 'bun:jsc'
import { describe, expect, test } from 'bun:test'
import { findDiffProblem } from './v4a-diff.ts'

describe('diffs of patches', () => {
  test('a new file has added lines only', () => {
    expect(findDiffProblem('create_file', '+one\n+\n+two\n')).toBeNull()
    expect(findDiffProblem('create_file', '')).toBeNull()
    expect(findDiffProblem('create_file', '+one\ntwo')).toContain('line 2')
  })

  test('an update has sections with context, removed and added lines', () => {
    const diff = '@@ class A\n@@ method()\n before\n-old\n+new\n\n after\n*** End of File\n'
    expect(findDiffProblem('update_file', diff)).toBeNull()
    expect(findDiffProblem('update_file', '@@\r\n-old\r\n+new\r\n')).toBeNull()
    expect(findDiffProblem('update_file', '@@\nold')).toContain('line 2')
    expect(findDiffProblem('update_file', '@@\n same\n')).toContain('changes nothing')
    expect(findDiffProblem('update_file', '*** Begin Patch\n+new')).toContain('without headers')
  })

  test.each(['create_file', 'update_file'] as const)('S13 the lines of a long %s are not copied', (type) => {
    const diff = '+added\r\n'.repeat(300_000)
    const before = countStrings()
    expect(findDiffProblem(type, diff)).toBeNull()
    expect(countStrings() - before).toBeLessThan(10_000)
  })

  test('a deletion has none', () => {
    expect(findDiffProblem('delete_file', '')).toBeNull()
  })
})

function countStrings(): number {
  return heapStats().objectTypeCounts.string ?? 0
}
