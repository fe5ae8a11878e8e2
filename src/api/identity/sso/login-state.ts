import { z } from 'zod'
import { cookieOf } from '../../../access/session.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { setCookie } from '../../../http/pages/browser.ts'

/** Binds a sign-in to the browser that started it. */
const loginCookie = { name: 'headgate_oidc', path: '/signin/oidc', maxAge: 600 }
const encryptionContext = 'sso/login'

const loginState = z.strictObject({
  connectionId: z.string(),
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  redirectUri: z.string(),
  returnTo: z.string(),
  expiresAt: z.number(),
})

/** The state of a sign-in that the provider has to confirm. */
export type LoginState = z.output<typeof loginState>

export function newExpiry({ clock }: Gateway): number {
  return clock.now() + loginCookie.maxAge * 1000
}

export function saveLoginState(
  gateway: Gateway,
  request: Request,
  response: Response,
  state: LoginState,
): Response {
  const value = gateway.vault.encrypt(JSON.stringify(state), encryptionContext)
  return setCookie(gateway, request, response, { ...loginCookie, value })
}

export function clearLoginState(gateway: Gateway, request: Request, response: Response): Response {
  return setCookie(gateway, request, response, { ...loginCookie, value: '' })
}

/** Null if this browser started no sign-in, or too long ago. */
export function readLoginState({ vault, clock }: Gateway, request: Request): LoginState | null {
  const encrypted = cookieOf(request, loginCookie.name)
  if (!encrypted) return null
  try {
    const state = loginState.parse(JSON.parse(vault.decrypt(encrypted, encryptionContext)))
    return state.expiresAt > clock.now() ? state : null
  } catch {
    return null
  }
}
