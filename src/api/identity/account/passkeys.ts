import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { createPasskeyOptions, verifyNewPasskey } from '../../../http/pages/webauthn.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import {
  claimChallenge,
  deletePasskey,
  insertPasskey,
  listPasskeys,
  type Passkey,
} from '../../../identity/passkeys.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { assertRecentlySignedIn, recentSignInNote, requireAccount } from './recent.ts'
import { removeSignInMethod } from './remove.ts'

const tag = 'Account'

const passkeyRecord = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
  })
  .meta({ id: 'Passkey' })

const encoded = z
  .string()
  .min(1)
  .max(64 * 1024)

/** The result of `navigator.credentials.create()`, as `toJSON()` encodes it. */
const registration = z
  .looseObject({
    id: encoded,
    rawId: encoded,
    type: z.literal('public-key'),
    response: z.looseObject({
      clientDataJSON: encoded,
      attestationObject: encoded,
      transports: z.array(z.string().max(32)).max(16).optional(),
    }),
  })
  .describe('The result of `navigator.credentials.create()`, as `toJSON()` encodes it.')

export const listAccountPasskeys = defineOperation({
  id: 'listAccountPasskeys',
  method: 'GET',
  path: '/account/passkeys',
  tag,
  summary: 'Lists the passkeys of the member who is signed in, oldest first.',
  permission: 'account:read',
  response: z.strictObject({ data: z.array(passkeyRecord) }),
  handle: async ({ gateway, caller }) => {
    const passkeys = await listPasskeys(gateway.db, caller.userId ?? '')
    return { data: passkeys.map(toPasskeyRecord) }
  },
})

export const createAccountPasskeyOptions = defineOperation({
  id: 'createAccountPasskeyOptions',
  method: 'POST',
  path: '/account/passkeys/options',
  tag,
  summary: 'Creates the options with which a browser makes a passkey. They are valid for five minutes.',
  description: recentSignInNote,
  permission: 'account:write',
  response: z.strictObject({
    data: z.looseObject({}).describe('For `PublicKeyCredential.parseCreationOptionsFromJSON()`.'),
  }),
  handle: async ({ gateway, caller, httpRequest }) => {
    assertRecentlySignedIn(gateway, caller)
    const member = await requireAccount(gateway, caller)
    const existing = await listPasskeys(gateway.db, member.id)
    return { data: { ...(await createPasskeyOptions(gateway, httpRequest, member, existing)) } }
  },
})

export const createAccountPasskey = defineOperation({
  id: 'createAccountPasskey',
  method: 'POST',
  path: '/account/passkeys',
  tag,
  summary: 'Adds a passkey to the account of the member who is signed in.',
  description: recentSignInNote,
  permission: 'account:write',
  body: z.strictObject({ name: nameField(100), credential: registration }),
  status: 201,
  errors: [409],
  response: z.strictObject({ data: passkeyRecord }),
  handle: async (context) => {
    const { gateway, caller, body, httpRequest } = context
    assertRecentlySignedIn(gateway, caller)
    const member = await requireAccount(gateway, caller)
    const response = body.credential as unknown as RegistrationResponseJSON
    const verified = await verifyNewPasskey(gateway, httpRequest, member, response)
    if (!verified) throw invalidFieldError('credential', 'is not valid for this account, site and time')
    const passkey = await transact(context, async (tx, record) => {
      if (!(await claimChallenge(tx, gateway.clock, verified)))
        throw invalidFieldError('credential', 'was used before')
      const created = await insertPasskey(tx, gateway.clock, {
        ...verified.credential,
        user_id: member.id,
        name: body.name,
      })
      await assertWithinCeiling(tx, gateway.settings.ceilings, 'passkeys', member.id)
      record({ action: 'passkey.create', target: { type: 'passkey', id: created.id, name: created.name } })
      return created
    })
    return { data: toPasskeyRecord(passkey) }
  },
})

export const deleteAccountPasskey = defineOperation({
  id: 'deleteAccountPasskey',
  method: 'DELETE',
  path: '/account/passkeys/{id}',
  tag,
  summary: 'Removes a passkey of the member who is signed in.',
  description: recentSignInNote,
  permission: 'account:write',
  params: z.object({ id: z.string().min(1).max(256) }),
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    removeSignInMethod(context, {
      action: 'passkey.delete',
      missing: 'The passkey does not exist.',
      remove: async (tx, userId) => {
        const deleted = await deletePasskey(tx, userId, context.params.id)
        return deleted && { type: 'passkey', id: deleted.id, name: deleted.name }
      },
    }),
})

function toPasskeyRecord({ id, name, created_at, last_used_at }: Passkey): z.input<typeof passkeyRecord> {
  return { id, name, created_at, last_used_at }
}
