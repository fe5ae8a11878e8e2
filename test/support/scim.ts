import type { Tenant, TestResponse, TestServer } from './harness.ts'

export interface ScimOptions {
  body?: unknown
  token?: string | null
  headers?: Record<string, string>
}

/** An identity provider with a token of one organization, pushing to /scim/v2. */
export interface IdentityProvider {
  token: string
  send(method: string, path: string, body?: unknown, options?: ScimOptions): Promise<TestResponse>
  /** Creates a user; returns its SCIM id and the id of the member. */
  createUser(
    name: string,
    extra?: Record<string, unknown>,
  ): Promise<{ id: string; member: string; email: string }>
  createGroup(displayName: string, members?: string[]): Promise<string>
}

export async function connectIdentityProvider(
  server: TestServer,
  tenant: Tenant = server.own,
): Promise<IdentityProvider> {
  const created = await server.call('POST', '/scim/tokens', {
    key: tenant.managementKey,
    body: { name: 'provider' },
  })
  const token = created.body.token as string
  const send: IdentityProvider['send'] = (method, path, body, options = {}) =>
    sendScim(server, method, path, { token, body, ...options })
  return {
    token,
    send,
    createUser: async (name, extra = {}) => {
      const email = `${name}@example.com`
      const result = await send('POST', '/Users', { ...buildUserBody(email), ...extra })
      if (result.status !== 201) throw new Error(`user: ${JSON.stringify(result.body)}`)
      const { user_id } = await server.gateway.db
        .selectFrom('scim_users')
        .select('user_id')
        .where('id', '=', result.body.id)
        .executeTakeFirstOrThrow()
      return { id: result.body.id, member: user_id, email }
    },
    createGroup: async (displayName, members = []) => {
      const list = members.map((value) => ({ value }))
      const result = await send('POST', '/Groups', { displayName, members: list })
      if (result.status !== 201) throw new Error(`group: ${JSON.stringify(result.body)}`)
      return result.body.id
    },
  }
}

export function buildUserBody(email: string): Record<string, unknown> {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: email,
    emails: [{ value: email, type: 'work', primary: true }],
    active: true,
  }
}

export function buildPatchBody(...operations: unknown[]): Record<string, unknown> {
  return { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: operations }
}

/** Every response has the SCIM format, errors too. */
export async function sendScim(
  server: TestServer,
  method: string,
  path: string,
  options: ScimOptions,
): Promise<TestResponse> {
  const { token, body } = options
  const response = await fetch(`${server.url}/scim/v2${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/scim+json' }),
      ...options.headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status === 204) return { status: 204, headers: response.headers, body: null }
  if (!response.headers.get('content-type')?.startsWith('application/scim+json')) {
    throw new Error(`${method} ${path}: ${response.status} is not application/scim+json: ${text}`)
  }
  const result = { status: response.status, headers: response.headers, body: JSON.parse(text) }
  if (response.status >= 400) checkError(result)
  return result
}

function checkError({ status, body }: TestResponse): void {
  const form = body.schemas?.[0] === 'urn:ietf:params:scim:api:messages:2.0:Error'
  if (!form || body.status !== String(status) || typeof body.detail !== 'string') {
    throw new Error(`not a SCIM error: ${JSON.stringify(body)}`)
  }
}
