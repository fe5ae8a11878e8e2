import type { Schemas } from '../../api/client.ts'
import { type PrivacyRule, restrictionsOf, toPrivacyField } from '../../components/privacy-rules.ts'

export type Privacy = Schemas['PrivacySettings']

/** The settings as the form has them: each switch restricts. */
export interface PrivacyDraft {
  restrictions: Record<PrivacyRule, boolean>
  /** None: every provider. */
  allowedProviders: string[]
  ignoredProviders: string[]
}

export function draftOf(privacy: Privacy): PrivacyDraft {
  return {
    restrictions: restrictionsOf(privacy),
    allowedProviders: privacy.allowed_providers ?? [],
    ignoredProviders: privacy.ignored_providers ?? [],
  }
}

/** Only what was changed is sent. What no longer restricts is left to the guardrails of workspaces, keys and members. */
export function buildChanges(privacy: Privacy, draft: PrivacyDraft): Partial<Privacy> {
  const stored = draftOf(privacy)
  const changes: Partial<Privacy> = {}
  for (const [name, restricts] of Object.entries(draft.restrictions) as [PrivacyRule, boolean][])
    if (restricts !== stored.restrictions[name]) changes[name] = toPrivacyField(name, restricts)
  if (draft.allowedProviders.join() !== stored.allowedProviders.join())
    changes.allowed_providers = draft.allowedProviders.length > 0 ? draft.allowedProviders : null
  if (draft.ignoredProviders.join() !== stored.ignoredProviders.join())
    changes.ignored_providers = draft.ignoredProviders.length > 0 ? draft.ignoredProviders : null
  return changes
}
