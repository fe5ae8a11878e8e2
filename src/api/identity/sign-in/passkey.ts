import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { resolveRequestSource } from '../../../access/client-address.ts'
import { isSameOrigin } from '../../../access/origin.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { RawRoute } from '../../../http/operation.ts'
import { finishSignIn, recordRefusal } from '../../../http/pages/sign-in.ts'
import { passkeyScriptPath } from '../../../http/pages/sign-in-views.ts'
import { createSignInOptions, verifySignIn } from '../../../http/pages/webauthn.ts'
import { findActiveMember } from '../../../identity/members.ts'
import { claimChallenge, findPasskey, recordPasskeyUse } from '../../../identity/passkeys.ts'
import type { Db } from '../../../platform/db/db.ts'
import { GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf, readBodyText } from '../../../platform/http/body-reader.ts'
import { tryParseJson } from '../../../platform/json/json.ts'

const maxBodyBytes = 64 * 1024

const text = z
  .string()
  .min(1)
  .max(16 * 1024)

/** The assertion that browsers send; other fields are ignored. */
const assertion = z.object({
  id: text,
  rawId: text,
  type: z.literal('public-key'),
  clientExtensionResults: z.looseObject({}).default({}),
  response: z.object({
    authenticatorData: text,
    clientDataJSON: text,
    signature: text,
    userHandle: z.string().max(1024).nullish(),
  }),
})

const refused = 'The passkey was not accepted. It may have been removed from your account.'

async function sendOptions(gateway: Gateway, request: Request): Promise<Response> {
  await readBody(gateway, request)
  return Response.json(await createSignInOptions(gateway, request), {
    headers: { 'cache-control': 'no-store' },
  })
}

async function usePasskey(gateway: Gateway, request: Request): Promise<Response> {
  const response = parseAssertion(await readBody(gateway, request))
  const { ip } = resolveRequestSource(gateway, request)
  const attempt = { kind: 'passkey', ip, name: response.id } as const
  gateway.identity.signInLimiter.begin(attempt, gateway.clock.now())
  const signedIn = await signInWith(gateway, request, response)
  if (!signedIn) throw gatewayError('forbidden', refused)
  gateway.identity.signInLimiter.succeed(attempt)
  // For a script: a redirect would be followed without the page.
  const headers = new Headers({ 'cache-control': 'no-store' })
  for (const cookie of signedIn.headers.getSetCookie()) headers.append('set-cookie', cookie)
  return Response.json({ location: signedIn.headers.get('location') }, { headers })
}

async function signInWith(
  gateway: Gateway,
  request: Request,
  response: AuthenticationResponseJSON,
): Promise<Response | undefined> {
  const { db, clock } = gateway
  const passkey = await findPasskey(db, response.id)
  const owner = passkey && (await findActiveMember(db, passkey.user_id))
  // The authenticator names the member too: both must agree.
  const handle = Buffer.from(response.response.userHandle ?? '', 'base64url').toString('utf8')
  const member = owner?.id === handle ? owner : undefined
  const verified = passkey && member && (await verifySignIn(gateway, request, passkey, response))
  if (!verified) {
    await recordRefusal(gateway, request, { method: 'passkey', reason: 'not valid', member: owner ?? null })
    return undefined
  }
  const claim = async (tx: Db) =>
    (await claimChallenge(tx, clock, verified)) && recordPasskeyUse(tx, clock, passkey, verified.newCounter)
  const signedIn = await finishSignIn(gateway, request, { member, method: 'passkey', claim })
  if (!signedIn) await recordRefusal(gateway, request, { method: 'passkey', reason: 'used before', member })
  return signedIn
}

async function readBody(gateway: Gateway, request: Request): Promise<string> {
  if (!isSameOrigin(gateway, request) || !request.headers.get('content-type')?.startsWith('application/json'))
    throw gatewayError('forbidden', 'This request was sent from another site.')
  return readBodyText(request, { maxBytes: maxBodyBytes, pace: bodyPaceOf(gateway) })
}

function parseAssertion(body: string): AuthenticationResponseJSON {
  const value = tryParseJson(body)
  if (value === undefined) throw gatewayError('malformed_json')
  const result = assertion.safeParse(value)
  if (!result.success)
    throw gatewayError('invalid_request', 'The response of the authenticator is not valid.')
  const { userHandle, ...response } = result.data.response
  return { ...result.data, response: { ...response, ...(userHandle && { userHandle }) } }
}

/** Errors as JSON, for the script. */
function createEndpoint(path: string, handle: RawRoute['handle']): RawRoute {
  return {
    method: 'POST',
    path,
    handle: async (gateway, request) => {
      try {
        return await handle(gateway, request)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.row.status >= 500) throw error
        const { status } = error.row
        return Response.json({ problem: error.message }, { status, headers: error.headers })
      }
    },
  }
}

const passkeyScript = Bun.file(new URL('./passkey.client.js', import.meta.url))

const scriptRoute: RawRoute = {
  method: 'GET',
  path: `/${passkeyScriptPath}`,
  handle: async () =>
    new Response(passkeyScript, {
      headers: {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=300',
        'x-content-type-options': 'nosniff',
      },
    }),
}

export const passkeyPages: RawRoute[] = [
  scriptRoute,
  createEndpoint('/signin/passkey/options', sendOptions),
  createEndpoint('/signin/passkey', usePasskey),
]
