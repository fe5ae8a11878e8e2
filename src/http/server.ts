import { admitCaller, hasCredential } from '../access/authenticate.ts'
import type { Caller } from '../access/caller.ts'
import { rememberPeer } from '../access/client-address.ts'
import { authorizeCaller } from '../access/known-callers.ts'
import { limitFailure } from '../access/request-limits.ts'
import type { Config } from '../config.ts'
import type { DataRegion } from '../formats/vocabulary.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { rejectCall } from '../inference/settle/reject.ts'
import { newId } from '../platform/crypto/ids.ts'
import { GatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { assertDeclaredLength } from '../platform/http/body-reader.ts'
import { toAsciiHost } from '../platform/http/host-name.ts'
import { resolveRequestId } from '../platform/http/request-id.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'
import type { SpanRecorder } from '../platform/tracing/span-recorder.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import { respond, respondWithRecord } from './client-pause.ts'
import { compressResponse } from './compress-response.ts'
import { buildCorsHeaders, buildPreflightHeaders } from './cors.ts'
import { buildErrorResponse, type FailingOperation, toClientError } from './error-response.ts'
import { idempotencyHeader, isIdempotencySupported, markDropped, runOnce } from './idempotency.ts'
import type { Operation, PathRequest, RawRoute } from './operation.ts'
import { parseQuery, readPathParameters, validateParameters } from './parameters.ts'
import { enforceRateLimit } from './rate-limit.ts'
import { type Context, changeRecord } from './record-operations.ts'
import { isRawBody, maxBytesOf, readRequestBody } from './request-body.ts'
import {
  loadersByAddress,
  type OperationsByMethod,
  once,
  type RouteGroup,
  selectOperations,
} from './routes.ts'
import { describeUnknownPath } from './unknown-path.ts'

/** Sets the idle timeout of a request's connection. */
interface Connections {
  timeout(request: Request, seconds: number): void
}

/** The methods of an address, and the connections of the server. */
interface Route {
  methods: OperationsByMethod
  connections: Connections
}

type Handler = (request: PathRequest, connections: Connections) => Promise<Response>

function buildRoutes(
  gateway: Gateway,
  operations: readonly RouteGroup<Operation>[],
  rawRoutes: readonly RouteGroup<RawRoute>[],
  page: RawRoute | undefined,
): Record<string, Handler> {
  const routes: Record<string, Handler> = {}
  for (const [address, load] of loadersByAddress(operations)) {
    const pattern = address.replace(/\{rest\}$/, '*').replace(/\{(\w+)\}/g, ':$1')
    const loadMethods = once(async () => selectOperations(await load(), address))
    let methods: OperationsByMethod | null = null
    const handler: Handler = async (request, connections) => {
      methods ??= await loadMethods()
      return handleRequest(gateway, request, { methods, connections })
    }
    routes[pattern] = page && screensOnApiPaths.has(pattern) ? preferPage(gateway, page, handler) : handler
    if (!pattern.endsWith('*')) routes[`${pattern}/`] = handler
  }
  for (const [path, load] of loadersByAddress(rawRoutes)) {
    const group = once(async () => (await load()).filter((route) => route.path === path))
    routes[path] = async (request) => handleRawRoute(gateway, request, await group())
  }
  return routes
}

/** Screens whose path is also that of an operation: clients of the API accept JSON or send a key. */
const screensOnApiPaths = new Set(['/models'])

function preferPage(gateway: Gateway, page: RawRoute, handler: Handler): Handler {
  return (request, connections) =>
    isNavigation(request) && !hasCredential(request)
      ? handleRawRoute(gateway, request, [page])
      : handler(request, connections)
}

/** HEAD is handled as GET; the runtime drops the body. */
async function handleRequest(gateway: Gateway, request: PathRequest, route: Route): Promise<Response> {
  const { methods } = route
  const operation = methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  const opened = openRequest(gateway, request, operation)
  let response: Response
  try {
    const hostProblem = findHostProblem(request)
    if (hostProblem) throw hostProblem
    response =
      request.method !== 'POST' && isProbe(request, operation)
        ? answerProbe(gateway, request, methods)
        : await serveOperation(gateway, request, operation ?? refuseMethod(methods), route)
  } catch (error) {
    response = buildErrorResponse(gateway, error, { ...opened, httpRequest: request })
  }
  return compressResponse(request, finishResponse(gateway, opened, response))
}

/** A preflight, or a HEAD that needs no answer of an operation: clients probe the server before they send a key. */
function isProbe(request: Request, operation: Operation | undefined): boolean {
  return (
    request.method === 'OPTIONS' || (request.method === 'HEAD' && (!operation || !hasCredential(request)))
  )
}

function answerProbe(gateway: Gateway, request: Request, methods: OperationsByMethod): Response {
  return request.method === 'OPTIONS' ? handlePreflight(gateway, request, methods) : new Response(null)
}

/** The runtime joins repeated headers. A proxy in front may have read another of them. */
function findHostProblem({ headers }: Request): GatewayError | null {
  return headers.get('host')?.includes(',') ? invalidFieldError('Host', 'is repeated; send it once') : null
}

function refuseMethod(methods: OperationsByMethod): never {
  throw new GatewayError('method_not_allowed', { headers: { allow: listMethods(methods) } })
}

function listMethods(methods: OperationsByMethod): string {
  return [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

/** The order of the checks, here and in `runOperation`, is documented. */
async function serveOperation(
  gateway: Gateway,
  request: PathRequest,
  operation: Operation,
  route: Route,
): Promise<Response> {
  assertDeclaredLength(request, maxBytesOf(gateway, request, operation))
  const cors = request.headers.has('origin') ? buildCorsHeaders(gateway, request, operation) : null
  let caller: Caller | null = null
  try {
    caller = await admitCaller(gateway, request, operation)
    const scope = await authorizeCaller(gateway, caller, operation)
    const response = await runOperation(operation, { gateway, httpRequest: request, caller, scope }, route)
    return cors ? addHeaders(response, cors) : response
  } catch (error) {
    const clientError = toClientError(error)
    // A request whose path or body was the credential counts as a failed attempt.
    const failure = operation.hasOwnCredential
      ? await limitFailure(gateway, request, operation.id, clientError)
      : clientError
    Object.assign(failure.headers, cors)
    failure.userId = caller?.userId ?? null
    const call = { gateway, caller, httpRequest: request, operation }
    rejectCall({ ...call, isModelRequest: isModelRequest(operation) }, failure)
    throw failure
  }
}

function isModelRequest({ method, permission, inference }: Operation): boolean {
  return method === 'POST' && permission === 'inference:write' && inference?.isDryRun !== true
}

function handlePreflight(gateway: Gateway, request: Request, methods: OperationsByMethod): Response {
  const requestedMethod = request.headers.get('access-control-request-method')
  const operation = methods.get(requestedMethod ?? '') ?? methods.values().next().value
  const cors = operation && buildCorsHeaders(gateway, request, operation)
  const headers = { ...cors, ...buildPreflightHeaders(request, listMethods(methods)) }
  return new Response(null, { status: 204, headers })
}

/** A request whose caller may call the operation. */
interface AuthorizedRequest extends Pick<Context, 'gateway' | 'scope'> {
  httpRequest: PathRequest
  caller: Caller | null
}

async function runOperation(
  operation: Operation,
  authorized: AuthorizedRequest,
  { methods, connections }: Route,
): Promise<Response> {
  const { gateway, httpRequest, caller, scope } = authorized
  const { inference, method } = operation
  const { deployment, pathParams } = readPathParameters(httpRequest, operation.path)
  const params = operation.params && validateInput(operation.params, pathParams, 'path')
  const query =
    operation.query && validateInput(operation.query, validateParameters(parseQuery(httpRequest)), 'query')
  const isRaw = operation.rawBody !== undefined && isRawBody(httpRequest, operation)
  // `params` have been validated.
  const body = inference?.selectBody ? inference.selectBody(params as Record<string, string>) : operation.body
  const schema = isRaw ? undefined : body
  const source = schema && (await readRequestBody(gateway, httpRequest, operation, { schema, deployment }))
  if (operation.rateLimit && caller) await enforceRateLimit(gateway, caller, operation.rateLimit)
  // A model may be silent for longer than the idle timeout; the request path has its own timeouts.
  if (inference) connections.timeout(httpRequest, 0)
  const { regions } = gateway.settings
  const region = regions.hosts.size === 0 ? regions.default : resolveRegion(gateway, httpRequest)
  // Each value was validated by the schema that types it; see defineOperation.
  const context = {
    ...authorized,
    params,
    query,
    body: source?.body,
    source,
    deployment,
    region,
  } as Context
  if (method === 'GET') return respondWithRecord(operation, context, connections)
  if (method !== 'POST' && !inference?.isRelayed) return changeRecord(operation, context, methods.get('GET'))
  const key = inference?.isRelayed ? null : httpRequest.headers.get(idempotencyHeader)
  if (key === null) return respond(operation, context, connections, await operation.handle(context))
  const run = async () => respond(operation, context, connections, await operation.handle(context))
  if (!caller || !isIdempotencySupported(operation)) return markDropped(await run())
  return runOnce({ gateway, caller, operation, scope, httpRequest, key, text: source?.text }, run)
}

function resolveRegion(gateway: Gateway, request: Request): DataRegion {
  const { hosts, default: fallback } = gateway.settings.regions
  const host = toAsciiHost(request.headers.get('host') ?? '')
  return hosts.get(host) ?? hosts.get(host.replace(/:\d+$/, '')) ?? fallback
}

async function handleRawRoute(gateway: Gateway, request: PathRequest, routes: RawRoute[]): Promise<Response> {
  const opened = openRequest(gateway, request, pageOperation)
  let response: Response
  try {
    const hostProblem = findHostProblem(request)
    if (hostProblem) throw hostProblem
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const route = routes.find((candidate) => candidate.method === method)
    if (!route) {
      throw new GatewayError('method_not_allowed', {
        headers: { allow: routes.map((p) => p.method).join(', ') },
      })
    }
    response = await route.handle(gateway, request)
  } catch (error) {
    response = buildErrorResponse(gateway, error, { ...opened, httpRequest: request })
  }
  return compressResponse(request, finishResponse(gateway, opened, response))
}

const pageOperation = { id: 'page' }

/** Paths of the API: an unknown one is an error also for a browser. */
const apiPaths = /^\/(?:api|v1|v1alpha|v1beta|v1beta1|v2|openai|anthropic|scim|assets)(?:\/|$)/

/** A browser gets the page for unknown paths, which has screens of its own; other clients get an error. */
function handleUnknownPath(
  gateway: Gateway,
  request: Request,
  page: RawRoute | undefined,
): Response | Promise<Response> {
  if (page && isNavigation(request)) return handleRawRoute(gateway, request, [page])
  const opened = openRequest(gateway, request, undefined)
  const hostProblem = findHostProblem(request)
  if (hostProblem) return finishResponse(gateway, opened, buildErrorResponse(gateway, hostProblem, opened))
  if (request.method === 'HEAD') return finishResponse(gateway, opened, new Response(null))
  const { error, operation } = describeUnknownPath(request.method, parseRequestUrl(request).pathname)
  return finishResponse(gateway, opened, buildErrorResponse(gateway, error, { ...opened, operation }))
}

function isNavigation(request: Request): boolean {
  if (request.method !== 'GET' || !request.headers.get('accept')?.includes('text/html')) return false
  return !apiPaths.test(parseRequestUrl(request).pathname)
}

/** `pragma` is for the caches of HTTP/1.0, which RFC 6749 considers too. */
const noStoreHeaders = { 'cache-control': 'no-store', pragma: 'no-cache' }

type OpenedOperation = Pick<Operation, 'id' | 'noStore'> & FailingOperation & { path?: string }

/** A request that has no response yet. */
interface OpenedRequest {
  requestId: string
  operation: OpenedOperation | undefined
  startedAt: number
  spans: SpanRecorder | null
}

function openRequest(
  gateway: Gateway,
  request: Request,
  operation: OpenedOperation | undefined,
): OpenedRequest {
  // Of requests to models, which are no audit events, only a refusal is recorded with it.
  if (!operation?.inference) rememberPeer(gateway, request)
  return {
    requestId: resolveRequestId(request),
    operation,
    startedAt: performance.now(),
    spans: gateway.tracer?.begin(request, operation) ?? null,
  }
}

/** Every response gets its request id and is counted here. */
function finishResponse(
  gateway: Gateway,
  { requestId, operation, startedAt, spans }: OpenedRequest,
  response: Response,
): Response {
  response.headers.set('x-request-id', requestId)
  // The name that the Anthropic SDKs read.
  if (operation?.inference?.encodeError || operation?.encodeError)
    response.headers.set('request-id', requestId)
  if (operation?.noStore) addHeaders(response, noStoreHeaders)
  // Otherwise the next request of the connection could meet its end.
  if (gateway.isDraining) response.headers.set('connection', 'close')
  const seconds = (performance.now() - startedAt) / 1000
  gateway.metrics.http.record(operation?.id ?? 'none', response.status, seconds)
  spans?.respond(response.status)
  return response
}

function addHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

export type Server = ReturnType<typeof Bun.serve>

/** The port is open only while requests can be served. */
export function listen(
  gateway: Gateway,
  operations: readonly RouteGroup<Operation>[],
  rawRoutes: readonly RouteGroup<RawRoute>[],
  fallbackPage?: RawRoute,
): Server {
  return Bun.serve({
    ...transportOptions,
    hostname: gateway.config.host,
    // A worker gets the connections of the common port.
    port: gateway.worker ? 0 : gateway.config.port,
    routes: buildRoutes(gateway, operations, rawRoutes, fallbackPage),
    fetch: (request) => handleUnknownPath(gateway, request, fallbackPage),
    error: (error) => buildErrorResponse(gateway, error, { requestId: newId('req'), operation: undefined }),
  })
}

/** Throws if the port cannot be opened. */
export async function assertPortFree({ host, port }: Config): Promise<void> {
  await Bun.serve({ hostname: host, port, fetch: () => new Response() }).stop(true)
}

const transportOptions = {
  // Sizes are checked per operation: the runtime's 413 has no error envelope.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  idleTimeout: 120,
  // The runtime would print the error of a stream that fails, which may quote a prompt.
  development: false,
}
