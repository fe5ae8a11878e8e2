import { afterAll, beforeAll, describe } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadOperations } from '../../src/api/all.ts'
import { readConfig } from '../../src/config.ts'
import { bootstrapOrganization } from '../../src/gateway/bootstrap.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { settingsFields } from '../../src/gateway/settings.ts'
import { PdfReader } from '../../src/governance/filters/pdf-reader.ts'
import { isSchema, type Operation } from '../../src/http/operation.ts'
import { createKey } from '../../src/identity/keys.ts'
import { createMember, type Member } from '../../src/identity/members.ts'
import { JwksCache } from '../../src/identity/oidc/jwks-cache.ts'
import { OidcProviders } from '../../src/identity/oidc/providers.ts'
import { type CreatedOrganization, createOrganization } from '../../src/identity/organizations.ts'
import { hashCost } from '../../src/identity/passwords.ts'
import { startSession } from '../../src/identity/sessions.ts'
import { Routing } from '../../src/inference/routing/routing.ts'
import { HtmlReader } from '../../src/inference/web/html-reader.ts'
import { openGateway, startServer } from '../../src/main.ts'
import { newId, newUuid } from '../../src/platform/crypto/ids.ts'
import type { Db } from '../../src/platform/db/db.ts'
import type { OrganizationRole, WorkspaceRole } from '../../src/platform/db/schema.ts'
import { OfficeReader } from '../../src/platform/media/office-reader.ts'
import { isoNow } from '../../src/platform/time/clock.ts'
import { TestClock, TestTimer } from './clocks.ts'
import { createMigratedDatabase, createMigratedFile } from './databases.ts'
import { raisedRates } from './raised-rates.ts'
import { headersOf } from './sessions.ts'

const operations = await loadOperations()

/** Hash cost of an installation; it would be most of what the tests of sign-ins do. */
export const installedHashCost = { ...hashCost }
Object.assign(hashCost, { memoryCost: 8, timeCost: 1 })

export type DatabaseKind = 'sqlite' | 'postgres'

/** The databases to test on. The test runner fails in CI when PostgreSQL is not among them. */
export const databaseKinds: DatabaseKind[] = process.env.TEST_DATABASE_URL
  ? ['sqlite', 'postgres']
  : ['sqlite']

export interface Tenant extends CreatedOrganization {
  managementKey: string
  inferenceKey: string
}

export interface CallOptions {
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

/** `body` is the parsed JSON, loosely typed: tests read responses of every shape. */
export interface TestResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  body: any
}

/** A running server with two organizations, so that every test can check their separation. */
export interface TestServer {
  url: string
  gateway: Gateway
  clock: TestClock
  timer: TestTimer
  /** The first organization, which runs the installation. */
  own: Tenant
  /** Another organization. */
  foreign: Tenant
  /** Calls with the management key of `own` by default; checks the response against its schema. */
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>
  stop(): Promise<void>
}

export interface TestOptions {
  environment?: Record<string, string>
  /** The text of headgate.yaml. */
  settings?: string
  /** Whether the rates of `limits` are those of an installation. */
  hasDefaultRates?: boolean
}

export async function startTestServer(kind: DatabaseKind, options: TestOptions = {}): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'))
  const database = kind === 'postgres' ? await createMigratedDatabase() : null
  const settingsPath = join(dataDir, 'headgate.yaml')
  await Bun.write(settingsPath, options.settings ?? '')
  const config = readConfig({
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_CONFIG: settingsPath,
    PORT: '0',
    LOG_LEVEL: 'silent',
    // Each connection is a process of PostgreSQL that reads the catalog of its tables first.
    ...(database && { DATABASE_URL: database.url, DATABASE_POOL_SIZE: '3' }),
    ...options.environment,
  })
  if (!database) await createMigratedFile(config.databaseUrl)
  const clock = new TestClock()
  const gateway = await openGateway(config, clock)
  isolateFromNetwork(gateway, clock)
  giveReadersTime(gateway)
  const timer = new TestTimer()
  Object.assign(gateway, { timer })
  if (!options.hasDefaultRates) raiseRates(gateway)
  const own = await createFirstTenant(gateway)
  const foreign = await createTenant(gateway, 'Somebody else')
  const server = startServer(gateway)
  const url = `http://127.0.0.1:${server.port}`
  return {
    url,
    gateway,
    clock,
    timer,
    own,
    foreign,
    call: (method, path, callOptions = {}) => sendCall(url, own.managementKey, method, path, callOptions),
    stop: async () => {
      await server.stop(true)
      timer.stop()
      stopThreads(gateway)
      await gateway.backgroundRuns.drain(0)
      await gateway.containers?.close()
      await gateway.tracer?.exporter.close()
      await gateway.ledger.close()
      await gateway.limitCounts.close()
      await gateway.cluster.close()
      await gateway.replica?.close()
      await gateway.db.destroy()
      await database?.drop()
      rmSync(dataDir, { recursive: true })
    },
  }
}

