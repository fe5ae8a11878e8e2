import { type Caller, callerIdOf } from '../access/caller.ts'
import { workspaceHeader } from '../access/session.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isScopeWithin, type Scope, type StoredScope, toStoredScope } from '../identity/permissions/grant.ts'
import { infoOf } from '../identity/permissions/permissions.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { bodyPaceOf } from '../platform/http/body-reader.ts'
import { FormDigest, hashForm } from '../platform/http/multipart.ts'
import { resolveRequestId } from '../platform/http/request-id.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import { toClientError } from './error-response.ts'
import {
  claimIdempotencyKey,
  endIdempotentRequest,
  type IdempotencyKey,
  releaseIdempotencyKey,
  storeIdempotentResponse,
} from './idempotency-keys.ts'
import type { Operation } from './operation.ts'
import { isRawBody, maxBytesOf } from './request-body.ts'

export const idempotencyHeader = 'idempotency-key'

/** Maximum size of a stored response; records are a few KB. */
const maxResponseBytes = 32 * 1024
/** A request that has taken longer was interrupted. */
const longestRequestMs = 15 * 60_000

/**
 * Whether the operation creates something, so that a repeated request must not run twice. Those of the own account check
 * how recent the sign-in is, which a stored response would bypass.
 */
export function isIdempotencySupported({ method, permission, inference }: Operation): boolean {
  if (method !== 'POST' || permission === 'public') return false
  if (permission.endsWith(':read') || infoOf(permission).keys === 'none') return false
  return inference === undefined || inference.isCreation === true
}

/** A request with an `Idempotency-Key`. */
interface KeyedRequest {
  gateway: Gateway
  caller: Caller
  operation: Operation
  scope: Scope
  httpRequest: Request
  key: string
  /** The JSON of its body. Undefined for a form, which the handler reads. */
  text: string | undefined
}

/** A claimed key. */
interface Claim {
  id: string
  organizationId: string
}

/** Runs the request, unless one with the same key has run: then its response is sent again. */
export async function runOnce(request: KeyedRequest, run: () => Promise<Response>): Promise<Response> {
  const { gateway, caller, httpRequest, operation } = request
  const fingerprint = describeRequest(request)
  const claim = { id: identify(request), organizationId: caller.organizationId, fingerprint }
  const owner = caller.session
    ? { keyId: null, userId: caller.userId }
    : { keyId: caller.key.id, userId: null }
  const known = await claimIdempotencyKey(gateway.db, gateway.clock, { ...claim, ...owner })
  if (known) return replay(request, known, fingerprint)
  const form = isRawBody(httpRequest, operation) ? FormDigest.of(httpRequest) : null
  let response: Response
  try {
    response = await run()
  } catch (error) {
    const { row, code } = toClientError(error)
    await endFailed(request, claim, code === 'upstream_timeout' ? 'unknown' : row.status)
    throw error
  }
  if (response.ok) return remember(request, claim, response, form)
  await endFailed(request, claim, response.status)
  return response
}

function identify({ caller, operation, key }: KeyedRequest): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw invalidFieldError('Idempotency-Key', 'must be 1 to 255 printable ASCII characters')
  return sha256(JSON.stringify([callerIdOf(caller), operation.id, key]))
}

function describeRequest({ httpRequest, text = '' }: KeyedRequest): string {
  const { pathname, search } = parseRequestUrl(httpRequest)
  return sha256(JSON.stringify([pathname, search, httpRequest.headers.get(workspaceHeader), text]))
}

async function replay(request: KeyedRequest, known: IdempotencyKey, fingerprint: string): Promise<Response> {
  if (known.fingerprint !== fingerprint) throw gatewayError('idempotency_key_reused')
  const { gateway, scope } = request
  if (known.response === null) throw noResponseError(gateway, known)
  const stored = JSON.parse(gateway.vault.decrypt(known.response, contextOf(known.id))) as StoredResponse
  const { status, headers, body, scope: storedScope = unknownScope, form = null } = stored
  if (!isScopeWithin(storedScope, scope)) throw gatewayError('forbidden', narrowedScopeMessage)
  if (form !== null && form !== (await hashBody(request))) throw gatewayError('idempotency_key_reused')
  return new Response(body, { status, headers: [...headers, ['idempotent-replayed', 'true']] })
}

