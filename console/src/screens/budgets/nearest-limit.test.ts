import { expect, test } from 'bun:test'
import type { BudgetLimit, BudgetNode } from '../../components/budget-intervals.ts'
import { findNearestLimit, nameLimit } from './nearest-limit.ts'

function limit(kind: BudgetLimit['kind'], node_id: string, remaining: number): BudgetLimit {
  return {
    ...{ kind, node_id, remaining, guardrail_id: null, interval: 'daily', include_byok: false },
    ...{ limit: 10, spent: 10 - remaining, held: 0, resets_at: null, forecast: null },
  }
}

function node(kind: BudgetNode['kind'], id: string, limits: BudgetLimit[]): BudgetNode {
  return {
    ...{ kind, id, name: id, limits, windows: [], blocks_first: null, disabled: false },
    ...{ workspace_id: null, user_id: null, key_hash: null },
  }
}

const credits = limit('credits', 'organization', 8)
const organization = node('organization', 'organization', [credits])
const workspace = node('workspace', 'workspace:w', [limit('workspace', 'workspace:w', 5)])
const member = node('member', 'member:w:u', [limit('guardrail', 'member:w:u', 6)])

test('the limit with the least left on the path blocks first', () => {
  const nearest = findNearestLimit([organization, workspace, member])
  expect(nearest).toBe(workspace.limits[0] ?? null)
  expect(findNearestLimit([organization])).toBe(credits)
  expect(findNearestLimit([node('workspace', 'workspace:x', [])])).toBeNull()
})

test('of a key the server says it', () => {
  const first = limit('key', 'key:k', 9)
  const key = { ...node('key', 'key:k', [first]), blocks_first: first }
  expect(findNearestLimit([organization, workspace, member, key])).toBe(first)
})

test('a limit is named as the viewer of a node knows it', () => {
  const path = [organization, workspace, member]
  expect(nameLimit(credits, path)).toBe('Credits')
  expect(nameLimit(limit('workspace', 'workspace:w', 1), path)).toBe('Budget of workspace:w')
  expect(nameLimit(limit('guardrail', 'member:w:u', 1), path)).toBe('Its own guardrail budget')
})