/** A test file sends thousands of requests from one address. What its settings say remains. */
function raiseRates({ settings: { limits } }: Gateway): void {
  const defaults = settingsFields.shape.limits.parse({})
  const names = Object.keys(raisedRates) as (keyof typeof raisedRates)[]
  for (const name of names) if (limits[name] === defaults[name]) limits[name] = raisedRates[name]
}

/** Identity providers have addresses of loopback only, and no domain has records, unless a test says otherwise. */
function isolateFromNetwork(gateway: Gateway, clock: TestClock): void {
  const egress = () => ({ allowPrivate: gateway.settings.egress.allow_private, resolve: async () => [] })
  const jwks = new JwksCache(clock, egress)
  const oidcProviders = new OidcProviders(clock, egress, jwks)
  Object.assign(gateway.identity, { jwks, oidcProviders, resolveTxt: async () => [] })
}

/** A busy machine takes seconds to start their threads. */
function giveReadersTime({ readers }: Gateway): void {
  const limits = { milliseconds: 60_000 }
  Object.assign(readers, {
    pdf: new PdfReader(limits),
    html: new HtmlReader(limits),
    office: new OfficeReader(limits),
  })
}

/** They would stay, with their memory, until the process ends. */
export function stopThreads({ scanner, readers, jsonRepairer }: Gateway): void {
  scanner.stop()
  readers.pdf.stop()
  readers.html.stop()
  readers.office.stop()
  jsonRepairer.stop()
}

/** Resets health and sticky sessions, and makes the draw always pick the cheapest endpoint. */
export function resetRouting({ gateway }: TestServer): void {
  Object.assign(gateway, { routing: Object.assign(new Routing(), { random: () => 0 }) })
}

/** All cases on SQLite and the first on PostgreSQL, for tests in which only the record of a request is stored. */
export function selectCases<T>(kind: DatabaseKind, cases: readonly T[]): readonly T[] {
  return kind === 'sqlite' ? cases : cases.slice(0, 1)
}

type ServerTests = (server: () => TestServer, kind: DatabaseKind) => void

/** Runs the same tests on every database, each with its own server. */
export function describeOnEachDatabase(name: string, tests: ServerTests, options: TestOptions = {}): void {
  for (const kind of databaseKinds) describeOn(kind, name, tests, options)
}

/** Describes tests that do not depend on the database: formats, validation, the catalog, other servers. */
export function describeOnSqlite(name: string, tests: ServerTests, options: TestOptions = {}): void {
  describeOn('sqlite', name, tests, options)
}

function describeOn(kind: DatabaseKind, name: string, tests: ServerTests, options: TestOptions): void {
  describe(`${name} (${kind})`, () => {
    let server: TestServer
    beforeAll(async () => {
      server = await startTestServer(kind, options)
    })
    afterAll(() => server.stop())
    tests(() => server, kind)
  })
}

async function createFirstTenant(gateway: Gateway): Promise<Tenant> {
  const options = { managementKey: null, initialCredits: 100_000_000_000n }
  const start = await bootstrapOrganization(gateway, options)
  if (!start?.managementKey) throw new Error('the test database was not empty')
  return { ...start, managementKey: start.managementKey }
}

export async function createTenant(
  gateway: Gateway,
  name: string,
  ownerEmail = `${newId('o')}@example.com`,
): Promise<Tenant> {
  const { db, clock } = gateway
  const start = await createOrganization(db, clock, { name, ownerEmail })
  const scope = { organizationId: start.organization.id, workspaceId: start.workspace.id, name: 'key' }
  const management = await createKey(db, clock, {
    ...scope,
    kind: 'management',
    creatorUserId: start.owner.id,
  })
  const inference = await createKey(db, clock, { ...scope, kind: 'inference', creatorUserId: start.owner.id })
  return { ...start, managementKey: management.secret, inferenceKey: inference.secret }
}

export interface SessionOptions {
  /** Defaults to `server.own`. */
  tenant?: Tenant
  /** Defaults to `org:member`. */
  role?: OrganizationRole
  /** The only workspaces of the member, by id. Defaults to the default workspace with the role of the organization. */
  workspaces?: Record<string, WorkspaceRole>
  /** Roles in addition, in the organization or in one workspace. */
  roles?: { roleId: string; workspaceId?: string }[]
}

