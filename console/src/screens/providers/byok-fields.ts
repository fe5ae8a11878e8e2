import type { ByokKey } from './queries.ts'

/** The display name of a key: its name, or its masked secret. */
export function nameOfKey({ name, label }: Pick<ByokKey, 'name' | 'label'>): string {
  return name || label
}

export const usages = {
  first: 'Before the server credential',
  fallback: 'Only when the server credential fails',
  required: 'Instead of it, for the models of this key',
  only: 'Instead of it, for every model of the provider',
} as const

export type Usage = keyof typeof usages

export function usageOf({
  is_fallback,
  is_required,
  is_byok_only,
}: Pick<ByokKey, 'is_fallback' | 'is_required' | 'is_byok_only'>): Usage {
  if (is_byok_only) return 'only'
  if (is_required) return 'required'
  return is_fallback ? 'fallback' : 'first'
}

export function toUsageFields(usage: Usage) {
  return {
    is_fallback: usage === 'fallback',
    is_required: usage === 'required',
    is_byok_only: usage === 'only',
  }
}

/** Whom and what a key is restricted to; empty if to nothing. */
export function describeLimits(key: ByokKey): string[] {
  return [
    describe(key.allowed_models, 'model'),
    describe(key.allowed_api_key_hashes, 'API key'),
    describe(key.allowed_user_ids, 'member'),
  ].filter((text) => text !== null)
}

function describe(list: string[] | null, noun: string): string | null {
  if (list === null) return null
  if (list.length === 0) return `no ${noun}`
  return list.length === 1 ? `1 ${noun}` : `${list.length} ${noun}s`
}

export interface ByokDraft {
  name: string
  key: string
  usage: Usage
  models: string[]
  keyHashes: string[]
  members: string[]
  zdr: boolean | null
}

export function draftOf(key: ByokKey | undefined): ByokDraft {
  return {
    name: key?.name ?? '',
    key: '',
    usage: key ? usageOf(key) : 'first',
    models: key?.allowed_models ?? [],
    keyHashes: key?.allowed_api_key_hashes ?? [],
    members: key?.allowed_user_ids ?? [],
    zdr: key?.declared_zdr ?? null,
  }
}

/** Only what was changed: an empty list, which allows nothing, stays unless another one is chosen. */
export function changesOf(before: ByokDraft, after: ByokDraft) {
  return {
    ...(after.name !== before.name && { name: after.name || null }),
    ...(after.key !== '' && { key: after.key.trim() }),
    ...(after.usage !== before.usage && toUsageFields(after.usage)),
    ...(isChanged(before.models, after.models) && { allowed_models: orNull(after.models) }),
    ...(isChanged(before.keyHashes, after.keyHashes) && { allowed_api_key_hashes: orNull(after.keyHashes) }),
    ...(isChanged(before.members, after.members) && { allowed_user_ids: orNull(after.members) }),
    ...(after.zdr !== before.zdr && { declared_zdr: after.zdr }),
  }
}

function isChanged(before: string[], after: string[]): boolean {
  return JSON.stringify(before) !== JSON.stringify(after)
}

/** A restriction to nothing is not offered: it is no restriction. */
function orNull(list: string[]): string[] | null {
  return list.length > 0 ? list : null
}
