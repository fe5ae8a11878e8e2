import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { lockKey } from '../../../identity/key-changes.ts'
import { rotateKey } from '../../../identity/keys.ts'
import { describeKey, hashParam, keyNotFoundError, loadUsage, requireChangeableKey } from './find.ts'
import { keyRecord, toKeyRecord } from './record.ts'

/** A week: enough to deploy a new secret everywhere, and a forgotten one still ends. */
const maxOverlapSeconds = 7 * 24 * 3600

const rotateBody = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(maxOverlapSeconds)
    .default(0)
    .describe('How long the previous secret stays valid, up to a week. By default it ends at once.'),
})

const rotatedKey = z.strictObject({
  data: keyRecord,
  key: z.string().describe('The new secret.'),
  previous_valid_until: z
    .string()
    .nullable()
    .describe('When the previous secret ends; null if it is no longer valid.'),
})

export const rotateApiKey = defineOperation({
  id: 'rotateKey',
  method: 'POST',
  path: '/keys/{hash}/rotate',
  tag: 'API Keys',
  summary: 'Gives an API key a new secret, shown only in this response.',
  description:
    'The key stays the same: its hash, name, limits, usage and assignments do not change. A secret that a partner chose (`external.api_key`) stays valid. A second rotation ends the overlap of the first.',
  permission: 'keys:write',
  params: hashParam,
  body: rotateBody,
  optionalBody: true,
  errors: [404],
  response: rotatedKey,
  handle: async (request) => {
    const { gateway, caller, scope, params, body } = request
    const { key, secret } = await transact(request, async (tx, record) => {
      await requireChangeableKey(tx, caller, scope, params.hash)
      const before = await lockKey(tx, caller.organizationId, params.hash)
      if (!before) throw keyNotFoundError()
      const rotated = await rotateKey(tx, gateway.clock, before, body.overlap_seconds * 1000)
      record({ action: 'key.rotate', ...describeKey(before), before, after: rotated.key })
      return rotated
    })
    return {
      data: toKeyRecord(key, await loadUsage(gateway, key)),
      key: secret,
      previous_valid_until: key.previous_valid_until,
    }
  },
})
