import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import {
  type AllowedPhrase,
  createAllowedPhrase,
  deleteAllowedPhrase,
  listAllowedPhrases,
  maxAllowedPhrases,
} from '../../../governance/allowed-phrases.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { idParam } from './guardrail.ts'

const maxPhraseBytes = 1000
/** The phrases apply in every workspace. */
const scope = 'organization'

const phraseRecord = z
  .strictObject({
    id: z.uuid(),
    phrase: z.string(),
    created_by: z.string().nullable().describe('The member whose key created it.'),
    created_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'AllowedPhrase' })

const createBody = z.strictObject({
  phrase: z
    .string()
    .trim()
    .min(1)
    .max(maxPhraseBytes)
    .refine((text) => Buffer.byteLength(text) <= maxPhraseBytes, `must be at most ${maxPhraseBytes} bytes`)
    .describe('At most 1000 bytes. Compared without regard to case.'),
})

const listAllowedPhrasesOperation = defineOperation({
  id: 'listAllowedPhrases',
  method: 'GET',
  path: '/guardrails/allowed-phrases',
  tag: 'Guardrails',
  summary: 'Lists the phrases that are no prompt injection, oldest first.',
  permission: 'guardrails:read',
  scope,
  response: z.strictObject({ data: z.array(phraseRecord) }),
  handle: async ({ gateway, caller }) => {
    const rows = await listAllowedPhrases(gateway.db, caller.organizationId)
    return { data: rows.map(toPhraseRecord) }
  },
})

const createAllowedPhraseOperation = defineOperation({
  id: 'createAllowedPhrase',
  method: 'POST',
  path: '/guardrails/allowed-phrases',
  tag: 'Guardrails',
  summary: 'Adds a phrase that regex-prompt-injection does not take for an injection.',
  description: `It applies to all keys of the organization, which can have at most ${maxAllowedPhrases} phrases. Spaced-out, misspelled and encoded injections are still found.`,
  permission: 'guardrails:write',
  scope,
  body: createBody,
  status: 201,
  errors: [409],
  response: z.strictObject({ data: phraseRecord }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { gateway, caller, body } = context
      const { organizationId, userId: createdBy } = caller
      const input = { organizationId, phrase: body.phrase, createdBy }
      const created = await createAllowedPhrase(tx, gateway.clock, input)
      record({ action: 'allowed_phrase.create', target: targetOf(created), after: created })
      return { data: toPhraseRecord(created) }
    }),
})

const deleteAllowedPhraseOperation = defineOperation({
  id: 'deleteAllowedPhrase',
  method: 'DELETE',
  path: '/guardrails/allowed-phrases/{id}',
  tag: 'Guardrails',
  summary: 'Deletes an allowed phrase.',
  permission: 'guardrails:write',
  scope,
  params: idParam,
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    transact(context, async (tx, record) => {
      const { caller, params } = context
      const deleted = await deleteAllowedPhrase(tx, caller.organizationId, params.id)
      if (!deleted) throw gatewayError('not_found', 'The phrase does not exist.')
      record({ action: 'allowed_phrase.delete', target: targetOf(deleted), before: deleted })
      return { deleted: true as const }
    }),
})

export const allowedPhraseOperations = [
  listAllowedPhrasesOperation,
  createAllowedPhraseOperation,
  deleteAllowedPhraseOperation,
]

function targetOf({ id, phrase }: AllowedPhrase) {
  return { type: 'allowed_phrase', id, name: phrase }
}

function toPhraseRecord({ id, phrase, created_by, created_at }: AllowedPhrase): z.input<typeof phraseRecord> {
  return { id, phrase, created_by, created_at }
}
