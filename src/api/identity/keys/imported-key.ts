import { z } from 'zod'
import { tagRulesBody } from '../../../governance/tags/tag-schema.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { lineField, nameField } from '../../../platform/validation/name-schema.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'
import { priorityBody } from './priority.ts'
import { limitReset } from './record.ts'

/** Longer credentials are rejected without a lookup. */
const maxSecretLength = 512

/** A key that was issued elsewhere. */
export const importedKey = z
  .strictObject({
    secret: z
      .string()
      .min(1)
      .max(maxSecretLength)
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces')
      .optional()
      .describe('The secret that clients send. Only its hash is stored.'),
    hash: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hex')
      .transform((hash) => hash.toLowerCase())
      .optional()
      .meta({ override: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' } })
      .describe('Instead of the secret: its SHA-256 in hex.'),
    name: nameField(200),
    label: lineField(64)
      .optional()
      .describe(
        'What is shown of the secret, such as `sk-...Ab3d`. Defaults to its first three characters, or the beginning of its hash.',
      ),
    workspace: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('The UUID or slug of the workspace. Defaults to the default workspace.'),
    owner: z
      .string()
      .min(1)
      .max(254)
      .nullish()
      .describe('The id or e-mail address of the member whose limits count it.'),
    limit: usdAmount.nullish(),
    limit_reset: limitReset.nullish(),
    include_byok_in_limit: z.boolean().optional(),
    expires_at: utcTimestamp.nullish(),
    disabled: z.boolean().optional(),
    tier: lineField(64).nullish().describe('The tier whose limits apply to the key.'),
    tags: tagRulesBody.nullish().describe('Rules about the tags of its requests.'),
    ...priorityBody,
    spend: usdAmount
      .optional()
      .describe(
        'What the key has spent so far, in USD, rounded to nano-dollars. It counts in the limit and the usage of the key; it costs no credits.',
      ),
    spend_in_window: usdAmount
      .optional()
      .describe('The part of `spend` in the present window of a limit that resets. Defaults to all of it.'),
  })
  .superRefine(({ secret, hash, limit_reset, spend = 0n, spend_in_window }, context) => {
    const report = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message })
    if ((secret === undefined) === (hash === undefined)) report('hash', 'or secret is required, and not both')
    if (spend_in_window === undefined) return
    if (!limit_reset) report('spend_in_window', 'requires limit_reset')
    if (spend_in_window > spend) report('spend_in_window', 'must be at most spend')
  })
  .meta({ id: 'ImportedKey' })

export type ImportedKey = z.output<typeof importedKey>
