import type { Plugin } from './plugin.ts'

/** The guardrails apply it: see `pipeline/guard/moderation-rules.ts`. */
export const moderation: Plugin<'moderation'> = { id: 'moderation' }
