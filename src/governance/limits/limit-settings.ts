import { z } from 'zod'
import { slugPattern } from '../../identity/workspaces.ts'
import { textLine } from '../../platform/validation/name-schema.ts'
import { findLimitProblem, limitFields, matchFields } from './limit-fields.ts'

export const tierFields = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be lower-case letters, digits, - and _, at most 64'),
  description: textLine(500).nullable(),
  is_default: z.boolean().describe('Whether new keys that name no tier have this one.'),
}

/** A tier, and a limit, of every organization. */
const tier = z.strictObject({
  name: tierFields.name,
  description: tierFields.description.default(null),
  is_default: tierFields.is_default.default(false),
})
const limit = z.strictObject({
  name: limitFields.name,
  measure: limitFields.measure,
  window: limitFields.window.default(null),
  amount: limitFields.amount,
  include_byok: limitFields.include_byok.default(false),
  match: z
    .strictObject({
      /** The slug of a workspace. Organizations without one of this name do not have the limit. */
      workspace: z.string().regex(slugPattern, 'must be the slug of a workspace').nullish(),
      ...matchFields,
    })
    .default({}),
  per: limitFields.per.default([]),
})

export type SettingsLimit = z.output<typeof limit>
export type SettingsTier = z.output<typeof tier>

const maxDeclared = 1000

export const limitSettings = {
  tiers: z.array(tier).max(maxDeclared).default([]),
  usage_limits: z.array(limit).max(maxDeclared).default([]),
}

interface Declared {
  tiers: readonly SettingsTier[]
  usage_limits: readonly SettingsLimit[]
}

/** Names the place of the first mistake that the fields alone do not show. */
export function checkLimitSettings({ tiers, usage_limits }: Declared, context: z.RefinementCtx): void {
  const report = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, message })
  for (const [list, records] of Object.entries({ tiers, usage_limits })) {
    const index = records.findIndex(({ name }, at) =>
      records.slice(0, at).some((other) => other.name === name),
    )
    if (index >= 0) report([list, index, 'name'], 'is used twice')
  }
  const second = tiers.findLastIndex(({ is_default }) => is_default)
  if (second !== tiers.findIndex(({ is_default }) => is_default))
    report(['tiers', second, 'is_default'], 'is set for two tiers')
  for (const [index, { measure, window, amount, match }] of usage_limits.entries()) {
    const problem = findLimitProblem(measure, { window, amount })
    if (problem) report(['usage_limits', index, problem.field], problem.message)
    if (match.tier && !tiers.some(({ name }) => name === match.tier))
      report(['usage_limits', index, 'match', 'tier'], `"${match.tier}" is not one of the tiers`)
  }
}
