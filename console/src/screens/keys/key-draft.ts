import type { paths } from '../../api/schema.ts'
import { type KeyLimit, toKeyLimit } from '../../components/key-limit-fields.tsx'
import type { Priority } from '../../components/priority-select.tsx'
import { noTagRules, type TagRules, toTagRules } from '../../components/tag-rules-fields.tsx'
import { readUtcDay } from '../../format/utc-day.ts'
import type { ApiKey } from './key-fields.ts'
import type { RateDraft } from './rate-draft.ts'

export type KeyBody = paths['/keys']['post']['requestBody']['content']['application/json']
export type KeyChanges = NonNullable<
  paths['/keys/{hash}']['patch']['requestBody']
>['content']['application/json']

/** What can be changed of a key later, too. */
export interface KeyDraft extends KeyLimit {
  name: string
  /** Null: the default one, for a new key. */
  tier: string | null
  priority: Priority
  /** Null: requests can lower the priority only. */
  maxPriority: Priority | null
  tags: TagRules
  rates: RateDraft[]
  /** Empty: all models. */
  models: string[]
  /** Empty: all providers. */
  providers: string[]
}

export interface NewKeyDraft extends KeyDraft {
  lastDay: string
  workspaceId: string | null
  /** Null: the person who creates it. */
  ownerId: string | null
  /** A guardrail that exists, instead of a list of models. */
  guardrailId: string | null
}

export const emptyKeyDraft: NewKeyDraft = {
  name: '',
  limit: null,
  limit_reset: null,
  include_byok_in_limit: false,
  tier: null,
  priority: 'normal',
  maxPriority: null,
  tags: noTagRules,
  rates: [],
  models: [],
  providers: [],
  lastDay: '',
  workspaceId: null,
  ownerId: null,
  guardrailId: null,
}

export function draftOfKey(
  { name, limit, limit_reset, include_byok_in_limit, tier, priority, max_priority, tags }: ApiKey,
  { rates, models, providers }: Pick<KeyDraft, 'rates' | 'models' | 'providers'>,
): KeyDraft {
  return {
    ...{ name, limit, limit_reset, include_byok_in_limit, tier, priority, rates, models, providers },
    maxPriority: max_priority,
    tags: tags ?? noTagRules,
  }
}

export function toKeyBody(draft: NewKeyDraft): KeyBody {
  const { name, tier, priority, maxPriority, workspaceId, ownerId, lastDay } = draft
  const tags = toTagRules(draft.tags)
  return {
    name: name.trim(),
    ...toKeyLimit(draft),
    expires_at: readUtcDay(lastDay),
    ...(tier !== null && { tier }),
    ...(priority !== 'normal' && { priority }),
    ...(maxPriority !== null && { max_priority: maxPriority }),
    ...(tags && { tags }),
    ...(workspaceId !== null && { workspace_id: workspaceId }),
    ...(ownerId !== null && { creator_user_id: ownerId }),
  }
}

/** Only what differs: a change of the limit needs more rights than one of the name. */
export function toKeyChanges(apiKey: ApiKey, draft: KeyDraft): KeyChanges {
  const { name, tier, priority, maxPriority } = draft
  const tags = toTagRules(draft.tags)
  return {
    ...(name.trim() !== apiKey.name && { name: name.trim() }),
    ...changedLimit(apiKey, toKeyLimit(draft)),
    ...(tier !== apiKey.tier && { tier }),
    ...(priority !== apiKey.priority && { priority }),
    ...(maxPriority !== apiKey.max_priority && { max_priority: maxPriority }),
    ...(JSON.stringify(tags) !== JSON.stringify(apiKey.tags) && { tags }),
  }
}

function changedLimit(before: KeyLimit, { limit, limit_reset, include_byok_in_limit }: KeyLimit): KeyChanges {
  return {
    ...((limit !== before.limit || limit_reset !== before.limit_reset) && { limit, limit_reset }),
    ...(include_byok_in_limit !== before.include_byok_in_limit && { include_byok_in_limit }),
  }
}
