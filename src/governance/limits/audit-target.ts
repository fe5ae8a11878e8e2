import type { LimitRow, TierRow } from './store.ts'

export function describeLimit({ id, name, workspace_id }: LimitRow) {
  return { target: { type: 'limit' as const, id, name }, workspaceId: workspace_id }
}

export function describeTier({ name }: TierRow) {
  return { target: { type: 'tier' as const, id: name, name }, workspaceId: null }
}
