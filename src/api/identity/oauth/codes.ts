import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import { isSameText, sha256 } from '../../../platform/crypto/crypto.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { usdAmount } from '../../../platform/money/money-schema.ts'
import { isSingleLine } from '../../../platform/validation/name-schema.ts'
import { ifFieldIn } from '../../../platform/validation/schema-rules.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'

export const challengeMethod = z.enum(['S256', 'plain'])

/** The URL length that browsers and proxies support in common. */
const maxUrlLength = 2048

/** Parses a callback: any https URL, and http on loopback. Later code uses the parsed URL only. */
function parseCallback(text: string): URL | undefined {
  const written = /^https?:\/\/([^\s\\/?#]+)(?:[/?][^\s\\#]*)?$/i.exec(text)?.[1]
  if (written === undefined || !URL.canParse(text)) return undefined
  const url = new URL(text)
  // `https://localhost@evil.example` looks like a different host than it is.
  if (url.username !== '' || url.password !== '') return undefined
  // WHATWG hosts may contain `;`, `*` and quotes, which are syntax in a Content-Security-Policy.
  if (!/^[a-z0-9._-]+$|^\[[0-9a-f:.]+\]$/.test(url.hostname)) return undefined
  // Compares the raw text: a browser also resolves `0x7f.1` and similar spellings to loopback.
  const local = /^(?:localhost|127\.0\.0\.1)(?::\d*)?$/i.test(written)
  return url.protocol === 'https:' || local ? url : undefined
}

const callbackUrl = z
  .string()
  .max(maxUrlLength)
  .meta({ format: 'uri' })
  .transform((text, context) => {
    const url = parseCallback(text)
    if (url) return url
    context.addIssue({
      code: 'custom',
      message: 'must be an https URL without a fragment, or one of localhost or 127.0.0.1',
    })
    return z.NEVER
  })

const sha256Pattern = /^[A-Za-z0-9_-]{43}$/

const codeChallenge = z
  .string()
  .regex(/^[A-Za-z0-9._~-]{43,128}$/, 'must be 43 to 128 letters, digits, "-", ".", "_" or "~" (RFC 7636)')

const keyLabel = z
  .string()
  .max(100)
  .refine(isSingleLine, 'must not contain control characters or line breaks')
  .meta({ pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' })

const telemetry = z.string().max(256).optional().describe('Accepted and ignored.')

const codeFields = {
  code_challenge: codeChallenge.optional().describe('The PKCE code challenge (RFC 7636).'),
  code_challenge_method: challengeMethod
    .optional()
    .describe('The PKCE method. Defaults to `plain` if a challenge is sent (RFC 7636).'),
  key_label: keyLabel
    .optional()
    .describe('The name of the key. Defaults to the name of the app, which is its host.'),
  usage_limit_type: z
    .enum(['daily', 'weekly', 'monthly'])
    .optional()
    .describe('When the credit limit resets.'),
}

/** The body of E3. */
export const codeRequest = z
  .strictObject({
    callback_url: callbackUrl.describe(
      'An https URL, or an http URL on localhost or 127.0.0.1, with any port.',
    ),
    ...codeFields,
    expires_at: utcTimestamp.nullish().describe('When the key expires.'),
    limit: usdAmount.optional().describe('The credit limit of the key, in USD.'),
    workspace_id: z
      .uuid()
      .optional()
      .describe('The workspace of the key. Defaults to the default workspace.'),
    spawn_agent: telemetry,
    spawn_cloud: telemetry,
  })
  .meta({
    override: {
      dependentRequired: { code_challenge_method: ['code_challenge'] },
      ...ifFieldIn('code_challenge_method', ['S256'], {
        properties: { code_challenge: { pattern: sha256Pattern.source } },
      }),
    },
  })

const formAmount = z
  .string()
  .trim()
  .regex(/^\d{1,10}(\.\d{1,9})?$/, 'must be an amount in USD such as 5 or 0.50')
  .transform(Number)
  .pipe(usdAmount)

/** The query of the consent page: without a callback the code is shown on the screen. */
export const consentRequest = z.object({
  callback_url: callbackUrl.optional(),
  ...codeFields,
  limit: formAmount.optional(),
})

/** A code request from the API or the consent page. */
export type CodeRequest = Omit<z.output<typeof codeRequest>, 'callback_url'> & {
  callback_url?: URL | undefined
}

export interface Pkce {
  code_challenge: string | null
  code_challenge_method: 'S256' | 'plain' | null
}

/** Rules that span several fields. */
export function validateCodeRequest(gateway: Gateway, requested: CodeRequest): Pkce {
  if (requested.expires_at && Date.parse(requested.expires_at) <= gateway.clock.now()) {
    throw invalidFieldError('expires_at', 'is in the past')
  }
  return requested.code_challenge === undefined
    ? validateWithoutChallenge(gateway, requested)
    : validateChallenge(gateway, requested)
}

function validateWithoutChallenge(gateway: Gateway, requested: CodeRequest): Pkce {
  if (requested.code_challenge_method !== undefined) {
    throw invalidFieldError('code_challenge', 'is required with code_challenge_method')
  }
  if (gateway.settings.oauth.require_s256)
    throw invalidFieldError('code_challenge', 'is required on this server')
  if (!requested.callback_url) throw invalidFieldError('code_challenge', 'is required without a callback_url')
  return { code_challenge: null, code_challenge_method: null }
}

function validateChallenge(gateway: Gateway, requested: CodeRequest): Pkce {
  const { code_challenge = null, code_challenge_method = 'plain' } = requested
  if (code_challenge_method === 'S256' && !sha256Pattern.test(code_challenge ?? '')) {
    throw invalidFieldError('code_challenge', 'must be a SHA-256 in base64url without padding: 43 characters')
  }
  if (code_challenge_method === 'plain' && gateway.settings.oauth.require_s256) {
    throw invalidFieldError('code_challenge_method', 'must be S256 on this server')
  }
  return { code_challenge, code_challenge_method }
}

/** Rejects a verifier for a code without a challenge too: the challenge may have been stripped in transit. */
export function isVerifierValid(pkce: Pkce, verifier: string | undefined): boolean {
  if (pkce.code_challenge === null) return verifier === undefined
  if (verifier === undefined) return false
  const proof =
    pkce.code_challenge_method === 'S256'
      ? Buffer.from(sha256(verifier), 'hex').toString('base64url')
      : verifier
  return isSameText(proof, pkce.code_challenge)
}

export interface App {
  url: string
  name: string
}

/** An app without a callback is identified by OAuth's out-of-band URN. */
const outOfBandApp: App = { url: 'urn:ietf:wg:oauth:2.0:oob', name: 'Command-line app' }

export function appOf(callback: URL | undefined): App {
  return callback ? { url: callback.origin, name: callback.host } : outOfBandApp
}

export function keyNameOf(requested: CodeRequest): string {
  return requested.key_label?.trim() || appOf(requested.callback_url).name.slice(0, 100)
}

/** Adds the outcome to the callback and leaves the rest of its query unchanged. */
export function buildReturnUrl(callback: URL, outcome: { code: string } | { error: string }): string {
  const url = new URL(callback)
  for (const name of ['code', 'error']) if (url.searchParams.has(name)) url.searchParams.delete(name)
  url.search = [url.search.slice(1), new URLSearchParams(outcome).toString()].filter(Boolean).join('&')
  return url.href
}
