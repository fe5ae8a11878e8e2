import {
  claimIdempotencyKey,
  type IdempotencyKey,
  releaseIdempotencyKey,
  storeIdempotentResponse,
} from '../account/idempotency-keys.ts'
import type { Gateway } from '../app/gateway.ts'
import { GatewayError, gatewayError, invalidFieldError } from '../errors/gateway-error.ts'
import { sha256 } from '../lib/crypto.ts'
import { parseRequestUrl } from '../lib/request-url.ts'
import { type Caller, callerIdOf } from '../pipeline/request/caller.ts'
import { workspaceHeader } from '../pipeline/request/session.ts'
import type { Operation } from './operation.ts'

export const idempotencyHeader = 'idempotency-key'

/** Longer responses are not stored; no record is nearly this long. */
const maxResponseLength = 256 * 1024
/** A request that has taken longer was interrupted. */
const longestRequestMs = 15 * 60_000

/** Whether the operation creates something, so that a repeated request must not run twice. */
export function isIdempotencySupported({ method, permission, inference }: Operation): boolean {
  return (
    method === 'POST' && permission !== 'public' && (inference === undefined || inference.isCreation === true)
  )
}

/** A request with an `Idempotency-Key`. */
interface KeyedRequest {
  gateway: Gateway
  caller: Caller
  operation: Operation
  httpRequest: Request
  key: string
  /** The JSON of its body; of other bodies, only the length is compared. */
  text: string | undefined
}

/** Runs the request, unless one with the same key has run: then its response is sent again. */
export async function runOnce(request: KeyedRequest, run: () => Promise<Response>): Promise<Response> {
  const { gateway, caller } = request
  const id = identify(request)
  const fingerprint = describeRequest(request)
  const claim = { id, organizationId: caller.organizationId, fingerprint }
  const known = await claimIdempotencyKey(gateway.db, gateway.clock, claim)
  if (known) return replay(gateway, known, fingerprint)
  let response: Response
  try {
    response = await run()
  } catch (error) {
    await releaseQuietly(gateway, id)
    throw error
  }
  return response.ok ? remember(gateway, id, response) : forget(gateway, id, response)
}

function identify({ caller, operation, key }: KeyedRequest): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw invalidFieldError('Idempotency-Key', 'must be 1 to 255 printable ASCII characters')
  return sha256(JSON.stringify([callerIdOf(caller), operation.id, key]))
}

function describeRequest({ httpRequest, text }: KeyedRequest): string {
  const { headers } = httpRequest
  const { pathname, search } = parseRequestUrl(httpRequest)
  const body = text ?? `length ${headers.get('content-length')}`
  return sha256(JSON.stringify([pathname, search, headers.get(workspaceHeader), body]))
}

function replay({ vault, clock }: Gateway, known: IdempotencyKey, fingerprint: string): Response {
  if (known.fingerprint !== fingerprint) throw gatewayError('idempotency_key_reused')
  if (known.response === null) throw unfinishedError(clock.now() - Date.parse(known.created_at))
  const { status, headers, body } = JSON.parse(
    vault.open(known.response, contextOf(known.id)),
  ) as StoredResponse
  return new Response(body, { status, headers: [...headers, ['idempotent-replayed', 'true']] })
}

function unfinishedError(ageMs: number): GatewayError {
  if (ageMs < longestRequestMs)
    return new GatewayError('idempotency_key_in_use', { headers: { 'retry-after': '1' } })
  const message =
    'The request with this Idempotency-Key was interrupted, and may have had an effect. Check the records, and use another key to repeat it.'
  return gatewayError('conflict', message)
}

interface StoredResponse {
  status: number
  headers: [string, string][]
  body: string
}

/** Binds what is sealed to its row. */
function contextOf(id: string): string {
  return `idempotency:${id}`
}

async function remember(gateway: Gateway, id: string, response: Response): Promise<Response> {
  const { status } = response
  const headers = [...response.headers] as [string, string][]
  const body = await response.text()
  const isStored = body.length <= maxResponseLength
  const sent = new Response(body, { status, headers })
  if (!isStored) return forget(gateway, id, markDropped(sent))
  const stored: StoredResponse = { status, headers, body }
  try {
    await storeIdempotentResponse(gateway.db, id, gateway.vault.seal(JSON.stringify(stored), contextOf(id)))
  } catch (err) {
    // The request had its effect. Without a response, a repeated one is 409 and does not run.
    gateway.log.warn({ err }, 'response of an idempotent request not stored')
  }
  return sent
}

/** Says that the header had no effect. */
export function markDropped(response: Response): Response {
  response.headers.append('x-headgate-dropped', 'Idempotency-Key')
  return response
}

async function forget(gateway: Gateway, id: string, response: Response): Promise<Response> {
  await releaseQuietly(gateway, id)
  return response
}

/** If it fails, a repeated request is 409 until the key expires. */
async function releaseQuietly({ db, log }: Gateway, id: string): Promise<void> {
  try {
    await releaseIdempotencyKey(db, id)
  } catch (err) {
    log.warn({ err }, 'idempotency key not released')
  }
}
