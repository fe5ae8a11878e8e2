import { requireModerationModel } from '../guard/moderation-rules.ts'
import type { Plugin } from './plugin.ts'

/** The guardrails apply it: see `inference/guard/moderation-rules.ts`. */
export const moderation: Plugin<'moderation'> = {
  id: 'moderation',
  assertConfigured: ({ settings }) => void requireModerationModel(settings.moderation.model),
}
