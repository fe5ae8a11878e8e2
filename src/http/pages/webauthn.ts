import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { resolvePublicOrigin } from '../../access/origin.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { displayNameOf, type Member } from '../../identity/members.ts'
import type { Passkey } from '../../identity/passkeys.ts'
import { createSignedToken, readSignedToken } from '../../platform/crypto/signed-token.ts'
import { decodeList } from '../../platform/db/values.ts'

/** Loaded when someone first uses a passkey. */
const loadWebAuthn = () => import('@simplewebauthn/server')

const challengeTtlMs = 5 * 60_000
const signInPurpose = 'passkey/sign-in'
const registrationPurpose = (member: Member) => `passkey/registration:${member.id}`

/** The site that the browser binds a passkey to. */
function siteOf(gateway: Gateway, request: Request) {
  const origin = resolvePublicOrigin(gateway, request)
  return { origin, rpId: new URL(origin).hostname }
}

/** Signed, so that nothing is stored for a visitor who only opens the page. */
function createChallenge({ vault, clock }: Gateway, purpose: string): Uint8Array<ArrayBuffer> {
  const token = createSignedToken(vault, purpose, { expiresAt: clock.now() + challengeTtlMs })
  return new TextEncoder().encode(token)
}

interface Challenge {
  challenge: string
  expiresAt: number
}

function readChallenge({ vault, clock }: Gateway, purpose: string, challenge: string): Challenge | undefined {
  const token = Buffer.from(challenge, 'base64url').toString('utf8')
  const content = readSignedToken<{ expiresAt: number }>(vault, purpose, token)
  return content && content.expiresAt > clock.now() ? { challenge, ...content } : undefined
}

/** The member chooses a passkey in the browser: no address is needed. */
export async function createSignInOptions(gateway: Gateway, request: Request) {
  const { generateAuthenticationOptions } = await loadWebAuthn()
  return generateAuthenticationOptions({
    rpID: siteOf(gateway, request).rpId,
    challenge: createChallenge(gateway, signInPurpose),
    userVerification: 'required',
  })
}

export interface VerifiedSignIn extends Challenge {
  newCounter: number
}

/** Undefined if the response is not valid for the passkey. */
export async function verifySignIn(
  gateway: Gateway,
  request: Request,
  passkey: Passkey,
  response: AuthenticationResponseJSON,
): Promise<VerifiedSignIn | undefined> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const { origin, rpId } = siteOf(gateway, request)
  let answered: Challenge | undefined
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: (challenge) => {
        answered = readChallenge(gateway, signInPurpose, challenge)
        return answered !== undefined
      },
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        counter: Number(passkey.counter),
      },
    })
    return verified && answered ? { ...answered, newCounter: authenticationInfo.newCounter } : undefined
  } catch {
    // The library throws for everything that does not match.
    return undefined
  }
}

export async function createPasskeyOptions(
  gateway: Gateway,
  request: Request,
  member: Member,
  existing: Passkey[],
) {
  const { generateRegistrationOptions } = await loadWebAuthn()
  return generateRegistrationOptions({
    rpName: 'Headgate',
    rpID: siteOf(gateway, request).rpId,
    userName: displayNameOf(member),
    userID: new TextEncoder().encode(member.id),
    challenge: createChallenge(gateway, registrationPurpose(member)),
    attestationType: 'none',
    excludeCredentials: existing.map(({ credential_id, transports }) => ({
      id: credential_id,
      transports: decodeList(transports) ?? [],
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

export interface VerifiedPasskey extends Challenge {
  credential: Pick<Passkey, 'credential_id' | 'public_key' | 'counter' | 'transports'>
}

/** Undefined if the response is not valid for the member. */
export async function verifyNewPasskey(
  gateway: Gateway,
  request: Request,
  member: Member,
  response: RegistrationResponseJSON,
): Promise<VerifiedPasskey | undefined> {
  const { verifyRegistrationResponse } = await loadWebAuthn()
  const { origin, rpId } = siteOf(gateway, request)
  let answered: Challenge | undefined
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: (challenge) => {
        answered = readChallenge(gateway, registrationPurpose(member), challenge)
        return answered !== undefined
      },
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
    })
    if (!verified || !answered) return undefined
    const { id, publicKey, counter, transports } = registrationInfo.credential
    return {
      ...answered,
      credential: {
        credential_id: id,
        public_key: Buffer.from(publicKey).toString('base64url'),
        counter,
        transports: JSON.stringify(transports ?? []),
      },
    }
  } catch {
    return undefined
  }
}
