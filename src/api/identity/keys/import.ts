import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { dryRun } from '../../../platform/db/dry-run.ts'
import { type ImportOutcome, importKeys } from './import-keys.ts'
import { importedKey } from './imported-key.ts'

/** Takes a fraction of a second, while other changes wait. */
const maxKeys = 500

const importBody = z.strictObject({
  keys: z.array(importedKey).min(1).max(maxKeys),
  allow_weak: z
    .boolean()
    .default(false)
    .describe('Accepts secrets with fewer than 20 characters, or fewer than 10 different ones.'),
  dry_run: z.boolean().default(false).describe('Returns what would happen, and changes nothing.'),
})

const outcome = z.strictObject({
  outcome: z.enum(['created', 'existing', 'rejected']),
  hash: z.string(),
  name: z.string(),
  message: z.string().nullable().describe('Why the key was rejected.'),
})

const importResult = z.strictObject({
  data: z.array(outcome).describe('An outcome for each key, in the order of the request.'),
  created: z.int(),
  existing: z.int(),
  rejected: z.int(),
  dry_run: z.boolean(),
})

export const importApiKeys = defineOperation({
  id: 'importKeys',
  method: 'POST',
  path: '/keys/import',
  tag: 'Admin',
  summary: 'Imports keys that were issued elsewhere, by secret or by its SHA-256.',
  description:
    'Clients keep their keys. A key that exists already is reported as `existing` and left as it is, so the request can be repeated. A key that cannot be imported is `rejected` and does not keep the others from it. Secrets are neither stored nor returned.',
  permission: 'keys:write',
  scope: 'workspace',
  body: importBody,
  errors: [409],
  response: importResult,
  handle: async (request) => {
    const { gateway, caller, scope, body } = request
    const { organizationId } = caller
    const data = await dryRun<ImportOutcome[]>(body.dry_run, (finish) =>
      transact(request, async (tx, record) => {
        const input = { gateway, tx, record, organizationId, scope, allowWeak: body.allow_weak }
        return finish(await importKeys(input, body.keys))
      }),
    )
    const count = (name: ImportOutcome['outcome']) => data.filter((line) => line.outcome === name).length
    return {
      data,
      created: count('created'),
      existing: count('existing'),
      rejected: count('rejected'),
      dry_run: body.dry_run,
    }
  },
})
