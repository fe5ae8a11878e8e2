import type { Schemas } from '../../api/client.ts'

export type Privacy = Schemas['PrivacySettings']

export const trainingSwitches = [
  ['enable_free_model_training', 'No free endpoints that may train on prompts'],
  ['enable_paid_model_training', 'No paid endpoints that may train on prompts'],
  ['enable_free_model_publication', 'No free endpoints that may publish prompts'],
] as const

export const retentionSwitches = [
  ['enforce_zdr_vendor_a', 'Models of Anthropic'],
  ['enforce_zdr_vendor_b', 'Models of OpenAI'],
  ['enforce_zdr_vendor_c', 'Models of Google'],
  ['enforce_zdr_vendor_d', 'Models of xAI'],
  ['enforce_zdr_other', 'All other models'],
] as const

type SwitchName = (typeof trainingSwitches)[number][0] | (typeof retentionSwitches)[number][0]

/** The settings as the form has them: each switch restricts. */
export interface PrivacyDraft {
  restrictions: Record<SwitchName, boolean>
  /** None: every provider. */
  allowedProviders: string[]
  ignoredProviders: string[]
}

export function draftOf(privacy: Privacy): PrivacyDraft {
  const training = trainingSwitches.map(([name]) => [name, privacy[name] === false])
  const retention = retentionSwitches.map(([name]) => [name, privacy[name] === true])
  return {
    restrictions: Object.fromEntries([...training, ...retention]),
    allowedProviders: privacy.allowed_providers ?? [],
    ignoredProviders: privacy.ignored_providers ?? [],
  }
}

/** Only what was changed is sent. What no longer restricts is left to the guardrails of workspaces, keys and members. */
export function buildChanges(privacy: Privacy, draft: PrivacyDraft): Partial<Privacy> {
  const stored = draftOf(privacy)
  const changes: Partial<Privacy> = {}
  for (const [name] of trainingSwitches) {
    if (draft.restrictions[name] !== stored.restrictions[name])
      changes[name] = draft.restrictions[name] ? false : null
  }
  for (const [name] of retentionSwitches) {
    if (draft.restrictions[name] !== stored.restrictions[name])
      changes[name] = draft.restrictions[name] ? true : null
  }
  if (draft.allowedProviders.join() !== stored.allowedProviders.join())
    changes.allowed_providers = draft.allowedProviders.length > 0 ? draft.allowedProviders : null
  if (draft.ignoredProviders.join() !== stored.ignoredProviders.join())
    changes.ignored_providers = draft.ignoredProviders.length > 0 ? draft.ignoredProviders : null
  return changes
}
