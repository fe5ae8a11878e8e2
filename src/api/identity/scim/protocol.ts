import { authenticateScim, type ScimCaller } from '../../../access/authenticate.ts'
import { resolveRequestSource } from '../../../access/client-address.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { AuditOrigin } from '../../../governance/audit/entry.ts'
import type { Method, PathRequest, RawRoute } from '../../../http/operation.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { type BodyLimits, bodyPaceOf, readBodyText } from '../../../platform/http/body-reader.ts'
import { resolveRequestId } from '../../../platform/http/request-id.ts'
import { parseRequestUrl } from '../../../platform/http/request-url.ts'
import { parseJson } from '../../../platform/json/json.ts'
import { JsonCounter } from '../../../platform/json/json-counter.ts'
import { JsonError } from '../../../platform/json/json-error.ts'
import { subsystemLog } from '../../../platform/logging/subsystem-log.ts'

/** RFC 7644, 3.12. */
export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

export class ScimError extends Error {
  readonly status: number
  readonly scimType: ScimType | undefined
  readonly headers: Record<string, string>

  constructor(
    status: number,
    scimType: ScimType | undefined,
    detail: string,
    headers: Record<string, string> = {},
  ) {
    super(detail)
    this.status = status
    this.scimType = scimType
    this.headers = headers
  }
}

export const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** A parsed JSON object, not yet validated. */
export type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface ScimContext {
  gateway: Gateway
  organizationId: string
  /** The identity provider, for the audit log. */
  origin: AuditOrigin
  request: PathRequest
  query: URLSearchParams
  /** The last path segment, if the route has one. */
  id: string
  /** The base of `meta.location`: `https://gate.example.com/scim/v2`. */
  base: string
}

export type ScimHandler = (context: ScimContext) => Promise<Response>

const scimRoot = '/scim/v2'
const methods: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Handles every method of a path, so that unsupported ones get a SCIM error. */
export function createScimRoutes(path: string, handlers: Partial<Record<Method, ScimHandler>>): RawRoute[] {
  const reject: ScimHandler = () => {
    const allow = Object.keys(handlers).join(', ')
    const error = allow
      ? new ScimError(405, undefined, `This path supports only ${allow}.`, { allow })
      : new ScimError(404, undefined, 'This path does not exist.')
    return Promise.reject(error)
  }
  // Some clients end every path with a slash; a wildcard route matches it anyway.
  const paths = path.endsWith('*') ? [path] : [path, `${path}/`]
  return paths.flatMap((spelling) =>
    methods.map((method) => ({
      method,
      path: scimRoot + spelling,
      handle: (gateway: Gateway, request: PathRequest) =>
        handleScim(gateway, request, handlers[method] ?? reject),
    })),
  )
}

async function handleScim(gateway: Gateway, request: PathRequest, handle: ScimHandler): Promise<Response> {
  try {
    const caller = await authenticateScim(gateway, request)
    const { organizationId } = caller
    const origin = resolveOrigin(gateway, request, caller)
    const url = parseRequestUrl(request)
    const base = (gateway.settings.public_url ?? url.origin).replace(/\/+$/, '') + scimRoot
    const id = request.params?.id ?? ''
    return await handle({ gateway, organizationId, origin, request, query: url.searchParams, id, base })
  } catch (error) {
    return toErrorResponse(gateway, request, error)
  }
}

function resolveOrigin(gateway: Gateway, request: Request, caller: ScimCaller): AuditOrigin {
  return {
    organizationId: caller.organizationId,
    actor: { type: 'scim', id: caller.tokenId, name: caller.tokenName },
    ...resolveRequestSource(gateway, request),
    requestId: resolveRequestId(request),
  }
}

function toErrorResponse(gateway: Gateway, request: Request, error: unknown): Response {
  const known = error instanceof ScimError ? error : toScimError(error)
  if (known.status >= 500)
    subsystemLog(gateway.log, 'identity').error(
      { err: error, requestId: resolveRequestId(request) },
      'SCIM request failed',
    )
  const body = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(known.status),
    ...(known.scimType && { scimType: known.scimType }),
    detail: known.message,
  }
  return scimResponse(body, known.status, {
    ...known.headers,
    ...(known.status === 401 && { 'www-authenticate': 'Bearer realm="SCIM"' }),
  })
}

/** Converts gateway errors to SCIM errors; unexpected errors stay private. */
function toScimError(error: unknown): ScimError {
  if (!(error instanceof GatewayError) || error.row.status >= 500) {
    return new ScimError(500, undefined, 'Internal error.')
  }
  const { row, message, headers } = error
  return new ScimError(row.status, row.status === 400 ? 'invalidValue' : undefined, message, headers)
}

export function scimResponse(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/scim+json; charset=utf-8', ...headers },
  })
}

export function noContentResponse(): Response {
  return new Response(null, { status: 204 })
}

export function notFoundError(kind: 'User' | 'Group'): ScimError {
  return new ScimError(404, undefined, `The ${kind} does not exist.`)
}

const maxBodyBytes = 1024 * 1024
/** Maximum values of a body: enough for a group of about ten thousand members. */
const maxValues = 50_000

export async function readObject({ gateway, request }: ScimContext): Promise<Json> {
  const type = request.headers.get('content-type') ?? ''
  if (type !== '' && !/^application\/(scim\+)?json\b/i.test(type)) {
    throw new ScimError(415, undefined, 'The body must be application/scim+json or application/json.')
  }
  const value = await readJson(request, { maxBytes: maxBodyBytes, pace: bodyPaceOf(gateway) })
  if (!isObject(value)) throw new ScimError(400, 'invalidSyntax', 'The body must be a JSON object.')
  return value
}

async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const counter = new JsonCounter({ values: maxValues })
  try {
    return parseJson(await readBodyText(request, limits, (text) => counter.add(text)), counter)
  } catch (error) {
    if (error instanceof JsonError) throw new ScimError(400, 'invalidSyntax', `The body is ${error.message}.`)
    throw error
  }
}
