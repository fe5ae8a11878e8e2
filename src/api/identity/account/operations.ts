import { z } from 'zod'
import { defineOperation } from '../../../http/operation.ts'
import { listPasskeys } from '../../../identity/passkeys.ts'
import { findPassword } from '../../../identity/passwords.ts'
import { countRecoveryCodes, findTotp } from '../../../identity/totp.ts'
import {
  createAccountPasskey,
  createAccountPasskeyOptions,
  deleteAccountPasskey,
  listAccountPasskeys,
} from './passkeys.ts'
import { deleteAccountPassword, setAccountPassword } from './passwords.ts'
import {
  confirmAccountTotp,
  createAccountRecoveryCodes,
  createAccountTotp,
  deleteAccountTotp,
} from './totp.ts'

const getAccount = defineOperation({
  id: 'getAccount',
  method: 'GET',
  path: '/account',
  tag: 'Account',
  summary: 'Returns how the member who is signed in can sign in.',
  permission: 'account:read',
  response: z.strictObject({
    data: z.strictObject({
      password_updated_at: z.string().nullable().describe('Null without a password.'),
      totp_confirmed_at: z.string().nullable().describe('Null without an authenticator app.'),
      recovery_codes_left: z.int(),
      passkeys: z.int(),
    }),
  }),
  handle: async ({ gateway, caller }) => {
    const userId = caller.userId ?? ''
    const password = await findPassword(gateway.db, userId)
    const totp = await findTotp(gateway.db, userId)
    return {
      data: {
        password_updated_at: password?.updated_at ?? null,
        totp_confirmed_at: totp?.confirmed_at ?? null,
        recovery_codes_left: await countRecoveryCodes(gateway.db, userId),
        passkeys: (await listPasskeys(gateway.db, userId)).length,
      },
    }
  },
})

export const accountOperations = [
  getAccount,
  setAccountPassword,
  deleteAccountPassword,
  createAccountTotp,
  confirmAccountTotp,
  deleteAccountTotp,
  createAccountRecoveryCodes,
  listAccountPasskeys,
  createAccountPasskeyOptions,
  createAccountPasskey,
  deleteAccountPasskey,
]
