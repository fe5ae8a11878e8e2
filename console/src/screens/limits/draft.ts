import type { paths } from '../../api/schema.ts'
import type { Window } from '../../components/limit-window.ts'
import type { Measure } from '../../format/measure.ts'

type LimitBody = paths['/limits']['post']['requestBody']['content']['application/json']

export interface LimitDraft {
  name: string
  measure: Measure
  window: Window
  amount: number | null
  includeByok: boolean
  workspaceId: string | null
  userId: string | null
  keyHash: string | null
  tier: string | null
  endUser: string
  tags: string[]
  models: string[]
  providers: string[]
  per: string[]
  /** The name of a tag whose values are counted separately. */
  perTag: string
}

export const emptyDraft: LimitDraft = {
  ...{ name: '', measure: 'usd', window: 'day', amount: null, includeByok: false },
  ...{ workspaceId: null, userId: null, keyHash: null, tier: null, endUser: '' },
  ...{ tags: [], models: [], providers: [], per: [], perTag: '' },
}

export function isComplete({ name, amount }: LimitDraft): boolean {
  return name.trim() !== '' && amount !== null
}

export function toBody(draft: LimitDraft): LimitBody {
  const { measure, window, perTag, tags, models, providers } = draft
  return {
    name: draft.name.trim(),
    measure,
    window: measure === 'concurrent_requests' ? null : window,
    amount: draft.amount ?? 0,
    include_byok: measure === 'usd' && draft.includeByok,
    match: {
      workspace_id: draft.workspaceId,
      user_id: draft.userId,
      key_hash: draft.keyHash,
      tier: draft.tier,
      end_user: draft.endUser.trim() || null,
      ...{ tags, models, providers },
    },
    per: [
      ...(draft.per as NonNullable<LimitBody['per']>),
      ...(perTag.trim() ? [`tag:${perTag.trim()}`] : []),
    ],
  }
}
