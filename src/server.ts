import { operatorOrganization } from './account/organizations.ts'
import type { DataRegion } from './catalog/vocabulary.ts'
import type { Config } from './config.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { isDatabaseUnavailable } from './db/unavailable.ts'
import { asGatewayError, badField, envelope, fail, GatewayError, unavailable } from './errors.ts'
import type { Gateway } from './gateway.ts'
import { refuseDeclared } from './lib/body.ts'
import { check } from './lib/check.ts'
import { newId } from './lib/ids.ts'
import { requestIdOf } from './lib/request-id.ts'
import { requestUrl } from './lib/url.ts'
import type { Operation, Page, PathRequest } from './operation.ts'
import { authenticate, type Caller, hasCredential } from './pipeline/authenticate.ts'
import { maxBytesOf, readBody } from './request-body.ts'

/** The canonical base first; the second is what clients of other services have configured. */
const basePaths = ['/api/v1', '/v1']

/** Clients add `/v1` themselves or do not, whatever their users configured: what they reach models by works anyway. */
const lenientPaths = ['', '/api', '/anthropic'].flatMap((base) => [base, `${base}/v1`, `${base}/v1/v1`])

/** Where the Azure clients of the OpenAI SDKs look for whatever is no deployment. */
const azurePaths = ['/openai', '/openai/v1']

/** A slash in a deployment's name is escaped by some clients and not by others. */
const deploymentPaths = ['/openai/deployments/:deployment', '/openai/deployments/:author/:deployment']

/** What a handler may ask of the server: how long its connection may be quiet. */
interface Connections {
  timeout(request: Request, seconds: number): void
}

type Handler = (request: PathRequest, connections: Connections) => Promise<Response>

/** One path: which operations its methods lead to. */
type Methods = Map<string, Operation>

function buildRoutes(gateway: Gateway, operations: Operation[], pages: Page[]): Record<string, Handler> {
  const routes: Record<string, Handler> = {}
  for (const [address, methods] of byAddress(operations)) {
    const pattern = address.replace(/\{(\w+)\}/g, ':$1')
    const handler: Handler = (request, connections) => answer(gateway, request, methods, connections)
    routes[pattern] = handler
    routes[`${pattern}/`] = handler
  }
  for (const [path, group] of Map.groupBy(pages, (page) => page.path)) {
    routes[path] = (request) => answerPage(gateway, request, group)
  }
  return routes
}

function basesOf(methods: Methods): string[] {
  const all = [...methods.values()]
  if (all.some((operation) => operation.root)) return ['']
  const deployments = all.some(({ inference }) => inference?.deployments) ? deploymentPaths : []
  if (all.some(({ access, path }) => access === 'inference' || path === '/models'))
    return [...lenientPaths, ...azurePaths, ...deployments]
  return all.some(({ path }) => openAiResources.test(path)) ? [...basePaths, ...azurePaths] : basePaths
}

/** What OpenAI has too, beside requests to models. */
const openAiResources = /^\/(?:models\/\{model\}|files)(?:\/|$)/

/** Two formats may share an address under a base path, each with methods of its own. */
function byAddress(operations: Operation[]): Map<string, Methods> {
  const addresses = new Map<string, Methods>()
  const add = (address: string, operation: Operation) => {
    const methods: Methods = addresses.get(address) ?? new Map()
    if (methods.has(operation.method)) throw new Error(`${operation.method} ${address} is declared twice`)
    addresses.set(address, methods.set(operation.method, operation))
  }
  for (const [path, methods] of byPath(operations)) {
    const bases = basesOf(methods)
    for (const operation of methods.values()) {
      for (const base of bases) add(base + path, operation)
    }
  }
  return addresses
}

function byPath(operations: Operation[]): Map<string, Methods> {
  const paths = new Map<string, Methods>()
  for (const operation of operations) {
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const methods: Methods = paths.get(path) ?? new Map()
      methods.set(operation.method, operation)
      paths.set(path, methods)
    }
  }
  return paths
}

