import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { displayNameOf } from '../../../identity/members.ts'
import {
  acceptTotp,
  confirmTotp,
  createRecoveryCodes,
  createTotp,
  deleteTotp,
  findTotp,
  requiresCode,
} from '../../../identity/totp.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { assertRecentlySignedIn, recentSignInNote, requireAccount } from './recent.ts'
import { removeSignInMethod } from './remove.ts'

const tag = 'Account'

const recoveryCodes = z.strictObject({
  data: z.strictObject({
    codes: z.array(z.string()).describe('Shown only once. Each replaces a code of the app, once.'),
  }),
})

export const createAccountTotp = defineOperation({
  id: 'createAccountTotp',
  method: 'POST',
  path: '/account/totp',
  tag,
  summary: 'Creates the secret of an authenticator app. It has no effect until a code confirms it.',
  description: recentSignInNote,
  permission: 'account:write',
  status: 201,
  errors: [409],
  response: z.strictObject({
    data: z.strictObject({
      secret: z.string().describe('In base32, shown only once.'),
      uri: z.string().describe('For a QR code.'),
    }),
  }),
  handle: async (context) => {
    const { gateway, caller } = context
    assertRecentlySignedIn(gateway, caller)
    const member = await requireAccount(gateway, caller)
    const secret = await transact(context, async (tx, record) => {
      record({ action: 'totp.create', target: { type: 'member', id: member.id } })
      return createTotp(tx, gateway, member.id)
    })
    const label = encodeURIComponent(`Headgate:${displayNameOf(member)}`)
    return { data: { secret, uri: `otpauth://totp/${label}?secret=${secret}&issuer=Headgate` } }
  },
})

export const confirmAccountTotp = defineOperation({
  id: 'confirmAccountTotp',
  method: 'POST',
  path: '/account/totp/confirm',
  tag,
  summary: 'Confirms the authenticator app with a code. Returns recovery codes.',
  description: 'From now on, a sign-in with a password or the link of a mail requires a code.',
  permission: 'account:write',
  body: z.strictObject({ code: z.string().regex(/^\d{6}$/, 'must be six digits') }),
  errors: [404, 409, 429],
  response: recoveryCodes,
  handle: async (context) => {
    const { gateway, caller, body } = context
    const userId = caller.userId ?? ''
    // A wrong code is counted, so its transaction must not be rolled back.
    const result = await transact(context, async (tx, record) => {
      const totp = await findTotp(tx, userId)
      if (!totp) throw gatewayError('not_found', 'Create a secret first, with POST /account/totp.')
      if (totp.confirmed_at) throw gatewayError('conflict', 'The authenticator app is already confirmed.')
      const { accepted, waitMs } = await acceptTotp(tx, gateway, userId, body.code)
      if (!accepted) return { waitMs }
      await confirmTotp(tx, gateway.clock, userId)
      record({ action: 'totp.confirm', target: { type: 'member', id: userId } })
      return { codes: await createRecoveryCodes(tx, gateway.clock, userId) }
    })
    if (result.codes) return { data: { codes: result.codes } }
    if (result.waitMs > 0) {
      const seconds = String(Math.ceil(result.waitMs / 1000))
      const message = `Too many wrong codes. Retry after ${seconds} s.`
      throw new GatewayError('rate_limited', { message, headers: { 'retry-after': seconds } })
    }
    throw invalidFieldError('code', 'is wrong')
  },
})

export const deleteAccountTotp = defineOperation({
  id: 'deleteAccountTotp',
  method: 'DELETE',
  path: '/account/totp',
  tag,
  summary: 'Removes the authenticator app and the recovery codes.',
  description: recentSignInNote,
  permission: 'account:write',
  errors: [404],
  response: z.strictObject({ deleted: z.literal(true) }),
  handle: (context) =>
    removeSignInMethod(context, {
      action: 'totp.delete',
      missing: 'There is no authenticator app.',
      remove: async (tx, id) => ((await deleteTotp(tx, id)) ? { type: 'member', id } : undefined),
    }),
})

export const createAccountRecoveryCodes = defineOperation({
  id: 'createAccountRecoveryCodes',
  method: 'POST',
  path: '/account/recovery-codes',
  tag,
  summary: 'Replaces the recovery codes.',
  description: recentSignInNote,
  permission: 'account:write',
  status: 201,
  errors: [409],
  response: recoveryCodes,
  handle: async (context) => {
    const { gateway, caller } = context
    assertRecentlySignedIn(gateway, caller)
    const codes = await transact(context, async (tx, record) => {
      const userId = caller.userId ?? ''
      if (!(await requiresCode(tx, userId)))
        throw gatewayError('conflict', 'Recovery codes need an authenticator app. Set one up first.')
      record({ action: 'recovery_codes.create', target: { type: 'member', id: userId } })
      return createRecoveryCodes(tx, gateway.clock, userId)
    })
    return { data: { codes } }
  },
})