const narrowedScopeMessage =
  'The caller no longer has the permissions with which the request with this Idempotency-Key ran.'

function hashBody({ gateway, httpRequest, operation }: KeyedRequest): Promise<string | null> {
  const maxBytes = maxBytesOf(gateway, httpRequest, operation)
  return hashForm(httpRequest, { maxBytes, pace: bodyPaceOf(gateway) })
}

function noResponseError({ clock }: Gateway, { outcome, created_at }: IdempotencyKey): GatewayError {
  if (outcome === 'succeeded') return gatewayError('conflict', unstoredMessage)
  if (outcome === 'unknown') return gatewayError('conflict', unknownOutcomeMessage('failed'))
  if (clock.now() - Date.parse(created_at) < longestRequestMs)
    return new GatewayError('idempotency_key_in_use', { headers: { 'retry-after': '1' } })
  return gatewayError('conflict', unknownOutcomeMessage('was interrupted'))
}

const unstoredMessage =
  'The request with this Idempotency-Key succeeded. Its response is not stored: it is larger than 32 KB, or the organization has stored too many. Read the record, or use another key to create another one.'

function unknownOutcomeMessage(end: 'failed' | 'was interrupted'): string {
  return `The request with this Idempotency-Key ${end}, and may have had an effect. Check the records, and use another key to repeat it.`
}

/** An earlier version stored neither `reach` nor `form`. */
interface StoredResponse {
  status: number
  headers: [string, string][]
  body: string
  /** Scope of the caller's permission. */
  scope?: StoredScope
  /** The hash of a form; null for JSON, which is in the fingerprint. */
  form?: string | null
}

const unknownScope: StoredScope = { everywhere: true, workspaceIds: [], ownWorkspaceIds: [] }

/** Binds what is encrypted to its row. */
function contextOf(id: string): string {
  return `idempotency:${id}`
}

/** The request had its effect. */
async function remember(
  { gateway, httpRequest, scope }: KeyedRequest,
  claim: Claim,
  response: Response,
  form: FormDigest | null,
): Promise<Response> {
  const { status } = response
  const headers = [...response.headers] as [string, string][]
  const body = await response.text()
  await runQuietly(gateway, httpRequest, 'response of an idempotent request not stored', () => {
    const stored = { status, headers, body, scope: toStoredScope(scope), form: form?.value ?? null }
    return storeIdempotentResponse(gateway.db, claim, encryptResponse(gateway, claim, stored))
  })
  return new Response(body, { status, headers })
}

/** Null for a response that is too long to be stored. */
function encryptResponse({ vault }: Gateway, { id }: Claim, stored: StoredResponse): string | null {
  if (Buffer.byteLength(stored.body) > maxResponseBytes) return null
  return vault.encrypt(JSON.stringify(stored), contextOf(id))
}

/** Says that the header had no effect. */
export function markDropped(response: Response): Response {
  response.headers.append('x-headgate-dropped', 'Idempotency-Key')
  return response
}

/**
 * Ends a failed request. A rejected one had no effect; a server error, or a provider that did not respond, leaves that
 * open.
 */
async function endFailed(
  { gateway, httpRequest }: KeyedRequest,
  { id }: Claim,
  status: number | 'unknown',
): Promise<void> {
  const hadNoEffect = status !== 'unknown' && status < 500
  const end = hadNoEffect ? releaseIdempotencyKey : endIdempotentRequest
  await runQuietly(gateway, httpRequest, 'idempotency key not released', () => end(gateway.db, id))
}

/** Logs an error of `work`. If it fails, a repeated request is 409 and does not run. */
async function runQuietly(
  { log }: Gateway,
  httpRequest: Request,
  message: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (err) {
    subsystemLog(log, 'http').warn({ err, requestId: resolveRequestId(httpRequest) }, message)
  }
}