export interface SessionCaller {
  member: Member
  token: string
  /** The cookie and the CSRF token. */
  headers: Record<string, string>
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>
}

/** A new member who is signed in. */
export async function createSessionCaller(
  server: TestServer,
  options: SessionOptions = {},
): Promise<SessionCaller> {
  const { gateway } = server
  const { member, token } = await gateway.db.transaction().execute(async (tx) => {
    const member = await createTestMember(tx, gateway, { tenant: server.own, ...options })
    const session = { userId: member.id, method: 'link' as const, ip: null, userAgent: null }
    return { member, token: (await startSession(tx, gateway, session)).token }
  })
  const headers = headersOf(server, token)
  const call: SessionCaller['call'] = (method, path, callOptions = {}) =>
    server.call(method, path, {
      key: null,
      ...callOptions,
      headers: { ...headers, ...callOptions.headers },
    })
  return { member, token, headers, call }
}

async function createTestMember(
  tx: Db,
  { clock }: Gateway,
  { tenant, role = 'org:member', workspaces, roles = [] }: SessionOptions & { tenant: Tenant },
): Promise<Member> {
  const organization_id = tenant.organization.id
  const email = `${newId('member')}@example.com`
  const member = await createMember(tx, clock, { organizationId: organization_id, email, role })
  const [user_id, created_at] = [member.id, isoNow(clock)]
  if (workspaces) await tx.deleteFrom('workspace_members').where('user_id', '=', user_id).execute()
  for (const [workspace_id, role] of Object.entries(workspaces ?? {})) {
    const membership = { id: newUuid(), workspace_id, user_id, role, is_manual: 1 as const, created_at }
    await tx.insertInto('workspace_members').values(membership).execute()
  }
  for (const { roleId, workspaceId = null } of roles) {
    const place = { organization_id, user_id, role_id: roleId, workspace_id: workspaceId }
    const assignment = { id: newUuid(), ...place, source: 'manual' as const, created_at }
    await tx.insertInto('role_assignments').values(assignment).execute()
  }
  return member
}

export async function sendCall(
  url: string,
  managementKey: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<TestResponse> {
  const key = options.key === undefined ? managementKey : options.key
  const isForm = options.body instanceof FormData || options.body instanceof URLSearchParams
  const base = findOperation(method, path)?.root ? '' : '/api/v1'
  const response = await fetch(`${url}${base}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(options.body !== undefined && !isForm && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body !== undefined && { body: encodeBody(options.body) }),
  })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const body = isJson ? await response.json() : await response.text()
  if (isJson) checkResponse(method, path, response.status, body)
  return { status: response.status, headers: response.headers, body }
}

function encodeBody(body: unknown): string | FormData | URLSearchParams {
  const isEncoded = typeof body === 'string' || body instanceof FormData || body instanceof URLSearchParams
  return isEncoded ? body : JSON.stringify(body)
}

/** Every response in a test must match the declaration of its operation. */
function checkResponse(method: string, path: string, status: number, body: unknown): void {
  const operation = findOperation(method, path)
  if (status >= 400 && operation?.errorSchema) operation.errorSchema.parse(body)
  else if (status >= 400) checkEnvelope(status, body)
  if (status >= 400 || !operation || !isSchema(operation.response)) return
  if (status !== operation.status)
    throw new Error(`${operation.id}: status ${status}, declared ${operation.status}`)
  const result = operation.response.safeParse(body)
  if (!result.success)
    throw new Error(`${operation.id}: response does not match its schema: ${result.error.message}`)
}

export function checkEnvelope(status: number, body: unknown): void {
  const envelope = body as { error?: { code?: unknown; message?: unknown } | string; code?: unknown }
  // One format has the message instead of the object, and the other fields next to it; another one has all at the top.
  const error =
    typeof envelope.error === 'string'
      ? { code: envelope.code, message: envelope.error }
      : 'error' in envelope
        ? envelope.error
        : (envelope as { code?: unknown; message?: unknown })
  if (error?.code !== status || typeof error.message !== 'string') {
    throw new Error(`not the error envelope for ${status}: ${JSON.stringify(body)}`)
  }
}

const routes = Map.groupBy(
  operations.map((operation) => ({
    ...operation,
    pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`),
  })),
  ({ method, path }) => `${method} ${path.split('/').length}`,
)

export function findOperation(method: string, path: string): Operation | undefined {
  const [plain = ''] = path.split('?')
  const candidates = routes.get(`${method} ${plain.split('/').length}`) ?? []
  const matching = candidates.filter(({ pattern }) => pattern.test(plain))
  // A literal path beats a pattern, as in the router.
  return matching.find((operation) => operation.path === plain) ?? matching[0]
}