/** From the matched path to the answer, in the order the checks are promised. HEAD is GET; the runtime drops the body. */
async function answer(
  gateway: Gateway,
  request: PathRequest,
  methods: Methods,
  connections: Connections,
): Promise<Response> {
  const operation = methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  return guarded(gateway, request, operation, async () => {
    const allow = [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
    if (request.method === 'OPTIONS') return preflight(gateway, request, methods, allow)
    // Without a key, HEAD only asks whether anybody is there: clients do so before they say who they are.
    if (request.method === 'HEAD' && (!operation || !hasCredential(request))) return new Response(null)
    if (!operation) throw new GatewayError('method_not_allowed', { headers: { allow } })
    refuseDeclared(request, maxBytesOf(gateway, operation))
    const cors = corsHeaders(gateway, request, operation.access)
    let caller: Caller | null = null
    try {
      caller = await admitCaller(gateway, request, operation)
      return withHeaders(await run(gateway, request, operation, caller, connections), cors)
    } catch (error) {
      const failure = clientError(error)
      Object.assign(failure.headers, cors)
      failure.userId = caller?.userId ?? null
      throw failure
    }
  })
}

function preflight(gateway: Gateway, request: Request, methods: Methods, allow: string): Response {
  const wanted = request.headers.get('access-control-request-method')
  const operation = methods.get(wanted ?? '') ?? methods.values().next().value
  const cors = operation ? corsHeaders(gateway, request, operation.access) : {}
  return new Response(null, { status: 204, headers: { ...cors, ...preflightHeaders(request, allow) } })
}

async function admitCaller(
  gateway: Gateway,
  request: Request,
  { access, inference }: Operation,
): Promise<Caller | null> {
  if (access === 'public') return null
  const caller = await authenticate(gateway, request, inference !== undefined)
  if (access === 'any') return caller
  const wanted = access === 'inference' ? 'inference' : 'management'
  if (caller.key.kind !== wanted) {
    throw fail(
      'wrong_key_kind',
      `This operation needs ${wanted === 'inference' ? 'an inference' : 'a management'} key.`,
    )
  }
  if (access === 'operator' && (await operatorOrganization(gateway.db))?.id !== caller.organizationId) {
    throw fail('wrong_key_kind', 'Only the organization that runs this installation may do this.')
  }
  return caller
}

async function run(
  gateway: Gateway,
  request: PathRequest,
  operation: Operation,
  caller: Caller | null,
  connections: Connections,
): Promise<Response> {
  const { deployment, ...given } = withDeployment(readable({ ...request.params }))
  const params = operation.params && check(operation.params, given, 'path')
  const query = operation.query && check(operation.query, readable(queryOf(request)), 'query')
  const source = operation.body && (await readBody(gateway, request, operation, operation.body, deployment))
  // A model may think for longer than a connection may be quiet; the pipeline has clocks of its own.
  if (operation.inference) connections.timeout(request, 0)
  const region = regionOf(gateway, request)
  // Each value was parsed by the schema that types it; see operation().
  const ask = { gateway, caller, params, query, body: source?.body, source, request, region } as Parameters<
    Operation['handle']
  >[0]
  const result = await operation.handle(ask)
  return result instanceof Response ? result : Response.json(result, { status: operation.status })
}

/** The name of the deployment, put together again where its slash was not escaped. */
function withDeployment({ deployment, author, ...params }: Record<string, string>): Record<string, string> {
  if (deployment === undefined) return author === undefined ? params : { ...params, author }
  return { ...params, deployment: author === undefined ? deployment : `${author}/${deployment}` }
}

/** Undecodable percent signs come out of the router as U+FFFD; no database text may hold U+0000. */
function readable(values: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(values)) {
    if (/[\0\uFFFD]/.test(value)) throw badField(name, 'is not valid percent-encoded UTF-8')
  }
  return values
}

/**
 * A parameter given twice could mean one thing to a check and another to what follows it. Only a list in brackets
 * may repeat: `include[]=a&include[]=b` is read as `include=a,b`.
 */
function queryOf(request: Request): Record<string, string> {
  const { searchParams } = requestUrl(request)
  // Azure clients send it with every request; there is one version here.
  searchParams.delete('api-version')
  const query = new Map<string, string>()
  for (const given of new Set(searchParams.keys())) {
    const isList = given.endsWith('[]')
    const name = isList ? given.slice(0, -2) : given
    const values = searchParams.getAll(given)
    if (query.has(name) || (values.length > 1 && !isList)) throw badField(name, 'is given more than once')
    query.set(name, values.join(','))
  }
  return Object.fromEntries(query)
}

function regionOf(gateway: Gateway, request: Request): DataRegion {
  const { hosts, default: fallback } = gateway.settings.regions
  if (hosts.size === 0) return fallback
  const host = (request.headers.get('host') ?? '').toLowerCase()
  return hosts.get(host) ?? hosts.get(host.replace(/:\d+$/, '')) ?? fallback
}

async function answerPage(gateway: Gateway, request: PathRequest, pages: Page[]): Promise<Response> {
  return guarded(gateway, request, { id: 'page' }, async () => {
    const wanted = request.method === 'HEAD' ? 'GET' : request.method
    const page = pages.find((candidate) => candidate.method === wanted)
    if (!page) {
      throw new GatewayError('method_not_allowed', {
        headers: { allow: pages.map((p) => p.method).join(', ') },
      })
    }
    return page.handle(gateway, request)
  })
}

function answerUnknown(gateway: Gateway, request: Request): Promise<Response> {
  return guarded(gateway, request, undefined, async () => {
    if (request.method === 'HEAD') return new Response(null)
    throw fail('route_unknown')
  })
}

/** The one place where an error becomes an answer, and where every answer is counted and gets its request id. */
async function guarded(
  gateway: Gateway,
  request: Request,
  operation: Pick<Operation, 'id' | 'inference' | 'encodeError'> | undefined,
  work: () => Promise<Response>,
): Promise<Response> {
  const startedAt = performance.now()
  const requestId = requestIdOf(request)
  const encodeError = operation?.inference?.encodeError ?? operation?.encodeError
  const response = await work().catch((error: unknown) =>
    errorResponse(gateway, error, requestId, encodeError),
  )
  response.headers.set('x-request-id', requestId)
  // The name the SDKs of the Messages format look for.
  if (encodeError) response.headers.set('request-id', requestId)
  gateway.metrics.requestAnswered(
    operation?.id ?? 'none',
    response.status,
    (performance.now() - startedAt) / 1000,
  )
  return response
}

function errorResponse(
  gateway: Gateway,
  error: unknown,
  requestId: string,
  encode: (error: GatewayError, requestId: string) => object = envelope,
): Response {
  const failure = clientError(error)
  const { status, retry } = failure.row
  if (status === 500) gateway.log.error({ requestId, err: failure.cause ?? failure }, 'request failed')
  return Response.json(encode(failure, requestId), {
    status,
    headers: { ...(!retry && { 'x-should-retry': 'false' }), ...failure.headers },
  })
}

/** A database that is away is no fault of the request, and no fault in the program. */
function clientError(error: unknown): GatewayError {
  const failure = asGatewayError(error)
  if (failure.code !== 'internal' || !isDatabaseUnavailable(failure.cause)) return failure
  return unavailable(failure.cause)
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

export type Server = ReturnType<typeof Bun.serve>

/** Opens the port. It is open only while requests can be served. */
export function listen(gateway: Gateway, operations: Operation[], pages: Page[]): Server {
  return Bun.serve({
    ...transport,
    hostname: gateway.config.host,
    port: gateway.config.port,
    routes: buildRoutes(gateway, operations, pages),
    fetch: (request) => answerUnknown(gateway, request),
    error: (error) => errorResponse(gateway, error, newId('req')),
  })
}

/** Throws unless the port could be opened. */
export async function requireFreePort({ host, port }: Config): Promise<void> {
  await Bun.serve({ hostname: host, port, fetch: () => new Response() }).stop(true)
}

const transport = {
  // Sizes are checked per operation, with our own error: the runtime's 413 has no envelope.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  idleTimeout: 120,
}
